"""Trips each place that judges, by some faulty server.

A place is a call in conformance/checks, conformance/checks or conformance/fuzz that judges, or that has a
helper judge, and a call in conformance/judge/invariants.py by which every response is judged; one that only
notes that a rule holds is none. Faults of the catalogue meet the checks of their rules (with --explore also
the explorations of their operations), in rounds of one kind for each rule; a rule whose checks have no
unproven place left takes no further part. A place that no faulty server trips is unproven and is printed: it
needs a fault, or goes.
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
from conformance.checks import load_checks
from conformance.contract.rules import RULES
from conformance.fuzz import load_tests
from conformance.fuzz.exploration import EXPLORATIONS, FuzzSettings
from conformance.fuzz.test_histories import RACES
from conformance.judge import invariants, ledger, losses
from conformance.judge.findings import Judgement
from conformance.judge.invariants import INVARIANTS, Invariants
from conformance.wire.messages import Exchange
from tests.faults.catalogue import Fault
from tests.faults.harness import catch, checks_of, judge, run_on_fault
from tests.prove import pool, selection
from tests.variants.hurry import hurried

PACKAGE = Path(conformance.__file__).parent

#: Folders whose calls judge, and the module that judges every response.
FOLDERS = ("checks", "fuzz")
EVERY_RESPONSE = "judge/invariants.py"

#: What only hands judgements on.
PLUMBING = (
    "checks/check.py",
    "checks/engine.py",
    "checks/context.py",
    "fuzz/engine/recorder.py",
    "fuzz/stateful/sender.py",
    "fuzz/histories/history.py",
)

#: Methods that judge; calls of them are places.
JUDGING = ("judge", "run", "perform")

#: What judges every response, and with how many arguments: with fewer it notes that a rule holds.
INVARIANT = {"_judge": 3, "too_many_lost": 2}

#: So many times the examples of other explorations are drawn of races.
RACED = 40

#: A file below the package and a line of it.
Line = tuple[str, int]


class Measure:
    """Which lines judgements came from, from which of them a violation, and which rules they were about."""

    def __init__(self) -> None:
        self.judged: Counter[Line] = Counter()
        self.tripped: Counter[Line] = Counter()
        self.about: set[tuple[Line, str]] = set()

    def judge(self, *arguments: Any, **options: Any) -> Judgement:
        judgement = _judge(*arguments, **options)
        caller = sys._getframe(1)
        lines = set(_lines(caller))
        self.judged.update(lines)
        # A context's and a recorder's own methods to judge name the rule so.
        rule = caller.f_locals.get("rule")
        self.about.update((line, rule) for line in lines if isinstance(rule, str))
        if judgement.outcome.good is False:
            self.tripped.update(lines)
        return judgement

    def inspect(self, invariants: Invariants, rule: str, exchange: Exchange, *broken: Any) -> None:
        """Counts what is judged by a rule of every response, unless it is only noted that it holds."""
        if broken:
            self._of_every_response(sys._getframe(2).f_lineno, rule, bool(broken[0]))
        _inspect(invariants, rule, exchange, *broken)

    def too_many_lost(self, lost: int, requests: int) -> bool:
        """Counts what is judged by how many requests were lost."""
        many = _too_many_lost(lost, requests)
        self._of_every_response(sys._getframe(1).f_lineno, "http.lost-requests", many)
        return many

    def _of_every_response(self, number: int, rule: str, broken: bool) -> None:
        line = EVERY_RESPONSE, number
        self.judged[line] += 1
        self.tripped[line] += broken
        self.about.add((line, rule))

    def add(self, other: Measure) -> None:
        """Adds what another process has seen."""
        self.judged += other.judged
        self.tripped += other.tripped
        self.about |= other.about


_judge, _inspect, _too_many_lost = ledger.judge, Invariants._judge, losses.too_many_lost


@contextlib.contextmanager
def measuring() -> Iterator[Measure]:
    """While the context lasts, whatever is judged is counted."""
    measure = Measure()
    with (
        mock.patch.object(ledger, "judge", measure.judge),
        mock.patch.object(Invariants, "_judge", lambda *given: measure.inspect(*given)),
        mock.patch.object(invariants, "too_many_lost", measure.too_many_lost),
    ):
        yield measure


def _lines(frame: FrameType | None) -> Iterator[Line]:
    """The lines of the package's judging folders that are being run, innermost first."""
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
    """A call that judges, or that hands a judgement to a helper: a file and its first and last line."""

    file: str
    first: int
    last: int

    def hits(self, lines: Counter[Line]) -> int:
        """How often it was among the lines."""
        return sum(lines[self.file, line] for line in range(self.first, self.last + 1))


def places() -> list[Place]:
    """Every call that judges by itself."""
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


@functools.cache
def _tree(name: str) -> ast.Module:
    return ast.parse((PACKAGE / name).read_text("utf-8"))


def _calls(name: str) -> list[ast.Call]:
    return [node for node in ast.walk(_tree(name)) if isinstance(node, ast.Call)]


def _named(name: str) -> set[str]:
    """The rules that a module names."""
    return {
        node.value
        for node in ast.walk(_tree(name))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in RULES
    }


def all_places(direct: list[Place], judged: Counter[Line]) -> list[Place]:
    """Every call that judges by itself, and every line that was seen to have a helper judge."""
    covered = {(place.file, line) for place in direct for line in range(place.first, place.last + 1)}
    return sorted({*direct, *(Place(name, line, line) for name, line in judged.keys() - covered)})


