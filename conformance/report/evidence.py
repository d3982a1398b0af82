"""Selects the exchanges of a report within a limit of bytes, evidence of the most severe verdicts first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec.structs import replace

from conformance.judge.cells import Cell
from conformance.judge.exchanges import BodyRecord, ExchangeRecord
from conformance.judge.verdicts import Verdict
from conformance.report.document import Document

#: Maximum size of the exchanges of a results document, in bytes of JSON.
DOCUMENT_EXCHANGES = 12_000_000

#: Maximum sizes of the exchanges of a page, in bytes of JSON: all, and those of what is no violation.
PAGE_EXCHANGES, PAGE_PROOF = 1_000_000, 200_000

#: Maximum length of a body in a page, of a violation and of anything else.
PAGE_BODY, BRIEF_BODY = 4096, 512


def document_exchanges(
    cells: Iterable[Cell], exchanges: Mapping[int, ExchangeRecord]
) -> dict[int, ExchangeRecord]:
    """The exchanges of cells up to DOCUMENT_EXCHANGES, in the order sent."""
    chosen: dict[int, ExchangeRecord] = {}
    size = 0
    for _, number in _ranked(cells):
        if number not in exchanges:
            continue
        size += len(msgspec.json.encode(exchanges[number]))
        if size > DOCUMENT_EXCHANGES:
            break
        chosen[number] = exchanges[number]
    return {number: chosen[number] for number in sorted(chosen)}


def page_exchanges(document: Document) -> dict[int, ExchangeRecord]:
    """The exchanges of a page by number, with bodies shortened."""
    chosen: dict[int, ExchangeRecord] = {}
    sizes = {True: PAGE_EXCHANGES, False: PAGE_PROOF}
    for verdict, number in _ranked(document.cells):
        exchange = document.exchanges.get(number)
        if exchange is None:
            continue
        severe = verdict.is_violation
        length = PAGE_BODY if severe else BRIEF_BODY
        exchange = replace(
            exchange,
            request_body=_shortened(exchange.request_body, length),
            response_body=_shortened(exchange.response_body, length),
        )
        size = len(msgspec.json.encode(replace(exchange, call={})))
        if size > min(sizes[severe], sizes[True]):
            continue
        sizes[True] -= size
        sizes[False] -= 0 if severe else size
        chosen[number] = exchange
    return chosen


def _ranked(cells: Iterable[Cell]) -> Iterator[tuple[Verdict, int]]:
    """The exchanges of cells, each once, with the most severe verdict it proves.

    Ordered by severity, decisive exchanges first.
    """
    named = sorted(
        (-cell.verdict.severity, position, number, cell.verdict)
        for cell in cells
        for position, number in enumerate(cell.exchanges)
    )
    chosen: set[int] = set()
    for _, _, number, verdict in named:
        if number not in chosen:
            chosen.add(number)
            yield verdict, number


def _shortened(body: BodyRecord, length: int) -> BodyRecord:
    if body.text is not None and len(body.text) > length:
        return replace(body, text=body.text[:length], cut=True)
    return replace(body, base64=None) if body.base64 is not None else body
