"""The timeline: every request counts, and its size depends on none of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.report import timeline_records, view
from conformance.report.document import TimelineRecord
from conformance.report.html import html
from conformance.report.model import Results, Timing
from tests.support.report_samples import STARTED, document, whole_run


def timings(number: int, seconds: float = 60.0) -> list[Timing]:
    """Requests over some seconds: each tenth without an answer, each seventh 503, each fifth sent twice."""
    return [
        Timing(
            ("createWallet", "listWallets", None)[index % 3],
            None if index % 10 == 0 else 503 if index % 7 == 0 else 200,
            STARTED + seconds * index / number,
            0.001 * (index % 50 + 1),
            2 if index % 5 == 0 else 1,
        )
        for index in range(number)
    ]


def drawn(found: list[Timing]) -> TimelineRecord:
    record = timeline_records.timeline(found)
    assert record is not None
    return record


def total(record: TimelineRecord, name: str) -> int:
    return sum(sum(getattr(row, name)) for row in record.operations)


@pytest.mark.parametrize("seconds", [0.0, 0.05, 7.0, 60.0, 7200.0])
def test_every_request_counts_once(seconds: float) -> None:
    record = drawn(timings(1000, seconds))
    assert total(record, "requests") == 1000
    assert (total(record, "lost"), total(record, "retried")) == (100, 200)
    assert total(record, "server_errors") == sum(timing.status == 503 for timing in timings(1000))
    assert {len(row.requests) for row in record.operations} <= set(range(1, timeline_records.SLOTS + 1))
    assert len(record.operations[0].requests) * record.slot >= seconds
    assert [row.operation for row in record.operations] == ["createWallet", "listWallets", ""]
    assert max(value or 0 for row in record.operations for value in row.slowest) == pytest.approx(0.05)


def test_parts_together_are_the_whole() -> None:
    found = timings(900, 90.0)
    whole = drawn(found)
    merged = timeline_records.merged([drawn(found[:300]), None, drawn(found[300:500]), drawn(found[500:])])
    assert merged is not None and merged.started == whole.started
    for name in ("requests", "lost", "retried", "server_errors"):
        assert total(merged, name) == total(whole, name)
    assert timeline_records.merged([None]) is None and timeline_records.timeline([]) is None


def page(found: list[Timing]) -> str:
    results: Results = whole_run()
    results.timings.update(enumerate(found))
    return html(document(results))


def test_the_page_does_not_grow_with_the_requests() -> None:
    few, many = page(timings(5_000)), page(timings(50_000))
    assert abs(len(many) - len(few)) < 5_000
    section = many[many.index('<section aria-labelledby="timeline">') :]
    assert len(section[: section.index("</section>")]) < 120_000


def test_what_went_wrong_is_told_in_signs_and_in_words() -> None:
    text = page(timings(30))
    assert (
        'class="mark lost"' in text
        and 'class="mark retried"' in text
        and 'class="mark server-errors"' in text
    )
    assert "1 no answer" in text and "2 sent again" in text
    assert 'aria-label="10 requests, slowest 28 ms, 1 no answer between 0 s and 1 s' in text


@pytest.mark.parametrize(
    "changes",
    [{"started": "yesterday"}, {"slot": 0.0}, {"slot": float("inf")}, {"operations": "uneven"}],
    ids=lambda changes: next(iter(changes)),
)
def test_a_timeline_that_contradicts_itself_is_refused(changes: dict[str, object], tmp_path: Path) -> None:
    results = whole_run()
    results.timings.update(enumerate(timings(20)))
    made = document(results)
    assert made.timeline is not None
    if "operations" in changes:
        row = made.timeline.operations[0]
        changes = {"operations": (replace(row, lost=row.lost[1:]),)}
    path = tmp_path / "results.json"
    # mypy cannot know what the names of the parameters stand for.
    wrong = replace(made.timeline, **changes)  # type: ignore[arg-type]
    path.write_text(json.dumps(replace(made, timeline=wrong).to_json()), "utf-8")
    with pytest.raises(view.DocumentError, match="contradict themselves"):
        view.load(path)
