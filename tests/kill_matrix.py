"""Which check, on which operation, is tripped by which faulty servers? `python -m tests.kill_matrix`, from
the root of a checkout.

Every fault of the catalogue, one of each kind first, meets each check of its own rule alone; for a rule of
every response these are the checks that together see every kind of answer. What each check trips on goes to
--store, a line for each fault: the command goes on where it was stopped (--seconds, Ctrl-C), and begins anew
only what is not there yet. --write makes conformance/plugin/kills.json of it, from which `--effort quick`
and the order of a run come. --prove N runs what a quick run runs, whole, on N faulty servers drawn at
random, and says how many it catches.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from multiprocessing import get_context
from pathlib import Path

from conformance.checks import load_checks, plan
from conformance.fixtures.run_context import RunContext
from conformance.harness.check import Check, run_check
from conformance.judging.invariants import INVARIANTS
from conformance.plugin import costs, effort
from conformance.plugin.effort import Test
from tests.faults.catalogue import Fault, load
from tests.faults.harness import Outcome, checks_of, judge, run_on_fault, run_one
from tests.kill_selection import Kills, Known, Selection, Tried, chosen, inferred, ordered, table
from tests.support.runs import run_on
from tests.variants.hurry import hurried

#: Faults between two words of progress.
PROGRESS = 500

#: Requests that a quick run should keep below the most that it may send: servers differ a little.
SPARE = 30

#: Rounds of looking for a better selection.
ROUNDS = 2

_FAULTS = {fault.id: fault for fault in load()}


# ---------------------------------------------------------------------- which checks a fault trips


#: A fault's id and the names of the checks that it should meet; without any, those of its own rule.
Work = tuple[str, tuple[str, ...]]


def candidates(fault: Fault) -> list[Check]:
    """The checks that a fault meets first. Those of deep runs come last: they take hundreds of requests."""
    own = checks_of(fault.rule, fault.operation)
    if fault.rule in INVARIANTS:
        checks = load_checks()
        names = sorted(costs.telling(fault.rule, fault.operation) & checks.keys())
        own += [checks[name] for name in names if checks[name] not in own]
    return sorted(own, key=lambda check: check.deep)


def own(fault: Fault) -> set[str]:
    """The names of these checks, but for those of deep runs."""
    return {check.name for check in candidates(fault) if not check.deep}


def others(fault: Fault, met: set[str]) -> list[Check]:
    """All other checks of a fault's operation, the cheapest first."""
    found = [check for check, _ in plan(operations={fault.operation}) if check.name not in met]
    return sorted(found, key=lambda check: costs.requests(check.name, fault.operation))


@hurried()
def meet(work: Work) -> tuple[str, Tried]:
    """What a fault trips. Where no check of its own sees a broken rule of every response, others are tried
    until one does."""
    identifier, names = work
    fault, checks = _FAULTS[identifier], load_checks()
    run, found = run_on_fault(fault.make()), Tried(set(), set())
    for check in [checks[name] for name in names] or candidates(fault):
        if not check.deep or not found.tripped:
            _meet(check, fault, run, found)
    if not names and not found.tripped and fault.rule in INVARIANTS:
        for check in others(fault, found.tried):
            _meet(check, fault, run, found)
            if found.tripped:
                break
    return identifier, found


def _meet(check: Check, fault: Fault, run: RunContext, found: Tried) -> None:
    outcome, before = Outcome(), _broken(run)
    run_one(check, fault.operation, run, outcome)
    found.tried.add(check.name)
    if outcome.broken or _broken(run) > before:
        found.tripped.add(check.name)


def _broken(run: RunContext) -> int:
    """How many responses broke a rule of every response."""
    return sum(tally.broken for tally in run.invariants.tallies.values())


# ---------------------------------------------------------------------- the store


def stored(path: Path) -> Known:
    """What the store knows of faults that there are. A line cut short is left out."""
    found: Known = {}
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        with contextlib.suppress(ValueError):
            identifier, tried, tripped = json.loads(line)
            if identifier in _FAULTS:
                _take(found, identifier, Tried(set(tried), set(tripped)))
    return found


def _take(known: Known, identifier: str, more: Tried) -> None:
    there = known.setdefault(identifier, Tried(set(), set()))
    there.tried |= more.tried
    there.tripped |= more.tripped


def _met(identifier: str, known: Known) -> bool:
    """Whether a fault has met the checks of its own rule."""
    return identifier in known and own(_FAULTS[identifier]) <= known[identifier].tried


