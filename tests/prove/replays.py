"""Reproduces the replay file of each fault on the faulty server, and on no other.

The first violation of a fault's rule becomes a replay file. On the faulty server its verdict must be
"reproduced". Sent twice to the reference server, with the conforming choices that the fault is built on, it
must be "not reproduced". On five conforming variants, which get a hundred files after one another and so have
long lists and many used keys, it must never be "reproduced". "undecided" is counted separately, with the
reasons.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from conformance.checks.check import run_check
from conformance.judge.findings import Finding
from conformance.judge.invariants import INVARIANTS
from conformance.reference.behaviour import Behaviour
from conformance.replay import document_of, perform
from conformance.replay.format import check as check_document
from conformance.replay.run import NOT_REPRODUCED, REPRODUCED, UNDECIDED
from conformance.wire.messages import Call
from conformance.world.known_lists import listed_customer
from conformance.world.run_context import RunContext
from tests.faults.catalogue import Fault
from tests.faults.harness import Outcome, checks_of, run_on_fault, same_server, stimuli
from tests.prove import pool, selection
from tests.support.runs import run_on
from tests.variants.catalogue import VARIANTS
from tests.variants.choice import CHOICES, compose
from tests.variants.hurry import hurried
from tests.variants.judging import new_run
from tests.variants.variant import Variant

#: Verdicts on a conforming server, worst first.
_WORST = (REPRODUCED, UNDECIDED, NOT_REPRODUCED)


#: Names of the conforming variants that have served other requests before a file.
USED = ("frameworks", "strict", "lenient", "keys of the organization", "signature first")

#: The request from whose answer a replay takes the server's time, as in the command.
SERVER_TIME = Call(None, "GET", "/")

#: Accounts of each customer before the first file: a page past the end in the file exists here.
GROWN = 150

#: Replay files sent to used variants before these are made anew; longer lists take longer to page through.
FILES_BEFORE_NEW = 100

#: Numbers of the replay files of this process.
_numbers = itertools.count()


@dataclass(frozen=True)
class Tried:
    """Verdicts on the replay file of a fault: on the faulty server, the reference server, and used variants
    by name. `problem` is the reason why there is no file."""

    fault: str
    faulty: str = ""
    reference: str = ""
    problem: str = ""
    reasons: tuple[str, ...] = ()
    variants: tuple[tuple[str, str], ...] = ()

    @property
    def wrong(self) -> bool:
        """Returns True if a verdict is wrong, or there is no file."""
        blamed = REPRODUCED in (self.reference, *(verdict for _, verdict in self.variants))
        return bool(self.problem) or self.faulty == NOT_REPRODUCED or blamed

    @property
    def undecided(self) -> bool:
        """Returns True if the verdict on the faulty or the reference server is undecided."""
        return UNDECIDED in (self.faulty, self.reference)

    @property
    def told(self) -> str:
        """Returns the problem, or the verdicts."""
        blamed = "".join(
            f" / reproduced on {name}" for name, verdict in self.variants if verdict == REPRODUCED
        )
        return self.problem or f"{self.faulty} / {self.reference}{blamed}"


class Onward:
    """Monotonic clock for a server that is used under several `hurried`, each of which resets the fake
    time."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock, self._last, self._ahead = clock, 0, 0

    def __call__(self) -> int:
        now = self._clock()
        self._ahead += max(0, self._last - now)
        self._last = now
        return now + self._ahead


@functools.lru_cache(maxsize=1)
def used_variants(number: int) -> tuple[tuple[Variant, RunContext], ...]:
    """Returns the set of that number of the variants of USED, with enough accounts for several pages."""
    runs = []
    for variant in (variant for variant in VARIANTS if variant.name in USED):
        run = new_run(variant, Onward(variant.clock))
        for _ in range(GROWN):
            run.account(fresh=True).create("createAccount")
            listed_customer(run).create("createAccount")
        runs.append((variant, run))
    return tuple(runs)


