"""Side-by-side view of the exchange that is wrong and the one it is measured by."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.judge.cells import Violation
from conformance.judge.exchanges import exchange_record
from conformance.judge.verdicts import Verdict
from conformance.report.beside import LENGTH, ROWS, beside
from conformance.report.html import pieces
from conformance.target.redaction import Redactor
from conformance.wire.messages import Exchange
from tests.support.report_samples import TARGET, document, exchange, judged, keep, whole_run

REPLAY = ("idempotency.replay", "createAccount")


def keyed(number: int, key: str, answer: bytes, sent: bytes = b'{"name": "A"}', **changes: Any) -> Exchange:
    """Returns the exchange of a creation with an Idempotency-Key."""
    headers = [("Idempotency-Key", key), ("X-Signature", f"{number:064x}"), ("Content-Type", "text/json")]
    return exchange(number, answer, request_headers=headers, request_body=sent, **changes)


def read(number: int, query: str, answer: bytes, **changes: Any) -> Exchange:
    """Returns the exchange of a read."""
    return exchange(number, answer, method="GET", request_body=b"", target=f"/v1/x{query}", **changes)


def pair(*exchanges: Exchange) -> dict[str, Any] | None:
    """Returns the diff for a violation that names the exchanges."""
    records = {one.number: exchange_record(one, Redactor(TARGET)) for one in exchanges}
    return beside(Violation("a replay", "another answer", tuple(records)), records)


def rows(both: dict[str, Any], name: str, kind: str) -> list[tuple[str, str]]:
    [part] = [part for part in both["parts"] if part["name"] == name]
    return [(str(row["left"]), str(row["right"])) for row in part["rows"] if row["kind"] == kind]


def test_a_replay_stands_beside_its_original() -> None:
    both = pair(
        keyed(5, "k", b'{"id": "acc_2", "amount": 1.50}'),
        keyed(4, "other", b'{"id": "acc_9"}'),
        keyed(3, "k", b'{"id": "acc_1", "amount": 1.50}'),
    )
    assert both and both["numbers"] == [3, 5]
    assert not rows(both, "sent", "other")
    assert rows(both, "received", "other") == [('  "id": "acc_1",', '  "id": "acc_2",')]
    # Numbers stand as sent; members that always differ are left out.
    assert any("1.50" in left for left, _ in rows(both, "received", "same"))
    assert "X-Signature" not in str(both)


A, B = b'{"name": "A"}', b'{"name": "B"}'


@pytest.mark.parametrize(
    ("exchanges", "numbers"),
    [
        # A conflict, and the first request with its key.
        ([keyed(2, "k", b"{}", B, status=201), keyed(1, "k", b"{}", A)], [1, 2]),
        # A replay after a conflict.
        ([keyed(3, "k", b"[]", A), keyed(1, "k", b"{}", A), keyed(2, "j", b"1", B)], [1, 3]),
        # Reads of one resource; of lists, the same query first.
        ([read(4, "", b'{"a": 2}'), read(3, "", b'{"a": 1}')], [3, 4]),
        ([read(4, "?a", b"2"), read(3, "", b"1"), read(2, "?a", b"3")], [2, 4]),
        ([read(4, "?a", b"2"), read(3, "", b"1")], [3, 4]),
        # Without an occasion or a difference.
        ([keyed(2, "b", b"{}"), keyed(1, "a", b"{}")], []),
        ([exchange(2), exchange(1)], []),
        ([read(4, "", b"{}"), read(3, "", b"{}")], []),
    ],
)
def test_which_exchanges_are_compared(exchanges: list[Exchange], numbers: list[int]) -> None:
    both = pair(*exchanges)
    assert (both["numbers"] if both else []) == numbers


def test_equal_lines_are_folded_and_the_view_is_bounded() -> None:
    alike = b"{" + b",".join(b'"m%d": %d' % (index, index) for index in range(80)) + b', "last": %d}'
    both = pair(keyed(2, "k", alike % 1), keyed(1, "k", alike % 2))
    assert both
    received = both["parts"][1]["rows"]
    assert len(received) < 12 and any("lines alike" in row["folded"] for row in received)
    unlike = b"[" + b",".join(b'"%d"' for _ in range(2000)) + b"]"
    left, right = (unlike.replace(b"%d", digit * 3000, 1) for digit in (b"1", b"2"))
    both = pair(keyed(2, "k", left.replace(b"%d", b"3")), keyed(1, "k", right.replace(b"%d", b"4")))
    assert both and all(len(part["rows"]) <= ROWS for part in both["parts"])
    assert all(len(row["left"]) < LENGTH * 2 for part in both["parts"] for row in part["rows"])


def test_differences_are_marked_without_colours_and_text_is_escaped() -> None:
    results = whole_run(None, judged(*REPLAY, Verdict.FAILED, exchanges=[2, 1]))
    hostile = b'{"id": "</td><script>alert(1)</script>"}'
    keep(results, keyed(2, "k", hostile), keyed(1, "k", b'{"id": "<b>"}'))
    table = "".join(pieces(document(results))).partition('<table class="beside">')[2].partition("</table>")[0]
    assert "≠" in table and "differs" in table and "&lt;b&gt;" in table
    assert "<script>" not in table and "<b>" not in table
