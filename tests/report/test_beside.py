"""Side-by-side view of the exchange that is wrong and the one it is measured by."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.judge.verdicts import Verdict
from conformance.report.beside import LENGTH, ROWS, beside
from conformance.report.html import pieces
from conformance.wire.messages import Exchange
from tests.support.report_samples import document, exchange, judged, keep, whole_run

REPLAY = ("idempotency.replay", "createAccount")


def keyed(number: int, key: str, answer: bytes, sent: bytes = b'{"name": "A"}', **changes: Any) -> Exchange:
    """Returns the exchange of a creation with an Idempotency-Key."""
    headers = [("Idempotency-Key", key), ("X-Signature", f"{number:064x}"), ("Content-Type", "text/json")]
    return exchange(number, answer, request_headers=headers, request_body=sent, **changes)


def read(number: int, query: str, answer: bytes, **changes: Any) -> Exchange:
    """Returns the exchange of a read."""
    return exchange(number, answer, method="GET", request_body=b"", target=f"/v1/x{query}", **changes)


def pair(*exchanges: Exchange, named: int = 0, **changes: Any) -> dict[str, Any] | None:
    """Returns the diff for a violation that names the first exchanges, or all."""
    numbers = [one.number for one in exchanges][: named or None]
    results = whole_run(None, judged(*REPLAY, Verdict.FAILED, exchanges=numbers, **changes))
    keep(results, *exchanges)
    return beside(results.cell(*REPLAY).violations[0], results.exchanges)


def rows(shown: dict[str, Any], name: str, kind: str) -> list[tuple[str, str]]:
    [part] = [part for part in shown["parts"] if part["name"] == name]
    return [(str(row["left"]), str(row["right"])) for row in part["rows"] if row["kind"] == kind]


def test_a_replay_stands_beside_its_original() -> None:
    shown = pair(
        keyed(5, "k", b'{"id": "acc_2", "amount": 1.50}'),
        keyed(4, "other", b'{"id": "acc_9"}'),
        keyed(3, "k", b'{"id": "acc_1", "amount": 1.50}'),
    )
    assert shown and shown["numbers"] == [3, 5]
    assert not rows(shown, "sent", "other")
    assert rows(shown, "received", "other") == [('  "id": "acc_1",', '  "id": "acc_2",')]
    # Numbers are shown as sent; members that always differ are left out.
    assert any("1.50" in left for left, _ in rows(shown, "received", "same"))
    assert "X-Signature" not in str(shown)


A, B = b'{"name": "A"}', b'{"name": "B"}'


@pytest.mark.parametrize(
    ("exchanges", "named", "numbers"),
    [
        # A conflict, and the first request with its key.
        ([keyed(2, "k", b"{}", B, status=201), keyed(1, "k", b"{}", A)], 0, [1, 2]),
        # The first request is of another cell.
        ([keyed(3, "k", b"{}", A), keyed(1, "k", b"{}", B)], 1, [1, 3]),
        # A replay after a conflict, which is of another cell.
        ([keyed(1, "k", b"{}", A), keyed(3, "k", b"[]", A), keyed(2, "k", b"1", B)], 2, [1, 3]),
        # Another use of its key, but a later one.
        ([keyed(1, "k", b"{}", A), keyed(2, "k", b"{}", B)], 1, []),
        # Reads of one resource.
        ([read(4, "", b'{"a": 2}'), read(3, "", b'{"a": 1}')], 0, [3, 4]),
        # Without an occasion or a difference.
        ([keyed(2, "b", b"{}"), keyed(1, "a", b"{}")], 0, []),
        ([exchange(2), exchange(1)], 0, []),
        ([read(4, "", b"{}"), read(3, "", b"{}")], 0, []),
    ],
)
def test_which_exchanges_are_compared(exchanges: list[Exchange], named: int, numbers: list[int]) -> None:
    shown = pair(*exchanges, named=named)
    assert (shown["numbers"] if shown else []) == numbers


def test_equal_lines_are_folded_and_the_view_is_bounded() -> None:
    alike = b"{" + b",".join(b'"m%d": %d' % (index, index) for index in range(80)) + b', "last": %d}'
    shown = pair(keyed(2, "k", alike % 1), keyed(1, "k", alike % 2))
    assert shown
    received = shown["parts"][1]["rows"]
    assert len(received) < 12 and any("lines alike" in row["folded"] for row in received)
    unlike = b"[" + b",".join(b'"%d"' for _ in range(2000)) + b"]"
    left, right = (unlike.replace(b"%d", digit * 3000, 1) for digit in (b"1", b"2"))
    shown = pair(keyed(2, "k", left.replace(b"%d", b"3")), keyed(1, "k", right.replace(b"%d", b"4")))
    assert shown and all(len(part["rows"]) <= ROWS for part in shown["parts"])
    assert all(len(row["left"]) < LENGTH * 2 for part in shown["parts"] for row in part["rows"])


def test_differences_are_marked_without_colours_and_text_is_escaped() -> None:
    results = whole_run(None, judged(*REPLAY, Verdict.FAILED, exchanges=[2, 1]))
    hostile = b'{"id": "</td><script>alert(1)</script>"}'
    keep(results, keyed(2, "k", hostile), keyed(1, "k", b'{"id": "<b>"}'))
    table = "".join(pieces(document(results))).partition('<table class="beside">')[2].partition("</table>")[0]
    assert "≠" in table and "differs" in table and "&lt;b&gt;" in table
    assert "<script>" not in table and "<b>" not in table
