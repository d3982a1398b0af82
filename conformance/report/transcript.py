"""Exchanges and failed checks as plain text."""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Collection, Iterable

import msgspec

from conformance._text import clean, milliseconds, printable, writable
from conformance.contract.rules import RULES
from conformance.judge.cells import Cell
from conformance.judge.exchanges import BodyRecord, ExchangeRecord
from conformance.report.evidence import Exchanges, probe, sections_of

#: Maximum length of a body in a transcript, in characters.
BODY = 3000

#: Maximum numbers of exchanges and of further violations of a cell, and length of a body, in the text of a
#: failed check.
EXCHANGES, FURTHER, BRIEF_BODY = 4, 8, 1200


def transcript(exchange: ExchangeRecord, most: int = BODY) -> str:
    """An exchange as plain text: JSON bodies pretty-printed, control characters escaped, bodies truncated to
    `most` characters."""
    signed = ["", f"signed: {exchange.signed}"] if exchange.signed is not None else []
    lines = [*request_lines(exchange, most), *signed, "", *answer_lines(exchange, most)]
    return "\n".join(map(clean, lines)).strip() + "\n"


def request_lines(exchange: ExchangeRecord, most: int, omit: Collection[str] = ()) -> list[str]:
    """The lines of a request, but headers of these lower-case names."""
    organization = "" if exchange.organization == "primary" else f" (as {exchange.organization})"
    headers, body = _headers(exchange.request_headers, omit), _body(exchange.request_body, most)
    return [f"{exchange.method} {exchange.target}{organization}", *headers, "", *body]


def answer_lines(exchange: ExchangeRecord, most: int, omit: Collection[str] = ()) -> list[str]:
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


def failure_text(cells: Iterable[Cell], exchanges: Exchanges, verbose: bool) -> str:
    """A paragraph per violated cell, if `verbose` with its exchanges, without control characters."""
    written: set[int] = set()
    parts = []
    for cell in cells:
        parts += _violations(cell, exchanges)
        for number in cell.exchanges[:EXCHANGES] if verbose else ():
            if number in written:
                parts.append(f"  exchange {number}: see above")
            elif exchange := exchanges.get(number):
                parts.append(f"  exchange {number}, {exchange.purpose or exchange.operation}")
                parts.append(textwrap.indent(transcript(exchange, BRIEF_BODY), "    "))
            written.add(number)
        parts.append(f"  alone: pytest --pyargs conformance --rule {cell.rule}@{cell.operation}\n")
    return writable(printable("\n".join(parts))).rstrip()


def _violations(cell: Cell, exchanges: Exchanges) -> list[str]:
    rule, violation, *others = RULES[cell.rule], *cell.violations
    sent, expected = probe(violation, exchanges)
    sections = ", ".join(sections_of(rule, [cell.operation]))
    lines = [
        f"{rule.id} on {cell.operation} ({rule.level}, section {sections}): {rule.statement}",
        *([f"  sent      {sent}"] if sent else []),
        *([f"  expected  {expected}"] if expected != rule.statement else []),
        f"  got       {violation.got}",
        *(f"  also      {other.sentence}" for other in others[:FURTHER]),
    ]
    if len(others) > FURTHER:
        lines.append(f"  and {len(others) - FURTHER} more of the kind")
    return lines
