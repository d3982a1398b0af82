"""Checks, one module for each area of rules: tables of cases, the engine that judges them, and scenarios."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterator

from msgspec.structs import replace

from conformance.checks.check import CHECKS, CheckDefinition
from conformance.judge.cells import Cell, grouped
from conformance.judge.ledger import Ledger
from conformance.judge.verdicts import HELD, Verdict


@functools.cache
def load_checks() -> dict[str, CheckDefinition]:
    """Imports the modules of checks; returns their checks by name."""
    for module in pkgutil.iter_modules(__path__):
        if module.name.startswith("test_"):
            importlib.import_module(f"{__name__}.{module.name}")
    return CHECKS


@functools.cache
def _checked_rules() -> frozenset[str]:
    return frozenset(rule for check in load_checks().values() for rule in check.rules)


def judged_on_answers(tally: Cell) -> Cell:
    """The conclusion on a rule of every response. Where checks judge the rule, too, only these make it pass;
    any other passes by the answers."""
    return tally.concluded(by_the_way=tally.rule in _checked_rules())


#: Remedy where a check of a narrowed run had no occasion.
OTHERS = "Run the other checks of the rule as well, as a whole run does: they may have an occasion."


def note_left_out(ledger: Ledger) -> None:
    """Notes in cells that checks judged, or had no occasion to judge, how many others a narrowed run has left
    out, beside those of deep runs."""
    checks = grouped((key, check.name) for check, operation in plan() for key in check.cells(operation))
    for cell in ledger.with_verdict(*HELD, Verdict.INCONCLUSIVE):
        cell.left_out = len({*checks.get(cell.key, ())} - {*cell.checks})
        if cell.left_out and cell.not_exercised:
            cell.not_exercised = replace(cell.not_exercised, remedy=cell.not_exercised.remedy or OTHERS)
        cell.decide()


def plan(
    rules: set[str] | None = None, operations: set[str] | None = None, *, deep: bool = False
) -> Iterator[tuple[CheckDefinition, str]]:
    """Yields every check with each operation that it covers, in the order of a run, narrowed to some rules
    and operations; `deep` includes the checks of deep runs."""
    for check in sorted(load_checks().values(), key=lambda check: check.last):
        if check.deep and not deep:
            continue
        for operation in check.operations:
            if operations is not None and operation not in operations:
                continue
            if rules is None or rules & {rule.id for rule in check.rules_on(operation)}:
                yield check, operation
