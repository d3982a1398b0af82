"""Runs checks: each on one operation, and once more, alone, where it could not judge."""

from __future__ import annotations

from collections.abc import Callable

from conformance.checks.check import Check, CheckDefinition, R, Steps
from conformance.checks.side_effects import UNDISTURBED
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import Rule
from conformance.contract.traits import TRAITS
from conformance.judge.cells import Cell
from conformance.judge.outcomes import Unclear
from conformance.judge.verdicts import Inconclusive, NotApplicable, Verdict
from conformance.target.applicability import absent, unmet
from conformance.target.file import Target
from conformance.wire.messages import Exchange
from conformance.world.lane import Lane
from conformance.world.purposes import names_account

#: Repetitions without success in a row after which checks of an operation are not repeated any more.
IN_VAIN = 3


def run_check(check: CheckDefinition, operation: str, lane: Lane) -> tuple[list[Cell], list[Exchange]]:
    """Runs a check on an operation, and waits where it does; returns its cells and its exchanges.

    No answer of a server raises an exception, only a defect of the suite."""
    return finished(steps_of(check, operation, lane), lane.pause)


def finished(steps: Steps[R], wait: Callable[[float], object]) -> R:
    """Runs steps to their end, with `wait` for the seconds between two; returns their result."""
    try:
        while True:
            wait(next(steps))
    except StopIteration as end:
        result: R = end.value
        return result


def steps_of(check: CheckDefinition, operation: str, lane: Lane) -> Steps[tuple[list[Cell], list[Exchange]]]:
    """The steps of a check on an operation, with the result as `run_check` returns it. One that could not
    judge a rule since a request was refused or limited is repeated, alone in new accounts, then in another
    kind of place: one may be full, what stands in it disabled, or the server busy. So is one that could not
    tell payments from those of others, with ten-thousandths where the server takes these. A few times for
    each operation without success, as a server may never accept it."""
    cells, sent = yield from _steps(check, operation, lane)
    vain = lane.common.in_vain
    gaps = [cell for cell in cells if _hindered(lane, cell)]
    if not gaps or check.last or (check.waits and check.deep) or vain[operation] >= IN_VAIN:
        return cells, sent
    hindered, better = {cell.key for cell in gaps}, dict[tuple[str, str], Cell]()
    for target in _places(lane.target, operation):
        alone = lane.alone(target)
        alone.samples.in_parts = operation in lane.common.in_parts
        again, more = yield from _steps(check, operation, alone)
        lane.include(alone)
        sent += more
        # A violation counts wherever it shows; elsewhere only what was seen whole does, of money too.
        left = hindered - better.keys()
        judged = [cell for cell in again if cell.key in left and cell.verdict is not Verdict.INCONCLUSIVE]
        whole = [cell for cell in judged if target == lane.target or not cell.beside]
        better |= {cell.key: cell for cell in (*whole, *(each for each in again if each.violations))}
        if better.keys() >= hindered or any(map(_spoilt, [*gaps, *again])):
            break
    vain[operation] = 0 if any(key in better for key in hindered) else vain[operation] + 1
    return [cell if cell.violations else better.get(cell.key, cell) for cell in cells], sent


def _places(target: Target, operation: str) -> list[Target]:
    """The target, and one for another place, in which an operation may succeed where the usual one is full:
    accounts of the other customer, payouts from an account that need not have funds."""
    elsewhere = target if names_account(operation) else target.other_customer
    elsewhere = target.unfunded if TRAITS[operation].draws_on_funds else elsewhere
    return [target] if elsewhere == target else [target, elsewhere]


def _hindered(lane: Lane, cell: Cell) -> bool:
    """True if a cell is inconclusive as a request was refused or limited, or as others moved balances, and no
    broken rule is behind it."""
    if cell.verdict is not Verdict.INCONCLUSIVE or not cell.unclear or cell.unclear[0].cause:
        return False
    if _spoilt(cell):
        return cell.operation in lane.common.in_parts
    exchanges = map(lane.exchange, cell.exchanges)
    return any(
        each.throttled or (each.refused and not each.refused_authentication) for each in exchanges if each
    )


def _spoilt(cell: Cell) -> bool:
    """True if others moved balances at which a check looked."""
    return any(why.remedy == UNDISTURBED for why in cell.unclear)


def _steps(check: CheckDefinition, operation: str, lane: Lane) -> Steps[tuple[list[Cell], list[Exchange]]]:
    cells: list[Cell] = []
    rules: list[Rule] = []
    for rule in check.rules_on(operation):
        context = Check(lane, OPERATIONS[operation], [rule], check.name)
        if reason := absent(rule, operation, lane.target):
            cells += context.concluded(NotApplicable(reason))
        elif lacking := unmet(rule, lane.target):
            cells += context.concluded(Inconclusive(Unclear(lacking[0], remedy=lacking[1])))
        else:
            rules.append(rule)
    context = Check(lane, OPERATIONS[operation], rules, check.name)
    stop: Inconclusive | NotApplicable | None = None
    if rules:
        try:
            yield from check.function(context) or ()
        except (Inconclusive, NotApplicable) as error:
            stop = error
    concluded = context.concluded(stop)
    lane.evidence += context.exchanges
    lane.common.vacant.leave(context.exchanges)
    return [*cells, *concluded], context.exchanges
