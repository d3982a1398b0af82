"""Runs the suite on faulty servers: `python -m tests.faults [--help]`, from the root of a checkout.

By default every fault meets the checks of its own rule, in as many processes as there are cores. With
--all-checks it meets all of them, and what other rules fail on it is shown as a matrix of cross-talk; that
takes seconds a fault, so --sample N takes N faults at random, from the printed seed (--seed, or SEED in the
environment). Exit status 1 says that a fault survived, that a check raised, or that unrelated rules fail in
numbers.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing import get_context

from conformance.checks import plan

from .bugs import Bug
from .catalogue import Fault, load
from .harness import Outcome, catch, judge

#: Rules beside the broken one that a report may name as causes of their own, on average over all faults.
MOST_OTHERS = 2.0

#: Faults after which the progress is told again.
PROGRESS = 500


def main(arguments: list[str] | None = None) -> int:
    """Runs what the command line asks for; returns the exit status."""
    options = _parser().parse_args(arguments)
    logging.disable(logging.CRITICAL)
    faults = [
        fault
        for fault in load()
        if fault.rule.startswith(options.rule)
        and options.kind in fault.kind
        and options.operation in fault.operation
    ]
    if options.sample:
        print(f"seed {options.seed}: --seed {options.seed} runs these faults again")
        faults = random.Random(options.seed).sample(faults, min(options.sample, len(faults)))
    begin = time.perf_counter()
    outcomes, survivors = [], []
    for fault, outcome in zip(faults, _outcomes(faults, options), strict=True):
        outcomes.append(outcome)
        if not outcome.shows(fault):
            survivors.append(fault)
            reason = outcome.inconclusive.get((fault.rule, fault.operation), "")
            print(f"survives: {fault.id}. {reason}".rstrip(), flush=True)
        others = [rule for rule in outcome.causes if rule != fault.rule and rule not in fault.also]
        if others:
            print(f"also blamed on {fault.id}: {', '.join(others)}", flush=True)
        if len(outcomes) % PROGRESS == 0:
            took = time.perf_counter() - begin
            print(f"{len(outcomes)} of {len(faults)} in {took:.0f} s, {len(survivors)} survive", flush=True)
    took = time.perf_counter() - begin
    errors = Counter(error for outcome in outcomes for error in outcome.errors)
    for error, times in errors.most_common():
        print(f"raised {times} times: {error}")
    share = _cross_talk(faults, outcomes) if options.all_checks else 0.0
    _summary(faults, survivors)
    sent = sum(outcome.sent for outcome in outcomes)
    print(
        f"{len(faults)} faults of {len(_kinds(faults))} kinds, {len(faults) - len(survivors)} caught, "
        f"{len(survivors)} survive; {sent} requests in {took:.0f} s"
    )
    return 1 if survivors or errors or share > MOST_OTHERS else 0


def _kinds(faults: list[Fault]) -> set[tuple[str, str]]:
    return {(fault.rule, fault.kind) for fault in faults}


def _summary(faults: list[Fault], survivors: list[Fault]) -> None:
    """Prints, for each class of bugs, how many faults and kinds there are, and the kinds that survive."""
    operations: dict[tuple[str, str], list[str]] = {}
    for fault in survivors:
        operations.setdefault((fault.rule, fault.kind), []).append(fault.operation)
    print(f"{'bug':<18}{'faults':>8}{'kinds':>8}{'caught':>8}")
    for bug in Bug:
        those = [fault for fault in faults if fault.bug is bug]
        if those:
            caught = len(those) - sum(fault.bug is bug for fault in survivors)
            print(f"{bug.name:<18}{len(those):>8}{len(_kinds(those)):>8}{caught:>8}")
    for (rule, kind), where in operations.items():
        print(f"survives on {', '.join(where)}: {rule}: {kind}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rule", default="", metavar="PREFIX", help="only faults of rules that begin so")
    parser.add_argument(
        "--operation", default="", metavar="TEXT", help="only faults on operations that hold this"
    )
    parser.add_argument("--kind", default="", metavar="TEXT", help="only sentences that hold this")
    parser.add_argument("--all-checks", action="store_true", help="all checks instead of those of the rule")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="only N faults, at random")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED") or time.time_ns() % 10**9))
    parser.add_argument(
        "--processes",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes to share the work (default: one for each core)",
    )
    return parser


def _outcomes(faults: list[Fault], options: argparse.Namespace) -> Iterator[Outcome]:
    tried = _try_all_checks if options.all_checks else _try_own_checks
    if options.processes == 1:
        yield from (tried(fault.id) for fault in faults)
        return
    with get_context("fork").Pool(options.processes) as pool:
        yield from pool.imap(tried, [fault.id for fault in faults], chunksize=4)


_BY_ID: dict[str, Fault] = {}


def _fault(identifier: str) -> Fault:
    # Behaviours are classes made by decorators, which do not travel between processes; their names do.
    if not _BY_ID:
        _BY_ID.update({fault.id: fault for fault in load()})
    return _BY_ID[identifier]


def _try_own_checks(identifier: str) -> Outcome:
    return catch(_fault(identifier))


def _try_all_checks(identifier: str) -> Outcome:
    return judge(_fault(identifier).make(), plan())


def _cross_talk(faults: list[Fault], outcomes: list[Outcome]) -> float:
    """Prints which other rules a report names as causes on faults of which rule; returns how many on average.

    Rules that follow from the broken one, as the catalogue of rules or the fault says, are no cross-talk.
    """
    tried = Counter(fault.rule for fault in faults)
    talk: Counter[tuple[str, str]] = Counter()
    example: dict[tuple[str, str], str] = {}
    for fault, outcome in zip(faults, outcomes, strict=True):
        for rule, operations in outcome.causes.items():
            if rule != fault.rule and rule not in fault.also:
                talk[fault.rule, rule] += 1
                example.setdefault(
                    (fault.rule, rule), f"{fault.operation}: {fault.kind} -> {', '.join(operations[:3])}"
                )
    print(
        "cross-talk: on faults of a rule (so many of how many) another rule fails, too, as a cause of its own"
    )
    for (broken, rule), times in sorted(talk.items(), key=lambda item: (-item[1], item[0])):
        print(f"  {times:4d} of {tried[broken]:4d}  {broken} -> {rule}  ({example[broken, rule]})")
    others = sum(talk.values()) / max(1, len(faults))
    print(f"  {others:.2f} other rules for each fault")
    return others


if __name__ == "__main__":
    sys.exit(main())
