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
from conformance.report.document import Document
from conformance.report.transcript import answer_lines, request_lines

#: Maximum number of rows of a diff, and of characters of a line.
ROWS, LENGTH = 60, 240

#: Equal lines shown before and after each difference.
CONTEXT = 2

#: Headers that differ in every request or answer, or depend on the body.
_ALWAYS_NEW = {"x-signature", "x-nonce", "x-timestamp", "date", "content-length"}

#: Kinds of rows, each with a sign, since colour alone is not accessible.
SIGNS = {"same": "", "other": "≠", "left": "-", "right": "+"}


def wrong_exchange(document: Document, violation: Violation) -> ExchangeRecord | None:
    """The exchange that does not meet the expectation: the one whose purpose the expectation begins with,
    else the first."""
    exchanges = [document.exchanges[number] for number in violation.exchanges if number in document.exchanges]
    named = (one for one in exchanges if one.purpose and violation.expected.startswith(f"{one.purpose}: "))
    return next(named, exchanges[0] if exchanges else None)


def beside(document: Document, violation: Violation) -> dict[str, Any] | None:
    """Template values for the diff of a violation's wrong exchange and the one it is measured by, which is on
    the left; None without one, or without a difference.

    Of two alike requests the earlier one is on the left.
    """
    wrong = wrong_exchange(document, violation)
    measure = _measure(document, violation, wrong) if wrong else None
    if wrong is None or measure is None:
        return None
    if measure.target == wrong.target:
        measure, wrong = sorted((measure, wrong), key=_when)
    compared = {
        "sent": list(_rows(*(request_lines(one, omit=_ALWAYS_NEW) for one in (measure, wrong)))),
        "received": list(_rows(*map(_answer, (measure, wrong)))),
    }
    differ = {name: sum(row["kind"] != "same" for row in rows) for name, rows in compared.items()}
    if not any(differ.values()):
        return None
    words = "; ".join(
        f"{count(differ[name], 'line')} of the {noun} {'differs' if differ[name] == 1 else 'differ'}"
        if differ[name]
        else f"the {noun} are alike"
        for name, noun in (("sent", "requests"), ("received", "answers"))
    )
    return {
        "numbers": [measure.number, wrong.number],
        "purposes": [clean(measure.purpose), clean(wrong.purpose)],
        "words": words,
        "parts": [
            {"name": name, "rows": rows[:ROWS], "more": max(len(rows) - ROWS, 0)}
            for name, rows in compared.items()
        ],
    }


def _measure(document: Document, violation: Violation, wrong: ExchangeRecord) -> ExchangeRecord | None:
    """The exchange that the wrong one is measured by; None without any.

    For a POST the first one with the same Idempotency-Key, of any cell; for that one, another of its own.
    For any other request one of the violation's to the same path: the same request, the last before it, else
    one with another query.
    """
    own = [document.exchanges[number] for number in violation.exchanges if number in document.exchanges]
    if wrong.method == "POST":
        key = _header(wrong, "idempotency-key")
        same = [
            other
            for other in document.exchanges.values()
            if other is not wrong
            and (other.method, other.target) == ("POST", wrong.target)
            and key is not None
            and _header(other, "idempotency-key") == key
        ]
        earlier = [other for other in same if _when(other) < _when(wrong)]
        return min(earlier or [other for other in same if other in own] or same, key=_when, default=None)
    path = wrong.target.partition("?")[0]
    same = [
        other
        for other in own
        if other is not wrong and other.method == wrong.method and other.target.partition("?")[0] == path
    ]
    return max(
        same,
        key=lambda other: (other.target == wrong.target, _when(other) < _when(wrong), _when(other)),
        default=None,
    )


def _when(exchange: ExchangeRecord) -> tuple[float, int]:
    return exchange.started, exchange.number


def _header(exchange: ExchangeRecord, wanted: str) -> str | None:
    return next((value for name, value in exchange.request_headers if name.lower() == wanted), None)


def _answer(exchange: ExchangeRecord) -> list[str]:
    """The lines of an answer but its time."""
    first, *rest = answer_lines(exchange, omit=_ALWAYS_NEW)
    return [first.partition(" after ")[0], *rest]


def _rows(left: list[str], right: list[str]) -> Iterator[dict[str, str]]:
    left, right = ([visible(line)[:LENGTH] for line in lines[: 4 * ROWS]] for lines in (left, right))
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    end = 0
    for group in matcher.get_grouped_opcodes(CONTEXT):
        if folded := group[0][1] - end:
            yield _row("same", "", "", f"{count(folded, 'line')} alike")
        for tag, begin, end, other_begin, other_end in group:
            for mine, theirs in zip_longest(left[begin:end], right[other_begin:other_end]):
                differs = "right" if mine is None else "left" if theirs is None else "other"
                yield _row("same" if tag == "equal" else differs, mine or "", theirs or "")
        end = group[-1][2]
    if folded := len(left) - end:
        yield _row("same", "", "", f"{count(folded, 'line')} alike")


def _row(kind: str, left: str, right: str, folded: str = "") -> dict[str, str]:
    return {"kind": kind, "sign": SIGNS[kind], "left": left, "right": right, "folded": folded}
