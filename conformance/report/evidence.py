"""Selects the exchanges of a report within a limit of bytes, evidence of the most severe findings first."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec.structs import replace

from conformance._records import to_plain
from conformance.judge.exchanges import BodyRecord, ExchangeRecord
from conformance.judge.findings import Verdict
from conformance.judge.ledger import Result
from conformance.report.document import Document

#: Maximum size of the exchanges of a results document, in bytes of JSON.
DOCUMENT_EXCHANGES = 12_000_000

#: Maximum size of the exchanges of a page, in bytes of JSON.
PAGE_EXCHANGES = 1_500_000

#: Maximum length of a body in a page that is not evidence of a violation.
BRIEF_BODY = 1024

#: Members of an exchange that a page omits.
_HIDDEN = ("call", "url", "started")


def document_exchanges(
    cells: Iterable[Result], exchanges: Mapping[int, ExchangeRecord]
) -> dict[int, ExchangeRecord]:
    """The exchanges of findings up to DOCUMENT_EXCHANGES, in the order sent."""
    kept: dict[int, ExchangeRecord] = {}
    size = 0
    for _, number in _ranked(cells):
        if number not in exchanges:
            continue
        size += len(msgspec.json.encode(exchanges[number]))
        if size > DOCUMENT_EXCHANGES:
            break
        kept[number] = exchanges[number]
    return {number: kept[number] for number in sorted(kept)}


def page_exchanges(document: Document) -> dict[str, dict[str, object]]:
    """The exchanges of a page up to PAGE_EXCHANGES, by number, as JSON data; bodies are truncated unless they
    prove a violation or an error."""
    kept: dict[str, dict[str, object]] = {}
    size = 0
    for verdict, number in _ranked(document.cells):
        exchange = document.exchanges.get(number)
        if exchange is None:
            continue
        if verdict is not Verdict.ERROR and not verdict.is_violation:
            exchange = replace(
                exchange,
                request_body=_brief(exchange.request_body),
                response_body=_brief(exchange.response_body),
            )
        data = {key: value for key, value in to_plain(exchange).items() if key not in _HIDDEN}
        size += len(json.dumps(data))
        if size > PAGE_EXCHANGES:
            break
        kept[str(number)] = data
    return kept


def _ranked(cells: Iterable[Result]) -> Iterator[tuple[Verdict, int]]:
    """The exchanges of findings, each once, with the most severe verdict it proves.

    Ordered by severity, decisive exchanges first.
    """
    named = sorted(
        (-finding.verdict.severity, position, number, finding.verdict)
        for case in cells
        for finding in case.findings
        for position, number in enumerate(finding.exchanges)
    )
    seen: set[int] = set()
    for _, _, number, verdict in named:
        if number not in seen:
            seen.add(number)
            yield verdict, number


def _brief(body: BodyRecord) -> BodyRecord:
    if body.text is not None and len(body.text) > BRIEF_BODY:
        return replace(body, text=body.text[:BRIEF_BODY], cut=True)
    if body.base64 is not None and len(body.base64) > BRIEF_BODY:
        # BRIEF_BODY is a multiple of four, so base64 stays valid.
        return replace(body, base64=body.base64[:BRIEF_BODY], cut=True)
    return body
