"""Sample ledgers, exchanges and cells to make reports of, without a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from conformance.contract.rules import RULES, Level
from conformance.judge.cells import Cell, Violation
from conformance.judge.exchanges import exchange_record
from conformance.judge.ledger import Ledger
from conformance.judge.outcomes import Unclear
from conformance.judge.verdicts import Verdict
from conformance.report.building import build
from conformance.report.document import Document, RunRecord, VerdictRecord
from conformance.target.file import Organization, Target
from conformance.target.redaction import Redactor
from conformance.wire.messages import Call, Exchange

SECRET = "secret-of-the-primary-organization"
API_KEY = "key_0123456789abcdefghij"
TARGET = Target(
    "http://sandbox.test",
    Organization("primary", API_KEY, SECRET, "cus_one"),
    Organization("secondary", "key_zyxwvutsrq9876543210", "another-long-secret-here", "cus_two"),
)

#: The cell that samples break.
WALK = ("list.walk", "listWallets")

#: In November 2026.
STARTED = 1_795_000_000.0


def to_plain(value: Any) -> Any:
    """Returns a record, or a collection of records, as JSON data."""
    return msgspec.json.decode(msgspec.json.encode(value))


def built(results: Ledger, target: Target | None, changes: dict[str, Any]) -> Document:
    """Returns the document of a run of 12 s; `changes` are of its record and of how it is decided."""
    how = {name: changes.pop(name) for name in ("fail_on", "known", "others_failed") if name in changes}
    return build(
        results, target, RunRecord(**{"started": STARTED, "seconds": 12, "seed": 7, **changes}), **how
    )


def exchange(
    number: int, body: bytes = b'{"id": "acc_1"}', status: int | None = 200, **changes: Any
) -> Exchange:
    """Returns an exchange of createAccount."""
    call = Call("createAccount", "POST", "/v1/customers/cus_one/accounts", b'{"name": "Savings"}', "a-key")
    fields: dict[str, Any] = {
        "number": number,
        "organization": "primary",
        "call": call,
        "purpose": "a valid request",
        "method": "POST",
        "url": "http://sandbox.test/v1/customers/cus_one/accounts",
        "target": "/v1/customers/cus_one/accounts",
        "request_headers": [("Host", "sandbox.test"), ("X-API-Key", API_KEY), ("X-Signature", "ab" * 32)],
        "request_body": call.body,
        "started": STARTED + number,
        "elapsed": 0.004 * number,
        "status": status,
        "response_headers": [("content-type", "application/json")],
        "response_body": body,
        "error": None if status else "the connection was closed",
    }
    return Exchange(**{**fields, **changes})


def keep(results: Ledger, *exchanges: Exchange, target: Target | None = TARGET) -> None:
    """Records exchanges in the ledger, as a run does."""
    for exchange in exchanges:
        results.exchanges[exchange.number] = exchange_record(exchange, Redactor(target))
        results.measure(exchange)
        results.sent += exchange.attempts


def judged(
    rule: str,
    operation: str,
    verdict: Verdict,
    *,
    check: str = "test_lists.test_rule",
    exchanges: Sequence[int] = (),
    cause: str = "",
    unclear: Unclear | None = None,
    further: Sequence[str] = (),
    observations: Mapping[str, str] = MappingProxyType({}),
    **violation: Any,
) -> Cell:
    """Returns a cell of this verdict, by one check; `further` are the texts of more violations."""
    cell = Cell(rule, operation, judged=3, looks=3, checks=[check], observations=dict(observations))
    numbers = tuple(exchanges)
    if verdict.is_violation:
        texts = {"expected": "a refusal (4xx)", "got": "201 with a JSON body", **violation}
        first = Violation(exchanges=numbers, check=check, **texts)
        cell.violations = [first, *(Violation(text, text, check=check) for text in further)]
        cell.broken = len(cell.violations)
    elif verdict is Verdict.INCONCLUSIVE:
        reason = "the target file names no second organization"
        cell.unclear = [unclear or Unclear(reason, cause, "Fill in [secondary].", numbers)]
        cell.judged = cell.looks = 0
    elif verdict is Verdict.NOT_APPLICABLE:
        cell.judged, cell.looks, cell.not_applicable = 0, 0, "the target file declares it absent"
    else:
        cell.proof = list(numbers)
    return cell.decide()


def whole_run(
    verdicts: Mapping[tuple[str, str], Verdict] | None = None, *cells: Cell, target: Target = TARGET
) -> Ledger:
    """Returns the ledger of a run in which every rule held, except in the given cells."""
    results = Ledger.of_catalogue(target)
    special = {cell.key for cell in cells}
    for cell in results.cells:
        rule, operation = cell.key
        if cell.verdict is Verdict.NOT_APPLICABLE or cell.key in special:
            continue
        good = Verdict.OBSERVED if RULES[rule].level is Level.OPEN else Verdict.PASSED
        verdict = (verdicts or {}).get((rule, operation), good)
        if verdict is not Verdict.NOT_RUN:
            results.add(judged(rule, operation, verdict))
    for extra in cells:
        results.add(extra)
    results.sent += 100
    return results


def decided(results: Ledger, fail_on: Level = Level.REQUIRED, **changes: Any) -> VerdictRecord:
    """Returns the verdict of a run."""
    return built(results, TARGET, {"fail_on": fail_on, **changes}).verdict


def document(results: Ledger, target: Target | None = TARGET, **changes: Any) -> Document:
    """Returns the document after a round trip through JSON."""
    return Document.from_json(to_plain(built(results, target, changes)))
