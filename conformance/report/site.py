"""A static site that compares implementations over time, from their stored results."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markupsafe import Markup

from conformance._text import count
from conformance.report.comparison_formats import comparison_html
from conformance.report.html import html, render
from conformance.results import view
from conformance.results.comparison import compare
from conformance.results.history import Implementation

_WIDTH, _HEIGHT = 160, 28

#: Runs that a line of the past shows.
_SHOWN = 40


def site(implementations: Sequence[Implementation]) -> dict[str, str]:
    """The pages by their path: index.html, a report of the last run of each, and their comparison."""
    pages = {
        f"{slug(implementation.name)}.html": html(implementation.latest) for implementation in implementations
    }
    if len(implementations) > 1:
        pages["compare.html"] = comparison_html(
            compare({implementation.name: implementation.latest for implementation in implementations})
        )
    return {"index.html": _index(implementations), **pages}


def slug(name: str) -> str:
    """A name as part of a path: letters, digits, dots, dashes and underscores; never that of another page."""
    text = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-") or "implementation"
    return f"{text}-report" if text in ("index", "compare") else text


def _index(implementations: Sequence[Implementation]) -> str:
    operations = implementations[0].latest.operations
    return render(
        "site.html.j2",
        {
            "implementations": [_row(implementation) for implementation in implementations],
            "names": [implementation.name for implementation in implementations],
            "matrix": [
                {
                    "operation": operation,
                    "cells": [_cell(implementation, operation.id) for implementation in implementations],
                }
                for operation in operations
            ],
            "compared": len(implementations) > 1,
            "operations": operations,
        },
    )


def _row(implementation: Implementation) -> dict[str, object]:
    document = implementation.latest
    required, implied = document.counts["required"], document.counts["implied"]
    return {
        "name": implementation.name,
        "page": f"{slug(implementation.name)}.html",
        "tone": view.tone(document),
        "title": document.verdict.title or document.verdict.name,
        "sentence": document.verdict.sentence,
        "passed": required["passed"],
        "failed": required["failed"],
        "warnings": implied["warning"],
        "inconclusive": sum(row["inconclusive"] for row in document.counts.values()),
        "date": document.run.started[:16].replace("T", " "),
        "suite": document.suite.version,
        "runs": count(len(implementation.runs), "run"),
        "past": _past(implementation),
    }


def _cell(implementation: Implementation, operation: str) -> dict[str, object]:
    """What the matrix shows of an operation: how many required rules are broken on it."""
    broken = implementation.broken(operation)
    ran = any(
        case.operation == operation and str(case.verdict) not in ("not run", "not applicable")
        for case in implementation.latest.cells
    )
    if not ran:
        return {"verdict": "not run", "text": "–", "words": "not run"}
    verdict = "failed" if broken else "passed"
    return {
        "verdict": verdict,
        "text": str(broken) if broken else "✓",
        "words": f"{count(broken, 'rule')} broken",
    }


def _past(implementation: Implementation) -> Markup:
    """The share of required cases that passed, run by run, as a line."""
    shares = []
    for document in implementation.runs[-_SHOWN:]:
        row = document.counts["required"]
        judged = row["passed"] + row["failed"]
        shares.append(row["passed"] / judged if judged else 0.0)
    step = (_WIDTH - 8) / max(1, len(shares) - 1)
    points = [
        (round(4 + index * step, 1), round(4 + (1 - share) * (_HEIGHT - 8), 1))
        for index, share in enumerate(shares)
    ]
    line = " ".join(f"{x},{y}" for x, y in points)
    words = ", ".join(f"{share:.1%}" for share in shares)
    x, y = points[-1]
    return Markup(
        '<svg class="past" width="{}" height="{}" viewBox="0 0 {} {}" role="img" aria-label="required rules '
        "that held, "
        'run by run: {}"><polyline points="{}"/><circle cx="{}" cy="{}" r="3"/></svg>'
    ).format(_WIDTH, _HEIGHT, _WIDTH, _HEIGHT, words, line, x, y)
