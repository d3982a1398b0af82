"""What the first page of the report says: the server, what is broken, what was not judged, how to reproduce.

It stays on one sheet of paper whatever the run: lists are cut, and what is cut off stands further below.
"""

from __future__ import annotations

from typing import Any

from conformance._text import count, duration, one_line
from conformance.judge.findings import Verdict
from conformance.report import commands, view
from conformance.report.document import Document

#: Causes, and reasons for which something was not judged, that the first page names.
CAUSES, REASONS = 8, 4


def values(document: Document) -> dict[str, Any]:
    """What the template shows."""
    causes = [_cause(cause, document) for cause in view.causes(document)]
    missing = view.inconclusive(document)
    return {
        "facts": _facts(document),
        "causes": causes[:CAUSES],
        "more": causes[CAUSES:],
        "unjudged": [
            {"cases": count(len(group.cases), "case"), "reason": one_line(group.reason, 180)}
            for group in missing[:REASONS]
        ],
        "reasons": len(missing),
        "left_out": _left_out(document),
        "again": commands.again(document.run.options, document.run.seed),
        "one": _one(document),
    }


def _facts(document: Document) -> list[tuple[str, str]]:
    run = document.run
    processes = f" by {count(run.workers, 'process', 'processes')}" if run.workers > 1 else ""
    facts = [
        ("Server", view.label(document)),
        ("Judged", f"{run.started[:16].replace('T', ' ')} UTC, in {duration(run.seconds)}{processes}"),
        ("Requests", f"{run.requests:,}"),
        ("Suite", document.suite.version),
        ("Seed", "" if run.seed is None else str(run.seed)),
        ("Only", run.selection),
    ]
    return [(name, value) for name, value in facts if value]


def _cause(cause: view.Cause, document: Document) -> dict[str, Any]:
    return {
        "rule": cause.rule,
        "where": view.where(cause.record.operations, document),
        "tone": "known" if cause.known else cause.first.verdict,
        "verdict": cause.first.verdict,
        "known": bool(cause.known),
        "expected": one_line(cause.first.decisive.expected, 120),
        "got": one_line(cause.first.decisive.got, 120),
        "consequences": len({case.rule for case in cause.consequences}),
    }


def _left_out(document: Document) -> str:
    """How much the user's selection left out, in words; empty for a whole run."""
    number = sum(case.verdict is Verdict.NOT_RUN for case in document.cells)
    if not document.run.selection or not number:
        return ""
    return f"{count(number, 'case')} left out by {document.run.selection}"


def _one(document: Document) -> str:
    """The command that repeats the first failure alone; empty where nothing is broken."""
    first = next(iter(view.causes(document)), None)
    return view.reproduction(document, first.first) if first else ""
