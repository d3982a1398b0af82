"""Numbers for the plots of latency, and of a load run over time, which page/plots.html.j2 draws."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance._text import milliseconds
from conformance.judge.latency import EDGES, Latency
from conformance.report.document import MomentRecord

_WIDTH, _HEIGHT = 300, 26
_LOW, _HIGH = 0.0005, 20.0


def _x(seconds: float) -> float:
    """The position of a duration on the logarithmic axis."""
    share = math.log(min(max(seconds, _LOW), _HIGH) / _LOW) / math.log(_HIGH / _LOW)
    return round(share * (_WIDTH - 4) + 2, 1)


#: The plots of latency: their size, and the places and labels of their grid.
LATENCY = {
    "width": _WIDTH,
    "height": _HEIGHT,
    "ticks": {_x(10**at / 1000): text for at, text in enumerate(("1 ms", "10 ms", "100 ms", "1 s", "10 s"))},
}


def row(latency: Latency) -> dict[str, Any]:
    """Template values of one operation: quantiles, statuses and plot."""
    quantiles = {"p50": latency.p50, "p95": latency.p95, "max": latency.max}
    texts = {name: "–" if value is None else milliseconds(value) for name, value in quantiles.items()}
    statuses = ", ".join(f"{status} × {number:,}" for status, number in latency.statuses.items())
    return {
        "operation": latency.operation,
        "exchanges": f"{latency.exchanges:,}",
        "statuses": statuses,
        **texts,
        "places": None if latency.p50 is None else {name: _x(at or 0) for name, at in quantiles.items()},
        "bars": list(_bars(latency)),
    }


def _bars(latency: Latency) -> Iterator[tuple[float, float, float, float]]:
    """Place, top, width and height of each class that has answers."""
    edges, most = [_LOW, *EDGES, _HIGH], max(latency.histogram) or 1
    for index, number in enumerate(latency.histogram):
        if number:
            left, right = _x(edges[index]), _x(edges[index + 1])
            # The minimum height keeps a single answer visible.
            height = max(round((_HEIGHT - 4) * number / most, 1), 1.5)
            yield left, round(_HEIGHT - height, 1), round(max(right - left - 1, 1), 1), height


# ---------------------------------------------------------------------- a load run over time

#: The plots of a load run: their size, and the place of the vertical axis.
COURSE = {"left": 56, "width": 640, "height": 110}


def course(moments: Sequence[MomentRecord]) -> list[dict[str, Any]]:
    """A load run over time as line plots: rates, users, latency, refusals, waits and violations."""
    if len(moments) < 2:
        return []

    def rate(*classes: str) -> list[float]:
        return [
            sum(number for status, number in moment.answers.statuses.items() if status[:1] in classes)
            / moment.seconds
            for moment in moments
        ]

    def latency(name: str) -> list[float]:
        return [1000 * (getattr(moment.answers, name) or 0.0) for moment in moments]

    plots: dict[str, dict[str, list[float]]] = {
        "Requests a second": {"all": [moment.answers.exchanges / moment.seconds for moment in moments]},
        "Users": {"users": [float(moment.users) for moment in moments]},
        "Latency in milliseconds": {
            "half within": latency("p50"),
            "95 % within": latency("p95"),
            "slowest": latency("max"),
        },
        "Answers a second": {
            "refused (4xx)": rate("4"),
            "5xx or none": rate("5", "n"),
            "waits for 429, 503": [moment.waits / moment.seconds for moment in moments],
            "violations": [moment.violations / moment.seconds for moment in moments],
        },
    }
    end = moments[-1].at + moments[-1].seconds
    return [{"title": title, "end": end, **_lines(series)} for title, series in plots.items()]


def _lines(series: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """Lines of equidistant values from 0 to their maximum: names with points, and all in words."""
    left, width, height = COURSE.values()
    most = max(value for values in series.values() for value in values) or 1.0
    step = (width - left) / (len(next(iter(series.values()))) - 1)
    points = {
        name: " ".join(
            f"{left + step * place:.1f},{height - (height - 22) * value / most:.1f}"
            for place, value in enumerate(values)
        )
        for name, values in series.items()
    }
    told = ", ".join(f"{name} at most {max(values):,.1f}" for name, values in series.items())
    return {"most": most, "points": points, "told": told}
