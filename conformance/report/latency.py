"""How long answers took, by operation; bounded, whatever the number of requests."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from conformance.contract.operations import OPERATIONS
from conformance.report.document import LatencyRecord
from conformance.report.model import Timing

#: Upper edges of the histogram's classes, in seconds; what is slower falls into one class more.
EDGES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


_ORDER = {operation: index for index, operation in enumerate(OPERATIONS)}


def latency(timings: Iterable[Timing]) -> tuple[LatencyRecord, ...]:
    """For each operation: number of exchanges, statuses, quantiles in seconds, and a histogram over EDGES.

    Operations stand in the contract's order; what is none of them has the name "" and stands last. Exchanges
    without an answer count among the statuses ("none") and nowhere else.
    """
    by_operation: dict[str, list[Timing]] = {}
    for timing in timings:
        by_operation.setdefault(timing.operation or "", []).append(timing)
    return tuple(
        _row(operation, rows)
        for operation, rows in sorted(by_operation.items(), key=lambda item: _ORDER.get(item[0], len(_ORDER)))
    )


def _row(operation: str, timings: list[Timing]) -> LatencyRecord:
    elapsed = sorted(timing.elapsed for timing in timings if timing.status is not None)
    histogram = [0] * (len(EDGES) + 1)
    for value in elapsed:
        histogram[next((index for index, edge in enumerate(EDGES) if value <= edge), len(EDGES))] += 1
    statuses = Counter("none" if timing.status is None else str(timing.status) for timing in timings)
    return LatencyRecord(
        operation=operation,
        exchanges=len(timings),
        statuses=dict(sorted(statuses.items())),
        p50=_quantile(elapsed, 0.5),
        p95=_quantile(elapsed, 0.95),
        max=_quantile(elapsed, 1.0),
        histogram=tuple(histogram),
    )


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    """The smallest value that at least this share of all is not above (nearest rank)."""
    if not ordered:
        return None
    return round(ordered[max(math.ceil(share * len(ordered)), 1) - 1], 6)
