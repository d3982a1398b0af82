"""The run over its time, as a table of small plots: one row an operation, its bars the slowest answers.

Requests that were sent again, that got no answer, and that were answered 5xx are marked by signs of their own
and told in words. Its size depends on the operations and slots of the document, never on the requests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from conformance._text import count, duration, milliseconds
from conformance.report.document import Document, TimelineRecord, TimelineRow

_WIDTH, _HEIGHT = 720, 34

#: The axis of a bar: from 1 ms, which is a bare line, to 10 s, the whole height.
_LOW, _HIGH = 0.001, 10.0

#: What a mark is called, in the order in which marks stand above one another.
MARKS = {"lost": "no answer", "server_errors": "5xx", "retried": "sent again"}


def values(document: Document) -> dict[str, Any] | None:
    """What the template shows; None for a run that sent nothing, or whose results do not say when."""
    timeline = document.timeline
    if timeline is None or not timeline.operations:
        return None
    slots = len(timeline.operations[0].requests)
    return {
        "rows": [_row(row, timeline) for row in timeline.operations],
        "all": _all(timeline),
        "axis": _axis(timeline.slot * slots),
        "slot": _seconds(timeline.slot),
        "legend": [
            {"name": words, "sign": _legend(name)}
            for name, words in MARKS.items()
            if any(sum(getattr(row, name)) for row in timeline.operations)
        ],
    }


def _seconds(value: float) -> str:
    if value >= 10:
        return duration(value)
    return f"{round(value, 1):g} s" if value >= 0.1 or value <= 0 else milliseconds(value)


def _svg(words: str, *parts: Markup, height: int = _HEIGHT) -> Markup:
    return Markup('<svg class="time" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        _WIDTH, height, words, Markup("").join(parts)
    )


def _bars(heights: Sequence[float]) -> Markup:
    """Bars of heights from 0 to 1 as one path; nothing stands where a height is 0."""
    step, most = _WIDTH / len(heights), _HEIGHT - 2
    path = "".join(
        f"M{index * step + 0.5:.1f} {_HEIGHT}v{-max(height * most, 1.5):.1f}h{step - 1:.1f}V{_HEIGHT}z"
        for index, height in enumerate(heights)
        if height > 0
    )
    return Markup('<path class="bars" d="{}"/>').format(path)


def _height(seconds: float | None) -> float:
    if seconds is None:
        return 0.0
    share = math.log(min(max(seconds, _LOW), _HIGH) / _LOW) / math.log(_HIGH / _LOW)
    return max(share, 0.05)


def _row(row: TimelineRow, timeline: TimelineRecord) -> dict[str, Any]:
    slowest = max((value for value in row.slowest if value is not None), default=None)
    told = [
        f"{count(sum(row.requests), 'request')}",
        f"slowest {milliseconds(slowest)}" if slowest is not None else "never answered",
        *_told(row, timeline),
    ]
    return {
        "operation": row.operation or "other",
        "requests": f"{sum(row.requests):,}",
        "marks": [
            f"{sum(getattr(row, name)):,} {words}" for name, words in MARKS.items() if any(getattr(row, name))
        ],
        "plot": _svg(
            ", ".join(told), _bars([_height(value) for value in row.slowest]), *_marks(row, timeline)
        ),
    }


def _told(row: TimelineRow, timeline: TimelineRecord) -> list[str]:
    """Each kind of mark in words: how many, and from when to when."""
    told = []
    for name, words in MARKS.items():
        numbers = getattr(row, name)
        where = [index for index, number in enumerate(numbers) if number]
        if where:
            begin, end = (_seconds(slot * timeline.slot) for slot in (where[0], where[-1] + 1))
            told.append(f"{sum(numbers):,} {words} between {begin} and {end}")
    return told


def _marks(row: TimelineRow, timeline: TimelineRecord) -> list[Markup]:
    step = _WIDTH / len(row.requests)
    return [
        _mark(
            name,
            (index + 0.5) * step,
            6 + 9 * line,
            f"{number:,} {MARKS[name]} at {_seconds(index * timeline.slot)}",
        )
        for line, name in enumerate(MARKS)
        for index, number in enumerate(getattr(row, name))
        if number
    ]


def _mark(name: str, x: float, y: float, title: str) -> Markup:
    shape = {
        "lost": f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8",
        "server_errors": f"M{x:.1f} {y - 4.5:.1f}l4.5 4.5l-4.5 4.5l-4.5 -4.5z",
        "retried": f"M{x:.1f} {y - 4.5:.1f}l4.5 8h-9z",
    }[name]
    return Markup('<path class="mark {}" d="{}"><title>{}</title></path>').format(
        name.replace("_", "-"), shape, title
    )


def _legend(name: str) -> Markup:
    return Markup(
        '<svg class="time sign" viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">{}</svg>'
    ).format(_mark(name, 6, 6, MARKS[name]))


def _all(timeline: TimelineRecord) -> Markup:
    """How many requests were begun in each slot, of all operations."""
    numbers = [sum(slot) for slot in zip(*(row.requests for row in timeline.operations), strict=True)]
    most = max(numbers) or 1
    words = f"requests begun, at most {most:,} in {_seconds(timeline.slot)}"
    return _svg(words, _bars([number / most for number in numbers]))


def _axis(seconds: float) -> Markup:
    ticks = []
    for share in (0, 0.25, 0.5, 0.75, 1):
        anchor = "start" if share == 0 else "end" if share == 1 else "middle"
        ticks.append(
            Markup('<text x="{}" y="14" text-anchor="{}">{}</text>').format(
                _WIDTH * share, anchor, _seconds(seconds * share)
            )
        )
    return _svg(f"time from 0 to {_seconds(seconds)}", *ticks, height=18)
