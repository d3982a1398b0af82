"""Diffs the exchange that is wrong with the one it is measured by: a repetition with its original, a filtered
list with the whole one, a read with an earlier one.

Headers that differ in any two requests (signature, nonce, times) are omitted.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from conformance._text import clean, count, visible
from conformance.judge.cells import Violation
from conformance.judge.exchanges import ExchangeRecord
from conformance.report.evidence import Exchanges, raced, wrong_exchange
from conformance.report.transcript import answer_lines, request_lines

#: Maximum number of rows of a diff, and of characters of a line and of a body: truncated ones seem to differ.
ROWS, LENGTH, BODY = 60, 240, 32_000

#: Equal lines shown before and after each difference.
CONTEXT = 2

#: Headers that differ in every request or answer, or depend on the body.
_ALWAYS_NEW = {"x-signature", "x-nonce", "x-timestamp", "date", "content-length"}

#: Kinds of rows, each with a sign, since colour alone is not accessible.
SIGNS = {"same": "", "other": "≠", "left": "-", "right": "+"}


def beside(violation: Violation, exchanges: Exchanges) -> dict[str, Any] | None:
    """Template values for the diff of a violation's wrong exchange and the one it is measured by, which is on
    the left; None without one, or without a difference.

    Of two alike requests the earlier one is on the left.
    """
    wrong = wrong_exchange(violation, exchanges)
    measure = _measure(violation, exchanges, wrong) if wrong else None
    relation = "which it is measured by"
    if together := raced(violation, exchanges):
        measure, wrong = together[:2]
    if wrong is None or measure is None:
        return None
    if wrong.raced and wrong.raced == measure.raced:
        relation = "which was sent at the same time"
    if measure.target == wrong.target:
        measure, wrong = sorted((measure, wrong), key=_when)
    parts: list[dict[str, Any]] = []
    compared = {
        "sent": [request_lines(one, BODY, _ALWAYS_NEW) for one in (measure, wrong)],
        "received": [answer_lines(one, BODY, _ALWAYS_NEW) for one in (measure, wrong)],
    }
    for name, (left, right) in compared.items():
        # How long an answer took is no difference.
        left[0], right[0] = (line.partition(" after ")[0] for line in (left[0], right[0]))
        rows = list(_rows(left, right))
        parts.append({"name": name, "rows": rows[:ROWS], "more": max(len(rows) - ROWS, 0)})
    if all(row["kind"] == "same" for part in parts for row in part["rows"]):
        return None
    return {
        "relation": relation,
        "numbers": [measure.number, wrong.number],
        "purposes": [clean(measure.purpose), clean(wrong.purpose)],
        "parts": parts,
    }


def _measure(violation: Violation, exchanges: Exchanges, wrong: ExchangeRecord) -> ExchangeRecord | None:
    """The exchange of a violation that the wrong one is measured by; None without any: to the same path, with
    the same Idempotency-Key; the same request, the last before it, rather than another."""
    path, key = wrong.target.partition("?")[0], _key(wrong)
    alike = (
        exchanges[number]
        for number in violation.exchanges
        if number in exchanges and number != wrong.number and exchanges[number].method == wrong.method
    )
    return max(
        (one for one in alike if one.target.partition("?")[0] == path and _key(one) == key),
        key=lambda one: (one.target == wrong.target, _when(one) < _when(wrong), _when(one)),
        default=None,
    )


def _when(exchange: ExchangeRecord) -> tuple[float, int]:
    return exchange.started, exchange.number


def _key(exchange: ExchangeRecord) -> str:
    return next((value for name, value in exchange.request_headers if name.lower() == "idempotency-key"), "")


def _rows(left: list[str], right: list[str]) -> Iterator[dict[str, str]]:
    left, right = ([visible(line)[:LENGTH] for line in lines[: 4 * ROWS]] for lines in (left, right))
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    end = 0
    for group in matcher.get_grouped_opcodes(CONTEXT):
        yield from _folded(group[0][1] - end)
        for tag, begin, end, other_begin, other_end in group:
            for mine, theirs in zip_longest(left[begin:end], right[other_begin:other_end]):
                differs = "right" if mine is None else "left" if theirs is None else "other"
                yield _row("same" if tag == "equal" else differs, mine or "", theirs or "")
        end = group[-1][2]
    yield from _folded(len(left) - end)


def _folded(lines: int) -> Iterator[dict[str, str]]:
    if lines:
        yield _row("same", "", "", f"{count(lines, 'line')} alike")


def _row(kind: str, left: str, right: str, folded: str = "") -> dict[str, str]:
    return {"kind": kind, "sign": SIGNS[kind], "left": left, "right": right, "folded": folded}
