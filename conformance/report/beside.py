"""Diffs the exchange that decides a finding with a partner: a repetition with its original, a conflict with
the first request, a list with its earlier state.

Headers that differ in any two requests (signature, nonce, times) are omitted.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from conformance._text import clean, count
from conformance.judge.exchanges import ExchangeRecord
from conformance.judge.findings import Finding
from conformance.report.document import Document
from conformance.report.transcript import body_lines

#: Maximum number of diffs of a page, of rows of a diff, and of characters of a line.
PAIRS, ROWS, LENGTH = 30, 60, 240

#: Equal lines shown before and after each difference.
CONTEXT = 2

#: Headers that differ in every request or answer, or depend on the body.
_ALWAYS_NEW = {"x-signature", "x-nonce", "x-timestamp", "date", "content-length"}

#: Headers that are shown even if equal.
_TELLING = {"idempotency-key", "content-type"}

#: Kinds of rows, each with a sign, since colour alone is not accessible.
SIGNS = {"same": "", "other": "≠", "left": "-", "right": "+"}


def beside(document: Document, finding: Finding) -> dict[str, Any] | None:
    """Template values for the diff of a finding's decisive exchange and its partner; None without one."""
    pair = partners(document, finding)
    if pair is None:
        return None
    first, second = pair
    compared = {
        "sent": list(_rows(_sent(first, second), _sent(second, first))),
        "received": list(_rows(_received(first, second), _received(second, first))),
    }
    differ = {name: sum(row["kind"] != "same" for row in rows) for name, rows in compared.items()}
    words = "; ".join(
        f"{count(differ[name], 'line')} of the {noun} {'differs' if differ[name] == 1 else 'differ'}"
        if differ[name]
        else f"the {noun} are alike"
        for name, noun in (("sent", "requests"), ("received", "answers"))
    )
    return {
        "numbers": [first.number, second.number],
        "purposes": [clean(first.purpose), clean(second.purpose)],
        "words": words,
        "parts": [
            {"name": name, "rows": rows[:ROWS], "more": max(len(rows) - ROWS, 0)}
            for name, rows in compared.items()
        ],
    }


def partners(document: Document, finding: Finding) -> tuple[ExchangeRecord, ExchangeRecord] | None:
    """The decisive exchange and its partner, in the order sent; None without one.

    The partner of a POST is the first one with the same Idempotency-Key, of any finding; if the decisive
    exchange is that one, a later one, preferably of the finding. The partner of any other request is the same
    request of the finding, the last before it, else the first after it.
    """
    kept = [document.exchanges.get(number) for number in finding.exchanges]
    decisive, *others = kept or [None]
    if decisive is None:
        return None
    creation = decisive.method == "POST"
    candidates = document.exchanges.values() if creation else others
    alike = [other for other in candidates if other not in (None, decisive) and _alike(decisive, other)]
    if not alike:
        return None
    before = [other for other in alike if _when(other) <= _when(decisive)]
    if before:
        partner = (min if creation else max)(before, key=_when)
    else:
        partner = min([other for other in others if other in alike] or alike, key=_when)
    first, second = sorted((decisive, partner), key=_when)
    return first, second


def _when(exchange: ExchangeRecord) -> tuple[float, int]:
    return exchange.started, exchange.number


def _alike(exchange: ExchangeRecord, other: ExchangeRecord) -> bool:
    if (exchange.method, exchange.target) != (other.method, other.target):
        return False
    if exchange.method != "POST":
        return True
    # POSTs with different keys are unrelated.
    keys = _header(exchange, "idempotency-key"), _header(other, "idempotency-key")
    return keys[0] is not None and keys[0] == keys[1]


def _header(exchange: ExchangeRecord, wanted: str) -> str | None:
    return next((value for name, value in exchange.request_headers if name.lower() == wanted), None)


# ---------------------------------------------------------------------- lines


def _sent(exchange: ExchangeRecord, other: ExchangeRecord) -> list[str]:
    lines = [f"{exchange.method} {exchange.target}"]
    if exchange.organization != other.organization:
        lines.append(f"as {exchange.organization}")
    return [
        *lines,
        *_headers(exchange.request_headers, other.request_headers),
        *body_lines(exchange.request_body),
    ]


def _received(exchange: ExchangeRecord, other: ExchangeRecord) -> list[str]:
    status = f"no answer: {exchange.error or 'unknown'}" if exchange.status is None else str(exchange.status)
    return [
        status,
        *_headers(exchange.response_headers, other.response_headers),
        *body_lines(exchange.response_body),
    ]


def _headers(mine: Sequence[tuple[str, str]], theirs: Sequence[tuple[str, str]]) -> list[str]:
    # The idempotency key comes first.
    return [
        f"{name}: {value}"
        for name, value in sorted(mine, key=lambda header: header[0].lower() != "idempotency-key")
        if name.lower() not in _ALWAYS_NEW and (name.lower() in _TELLING or (name, value) not in theirs)
    ]


# ---------------------------------------------------------------------- rows


def _rows(left: list[str], right: list[str]) -> Iterator[dict[str, Any]]:
    left, right = ([clean(line)[:LENGTH] for line in lines[: 4 * ROWS]] for lines in (left, right))
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    for tag, begin, end, other_begin, other_end in matcher.get_opcodes():
        if tag == "equal":
            yield from _equal(left[begin:end], last=end == len(left))
        else:
            for mine, theirs in zip_longest(left[begin:end], right[other_begin:other_end]):
                kind = "right" if mine is None else "left" if theirs is None else "other"
                yield _row(kind, mine or "", theirs or "")


def _equal(lines: list[str], *, last: bool) -> Iterator[dict[str, Any]]:
    head = CONTEXT
    tail = 0 if last else CONTEXT
    if len(lines) <= head + tail + 1:
        head, tail = len(lines), 0
    for line in lines[:head]:
        yield _row("same", line, line)
    if folded := len(lines) - head - tail:
        yield _row("same", "", "", f"{count(folded, 'line')} alike")
    for line in lines[len(lines) - tail :]:
        yield _row("same", line, line)


def _row(kind: str, left: str, right: str, folded: str = "") -> dict[str, Any]:
    return {"kind": kind, "sign": SIGNS[kind], "left": left, "right": right, "folded": folded}
