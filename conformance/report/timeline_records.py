"""The requests of a run over its time, by operation; bounded, whatever the number of requests."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from conformance.contract.operations import OPERATIONS
from conformance.report.document import TimelineRecord, TimelineRow
from conformance.report.model import Timing

#: Slots that the time of a run is divided into, at most.
SLOTS = 60

#: The shortest slot, in seconds.
SHORTEST = 0.1

_ORDER = {operation: index for index, operation in enumerate(OPERATIONS)}


@dataclass(frozen=True)
class _Point:
    """Requests of one operation that were begun at about one moment (Unix seconds)."""

    operation: str
    at: float
    requests: int
    slowest: float | None
    retried: int
    lost: int
    server_errors: int


def timeline(timings: Iterable[Timing]) -> TimelineRecord | None:
    """The timeline of a run; None where it sent nothing."""
    return _drawn([_point(timing) for timing in timings])


def merged(parts: Iterable[TimelineRecord | None]) -> TimelineRecord | None:
    """The timelines of the parts of one run as one: each slot of a part falls where it began."""
    return _drawn([point for part in parts if part is not None for point in _points(part)])


def _point(timing: Timing) -> _Point:
    status = timing.status
    return _Point(
        operation=timing.operation or "",
        at=timing.started,
        requests=1,
        slowest=None if status is None else timing.elapsed,
        retried=int(timing.attempts > 1),
        lost=int(status is None),
        server_errors=int(status is not None and status >= 500),
    )


def _points(part: TimelineRecord) -> Iterable[_Point]:
    begun = datetime.fromisoformat(part.started).timestamp()
    for row in part.operations:
        for index, requests in enumerate(row.requests):
            if requests:
                yield _Point(
                    row.operation,
                    begun + index * part.slot,
                    requests,
                    row.slowest[index],
                    row.retried[index],
                    row.lost[index],
                    row.server_errors[index],
                )


def _drawn(points: list[_Point]) -> TimelineRecord | None:
    if not points:
        return None
    begun, ended = min(point.at for point in points), max(point.at for point in points)
    slot = _slot(ended - begun)
    slots = min(int((ended - begun) / slot) + 1, SLOTS)
    by_operation: dict[str, list[list[_Point]]] = {}
    for point in points:
        row = by_operation.setdefault(point.operation, [[] for _ in range(slots)])
        row[min(int((point.at - begun) / slot), slots - 1)].append(point)
    return TimelineRecord(
        started=datetime.fromtimestamp(begun, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        slot=slot,
        operations=tuple(
            _row(operation, by_operation[operation])
            for operation in sorted(by_operation, key=lambda name: _ORDER.get(name, len(_ORDER)))
        ),
    )


def _slot(seconds: float) -> float:
    """The length of a slot: 1, 2 or 5 times a power of ten, such that SLOTS of them are enough."""
    least = max(seconds / SLOTS, SHORTEST)
    power = 10.0 ** math.floor(math.log10(least))
    return round(next(power * step for step in (1, 2, 5, 10, 20) if power * step * SLOTS > seconds), 3)


def _row(operation: str, slots: list[list[_Point]]) -> TimelineRow:
    def summed(name: str) -> tuple[int, ...]:
        return tuple(sum(getattr(point, name) for point in slot) for slot in slots)

    return TimelineRow(
        operation=operation,
        requests=summed("requests"),
        slowest=tuple(
            max((round(point.slowest, 6) for point in slot if point.slowest is not None), default=None)
            for slot in slots
        ),
        retried=summed("retried"),
        lost=summed("lost"),
        server_errors=summed("server_errors"),
    )
