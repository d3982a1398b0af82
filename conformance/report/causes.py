"""Lists what is broken: each rule, of 5xx answers each trigger, with the others that it may follow from."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from conformance.contract.fields import request_fields
from conformance.contract.needs import NEEDS, UNBUILT
from conformance.contract.operations import response_problems
from conformance.contract.rules import ALL_RULES, Level
from conformance.judge.cells import Cell, Violation, grouped
from conformance.judge.exchanges import ExchangeRecord
from conformance.judge.invariants import INVARIANTS
from conformance.judge.ledger import Ledger
from conformance.judge.outcomes import Unclear
from conformance.judge.verdicts import Verdict
from conformance.report.document import CauseRecord
from conformance.report.evidence import Exchanges, trigger, wrong_exchange

#: The rule whose violation is listed first: a client that breaks it pays twice.
WORST = "client.retry-key"

#: Fields of `Auth` with which a signature is right.
_RIGHTLY_SIGNED = frozenset({"timestamp", "timestamp_offset", "nonce", "name_case"})

#: The rule that is broken once for each trigger, and that of the body of a refusal.
CRASH, SHAPE = "http.no-server-error", "error.shape"


@dataclass(eq=False)
class _Row:
    """The violations of a rule with one trigger, by operation, and the cells that they left unjudged."""

    rule: str
    trigger: str
    known: bool
    cells: dict[str, list[Violation]] = field(default_factory=dict)
    unjudged: list[tuple[str, str]] = field(default_factory=list)
    follows: list[_Row] = field(default_factory=list)

    @property
    def order(self) -> tuple[bool, bool, bool, bool, bool, int, bool]:
        """The most severe first: required before implied, new before known, causes before what may follow,
        the form of answers before what checks find in them, wide before narrow, and what fills lists before
        what they show."""
        worst, level = self.rule in (WORST, UNBUILT), ALL_RULES[self.rule].level
        severity = not worst, level is not Level.REQUIRED, self.known, bool(self.follows)
        area = self.rule.partition(".")[0]
        form = area == "format" or (area == "list" and self.rule in INVARIANTS)
        return *severity, not form, -len(self.cells), area == "list"

    def on(self, operation: str, looked: Collection[tuple[str, str]]) -> list[Violation]:
        """Its violations on an operation, or on others where the run, as a quick one, did not look there;
        `looked` are the rules and operations that it judged."""
        if operation in ALL_RULES[self.rule].operations and (self.rule, operation) not in looked:
            return [violation for violations in self.cells.values() for violation in violations]
        return self.cells.get(operation, [])

    def leads_to(self, other: _Row) -> bool:
        """True if the other one is this, or may follow from it."""
        return other is self or any(self.leads_to(row) for row in other.follows)


def triggers(cell: Cell, exchanges: Exchanges) -> dict[str, list[Violation]]:
    """The violations of a cell by what triggers them: of 5xx answers the part of the request that is odd."""
    if cell.rule != CRASH:
        return {"": cell.violations}
    pairs = ((wrong_exchange(each, exchanges), each) for each in cell.violations)
    return grouped((trigger(exchange) if exchange else "", each) for exchange, each in pairs)


def causes(ledger: Ledger) -> tuple[CauseRecord, ...]:
    """What is broken, the most severe first. Each violated cell is in one record, of 5xx answers in one for
    each trigger, and each cell that was left unjudged because of it in one."""
    rows: dict[tuple[str, str, bool], _Row] = {}
    broken: dict[tuple[str, str], list[_Row]] = {}
    for cell in ledger.cells:
        for name, violations in triggers(cell, ledger.exchanges).items() if cell.violations else ():
            key = cell.rule, name, bool(cell.known)
            row = rows.setdefault(key, _Row(*key))
            row.cells[cell.operation] = violations
            broken.setdefault(cell.key, []).append(row)
    looked = {cell.key for cell in ledger.cells if cell.checks}
    for row in sorted(rows.values(), key=lambda row: row.order):
        row.follows = _behind(row, rows.values(), looked, ledger.exchanges)
    for cell in ledger.with_verdict(Verdict.INCONCLUSIVE, Verdict.NOT_RUN):
        for row in [*_hindrances(ledger, cell, broken)][:1]:
            row.unjudged.append(cell.key)
    order = sorted(rows.values(), key=lambda row: row.order)
    return tuple(
        CauseRecord(
            row.rule,
            tuple(row.cells),
            tuple(row.unjudged),
            row.trigger,
            tuple(sorted(order.index(each) + 1 for each in row.follows)),
        )
        for row in order
    )


def _behind(
    row: _Row, rows: Iterable[_Row], looked: Collection[tuple[str, str]], exchanges: Exchanges
) -> list[_Row]:
    """The rows that explain each violation of a row; none if some violation is left. One without evidence is
    as one of its cell that got the same."""
    behind: dict[_Row, None] = {}
    for operation, violations in row.cells.items():
        proven = {each.got for each in violations if each.exchanges}
        for violation in violations:
            if not violation.exchanges and violation.got in proven:
                continue
            places = {operation, *_operations(row.rule, violation, exchanges)}
            others = {
                each: [broken for place in places for broken in each.on(place, looked)]
                for each in rows
                if each.known == row.known
            }
            forms = _broken_forms(violation, exchanges)
            forms = set() if row.rule in forms else forms
            explains = (
                other
                for other, cells in others.items()
                if not row.leads_to(other)
                and (other.rule in forms or _explains(other.rule, cells, row, violation, exchanges))
            )
            if (other := next(explains, None)) is None:
                return []
            behind[other] = None
    return list(behind)


def _operations(rule: str, violation: Violation, exchanges: Exchanges) -> set[str]:
    """The operation of the read in which a violation was seen, and that to which what an answer shows was
    sent, the last of its evidence."""
    numbers = violation.exchanges[-1:] if rule in INVARIANTS else violation.exchanges[:1]
    named = (exchanges[number] for number in numbers if number in exchanges)
    reads = (each for each in named if rule in INVARIANTS or each.method == "GET")
    return {each.operation for each in reads if each.operation}


def _broken_forms(violation: Violation, exchanges: Exchanges) -> set[str]:
    """The required rules on the form of a member that a violation is about, which its answer breaks."""
    wrong = wrong_exchange(violation, exchanges)
    if wrong is None or wrong.operation is None or not wrong.status or wrong.status >= 300:
        return set()
    if violation.refusal:
        # What was accepted by mistake was so before it was shown.
        return set()
    try:
        document = json.loads(wrong.response_body.text or "")
    except (ValueError, RecursionError):
        return set()
    return {
        each.rule
        for each in response_problems(wrong.operation, document)
        if violation.member in each.pointer.split("/")[1:] and ALL_RULES[each.rule].level is Level.REQUIRED
    }


def _explains(
    rule: str, violations: Sequence[Violation], row: _Row, violation: Violation, exchanges: Exchanges
) -> bool:
    """True if a violation has the exchange of one of another rule that it is said to follow from, or its
    symptom."""
    of_form = row.rule in INVARIANTS and rule not in INVARIANTS
    if of_form and _of_accepted(violations, violation, exchanges):
        return True
    symptom = _symptom(row.rule, violation, exchanges)
    said = rule in ALL_RULES[row.rule].follows
    refused = symptom.startswith("401") and rule.startswith("auth.")
    if not said and not refused:
        return False
    # A right signature that is refused explains why a probe that must be refused is, for another reason.
    of_signatures = row.rule.startswith("auth.") and not said
    if of_signatures and violation.acceptance:
        return False
    # The form of an answer follows from a probe in the probe's own answer only, in what that sent, or in a
    # member that the probe shows to be wrong in answers of the right form.
    of_form = of_form and not violation.refusal
    symptoms = set() if of_form or not symptom else {symptom}
    if said and symptom == "2xx":
        # Of what is signed over something else, the right signature is refused, and that one passes.
        symptoms |= {_symptom(rule, each, exchanges) for each in violations if each.acceptance}
    return any(
        (_symptom(rule, each, exchanges) in symptoms and _alike(violation.member, each.member))
        or (of_form and "" != violation.member == each.member and not _broken_forms(each, exchanges))
        or {*violation.exchanges[:1]} & {*each.exchanges}
        for each in violations
        if not of_signatures or each.acceptance
    )


def _of_accepted(violations: Iterable[Violation], violation: Violation, exchanges: Exchanges) -> bool:
    """True if a violation is of an answer, or what it shows, that would not be there if a request that was
    accepted by mistake had been refused."""
    wrong = wrong_exchange(violation, exchanges)
    return any(
        {*violation.exchanges} & {*each.exchanges[:1]} or _same_error(wrong, wrong_exchange(each, exchanges))
        for each in violations
        if each.refusal and _accepted(each, exchanges)
    )


def _alike(member: str, other: str) -> bool:
    """True unless two violations are about members, and not the same."""
    return member == other or "" in (member, other)


def _same_error(one: ExchangeRecord | None, other: ExchangeRecord | None) -> bool:
    """True if two answers name the same error, with the same status."""
    if one is None or other is None or one.status != other.status:
        return False
    return "" != error_code(one) == error_code(other)


def _accepted(violation: Violation, exchanges: Exchanges) -> bool:
    """True if a violation shows a 2xx answer."""
    exchange = wrong_exchange(violation, exchanges)
    return exchange is not None and exchange.status is not None and exchange.status < 300


def _symptom(rule: str, violation: Violation, exchanges: Exchanges) -> str:
    """How the server went wrong, in a word; empty if there is no telling."""
    exchange = wrong_exchange(violation, exchanges)
    if rule == SHAPE or violation.without_error_body:
        return "error body"
    if exchange is None:
        return ""
    if exchange.status is None or exchange.status >= 500:
        return trigger(exchange)
    refused = exchange.status == 401 and _RIGHTLY_SIGNED.issuperset(exchange.call.get("auth", ()))
    refused = refused or (violation.acceptance and exchange.status >= 400)
    of_length = " of the longest text" * _longest(violation.member, exchange)
    if refused:
        return f"{exchange.status} {error_code(exchange)}"
    return f"{exchange.status // 100}xx{of_length}"


def _longest(member: str, exchange: ExchangeRecord) -> bool:
    """True if a request sends a member of its maximum length."""
    fields = request_fields(exchange.operation) if member and exchange.operation else ()
    most = next((field.max_length for field in fields if field.name == member), None)
    try:
        value = json.loads(exchange.request_body.text or "")[member] if most else ""
    except (ValueError, TypeError, LookupError, RecursionError):
        return False
    return isinstance(value, str) and len(value) == most


def error_code(exchange: ExchangeRecord) -> str:
    """The error code of an answer; empty without one."""
    try:
        code = json.loads(exchange.response_body.text or "")["error"]["code"]
    except (ValueError, TypeError, LookupError, RecursionError):
        return ""
    return code if isinstance(code, str) else ""


def _hindrances(ledger: Ledger, cell: Cell, broken: Mapping[tuple[str, str], list[_Row]]) -> Iterator[_Row]:
    """The rows that kept a cell from being judged: of the rule that a check names, on the operations that its
    evidence shows, without evidence on its own; and those of the same refusal of a valid request."""
    for unclear in cell.unclear or filter(None, [cell.not_exercised]):
        if not unclear.exchanges and unclear.cause != CRASH:
            yield from broken.get((unclear.cause, cell.operation), ())
        for exchange in filter(None, map(ledger.exchanges.get, unclear.exchanges)):
            yield from _refusing(ledger, unclear, exchange, broken)
    if cell.verdict is Verdict.NOT_RUN and not ledger.narrowed:
        for name in (*NEEDS[cell.operation], cell.operation):
            yield from broken.get((UNBUILT, name), ())


def _refusing(
    ledger: Ledger,
    unclear: Unclear,
    exchange: ExchangeRecord,
    broken: Mapping[tuple[str, str], list[_Row]],
) -> Iterator[_Row]:
    """The rows behind an answer that shows nothing."""
    crashed = exchange.status is None or exchange.status >= 500
    for row in broken.get((unclear.cause, exchange.operation or ""), ()):
        if unclear.cause != CRASH or (crashed and row.trigger in ("", trigger(exchange))):
            yield row
    answer = exchange.status, error_code(exchange)
    if crashed or not answer[1]:
        return
    for (_, operation), rows in broken.items():
        for row in rows if operation == exchange.operation else ():
            others = (wrong_exchange(each, ledger.exchanges) for each in row.cells[operation])
            if any(each and (each.status, error_code(each)) == answer for each in others):
                yield row
