"""Numbers and facts of a run, which page, terminal and Markdown show beside its sections."""

from __future__ import annotations

import time
from collections.abc import Mapping

from conformance._text import count, duration, milliseconds
from conformance.contract.rules import Side
from conformance.judge.latency import Latency
from conformance.judge.verdicts import Verdict
from conformance.judge.waits import LIMITS
from conformance.report.document import KNOWN, Document

#: Columns of tables, in their order, each with its sign.
SIGNS = {
    str(Verdict.PASSED): "✓",
    str(Verdict.FAILED): "✗",
    str(Verdict.WARNING): "!",
    str(Verdict.INCONCLUSIVE): "?",
    str(Verdict.NOT_RUN): "·",
    str(Verdict.OBSERVED): "○",
    str(Verdict.NOT_APPLICABLE): "–",
    KNOWN: "✗",
}

#: Maximum number of waits that are named.
MOST_WAITS = 4

#: What the numbers count.
UNIT = "A cell is one rule on one operation."


def columns(document: Document) -> list[str]:
    """The columns of the document's counts that are not 0 throughout."""
    return [name for name in SIGNS if any(row[name] for row in document.counts.values())]


def label(document: Document) -> str:
    """The judged server, or the command of the judged client."""
    if document.run.side is Side.CLIENT:
        return document.run.options.get("exec", "the clients of the sandbox")
    if document.run.embedded:
        return "the embedded reference server"
    return document.target["base_url"] if document.target else "no target"


def pace(document: Document) -> str:
    """The latency of the server, and what the run found of its pace, in sentences; empty without answers."""
    rows = [row for row in document.latency if row.p50 is not None and row.operation]
    if not rows:
        return ""
    whole = Latency("")
    for row in rows:
        whole.merge(row)
    whole.decide()
    slowest = max(rows, key=lambda row: row.p50 or 0.0)
    latency = (
        f"Half of the answers came within {milliseconds(whole.p50 or 0.0)}; slowest is {slowest.operation}, "
        f"half within {milliseconds(slowest.p50 or 0.0)}."
    )
    return " ".join([latency, *document.run.pace])


def started(document: Document) -> str:
    """The time at which the run began."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(document.run.started))


def sent(document: Document) -> str:
    """The number of requests and their time, in words."""
    run = document.run
    return f"{count(run.requests, 'request')} in {duration(run.seconds)}"


def waited(document: Document) -> str:
    """What the run waited for, where that was a rate limit or more than a tenth of its time, in words; empty
    if there was nothing of it."""
    run = document.run
    long = [
        f"{duration(wait.seconds)} for {wait.what}, {count(wait.times, 'time')}"
        for wait in run.waits
        if wait.what in LIMITS.values() or wait.seconds > run.seconds / 10
    ]
    return f"Of its time it waited {'; '.join(long[:MOST_WAITS])}." if long else ""


def created(document: Document) -> str:
    """The resources that the run created and left behind, in words; empty without any."""
    run = document.run
    if not run.created:
        return ""
    named = f"; their names and labels contain {run.label}" if run.label else ""
    return f"{count(run.created, 'resource')}, {count(run.payouts, 'payout')} among them{named}"


def run_facts(document: Document) -> list[tuple[str, str]]:
    """The facts of a run as names and values, the most important first."""
    run, target = document.run, document.target
    facts = [
        (run.side.capitalize(), label(document)),
        ("Started", started(document)),
        ("Requests", sent(document)),
        ("Waits", waited(document)),
        ("Seed", "" if run.seed is None else str(run.seed)),
        ("Narrowed by", run.selection),
        ("Suite", f"{document.suite.version}, catalogue of rules {document.suite.catalogue_version}"),
        ("Processes", str(run.workers) if run.workers > 1 else ""),
        ("Effort", run.effort),
        ("Interrupted", run.interrupted),
        ("Server lost", document.lost),
        *((f"Option {name}", value) for name, value in run.options.items()),
    ]
    if target:
        facts += [
            ("Primary organization", _listed(target["primary"])),
            ("Secondary organization", _listed(target["secondary"] or {})),
            ("Declared features", _listed(target["features"])),
            ("Several statuses", target["array_style"]),
            ("Limits", _listed({name: f"{value:g}" for name, value in target["limits"].items() if value})),
        ]
    return [
        (name, value) for name, value in (*facts, ("Created and left behind", created(document))) if value
    ]


def _listed(values: Mapping[str, object]) -> str:
    """Names with their values, but those that are None."""
    named = {name.replace("_", " "): value for name, value in values.items() if value is not None}
    return ", ".join(f"{name} {value}" for name, value in named.items())