def _judges(call: ast.Call) -> bool:
    if len(call.args) < 2:
        return False
    if isinstance(call.func, ast.Attribute):
        return call.func.attr in JUDGING
    return isinstance(call.func, ast.Name) and call.func.id == "judge"


# ---------------------------------------------------------------------- faults


def spread(faults: Iterable[Fault]) -> list[Fault]:
    """First one fault of each sentence, then a second one of each, and so on."""
    times: Counter[tuple[str, str]] = Counter()
    numbered: list[tuple[int, int, Fault]] = []
    for fault in faults:
        sentence = fault.rule, fault.description
        numbered.append((times[sentence], len(numbered), fault))
        times[sentence] += 1
    return [fault for _, _, fault in sorted(numbered, key=lambda entry: entry[:2])]


@dataclass(frozen=True)
class Work:
    """What is to be measured: a fault by its id, with its rule's checks or without, and the examples of
    explorations."""

    fault: str
    checks: bool
    examples: int


def measured(work: Work) -> Measure:
    """What the checks of a fault's rule, and the explorations, judge on its server."""
    fault = selection.by_id()[work.fault]
    with measuring() as measure, hurried():
        if work.checks and fault.rule in INVARIANTS:
            catch(fault)
        elif work.checks:
            judge(
                fault.make(), [(check, fault.operation) for check in checks_of(fault.rule, fault.operation)]
            )
        if work.examples:
            _explore(fault, work.examples)
    return measure


def _explore(fault: Fault, examples: int) -> None:
    """The explorations of a fault's operation, and the races where they are about its rule: these take
    milliseconds, and choose their operation at random."""
    for exploration in EXPLORATIONS.values():
        for part in exploration.parts:
            if part in RACES and fault.rule not in _raced():
                continue
            if part == fault.operation or fault.operation not in exploration.parts:
                drawn = examples * RACED if part in RACES else examples
                exploration.function(run_on_fault(fault.make()), part, FuzzSettings(1, drawn))


@functools.cache
def _raced() -> set[str]:
    """The rules that races judge by."""
    folder = PACKAGE / "fuzz" / "histories"
    return {rule for path in folder.glob("*.py") for rule in _named(path.relative_to(PACKAGE).as_posix())}


load_tests()


# ---------------------------------------------------------------------- rounds


class Rounds:
    """Rounds of faults, one of each rule that may still prove a place, until none can or there are none."""

    def __init__(self, faults: Iterable[Fault], direct: list[Place], files: str) -> None:
        self.measure = Measure()
        self._direct, self._files = direct, files
        # Explorations take seconds: rules take part as soon as one of them judges by them.
        self._slow = files.startswith("fuzz")
        self._waiting: dict[str, list[Fault]] = {}
        self._begun: set[str] = set()
        for fault in spread(faults):
            self._waiting.setdefault(fault.rule, []).append(fault)

    @property
    def places(self) -> list[Place]:
        """The places that are known by now."""
        known = all_places(self._direct, self.measure.judged)
        return [place for place in known if place.file.startswith(self._files)]

    @property
    def unproven(self) -> list[Place]:
        """Those of them that no fault has tripped."""
        return [place for place in self.places if not place.hits(self.measure.tripped)]

    def next(self) -> list[Fault]:
        """The faults of the next round: of rules that are judged at an unproven place, or may be."""
        unproven = self.unproven
        lines = {(place.file, line) for place in unproven for line in range(place.first, place.last + 1)}
        never = {place.file for place in unproven if not place.hits(self.measure.judged)}
        wanted = {rule for line, rule in self.measure.about if line in lines}
        named = {rule for file in never for rule in _named(file)}
        wanted |= {
            rule
            for rule in self._waiting
            if rule in named or _files_of(rule) & never or (rule not in self._begun and not self._slow)
        }
        if never and not any(self._waiting.get(rule) for rule in wanted):
            wanted = set(self._waiting)
        self._begun |= wanted
        return [faults.pop(0) for rule, faults in self._waiting.items() if faults and rule in wanted]


def _files_of(rule: str) -> set[str]:
    """The files of the checks that cite a rule."""
    return {
        Path(check.function.__code__.co_filename).relative_to(PACKAGE).as_posix()
        for check in load_checks().values()
        if rule in check.rules
    }


# ---------------------------------------------------------------------- the command


def options(parser: argparse.ArgumentParser) -> None:
    """Declares what the command line takes."""
    selection.options(parser)
    parser.add_argument("--file", default="", metavar="PREFIX", help="only places in files that begin so")
    parser.add_argument(
        "--explore", type=int, default=0, metavar="N", help="explorations, too, with N examples a part"
    )
    pool.options(parser)


def prove(options: argparse.Namespace) -> bool:
    """Runs rounds of faults; whether each place is tripped."""
    faults = selection.chosen(options)
    # In a random order, so that kinds and operations come as they may.
    random.Random(options.seed).shuffle(faults)
    rounds = Rounds(faults, places(), options.file)
    tried = 0
    with contextlib.suppress(KeyboardInterrupt):
        while batch := rounds.next():
            work = [Work(fault.id, not options.file.startswith("fuzz"), options.explore) for fault in batch]
            name = f"{len(rounds.unproven)} places unproven after {tried} faults; next"
            for _, seen in pool.mapped(measured, work, options.processes, name, chunk=4):
                rounds.measure.add(seen)
            tried += len(batch)
    unproven = rounds.unproven
    for place in unproven:
        reached = place.hits(rounds.measure.judged)
        told = f"judged {reached} times, never tripped" if reached else "never judged"
        print(f"{place.file}:{place.first}: {told}")
    print(f"{tried} faults, {len(rounds.places)} places that judge, {len(unproven)} unproven")
    return not unproven