def in_turn(seed: int) -> list[str]:
    """All faults, one of each kind first, then another one of each on a second operation, and so on: whoever
    stops it knows something of all kinds."""
    rng = random.Random(seed)
    rounds = []
    for identifiers in kinds().values():
        rng.shuffle(identifiers)
        rounds += [(turn, rng.random(), identifier) for turn, identifier in enumerate(identifiers)]
    return [identifier for _, _, identifier in sorted(rounds)]


def kinds() -> dict[tuple[str, str], list[str]]:
    """The ids of all faults by their kinds."""
    found: dict[tuple[str, str], list[str]] = {}
    for fault in _FAULTS.values():
        found.setdefault((fault.rule, fault.kind), []).append(fault.id)
    return found


def extend(path: Path, known: Known, work: Sequence[Work], options: argparse.Namespace) -> None:
    """Does work until there is none or the time is over, and keeps what it comes to."""
    end = time.monotonic() + options.seconds if options.seconds else float("inf")
    path.parent.mkdir(parents=True, exist_ok=True)
    done = 0
    with path.open("a", encoding="utf-8") as store, contextlib.suppress(KeyboardInterrupt):
        for identifier, found in _mapped(work, options.processes):
            _take(known, identifier, found)
            store.write(json.dumps([identifier, sorted(found.tried), sorted(found.tripped)]) + "\n")
            store.flush()
            done += 1
            if done % PROGRESS == 0:
                print(f"{done} of {len(work)} faulty servers", flush=True)
            if time.monotonic() > end:
                break


def _mapped(work: Sequence[Work], processes: int) -> Iterator[tuple[str, Tried]]:
    if processes == 1:
        yield from map(meet, work)
        return
    with get_context("fork").Pool(processes) as pool:
        yield from pool.imap_unordered(meet, work, chunksize=4)


def cross(known: Known, selection: Selection, kills: Kills) -> list[Work]:
    """What a selection seems to miss, on all its operations, with the selected tests of those that were not
    tried on it: they may see it by chance."""
    caught = kills.kinds(selection.faults)
    work = []
    for identifier, fault in _FAULTS.items():
        tried = known[identifier].tried if identifier in known else set()
        names = {name for name, operation in selection.tests if operation == fault.operation}
        if names - tried and kills.kind(identifier) not in caught:
            work.append((identifier, tuple(sorted(names - tried))))
    random.Random(1).shuffle(work)
    return work


def wide(known: Known, selection: Selection, kills: Kills, cost: int) -> list[Work]:
    """One fault of each kind, with the tests of its operation that cost at most so much and were not tried on
    it: a cheap one may see what a dear one was made for. What a selection misses comes first."""
    caught, work, seen = kills.kinds(selection.faults), [], set()
    for identifier in sorted(known, key=lambda name: (kills.kind(name) in caught, name)):
        fault, kind = _FAULTS[identifier], kills.kind(identifier)
        cheap = {
            check.name
            for check, operation in plan(operations={fault.operation})
            if costs.requests(check.name, operation) <= cost
        }
        if kind not in seen and (new := cheap - known[identifier].tried):
            work.append((identifier, tuple(sorted(new))))
        seen.add(kind)
    return work


# ---------------------------------------------------------------------- the selection


def in_order(tests: Iterable[Test]) -> list[tuple[Check, str]]:
    """Tests in the order in which the checks are defined."""
    wanted = set(tests)
    return [(check, operation) for check, operation in plan() if (check.name, operation) in wanted]


def requests(tests: Sequence[Test]) -> dict[Test, int]:
    """How many requests each of some tests sends to the reference server, in one run of them."""
    run, sent = run_on(), {}
    with hurried():
        for check, operation in in_order(tests):
            before = run.sent
            run_check(check, operation, run)
            sent[check.name, operation] = run.sent - before
    return sent


def select(known: Known) -> tuple[Kills, list[Test], Selection]:
    """What is known, the order of all tests, and what a quick run runs: the best of some rounds.

    Set-up that tests share is paid by the first of them, which in a run of few is another one than in a run
    of all: each round takes for the price of a test what it cost in the round before.
    """
    prices = {(check.name, operation): costs.requests(check.name, operation) for check, operation in plan()}
    kills = Kills(_FAULTS, inferred(_FAULTS, known, own))
    best: tuple[list[Test], Selection] | None = None
    for _ in range(ROUNDS):
        order = ordered(kills, prices)
        selection = chosen(
            kills, order, effort.QUICK_REQUESTS - SPARE, prices, lambda tests: sum(requests(tests).values())
        )
        if best is None or len(kills.kinds(selection.faults)) > len(kills.kinds(best[1].faults)):
            best = order, selection
        prices |= requests(selection.tests)
    assert best is not None
    return kills, *best


