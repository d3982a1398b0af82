"""Trips each place that judges, by some faulty server.

A place is a call in conformance/checks or conformance/fuzz that judges, directly or through a helper, or a
call in conformance/judge/invariants.py that judges every response; a call that only counts a rule as held is
not. Faults are met by the checks of their rules, with --explore also by the explorations of their operation.
A place that no faulty server trips is unproven and is printed: it needs a fault or has to go.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import conformance
from conformance.fuzz import load_tests
from conformance.fuzz.exploration import EXPLORATIONS, FuzzSettings
from conformance.judge import invariants, ledger
from conformance.judge.findings import Judgement
from conformance.judge.invariants import INVARIANTS, Invariants
from conformance.wire.messages import Exchange
from tests.faults.catalogue import Fault
from tests.faults.harness import catch, checks_of, judge, run_on_fault
from tests.prove import pool, selection
from tests.variants.hurry import hurried

PACKAGE = Path(conformance.__file__).parent

#: Folders with places, and the module that judges every response.
FOLDERS = ("checks", "fuzz")
EVERY_RESPONSE = "judge/invariants.py"

#: Modules that only forward judgements.
PLUMBING = (
    "checks/check.py",
    "checks/engine.py",
    "checks/check_context.py",
    "fuzz/engine/recorder.py",
)

#: Names of methods that judge.
JUDGING = ("judge", "run", "perform")

#: Functions that judge every response -> number of arguments of a judgement; calls with fewer count a rule as
#: held.
INVARIANT = {"_judge": 3, "too_many_lost": 2}

#: A file below the package, and a line in it.
Line = tuple[str, int]


class Measure:
    """Counts judgements and violations by the source lines on the call stack."""

    def __init__(self) -> None:
        self.judged: Counter[Line] = Counter()
        self.tripped: Counter[Line] = Counter()

    def judge(self, *arguments: Any, **options: Any) -> Judgement:
        judgement = _judge(*arguments, **options)
        caller = sys._getframe(1)
        lines = set(_lines(caller))
        self.judged.update(lines)
        if judgement.outcome.good is False:
            self.tripped.update(lines)
        return judgement

    def inspect(self, invariants: Invariants, rule: str, exchange: Exchange, *broken: Any) -> None:
        """Counts a judgement of a rule of every response, but not a mere count of it as held."""
        if broken:
            self._of_every_response(sys._getframe(2).f_lineno, bool(broken[0]))
        _inspect(invariants, rule, exchange, *broken)

    def too_many_lost(self, lost: int, requests: int) -> bool:
        """Counts a judgement of the share of lost requests."""
        many = _too_many_lost(lost, requests)
        self._of_every_response(sys._getframe(1).f_lineno, many)
        return many

    def _of_every_response(self, number: int, broken: bool) -> None:
        line = EVERY_RESPONSE, number
        self.judged[line] += 1
        self.tripped[line] += broken

    def add(self, other: Measure) -> None:
        """Adds the counts of another process."""
        self.judged += other.judged
        self.tripped += other.tripped


_judge, _inspect, _too_many_lost = ledger.judge, Invariants._judge, invariants.too_many_lost


@contextlib.contextmanager
def measuring() -> Iterator[Measure]:
    """Counts all judgements while the context lasts."""
    measure = Measure()
    with (
        mock.patch.object(ledger, "judge", measure.judge),
        mock.patch.object(Invariants, "_judge", lambda *given: measure.inspect(*given)),
        mock.patch.object(invariants, "too_many_lost", measure.too_many_lost),
    ):
        yield measure


def _lines(frame: FrameType | None) -> Iterator[Line]:
    """Yields the lines on the call stack that are in the judging folders, innermost first."""
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(PACKAGE):
            name = path.relative_to(PACKAGE).as_posix()
            if name.startswith(FOLDERS) and name not in PLUMBING:
                yield name, frame.f_lineno
        frame = frame.f_back


# ---------------------------------------------------------------------- places


@dataclass(frozen=True, order=True)
class Place:
    """A call that judges, directly or through a helper: a file, and its first and last line."""

    file: str
    first: int
    last: int

    def hits(self, lines: Counter[Line]) -> int:
        """Returns the sum of its lines in a counter."""
        return sum(lines[self.file, line] for line in range(self.first, self.last + 1))


def places() -> list[Place]:
    """Returns every call that judges directly."""
    paths = [path for folder in FOLDERS for path in sorted((PACKAGE / folder).rglob("*.py"))]
    names = [path.relative_to(PACKAGE).as_posix() for path in paths]
    found = [
        Place(name, call.lineno, call.end_lineno or call.lineno)
        for name in names
        if name not in PLUMBING
        for call in _calls(name)
        if _judges(call)
    ]
    for call in _calls(EVERY_RESPONSE):
        named = call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
        if len(call.args) >= INVARIANT.get(named, 99):
            found.append(Place(EVERY_RESPONSE, call.lineno, call.end_lineno or call.lineno))
    return found


def _calls(name: str) -> list[ast.Call]:
    tree = ast.parse((PACKAGE / name).read_text("utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def all_places(direct: list[Place], judged: Counter[Line]) -> list[Place]:
    """Returns every call that judges directly, and every line seen to judge through a helper."""
    covered = {(place.file, line) for place in direct for line in range(place.first, place.last + 1)}
    return sorted({*direct, *(Place(name, line, line) for name, line in judged.keys() - covered)})


def _judges(call: ast.Call) -> bool:
    if len(call.args) < 2:
        return False
    if isinstance(call.func, ast.Attribute):
        return call.func.attr in JUDGING
    return isinstance(call.func, ast.Name) and call.func.id == "judge"


# ---------------------------------------------------------------------- faults


def measured(identifier: str, examples: int = 0) -> Measure:
    """Runs the checks of a fault's rule on its server, and its explorations with this many examples."""
    fault = selection.by_id()[identifier]
    with measuring() as measure, hurried():
        if fault.rule in INVARIANTS:
            catch(fault)
        else:
            own = checks_of(fault.rule, fault.operation)
            judge(fault.make(), [(check, fault.operation) for check in own])
        if examples:
            _explore(fault, examples)
    return measure


