"""Numbers and facts of a run, which page, terminal and Markdown show beside its sections."""

from __future__ import annotations

from collections.abc import Mapping

from conformance._text import count, duration, milliseconds
from conformance.contract.rules import Level, Side
from conformance.judge.latency import Latency
from conformance.judge.verdicts import Verdict
from conformance.report.document import Document, TargetRecord

#: Verdicts in the order of tables, each with its sign.
SIGNS = {
    Verdict.PASSED: "✓",
    Verdict.FAILED: "✗",
    Verdict.WARNING: "!",
    Verdict.INCONCLUSIVE: "?",
    Verdict.NOT_RUN: "·",
    Verdict.OBSERVED: "○",
    Verdict.NOT_APPLICABLE: "–",
}

#: The column of violations that are known.
KNOWN = "known failures"

#: Name of a run's verdict -> tone: good, part, known, unsure or suite; bad for all others.
_TONES = {
    "conforms": "good",
    "embedded": "good",
    "partial": "part",
    "known failures": "known",
    "interrupted": "unsure",
    "incomplete": "unsure",
    "error": "suite",
}

#: What the numbers count.
UNIT = "A cell is one rule on one operation."


def tone(document: Document) -> str:
    """The tone of the verdict: a value of _TONES, or bad."""
    return _TONES.get(document.verdict.name, "bad")


def numbers(document: Document) -> dict[str, dict[str, int]]:
    """Level -> verdict, or KNOWN -> number of cells; known violations count only as the latter."""
    rows = {
        str(level): {str(verdict): document.counts[level][verdict] for verdict in SIGNS} | {KNOWN: 0}
        for level in Level
    }
    levels = {rule.id: str(rule.level) for rule in document.rules}
    for cell in document.cells:
        if cell.known:
            rows[levels[cell.rule]][str(cell.verdict)] -= 1
            rows[levels[cell.rule]][KNOWN] += 1
    return rows


def columns(numbers: dict[str, dict[str, int]]) -> list[str]:
    """The columns of `numbers` that are not 0 throughout."""
    return [name for name in (*map(str, SIGNS), KNOWN) if any(row[name] for row in numbers.values())]


def label(document: Document) -> str:
    """The judged server, or the command of the judged client."""
    if document.run.side is Side.CLIENT:
        return document.run.options.get("exec", "the clients of the sandbox")
    if document.run.embedded:
        return "the embedded reference server"
    return document.target.base_url if document.target else "no target"


def pace(document: Document) -> str:
    """The latency of the server in a sentence; empty without answers."""
    rows = [row for row in document.latency if row.p50 is not None and row.operation]
    if not rows:
        return ""
    whole = Latency("")
    for row in rows:
        whole.merge(row)
    slowest = max(rows, key=lambda row: row.p50 or 0.0)
    return (
        f"Half of the answers came within {milliseconds(whole.p50 or 0.0)}; slowest is {slowest.operation}, "
        f"half within {milliseconds(slowest.p50 or 0.0)}."
    )


def sent(document: Document) -> str:
    """The number of requests and their time, in words."""
    run = document.run
    waits = f", {count(run.retries, 'wait')} for a rate limit ({duration(run.waited)})" if run.retries else ""
    return f"{count(run.requests, 'request')} in {duration(run.seconds)}{waits}"


def created(document: Document) -> str:
    """The resources that the run created and left behind, in words; empty without any."""
    run = document.run
    if not run.created:
        return ""
    named = f"; their names and labels contain {run.label}" if run.label else ""
    return f"{count(run.created, 'resource')}, {count(run.payouts, 'payout')} among them{named}"


def run_facts(document: Document) -> list[tuple[str, str]]:
    """The facts of a run as names and values, the most important first."""
    run = document.run
    facts = [
        (run.side.capitalize(), label(document)),
        ("Started", run.started[:16].replace("T", " ") + " UTC"),
        ("Requests", sent(document)),
        ("Seed", "" if run.seed is None else str(run.seed)),
        ("Narrowed by", run.selection),
        ("Suite", f"{document.suite.version}, catalogue of rules {document.suite.catalogue_version}"),
        ("Processes", str(run.workers) if run.workers > 1 else ""),
        ("Effort", run.effort),
        ("Interrupted", run.interrupted),
        ("Server lost", document.lost),
        *((f"Option {name}", value) for name, value in run.options.items()),
        *_target(document.target),
        ("Created and left behind", created(document)),
    ]
    return [(name, value) for name, value in facts if value]


def _target(target: TargetRecord | None) -> list[tuple[str, str]]:
    if target is None:
        return []
    facts = [
        (f"{name} organization".capitalize(), _listed(organization))
        for name, organization in (("primary", target.primary), ("secondary", target.secondary))
        if organization
    ]
    limits = {name: f"{value:g}" for name, value in target.limits.items() if value}
    return [
        *facts,
        ("Declared features", _listed(target.features)),
        ("Several statuses", target.array_style),
        ("Limits", _listed(limits)),
    ]


def _listed(values: Mapping[str, object]) -> str:
    """Names with their values, but those that are None."""
    named = {name.replace("_", " "): value for name, value in values.items() if value is not None}
    return ", ".join(f"{name} {value}" for name, value in named.items())
