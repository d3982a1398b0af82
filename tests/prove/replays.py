"""Reproduces the replay file of each fault on the faulty server, and on no other.

The first violation of a fault's rule becomes a replay file. Sent again to the faulty server it must say
"reproduced". Sent to the reference server it must not, nor the second time, when there is more on the server
than the file makes. "undecided" is counted apart, with its reasons.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import dataclass

from conformance.checks.check import run_check
from conformance.judge.findings import Finding
from conformance.judge.invariants import INVARIANTS
from conformance.reference.behaviour import Behaviour
from conformance.replay import document_of, perform
from conformance.replay.document import check as check_document
from conformance.replay.run import NOT_REPRODUCED, REPRODUCED, UNDECIDED
from conformance.world.run_context import RunContext
from tests.faults.catalogue import Fault
from tests.faults.harness import Outcome, checks_of, run_on_fault, same_server, stimuli
from tests.prove import pool, selection
from tests.support.runs import run_on
from tests.variants.hurry import hurried

#: What is worst to be said of a right server comes first.
_WORST = (REPRODUCED, UNDECIDED, NOT_REPRODUCED)


@dataclass(frozen=True)
class Tried:
    """What the replay file of a fault came to on the faulty server and on the reference server; `problem` is
    why there is none."""

    fault: str
    faulty: str = ""
    reference: str = ""
    problem: str = ""
    reasons: tuple[str, ...] = ()

    @property
    def wrong(self) -> bool:
        """Whether a verdict was wrong, or there is no file."""
        return bool(self.problem) or self.faulty == NOT_REPRODUCED or self.reference == REPRODUCED

    @property
    def undecided(self) -> bool:
        """Whether a verdict was left open."""
        return UNDECIDED in (self.faulty, self.reference)


def first_violation(fault: Fault, run: RunContext) -> tuple[Finding, list[int]] | None:
    """The first violation of a fault's rule on its operation, and the exchanges of the check; None if its
    checks see none."""
    for check in checks_of(fault.rule, fault.operation):
        findings, exchanges = run_check(check, fault.operation, run)
        for finding in findings:
            if finding.rule == fault.rule and finding.verdict.is_violation:
                return finding, exchanges
    if fault.rule in INVARIANTS:
        for _ in stimuli(fault, run, Outcome()):
            tally = run.invariants.tallies.get((fault.rule, fault.operation))
            if tally is not None and tally.broken:
                return tally.finding(), list(run.record)
    return None


@hurried()
def tried(fault: Fault) -> Tried:
    """What the replay file of a fault's first violation comes to."""
    run = run_on_fault(fault.make())
    found = first_violation(fault, run)
    if found is None:
        return Tried(fault.id, problem="survives")
    finding, numbers = found
    document = document_of(finding, [run.record[number] for number in numbers if number in run.record], run)
    if document is None:
        return Tried(fault.id, problem="no replay file")
    document = json.loads(json.dumps(document))
    check_document(document, fault.id)
    faulty = perform(document, same_server(run))
    run = run_on(Behaviour())
    first, second = perform(document, run), perform(document, same_server(run))
    reference = min(first, second, key=lambda replayed: _WORST.index(replayed.verdict))
    reasons = tuple(
        replayed.got for replayed in (faulty, reference) if replayed.verdict in (UNDECIDED, REPRODUCED)
    )
    return Tried(fault.id, faulty.verdict, reference.verdict, reasons=reasons)


def try_replay(identifier: str) -> Tried:
    """What the replay file of the fault of this id comes to; a mistake of the suite is its problem."""
    try:
        return tried(selection.by_id()[identifier])
    except Exception as error:
        return Tried(identifier, problem=f"raised {type(error).__name__}: {error}")


def options(parser: argparse.ArgumentParser) -> None:
    """Declares what the command line takes."""
    selection.options(parser)
    pool.options(parser)


def prove(options: argparse.Namespace) -> bool:
    """Makes and sends the replay files; whether no verdict is wrong."""
    done = []
    ids = [fault.id for fault in selection.chosen(options)]
    for _, replayed in pool.mapped(try_replay, ids, options.processes, "replay files", chunk=2):
        done.append(replayed)
        if replayed.wrong or replayed.undecided:
            verdicts = replayed.problem or f"{replayed.faulty} / {replayed.reference}"
            print(f"{verdicts}: {replayed.fault} {'; '.join(replayed.reasons)}"[:300], flush=True)
    wrong = sum(replayed.wrong for replayed in done)
    undecided = sum(replayed.undecided and not replayed.wrong for replayed in done)
    right = len(done) - wrong - undecided
    print(f"{len(done)} replay files: {right} right, {undecided} undecided, {wrong} wrong")
    problems = Counter(replayed.problem.partition(":")[0] for replayed in done if replayed.problem)
    for problem, times in problems.most_common():
        print(f"  {times} {problem}")
    return not wrong