def _explore(fault: Fault, examples: int) -> None:
    """Runs the explorations of a fault's operation."""
    for exploration in EXPLORATIONS.values():
        for part in exploration.parts:
            if part == fault.operation or fault.operation not in exploration.parts:
                exploration.function(run_on_fault(fault.make()), part, FuzzSettings(1, examples))


load_tests()


# ---------------------------------------------------------------------- the command


def options(parser: argparse.ArgumentParser) -> None:
    selection.options(parser)
    parser.add_argument("--file", default="", metavar="PREFIX", help="only places in files with this prefix")
    parser.add_argument(
        "--explore",
        type=int,
        default=0,
        metavar="N",
        help="include places of fuzz/, with N examples for each part",
    )
    pool.options(parser)


def unproven(found: list[Place], measure: Measure) -> list[Place]:
    """Returns the places that no fault has tripped."""
    return [place for place in found if not place.hits(measure.tripped)]


def by_turns(faults: Iterable[Fault]) -> list[Fault]:
    """Orders faults round-robin by rule."""
    times: Counter[str] = Counter()
    numbered = []
    for fault in faults:
        numbered.append((times[fault.rule], fault))
        times[fault.rule] += 1
    return [fault for _, fault in sorted(numbered, key=lambda entry: entry[0])]


def tripping(faults: Iterable[Fault], direct: list[Place], processes: int = 1, examples: int = 0) -> Measure:
    """Runs faults one by one until every place is proven."""
    total = Measure()
    meet = functools.partial(measured, examples=examples)
    for _, seen in pool.mapped(meet, [fault.id for fault in by_turns(faults)], processes, "faults", chunk=4):
        total.add(seen)
        if not unproven(all_places(direct, total.judged), total):
            break
    return total


def prove(options: argparse.Namespace) -> bool:
    """Runs faults; returns True if each place is tripped."""
    faults = selection.chosen(options)
    # Shuffled, so that the first faults of the rules are of various kinds and operations.
    random.Random(options.seed).shuffle(faults)
    direct = [
        place
        for place in places()
        if place.file.startswith(options.file) and (options.explore or not place.file.startswith("fuzz"))
    ]
    measure = tripping(faults, direct, options.processes, options.explore)
    found = [place for place in all_places(direct, measure.judged) if place.file.startswith(options.file)]
    left = unproven(found, measure)
    for place in left:
        reached = place.hits(measure.judged)
        told = f"judged {reached} times, never tripped" if reached else "never judged"
        print(f"{place.file}:{place.first}: {told}")
    print(f"{len(found)} places that judge, {len(left)} unproven")
    return not left
