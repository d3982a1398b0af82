"""Numbers for the plots of a load run over time, which page/plots.html.j2 draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.report.document import MomentRecord

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
