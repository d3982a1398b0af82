"""Catches each faulty server by the checks of the rule that it breaks.

With --all-checks each fault is met by all fixed checks, which takes seconds. Not proven: a fault survives, a
check raises, or reports would name more than MOST_OTHERS unrelated rules as causes on average.
"""

from __future__ import annotations

import argparse
from collections import Counter

from conformance.checks import plan
from conformance.judge.cells import grouped
from tests.faults.catalogue import Fault
from tests.faults.harness import Outcome, catch, judge
from tests.prove import pool, selection

#: Maximum average number of unrelated rules that a report may name as causes.
MOST_OTHERS = 2.0

#: Advice printed if reports name unrelated rules as causes.
OTHERS = (
    "A rule caught with others is proven. Where nobody could break it without them, name them in the fault "
    "(also=) or in spec/rules.yaml (follows): a report then shows one cause."
)


def options(parser: argparse.ArgumentParser) -> None:
    selection.options(parser)
    parser.add_argument("--all-checks", action="store_true", help="all checks instead of those of the rule")
    pool.options(parser)


def prove(options: argparse.Namespace) -> bool:
    """Runs the faults; returns True if each is caught."""
    faults = selection.chosen(options)
    tried = _by_all_checks if options.all_checks else _by_own_checks
    outcomes, survivors, talk = [], [], Counter[tuple[str, str]]()
    ids = [fault.id for fault in faults]
    for identifier, outcome in pool.mapped(tried, ids, options.processes, "faults", chunk=4):
        fault = selection.by_id()[identifier]
        outcomes.append(outcome)
        if outcome.effect and not outcome.shows(fault):
            survivors.append(fault)
            reason = outcome.inconclusive.get((fault.rule, fault.operation), "")
            print(f"survives: {fault.id}. {reason}".rstrip(), flush=True)
        others = [rule for rule in outcome.causes if rule != fault.rule and rule not in fault.also]
        others = [] if fault.member else others
        talk.update((fault.rule, other) for other in others)
        if others:
            print(f"caught with others, {', '.join(others)}: {fault.id}", flush=True)
    errors = Counter(error for outcome in outcomes for error in outcome.ledger.errors)
    for error, times in errors.most_common():
        print(f"raised {times} times: {error}")
    for (broken, other), times in talk.most_common():
        print(f"{times:4d} faults of {broken} also break {other}, as a cause of its own")
    if talk:
        print(OTHERS)
    _summary(faults, survivors)
    idle = sum(not outcome.effect for outcome in outcomes)
    print(
        f"{len(faults)} faults of {len(_kinds(faults))} kinds, {len(faults) - len(survivors) - idle} caught, "
        f"{idle} without effect, {len(survivors)} survive; "
        f"{sum(outcome.ledger.sent for outcome in outcomes)} requests"
    )
    quiet = not options.all_checks or talk.total() <= MOST_OTHERS * len(faults)
    return not survivors and not errors and quiet


def _by_own_checks(identifier: str) -> Outcome:
    return catch(selection.by_id()[identifier])


def _by_all_checks(identifier: str) -> Outcome:
    # Some faults show in long lists or after minutes only.
    return judge(selection.by_id()[identifier].make(), plan(deep=True))


def _kinds(faults: list[Fault]) -> set[tuple[str, str]]:
    return {(fault.rule, fault.kind) for fault in faults}


def _summary(faults: list[Fault], survivors: list[Fault]) -> None:
    """Prints, for each area of rules, the number of faults, kinds and surviving kinds."""
    operations: dict[tuple[str, str], list[str]] = {}
    for fault in survivors:
        operations.setdefault((fault.rule, fault.kind), []).append(fault.operation)
    survived = Counter(fault.area for fault in survivors)
    print(f"{'area':<18}{'faults':>8}{'kinds':>8}{'caught':>8}")
    for area, those in grouped((fault.area, fault) for fault in faults).items():
        print(f"{area:<18}{len(those):>8}{len(_kinds(those)):>8}{len(those) - survived[area]:>8}")
    for (rule, kind), where in operations.items():
        print(f"survives on {', '.join(where)}: {rule}: {kind}")
