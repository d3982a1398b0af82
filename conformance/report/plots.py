"""Plots of latency, and of a load run over time, as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from conformance._text import milliseconds
from conformance.judge.latency import EDGES, Latency
from conformance.report.document import MomentRecord

_WIDTH, _HEIGHT = 300, 26
_LOW, _HIGH = 0.0005, 20.0


def _x(seconds: float) -> float:
    """The position of a duration on the logarithmic axis."""
    share = math.log(min(max(seconds, _LOW), _HIGH) / _LOW) / math.log(_HIGH / _LOW)
    return round(share * (_WIDTH - 4) + 2, 1)


def axis() -> Markup:
    """The axis above the plots of latency."""
    ticks = Markup("").join(
        Markup('<text x="{}" y="12" text-anchor="middle">{}</text>').format(_x(value), text)
        for value, text in ((0.001, "1 ms"), (0.01, "10 ms"), (0.1, "100 ms"), (1.0, "1 s"), (10.0, "10 s"))
    )
    return Markup(
        '<svg class="plot" width="{}" height="16" viewBox="0 0 {} 16" role="img" aria-label="{}">{}</svg>'
    ).format(_WIDTH, _WIDTH, "axis from 1 ms to 10 s", ticks)


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
        "plot": "" if latency.p50 is None else _plot(latency, texts),
    }


def _plot(latency: Latency, texts: dict[str, str]) -> Markup:
    edges = [_LOW, *EDGES, _HIGH]
    most = max(latency.histogram) or 1
    parts = [
        Markup('<line class="grid" x1="{}" x2="{}" y1="0" y2="{}"/>').format(_x(value), _x(value), _HEIGHT)
        for value in (0.001, 0.01, 0.1, 1.0, 10.0)
    ]
    for index, number in enumerate(latency.histogram):
        if number:
            left, right = _x(edges[index]), _x(edges[index + 1])
            # The minimum height keeps a single answer visible.
            height = max(round((_HEIGHT - 4) * number / most, 1), 1.5)
            parts.append(
                Markup('<rect x="{}" y="{}" width="{}" height="{}"/>').format(
                    left, round(_HEIGHT - height, 1), round(max(right - left - 1, 1), 1), height
                )
            )
    y = _HEIGHT / 2
    parts.append(
        Markup('<line x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
            _x(latency.p50 or 0), _x(latency.p95 or 0) + 1, y, y
        )
    )
    parts.append(Markup('<circle cx="{}" cy="{}" r="3"/>').format(_x(latency.max or 0), y))
    words = f"half within {texts['p50']}, 95 % within {texts['p95']}, slowest {texts['max']}"
    return Markup(
        '<svg class="plot" width="{}" height="{}" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
    ).format(_WIDTH, _HEIGHT, _WIDTH, _HEIGHT, escape(words), Markup("").join(parts))


# ---------------------------------------------------------------------- a load run over time

_COURSE_WIDTH, _COURSE_HEIGHT, _LEFT = 640, 110, 56


def course(moments: Sequence[MomentRecord]) -> list[Markup]:
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

    end = moments[-1].at + moments[-1].seconds
    return [
        _lines("Requests a second", end, {"all": [m.answers.exchanges / m.seconds for m in moments]}),
        _lines("Users", end, {"users": [float(moment.users) for moment in moments]}),
        _lines(
            "Latency in milliseconds",
            end,
            {"half within": latency("p50"), "95 % within": latency("p95"), "slowest": latency("max")},
        ),
        _lines(
            "Answers a second",
            end,
            {
                "refused (4xx)": rate("4"),
                "5xx or none": rate("5", "n"),
                "waits for 429, 503": [moment.waits / moment.seconds for moment in moments],
                "violations": [moment.violations / moment.seconds for moment in moments],
            },
        ),
    ]


def _lines(title: str, end: float, series: Mapping[str, Sequence[float]]) -> Markup:
    """A line plot of equidistant values from 0 to their maximum; lines also differ in dashes, for readers
    without colours."""
    most = max((value for values in series.values() for value in values), default=0.0) or 1.0
    parts = [
        Markup('<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
            _LEFT, _COURSE_WIDTH, _COURSE_HEIGHT, _COURSE_HEIGHT
        ),
        Markup('<text x="{}" y="30" text-anchor="end">{:,.0f}</text>').format(_LEFT - 6, most),
        Markup('<text x="{}" y="{}" text-anchor="end">0</text>').format(_LEFT - 6, _COURSE_HEIGHT),
        Markup('<text x="{}" y="{}" text-anchor="end">{:,.0f} s</text>').format(
            _COURSE_WIDTH, _COURSE_HEIGHT + 14, end
        ),
    ]
    for at, (name, values) in enumerate(series.items()):
        step = (_COURSE_WIDTH - _LEFT) / max(len(values) - 1, 1)
        points = " ".join(
            f"{_LEFT + step * place:.1f},{_COURSE_HEIGHT - (_COURSE_HEIGHT - 22) * value / most:.1f}"
            for place, value in enumerate(values)
        )
        parts.append(Markup('<polyline class="line{}" points="{}"/>').format(at, points))
        x = _LEFT + 150 * at
        parts.append(Markup('<line class="line{}" x1="{}" x2="{}" y1="8" y2="8"/>').format(at, x, x + 20))
        parts.append(Markup('<text x="{}" y="12">{}</text>').format(x + 25, name))
    told = ", ".join(f"{name} at most {max(values, default=0):,.1f}" for name, values in series.items())
    return Markup(
        '<figure class="course"><figcaption>{}</figcaption>'
        '<svg class="plot" width="100%" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg></figure>'
    ).format(title, _COURSE_WIDTH, _COURSE_HEIGHT + 18, f"{title}: {told}", Markup("").join(parts))