def describe(kills: Kills, selection: Selection) -> Iterator[str]:
    """Lines about a selection: what it sends, and which part of the catalogue it catches, by family of
    rules."""
    faults, kinds = set(kills.tripped), kills.kinds(kills.tripped)
    caught = kills.kinds(selection.faults)
    yield (
        f"{len(selection.tests)} tests, {selection.requests} requests: {len(caught)} of {len(kinds)} kinds "
        f"({len(caught) / len(kinds):.1%}), {len(selection.faults)} of {len(faults)} faulty servers "
        f"({len(selection.faults) / len(faults):.1%})"
    )
    every = Counter(rule.partition(".")[0] for rule, _ in kinds)
    killed = Counter(rule.partition(".")[0] for rule, _ in caught)
    yield f"{'family':<16}{'kinds':>8}{'caught':>8}{'share':>8}"
    for family, number in every.most_common():
        yield f"{family:<16}{number:>8}{killed[family]:>8}{killed[family] / number:>8.0%}"
    if missed := sum(not names for names in kills.tripped.values()):
        yield f"{missed} faulty servers trip no check of their own rule alone"


def write(kills: Kills, order: Sequence[Test], selection: Selection) -> Path:
    """Writes the table into the package."""
    path = Path(effort.__file__).with_name("kills.json")
    data = table(kills, order, len(selection.tests))
    rows = ",\n".join(json.dumps(row) for row in data["tests"])
    head = f'{{"kinds": {data["kinds"]}, "quick": {data["quick"]}, "tests": [\n'
    path.write_text(f"{head}{rows}\n]}}\n", "utf-8")
    return path


# ---------------------------------------------------------------------- the proof


def survives(identifier: str) -> bool:
    """Whether a quick run finds nothing at all on a faulty server."""
    return not judge(_FAULTS[identifier].make(), in_order(effort.kills().quick)).broken


def prove(number: int, options: argparse.Namespace) -> None:
    """Prints how many faulty servers a quick run catches, of a sample with as many kinds as servers."""
    rng = random.Random(options.seed)
    every = kinds()
    work = [rng.choice(every[kind]) for kind in rng.sample(sorted(every), min(number, len(every)))]
    with get_context("fork").Pool(options.processes) as pool:
        survivors = [name for name, left in zip(work, pool.imap(survives, work), strict=True) if left]
    for identifier in survivors:
        print(f"not caught by a quick run: {identifier}")
    print(
        f"a quick run catches {len(work) - len(survivors)} of {len(work)} faulty servers "
        f"(seed {options.seed})"
    )


# ---------------------------------------------------------------------- the command


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what the command line asks for; returns the exit status."""
    options = _parser().parse_args(arguments)
    logging.disable(logging.CRITICAL)
    if options.prove:
        prove(options.prove, options)
        return 0
    known = stored(options.store)
    there = in_turn(options.seed)
    unknown: list[Work] = [(identifier, ()) for identifier in there if not _met(identifier, known)]
    extend(options.store, known, unknown, options)
    print(f"{len(known)} of {len(_FAULTS)} faulty servers are known in {options.store}")
    if not known:
        return 1
    kills, order, selection = select(known)
    if options.cross:
        extend(options.store, known, cross(known, selection, kills), options)
        kills, order, selection = select(known)
    if options.wide:
        extend(options.store, known, wide(known, selection, kills, options.wide), options)
        kills, order, selection = select(known)
    for line in describe(kills, selection):
        print(line)
    if options.write:
        print(write(kills, order, selection))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.kill_matrix",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--store",
        type=Path,
        default=Path("reports/kill-matrix.jsonl"),
        metavar="FILE",
        help="where what trips what is kept (default: reports/kill-matrix.jsonl)",
    )
    parser.add_argument(
        "--seconds", type=float, default=0, metavar="N", help="stop after so many, and go on next time"
    )
    parser.add_argument(
        "--cross", action="store_true", help="try what a quick run seems to miss on all its tests, too"
    )
    parser.add_argument(
        "--wide",
        type=int,
        default=0,
        metavar="N",
        help="try each kind on all tests of at most N requests, too",
    )
    parser.add_argument("--write", action="store_true", help="write conformance/plugin/kills.json")
    parser.add_argument(
        "--prove", type=int, default=0, metavar="N", help="try a quick run on N faulty servers"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="what is drawn (1)")
    parser.add_argument(
        "--processes", type=int, default=os.cpu_count() or 1, metavar="N", help="processes to share the work"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
