"""The results document: everything a report shows, as JSON data; spec/results.schema.json is its schema.

Every other format is made from this document alone, so `conformance report results.json` shows what the
run showed. It holds no secret and stays bounded: bodies are cut (`results.KEPT_BODY`), an exchange is
stored once and only as evidence of a finding, and all others count in the latency of their operation.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance import __version__
from conformance._text import clean, one_line, writable
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES, Level, Rule
from conformance.judging.findings import Finding, Verdict
from conformance.results.causes import causes
from conformance.results.evidence import document_exchanges
from conformance.results.latency import latency
from conformance.results.model import CaseResult, Results, Timing
from conformance.results.outcome import Outcome
from conformance.results.view import FORMAT
from conformance.target.file import Organization, Target
from conformance.target.redaction import Redactor, abbreviated

if TYPE_CHECKING:
    from conformance.results.known_failures import KnownFailures
    from conformance.results.pinned_choices import PinnedChoices

#: Exchanges kept as evidence of one finding, by what it concludes.
EVIDENCE = {
    Verdict.FAILED: 8,
    Verdict.ERROR: 8,
    Verdict.WARNING: 8,
    Verdict.INCONCLUSIVE: 3,
    Verdict.OBSERVED: 2,
}

#: Replay files that a document carries.
REPLAYS = 30

#: Further violations of one finding that are kept, shortened.
FURTHER = 20

#: Exchanges kept as evidence of any other finding.
OTHER_EVIDENCE = 1


@dataclass
class RunInfo:
    """How a run went: times in Unix seconds, `options` as the user gave them, by name.

    `embedded` runs were made on the suite's own reference server. `interrupted` says why a run did not run
    to its end; it is empty for one that did, or that its user limited (see `Results.selection`). `folder` is
    where the reports are written.
    """

    started: float
    ended: float
    seed: int | None = None
    options: dict[str, str] = field(default_factory=dict)
    embedded: bool = False
    interrupted: str = ""
    workers: int = 1
    fail_on: Level = Level.REQUIRED
    known: KnownFailures | None = None
    pinned: PinnedChoices | None = None
    folder: Path | None = None

    def outcome(self, results: Results) -> Outcome:
        """The verdict of the run."""
        return results.outcome(self.fail_on, self.known, self.pinned, self.interrupted)


def build(results: Results, target: Target | None, run: RunInfo) -> dict[str, Any]:
    """The results document of a run, as it stands when this is called."""
    redactor = Redactor(target)
    outcome = run.outcome(results)
    timings = _timings(results)
    document = {
        "format": FORMAT,
        "suite": {"name": "financial-accounts-conformance", "version": __version__},
        "run": _run(results, run),
        "target": _target(target) if target else None,
        "verdict": {
            "name": outcome.name,
            "exit_status": outcome.exit_status,
            "sentence": outcome.sentence,
            "notes": list(outcome.notes),
            "fail_on": str(run.fail_on),
        },
        "counts": {
            str(level): {str(verdict): counts[verdict] for verdict in Verdict}
            for level, counts in results.counts().items()
        },
        "operations": [{"id": one.id, "method": one.method, "path": one.path} for one in OPERATIONS.values()],
        "rules": [_rule(rule) for rule in RULES.values()],
        "cells": [_cell(cell, timings) for cell in results.cells.values()],
        "causes": [
            {
                "rule": cause.rule,
                "operations": [cell.operation for cell in cause.cells],
                "took_along": [{"rule": cell.rule, "operation": cell.operation} for cell in cause.took_along],
            }
            for cause in causes(results)
        ],
        "known_failures": run.known.to_plain(results) if run.known else None,
        "pinned_choices": run.pinned.to_plain(results) if run.pinned else None,
        "latency": latency(timings.values()),
        "exchanges": {},
        "replays": _replays(results, run.folder),
        "errors": list(results.errors),
        "lost": results.lost,
    }
    plain: dict[str, Any] = _mapped(document, lambda text: clean(redactor.text(text)))
    # Replay files are without secrets, and exact.
    plain["replays"] = _mapped(document["replays"], writable)
    evidence = document_exchanges(plain["cells"], results.exchanges)
    # Bodies are evidence: of them nothing is changed but what no file can hold.
    plain["exchanges"] = _mapped(evidence, lambda text: writable(redactor.text(text)))
    return plain


def _run(results: Results, run: RunInfo) -> dict[str, Any]:
    return {
        "started": _time(run.started),
        "ended": _time(run.ended),
        "seconds": round(max(run.ended - run.started, 0), 3),
        "seed": run.seed,
        "options": dict(run.options),
        "embedded": run.embedded,
        "interrupted": run.interrupted,
        "selection": results.selection,
        "workers": run.workers,
        "requests": results.sent,
    }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _target(target: Target) -> dict[str, Any]:
    def organization(one: Organization | None) -> dict[str, Any] | None:
        if one is None:
            return None
        return {
            "api_key": abbreviated(one.api_key),
            "customer_id": one.customer_id,
            "other_customer_id": one.other_customer_id,
            "funded_account_id": one.funded_account_id,
        }

    return {
        "base_url": target.base_url,
        "primary": organization(target.primary),
        "secondary": organization(target.secondary),
        "features": asdict(target.features),
        "array_style": target.array_style,
        "requests_per_second": target.requests_per_second,
        "samples": dict(target.samples),
    }


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "section": list(rule.section),
        "level": str(rule.level),
        "statement": rule.statement,
        "operations": list(rule.operations),
        "needs": list(rule.needs),
        "follows": list(rule.follows),
    }


def _cell(cell: CaseResult, timings: Mapping[int, Timing]) -> dict[str, Any]:
    findings = sorted(cell.findings, key=lambda finding: finding.verdict.rank)
    return {
        "rule": cell.rule,
        "operation": cell.operation,
        "verdict": str(cell.verdict),
        "summary": cell.summary,
        "known": cell.known,
        "findings": [_finding(finding, timings) for finding in findings],
    }


def _finding(finding: Finding, timings: Mapping[int, Timing]) -> dict[str, Any]:
    plain = finding.to_plain()
    # Both are the cell's.
    del plain["rule"], plain["operation"]
    plain["seconds"] = round(sum(timings[one].elapsed for one in set(finding.exchanges) if one in timings), 6)
    plain["exchanges"] = kept_evidence(finding)
    plain["further"] = [one_line(text) for text in finding.further[:FURTHER]]
    return plain


def kept_evidence(finding: Finding) -> list[int]:
    """The exchanges of a finding that a document names, the decisive one first."""
    return list(dict.fromkeys(finding.exchanges))[: EVIDENCE.get(finding.verdict, OTHER_EVIDENCE)]


def _replays(results: Results, folder: Path | None) -> dict[str, Any]:
    """The replay files of the first violation of each cause, by the path that findings name them with."""
    replays: dict[str, Any] = {}
    for cause in causes(results) if folder else ():
        finding = (next((cell for cell in cause.cells if not cell.known), cause.cells[0])).decisive
        if folder is None or finding is None or not finding.replay or len(replays) >= REPLAYS:
            continue
        try:
            replay = json.loads((folder / finding.replay).read_text("utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(replay, dict):
            replays[finding.replay] = replay
    return replays


def _timings(results: Results) -> dict[int, Timing]:
    """The timings of every exchange that is known of, from either record."""
    timings = {
        number: Timing(one["operation"], one["status"], one["started"], one["elapsed"])
        for number, one in results.exchanges.items()
    }
    return timings | results.timings


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """The data with every text, keys included, changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(str(key)): _mapped(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mapped(item, change) for item in value]
    return value
