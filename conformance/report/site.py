"""A static site that compares implementations over time, from their stored results."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markupsafe import Markup

from conformance._text import count, listed
from conformance.report import view
from conformance.report.comparison import compare
from conformance.report.comparison_formats import comparison_html
from conformance.report.document import Document
from conformance.report.history import Implementation
from conformance.report.html import html, render

_WIDTH, _HEIGHT = 320, 64

#: Runs that the past of an implementation shows.
_SHOWN = 40

#: The plot of few runs leaves room for this many; the widest bar, and what a date takes.
_FEWEST, _WIDEST, _DATE = 5, 40, 60


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
            "headline": _headline(implementations),
            "compared": len(implementations) > 1,
            "operations": operations,
        },
    )


def _headline(implementations: Sequence[Implementation]) -> str:
    """How many conform, and of how many that is not known, because no whole run of theirs was clean."""
    if len(implementations) == 1:
        return implementations[0].latest.verdict.sentence
    of, tones = len(implementations), [view.tone(implementation.latest) for implementation in implementations]
    conform, broken = tones.count("good"), tones.count("bad") + tones.count("known")
    unknown = of - conform - broken
    if unknown == of:
        return f"The last runs do not tell whether any of {of} implementations conforms."
    if unknown:
        told = [f"{conform} {'conforms' if conform == 1 else 'conform'}"] if conform else []
        told += (
            [f"{broken} {'does' if broken == 1 else 'do'} not{'' if conform else ' conform'}"]
            if broken
            else []
        )
        return f"Of {of} implementations {' and '.join(told)}; the last run of {unknown} does not tell."
    number = f"All {of}" if conform == of else f"{conform or 'None'} of {of}"
    verb = "conforms" if conform == 1 else "conform"
    return f"{number} implementations {verb}, by the last run of each."


def _row(implementation: Implementation) -> dict[str, object]:
    document = implementation.latest
    required, implied = document.counts["required"], document.counts["implied"]
    return {
        "name": implementation.name,
        "page": f"{slug(implementation.name)}.html",
        "tone": view.tone(document),
        "title": document.verdict.title or document.verdict.name,
        "sentence": document.verdict.sentence,
        "numbers": {
            "required passed": required["passed"],
            "required failed": required["failed"],
            "warnings": implied["warning"],
            "inconclusive": sum(row["inconclusive"] for row in document.counts.values()),
        },
        "date": document.run.started[:16].replace("T", " "),
        "suite": document.suite.version,
        "runs": count(len(implementation.runs), "run"),
        "past": _past(implementation),
        "since": _since(implementation),
    }


def _since(implementation: Implementation) -> dict[str, object] | None:
    """What broke and what was mended since the run before; None for a first run."""
    if len(implementation.runs) < 2:
        return None
    before, after = implementation.runs[-2:]
    found = compare({"before": before, "after": after})
    named = {
        "broke": [change.rule for change in found.broke],
        "mended": [change.rule for change in found.mended],
    }
    return {
        "date": before.run.started[:10],
        "changes": [
            {"name": name, "number": len(rules), "rules": listed(rules, 3)}
            for name, rules in named.items()
            if rules
        ],
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
    """Run by run, how many required cases failed: a bar each, and a dot where none did."""
    runs = implementation.runs[-_SHOWN:]
    failed = [document.counts["required"]["failed"] for document in runs]
    most, step = max(failed) or 1, _WIDTH / max(len(runs), _FEWEST)
    ground = _HEIGHT - 16
    marks = []
    for index, (document, number) in enumerate(zip(runs, failed, strict=True)):
        centre = round((index + 0.5) * step, 1)
        title = f"{document.run.started[:10]}: {number} failed"
        if number:
            height, width = max((ground - 12) * number / most, 2), round(min(step - 2, _WIDEST), 1)
            shape = Markup('<rect x="{}" y="{}" width="{}" height="{}"/>').format(
                round(centre - width / 2, 1), round(ground - height, 1), width, round(height, 1)
            )
        else:
            shape = Markup('<circle cx="{}" cy="{}" r="3"/>').format(centre, ground - 4)
        marks.append(Markup("<g><title>{}</title>{}</g>").format(title, shape))
    for index in {failed.index(max(failed)), len(failed) - 1}:
        # The most and the last in numbers.
        y = ground - max((ground - 12) * failed[index] / most, 8) - 3
        marks.append(
            Markup('<text x="{}" y="{}" text-anchor="middle">{}</text>').format(
                round((index + 0.5) * step, 1), round(y, 1), failed[index]
            )
        )
    marks += _dates(runs, step)
    words = "required cases that failed, run by run: " + ", ".join(map(str, failed))
    return Markup('<svg class="past" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        _WIDTH, _HEIGHT, words, Markup("").join(marks)
    )


def _dates(runs: Sequence[Document], step: float) -> list[Markup]:
    """The dates of the first and the last run, below them: in the middle where there is room for that."""
    ends = {0: ("start", 0.0), len(runs) - 1: ("end", len(runs) * step)}
    marks = []
    for index, (anchor, edge) in ends.items():
        if step >= _DATE:
            anchor, edge = "middle", (index + 0.5) * step
        marks.append(
            Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>').format(
                round(edge, 1), _HEIGHT - 2, anchor, runs[index].run.started[:10]
            )
        )
    return marks
