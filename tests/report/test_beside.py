"""Side-by-side view of the two exchanges that decide a finding."""

from __future__ import annotations

from typing import Any

from conformance.judge.findings import Verdict
from conformance.report import view
from conformance.report.beside import LENGTH, ROWS, beside
from conformance.report.html import html
from conformance.wire.messages import Exchange
from tests.support.report_samples import document, exchange, finding, keep, whole_run

REPLAY = ("idempotency.replay", "createAccount")


def keyed(number: int, key: str, answer: bytes, sent: bytes = b'{"name": "A"}', **changes: Any) -> Exchange:
    """Returns the exchange of a creation with an Idempotency-Key."""
    headers = [
        ("Idempotency-Key", key),
        ("X-Signature", f"{number:064x}"),
        ("Content-Type", "application/json"),
    ]
    return exchange(number, answer, request_headers=headers, request_body=sent, **changes)


def pair(*exchanges: Exchange) -> dict[str, Any] | None:
    """Returns the side-by-side part for a finding with these exchanges, the decisive one first."""
    results = whole_run(None, finding(*REPLAY, Verdict.FAILED, exchanges=[kept.number for kept in exchanges]))
    keep(results, *exchanges)
    made = document(results)
    return beside(made, view.causes(made)[0].first.decisive)


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
    assert shown["words"] == "the requests are alike; 1 line of the answers differs"
    assert rows(shown, "received", "other") == [('  "id": "acc_1",', '  "id": "acc_2",')]
    # Numbers are shown as sent; members that always differ are left out.
    assert any("1.50" in left for left, _ in rows(shown, "received", "same"))
    assert "X-Signature" not in str(shown)


def test_a_conflict_stands_beside_the_first_request() -> None:
    shown = pair(
        keyed(2, "k", b"{}", b'{"name": "B"}', status=201),
        keyed(1, "k", b'{"id": "acc_1"}', b'{"name": "A"}'),
    )
    assert shown and shown["numbers"] == [1, 2]
    assert rows(shown, "sent", "other") == [('  "name": "A"', '  "name": "B"')]
    assert ("200", "201") in rows(shown, "received", "other")


def test_the_first_request_is_found_where_another_finding_kept_it() -> None:
    conflict = finding("idempotency.conflict", "createAccount", Verdict.FAILED, exchanges=[3, 4])
    results = whole_run(None, conflict, finding(*REPLAY, Verdict.PASSED, exchanges=[1]))
    keep(results, *(keyed(number, "k", b"{}", b'{"name": "%d"}' % number) for number in (1, 3, 4)))
    made = document(results)
    shown = beside(made, view.causes(made)[0].first.decisive)
    assert shown and shown["numbers"] == [1, 3]


def test_a_first_request_that_decides_stands_beside_the_one_of_its_finding() -> None:
    """In a replay after a conflict, the conflict belongs to another finding."""
    replayed = finding(*REPLAY, Verdict.FAILED, exchanges=[1, 3])
    conflict = finding("idempotency.conflict", "createAccount", Verdict.FAILED, exchanges=[2, 1])
    results = whole_run(None, replayed, conflict)
    keep(
        results,
        keyed(1, "k", b'{"id": "acc_1"}', b'{"name": "A"}'),
        keyed(2, "k", b'{"id": "acc_2"}', b'{"name": "B"}'),
        keyed(3, "k", b'{"id": "acc_3"}', b'{"name": "A"}'),
    )
    made = document(results)
    [found] = [case.decisive for case in made.cells if case.rule == REPLAY[0] and case.decisive.exchanges]
    shown = beside(made, found)
    assert shown and shown["numbers"] == [1, 3]


def test_creations_with_keys_of_their_own_are_not_compared() -> None:
    assert pair(keyed(2, "b", b"{}"), keyed(1, "a", b"{}")) is None
    assert pair(keyed(2, "b", b"{}")) is None
    assert pair(exchange(2), exchange(1)) is None


def test_reads_of_one_resource_are_compared() -> None:
    read: dict[str, Any] = {"method": "GET", "request_body": b"", "target": "/v1/x"}
    shown = pair(exchange(4, b'{"a": 2}', **read), exchange(3, b'{"a": 1}', **read))
    assert shown and shown["numbers"] == [3, 4]


def test_an_exchange_without_an_answer_and_odd_bodies_can_be_compared() -> None:
    shown = pair(keyed(2, "k", b"", status=None), keyed(1, "k", b"\xff\xfe"))
    assert shown
    [[status, refused], [binary, empty]] = rows(shown, "received", "other")
    assert (status, refused) == ("200", "no answer: the connection was closed")
    assert (binary, empty) == ("(2 bytes that are not UTF-8 text)", "(no body)")


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
    results = whole_run(None, finding(*REPLAY, Verdict.FAILED, exchanges=[2, 1]))
    hostile = b'{"id": "</td><script>alert(1)</script>"}'
    keep(results, keyed(2, "k", hostile), keyed(1, "k", b'{"id": "<b>"}'))
    text = html(document(results))
    table = text[
        text.index('<table class="beside">') : text.index("</table>", text.index('<table class="beside">'))
    ]
    assert "≠" in table and "differs" in table and "&lt;b&gt;" in table
    assert "<script>" not in table and "<b>" not in table
