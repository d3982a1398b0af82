"""Whether replay files tell the truth: `python -m tests.replays [--help]`, from the root of a checkout.

For each fault of the catalogue the first violation of its rule becomes a replay file. Sent again to the
faulty server it must say "reproduced". Sent to the reference server it must not, nor the second time, when
there is more on the server than the file makes. Without --all each kind of fault is tried on one operation;
--sample N takes N of those at random, from the printed seed. "undecided" is counted apart, with its reasons.
Exit status 1: a verdict was wrong.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass
from multiprocessing import get_context

from conformance.harness.check import run_check
from conformance.judge.findings import Finding
from conformance.judge.invariants import INVARIANTS
from conformance.reference.behaviour import Behaviour
from conformance.replay import document_of, perform
from conformance.replay.document import check as check_document
from conformance.replay.run import NOT_REPRODUCED, REPRODUCED, UNDECIDED
from conformance.world.run_context import RunContext
from tests.faults.catalogue import Fault, load
from tests.faults.harness import Outcome, checks_of, run_on_fault, same_server, stimuli
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
                return tally.violation(fault.rule, fault.operation), list(run.record)
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


_BY_ID: dict[str, Fault] = {}


def try_replay(identifier: str) -> Tried:
    """What the replay file of the fault of this id comes to; a mistake of the suite is its problem."""
    if not _BY_ID:
        _BY_ID.update({fault.id: fault for fault in load()})
    try:
        return tried(_BY_ID[identifier])
    except Exception as error:
        return Tried(identifier, problem=f"raised {type(error).__name__}: {error}")


def kinds(faults: list[Fault]) -> list[Fault]:
    """Each kind of fault on one of its operations, spread over them."""
    by_kind: dict[tuple[str, str], list[Fault]] = {}
    for fault in faults:
        by_kind.setdefault((fault.rule, fault.kind), []).append(fault)
    return [some[at % len(some)] for at, some in enumerate(by_kind.values())]


def main(arguments: list[str] | None = None) -> int:
    """Runs what the command line asks for; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.replays",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--all", action="store_true", help="each fault, not each kind on one operation only")
    parser.add_argument("--rule", default="", metavar="PREFIX", help="only faults of rules that begin so")
    parser.add_argument("--kind", default="", metavar="TEXT", help="only kinds that hold this")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="only N faults, at random")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED") or time.time_ns() % 10**9))
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="processes to share the work")
    options = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    faults = [fault for fault in load() if fault.rule.startswith(options.rule) and options.kind in fault.kind]
    faults = faults if options.all else kinds(faults)
    if options.sample:
        print(f"seed {options.seed}: --seed {options.seed} tries these faults again")
        faults = random.Random(options.seed).sample(faults, min(options.sample, len(faults)))
    done = []
    with get_context("fork").Pool(options.processes) as pool:
        for proof in pool.imap(try_replay, [fault.id for fault in faults], chunksize=2):
            done.append(proof)
            if proof.wrong or proof.undecided:
                verdicts = proof.problem or f"{proof.faulty} / {proof.reference}"
                print(f"{verdicts}: {proof.fault} {'; '.join(proof.reasons)}"[:300], flush=True)
    wrong, undecided = (
        sum(proof.wrong for proof in done),
        sum(proof.undecided and not proof.wrong for proof in done),
    )
    problems = Counter(proof.problem.partition(":")[0] for proof in done if proof.problem)
    print(
        f"{len(done)} replay files: {len(done) - wrong - undecided} right, {undecided} undecided, {wrong} "
        "wrong"
    )
    for problem, times in problems.most_common():
        print(f"  {times} {problem}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