def first_violation(fault: Fault, run: RunContext) -> tuple[Finding, list[int], RunContext] | None:
    """Returns the first violation of a fault's rule on its operation, the exchanges for its file, and their
    run; None without a violation. As in a real run, a failed check is confirmed by a second run in its own
    accounts, which then gives the file."""
    for check in checks_of(fault.rule, fault.operation):
        findings, exchanges = run_check(check, fault.operation, run)
        if found := _violation(fault, findings):
            alone = run.alone()
            again = _violation(fault, run_check(check, fault.operation, alone)[0])
            return (again, list(alone.record), alone) if again else (found, exchanges, run)
    if fault.rule in INVARIANTS:
        for _ in stimuli(fault, run, Outcome()):
            tally = run.invariants.tallies.get((fault.rule, fault.operation))
            if tally is not None and tally.broken:
                return tally.finding(), list(run.record), run
    return None


def _violation(fault: Fault, findings: list[Finding]) -> Finding | None:
    """Returns the first violation of a fault's rule among findings."""
    broken = (finding for finding in findings if finding.verdict.is_violation)
    return next((finding for finding in broken if finding.rule == fault.rule), None)


def mended(fault: Fault) -> Behaviour:
    """Returns the reference server with the variant choices that a fault is built on."""
    return compose(*(base for base in fault.behaviour.__mro__ if base in CHOICES.values()))


@hurried()
def tried(fault: Fault) -> Tried:
    """Returns the verdicts on the replay file of a fault's first violation."""
    run = run_on_fault(fault.make())
    found = first_violation(fault, run)
    if found is None:
        return Tried(fault.id, problem="survives")
    finding, numbers, run = found
    document = document_of(finding, [run.record[number] for number in numbers if number in run.record], run)
    if document is None:
        return Tried(fault.id, problem="no replay file")
    document = json.loads(json.dumps(document))
    check_document(document, fault.id)
    faulty = perform(document, same_server(run))
    run = run_on(mended(fault))
    first, second = perform(document, run), perform(document, same_server(run))
    reference = min(first, second, key=lambda replayed: _WORST.index(replayed.verdict))
    told = [replayed.got for replayed in (faulty, reference) if replayed.verdict in (UNDECIDED, REPRODUCED)]
    variants = []
    for variant, used in used_variants(next(_numbers) // FILES_BEFORE_NEW):
        if fault.rule not in variant.breaks:
            run = same_server(used)
            run.client().send(SERVER_TIME)
            replayed = perform(document, run)
            variants.append((variant.name, replayed.verdict))
            told += [f"{variant.name}: {replayed.got}"] if replayed.verdict == REPRODUCED else []
    return Tried(fault.id, faulty.verdict, reference.verdict, reasons=tuple(told), variants=tuple(variants))


def try_replay(identifier: str) -> Tried:
    """Like `tried`, for a fault's id; an exception in the suite becomes its problem."""
    try:
        return tried(selection.by_id()[identifier])
    except Exception as error:
        return Tried(identifier, problem=f"raised {type(error).__name__}: {error}")


def options(parser: argparse.ArgumentParser) -> None:
    selection.options(parser)
    pool.options(parser)


def prove(options: argparse.Namespace) -> bool:
    """Makes and sends the replay files; returns True if no verdict is wrong."""
    done = []
    ids = [fault.id for fault in selection.chosen(options)]
    for _, replayed in pool.mapped(try_replay, ids, options.processes, "replay files", chunk=2):
        done.append(replayed)
        if replayed.wrong or replayed.undecided:
            print(f"{replayed.told}: {replayed.fault} {'; '.join(replayed.reasons)}"[:300], flush=True)
    wrong = sum(replayed.wrong for replayed in done)
    undecided = sum(replayed.undecided and not replayed.wrong for replayed in done)
    right = len(done) - wrong - undecided
    print(f"{len(done)} replay files: {right} right, {undecided} undecided, {wrong} wrong")
    verdicts = Counter(verdict for replayed in done for _, verdict in replayed.variants)
    told = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in reversed(_WORST))
    print(f"on used variants: {told}")
    problems = Counter(replayed.problem.partition(":")[0] for replayed in done if replayed.problem)
    for problem, times in problems.most_common():
        print(f"  {times} {problem}")
    return not wrong
