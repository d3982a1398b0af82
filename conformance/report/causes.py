"""Groups violations by cause, so that one mistake of a server shows as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from conformance.contract.needs import NEEDS, UNBUILT
from conformance.contract.rules import ALL_RULES, Level
from conformance.judge.cells import Cell, Violation, grouped
from conformance.judge.ledger import Ledger
from conformance.judge.outcomes import Unclear
from conformance.judge.verdicts import Verdict
from conformance.report.document import CauseRecord

Key = tuple[str, str]

#: The rule whose violation is listed first: a client that breaks it pays twice.
WORST = "client.retry-key"


def causes(ledger: Ledger) -> tuple[CauseRecord, ...]:
    """The causes of all violations: required before implied, new before known, wide before narrow.

    Every violated cell is in exactly one cause; its consequences include cells that it left unjudged. New and
    known violations of a rule are two causes.
    """
    violated = {cell.key: cell for cell in ledger.cells if cell.violations}
    parents = {key: _parent(ledger, cell, violated) for key, cell in violated.items()}
    _gather(violated, parents)
    effects = list(violated.items())
    for cell in ledger.with_verdict(Verdict.INCONCLUSIVE, Verdict.NOT_RUN):
        effects += [(key, cell) for key in [*_hindrances(ledger, cell, violated)][:1]]
    members = grouped(((_root(key, parents)[0], bool(violated[key].known)), cell) for key, cell in effects)
    records = []
    for (rule, known), cells in members.items():
        own = tuple(cell.operation for cell in cells if cell.violations and cell.rule == rule)
        consequences = (cell.key for cell in cells if not cell.violations or cell.rule != rule)
        record = CauseRecord(rule, own, tuple(consequences))
        implied = ALL_RULES[rule].level is not Level.REQUIRED
        records.append(((rule not in (WORST, UNBUILT), implied, known, -len(own)), record))
    return tuple(record for _, record in sorted(records, key=lambda pair: pair[0]))


def _gather(violated: Mapping[Key, Cell], parents: dict[Key, Key | None]) -> None:
    """Extends a cause found on some operations to the others, where one mistake breaks different rules on
    different operations.

    A rule explained by another, itself broken on several operations, on at least half of its own, follows it
    on the rest. If it breaks alone on most operations, it becomes the cause of the other instead.
    """
    broken = grouped((key[0], key) for key in violated)
    for rule, cells in broken.items():
        for other in ALL_RULES[rule].follows:
            explained = [key for key in cells if parents[key] == (other, key[1])]
            alone = [key for key in cells if parents[key] is None]
            if other == "error.shape" or not explained or not alone:
                continue
            if len({violated[key].known for key in (*cells, *broken[other])}) > 1:
                continue
            if len(explained) >= len(alone) and len(broken[other]) > 1:
                parents.update(dict.fromkeys(alone, (other, explained[0][1])))
            elif len(alone) > len(explained) == len(broken[other]):
                parents.update(dict.fromkeys(explained) | {(other, key[1]): key for key in explained})


def _root(key: Key, parents: Mapping[Key, Key | None]) -> Key:
    """The end of a chain of parents; in a cycle, the same element from everywhere."""
    chain = [key]
    while (parent := parents[key]) is not None:
        if parent in chain:
            return min(chain[chain.index(parent) :])
        chain.append(parent)
        key = parent
    return key


def _behind(
    ledger: Ledger, cell: Cell, effect: Violation | Unclear, violated: Mapping[Key, Cell]
) -> Iterator[Key]:
    """The violated cells of the rule that a check names as the cause: those of the operations that its
    evidence shows, without evidence that of its own. For a server error, the evidence must show one."""
    crashes = effect.cause == "http.no-server-error"
    if not effect.exchanges and not crashes and (effect.cause, cell.operation) in violated:
        yield effect.cause, cell.operation
    for number in effect.exchanges:
        exchange = ledger.exchanges.get(number)
        if exchange is None or (crashes and exchange.status is not None and exchange.status < 500):
            continue
        if (effect.cause, exchange.operation) in violated:
            yield effect.cause, exchange.operation or ""


def _hindrances(ledger: Ledger, cell: Cell, violated: Mapping[Key, Cell]) -> Iterator[Key]:
    """The violated cells that kept a cell from being judged."""
    for unclear in cell.unclear or filter(None, [cell.no_occasion]):
        yield from _behind(ledger, cell, unclear, violated)
    if cell.verdict is Verdict.NOT_RUN and not ledger.narrowed:
        needed = ((UNBUILT, name) for name in (*NEEDS[cell.operation], cell.operation))
        yield from (key for key in needed if key in violated)


def _parent(ledger: Ledger, cell: Cell, violated: Mapping[Key, Cell]) -> Key | None:
    """The violated cell that explains this one; None if it is a cause itself."""
    first = cell.violations[0]
    follows = (
        (rule, cell.operation)
        for rule in ALL_RULES[cell.rule].follows
        if rule != "error.shape" or first.without_error_body
    )
    for key in (*_behind(ledger, cell, first, violated), *follows):
        # A known failure and a new one do not explain one another.
        if key in violated and key != cell.key and bool(violated[key].known) == bool(cell.known):
            return key
    return None
