"""Exchanges and failed checks as plain text."""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Collection, Iterable, Mapping

import msgspec

from conformance._text import clean, milliseconds, printable, writable
from conformance.contract.rules import RULES
from conformance.judge.cells import Cell
from conformance.judge.exchanges import BodyRecord, ExchangeRecord

#: Maximum length of a body in a transcript, in characters.
BODY = 3000


def transcript(exchange: ExchangeRecord, most: int = BODY) -> str:
    """An exchange as plain text: JSON bodies pretty-printed, control characters escaped, bodies truncated to
    `most` characters."""
    signed = ["", f"signed: {exchange.signed}"] if exchange.signed is not None else []
    lines = [*request_lines(exchange, most), *signed, "", *answer_lines(exchange, most)]
    return "\n".join(map(clean, lines)).strip() + "\n"


def request_lines(exchange: ExchangeRecord, most: int = BODY, omit: Collection[str] = ()) -> list[str]:
    """The lines of a request, but headers of these lower-case names."""
    organization = "" if exchange.organization == "primary" else f" (as {exchange.organization})"
    headers = _headers(exchange.request_headers, omit)
    body = _body(exchange.request_body, most)
    return [f"{exchange.method} {exchange.target}{organization}", *headers, "", *body]


def answer_lines(exchange: ExchangeRecord, most: int = BODY, omit: Collection[str] = ()) -> list[str]:
    """The lines of an answer, but headers of these lower-case names; a single one without an answer."""
    if exchange.status is None:
        return [f"no answer: {exchange.error or 'unknown'}"]
    headers, body = _headers(exchange.response_headers, omit), _body(exchange.response_body, most)
    return [f"{exchange.status} after {milliseconds(exchange.elapsed)}", *headers, "", *body]


def _headers(headers: Iterable[tuple[str, str]], omit: Collection[str]) -> list[str]:
    return [f"{name}: {value}" for name, value in headers if name.lower() not in omit]


def _body(body: BodyRecord, most: int) -> list[str]:
    """The lines of a body; JSON is pretty-printed, numbers and escapes as sent."""
    if not body.size:
        return ["(no body)"]
    if body.text is None:
        return [f"({body.size} bytes that are not UTF-8 text)"]
    text = body.text
    if not body.cut:
        with contextlib.suppress(msgspec.MsgspecError, UnicodeError, RecursionError):
            text = msgspec.json.format(text, indent=2)
    more = [f"… ({body.size} bytes)"] if body.cut or len(text) > most else []
    return [*text[:most].split("\n"), *more]


#: Maximum length of a body, and number of exchanges of a cell, in the text of a failed check.
LONGEST_BODY = 1200
MOST_EXCHANGES = 4


def failure_text(
    cells: Iterable[Cell], exchanges: Mapping[int, ExchangeRecord], verbose: bool = False
) -> str:
    """A paragraph per violated cell, if `verbose` with its exchanges, without control characters."""
    written: set[int] = set()
    parts = []
    for cell in cells:
        parts.append(_paragraph(cell))
        for number in cell.exchanges[:MOST_EXCHANGES] if verbose else ():
            exchange = exchanges.get(number)
            if exchange is None:
                continue
            if number in written:
                parts.append(f"  exchange {number}: see above")
                continue
            written.add(number)
            parts.append(f"  exchange {number}, {exchange.purpose or exchange.operation}")
            parts.append(textwrap.indent(transcript(exchange, LONGEST_BODY), "    "))
        parts.append(f"  alone: pytest --pyargs conformance --rule {cell.rule}@{cell.operation}\n")
    return writable(printable("\n".join(parts))).rstrip()


def _paragraph(cell: Cell) -> str:
    rule, first, *others = RULES[cell.rule], *cell.violations
    lines = [
        f"{rule.id} on {cell.operation} ({rule.level}, section {', '.join(rule.section)}): {rule.statement}",
        f"  expected  {first.expected}",
        f"  got       {first.got}",
    ]
    lines += [f"  also      {other.sentence}" for other in others[:8]]
    if len(others) > 8:
        lines.append(f"  and {len(others) - 8} more of the kind")
    if first.cause:
        lines.append(f"  this may follow from {first.cause}")
    return "\n".join(lines)
