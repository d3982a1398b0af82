"""Makes the results document of a run."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from conformance import __version__
from conformance._files import shortest
from conformance._text import clean, mapped, one_line, writable
from conformance.contract.needs import waiting
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES, VERSION, Level, Rule
from conformance.judge.findings import Finding, Verdict
from conformance.report.causes import causes
from conformance.report.document import (
    FORMAT,
    AnnouncedRecord,
    CaseKey,
    CaseRecord,
    CauseRecord,
    Document,
    FindingRecord,
    MadeRecord,
    MissingRecord,
    OperationRecord,
    OrganizationRecord,
    RuleRecord,
    RunRecord,
    SuiteRecord,
    TargetRecord,
    VerdictRecord,
)
from conformance.report.evidence import document_exchanges
from conformance.report.known_failures import KnownFailures
from conformance.report.latency import latency
from conformance.report.model import CaseResult, Results, Timing
from conformance.report.outcome import Outcome, decide
from conformance.report.pinned_choices import PinnedChoices
from conformance.target.file import Organization, Target
from conformance.target.redaction import Redactor, abbreviated

#: Exchanges kept as evidence of one finding, by what it concludes.
EVIDENCE = {
    Verdict.FAILED: 8,
    Verdict.ERROR: 8,
    Verdict.WARNING: 8,
    Verdict.INCONCLUSIVE: 3,
    Verdict.OBSERVED: 2,
}

#: Exchanges kept as evidence of any other finding.
OTHER_EVIDENCE = 1

#: Replay files that a document carries.
REPLAYS = 30

#: Further violations of one finding that are kept, shortened.
FURTHER = 20


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
    label: str = ""

    def outcome(self, results: Results) -> Outcome:
        """The verdict of the run."""
        return decide(
            results, self.fail_on, self.known, self.pinned, self.interrupted, embedded=self.embedded
        )


def build(results: Results, target: Target | None, run: RunInfo) -> Document:
    """The results document of a run, as it stands when this is called.

    What workers handed on is free of secrets already; options and the target come from the controller, and
    are redacted here.
    """
    outcome = run.outcome(results)
    timings = _timings(results)
    found = causes(results)
    cells = tuple(_case(case, timings) for case in results.cells.values())
    return Document(
        format=FORMAT,
        suite=SuiteRecord("financial-accounts-conformance", __version__, VERSION),
        run=_run(results, run, Redactor(target)),
        target=_target(target) if target else None,
        verdict=_verdict(outcome, results, run),
        counts={
            str(level): {str(verdict): counts[verdict] for verdict in Verdict}
            for level, counts in results.counts().items()
        },
        operations=tuple(
            OperationRecord(operation.id, operation.method, operation.path)
            for operation in OPERATIONS.values()
        ),
        rules=tuple(_rule(rule) for rule in RULES.values()),
        cells=cells,
        causes=tuple(
            CauseRecord(
                cause.rule,
                tuple(case.operation for case in cause.cells),
                tuple(CaseKey(case.rule, case.operation) for case in cause.consequences),
            )
            for cause in found
        ),
        known_failures=run.known.to_record(results) if run.known else None,
        pinned_choices=run.pinned.to_record(results) if run.pinned else None,
        latency=latency(timings.values()),
        exchanges=document_exchanges(cells, results.exchanges),
        errors=tuple(map(clean, results.errors)),
        lost=clean(results.lost),
        replays=_replays(results, run.folder),
        missing=tuple(
            MissingRecord(
                operation,
                clean(results.missing[operation]),
                tuple(waiting(operation)),
                clean(results.known_missing.get(operation, "")),
            )
            for operation in OPERATIONS
            if operation in results.missing
        ),
        created=tuple(
            sorted(map(_made, results.made), key=lambda made: (made.operation, made.path, made.id))
        ),
    )


def _verdict(outcome: Outcome, results: Results, run: RunInfo) -> VerdictRecord:
    return VerdictRecord(
        name=outcome.name,
        exit_status=outcome.exit_status,
        sentence=clean(outcome.sentence),
        notes=tuple(map(clean, outcome.notes)),
        fail_on=run.fail_on,
        title=clean(outcome.title),
        failures=len(results.violations(run.fail_on)),
    )


def _run(results: Results, run: RunInfo, redactor: Redactor) -> RunRecord:
    def redacted(text: str) -> str:
        return clean(redactor.text(text))

    return RunRecord(
        started=_time(run.started),
        ended=_time(run.ended),
        seconds=round(max(run.ended - run.started, 0), 3),
        seed=run.seed,
        options={name: redacted(value) for name, value in run.options.items()},
        embedded=run.embedded,
        interrupted=redacted(run.interrupted),
        selection=redacted(results.selection),
        workers=run.workers,
        requests=results.sent,
        retries=results.waits,
        waited=round(results.waited, 3),
        folder=clean(shortest(run.folder)) if run.folder else "",
        label=run.label,
        created=len(results.made),
        payouts=sum(made.operation == "createPayout" for made in results.made),
        announced=AnnouncedRecord(*results.announced),
        effort=results.effort,
        judged_in_part=_by_rule(results.judged_in_part),
    )


def _by_rule(cases: Collection[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Cases as rule -> operations, in the catalogue's order."""
    found = {
        rule.id: tuple(operation for operation in rule.operations if (rule.id, operation) in cases)
        for rule in RULES.values()
    }
    return {rule: operations for rule, operations in found.items() if operations}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _target(target: Target) -> TargetRecord:
    redactor = Redactor(target)

    def organization(given: Organization) -> OrganizationRecord:
        return OrganizationRecord(
            abbreviated(given.api_key), given.customer_id, given.other_customer_id, given.funded_account_id
        )

    return TargetRecord(
        base_url=clean(redactor.text(target.base_url)),
        primary=organization(target.primary),
        secondary=organization(target.secondary) if target.secondary else None,
        features=asdict(target.features),
        array_style=target.array_style,
        requests_per_second=target.limits.requests_per_second,
        samples=mapped(target.samples, lambda text: clean(redactor.text(text))),
        limits=asdict(target.limits),
    )


def _made(made: MadeRecord) -> MadeRecord:
    return MadeRecord(made.organization, made.operation, clean(made.id), clean(made.path))


def _rule(rule: Rule) -> RuleRecord:
    return RuleRecord(
        rule.id,
        rule.section,
        rule.level,
        rule.statement,
        rule.operations,
        rule.needs,
        rule.follows,
    )


def _case(case: CaseResult, timings: Mapping[int, Timing]) -> CaseRecord:
    findings = sorted(case.findings, key=lambda finding: finding.weight, reverse=True)
    return CaseRecord(
        rule=case.rule,
        operation=case.operation,
        verdict=case.verdict,
        summary=clean(case.summary),
        known=clean(case.known),
        findings=tuple(_finding(finding, timings) for finding in findings),
    )


def _finding(finding: Finding, timings: Mapping[int, Timing]) -> FindingRecord:
    seconds = sum(timings[number].elapsed for number in set(finding.exchanges) if number in timings)
    return FindingRecord(
        verdict=finding.verdict,
        check=finding.check,
        summary=clean(finding.summary),
        expected=clean(finding.expected),
        got=clean(finding.got),
        remedy=clean(finding.remedy),
        cause=finding.cause,
        probes=finding.probes,
        exchanges=tuple(kept_evidence(finding)),
        observations={clean(question): clean(answer) for question, answer in finding.observations.items()},
        further=tuple(clean(one_line(text)) for text in finding.further[:FURTHER]),
        exercised=finding.exercised,
        replay=finding.replay,
        confirmed=finding.confirmed,
        without_error_body=finding.without_error_body,
        seconds=round(seconds, 6),
        lacks=finding.lacks,
    )


def kept_evidence(finding: Finding) -> list[int]:
    """The exchanges of a finding that a document names, the decisive one first."""
    return list(dict.fromkeys(finding.exchanges))[: EVIDENCE.get(finding.verdict, OTHER_EVIDENCE)]


def _replays(results: Results, folder: Path | None) -> dict[str, Mapping[str, Any]]:
    """The replay files of the first violation of each cause, by the path that findings name them with.

    They hold no secret, and are kept exact.
    """
    replays: dict[str, Mapping[str, Any]] = {}
    for cause in causes(results) if folder else ():
        finding = (next((case for case in cause.cells if not case.known), cause.cells[0])).decisive
        if folder is None or finding is None or not finding.replay or len(replays) >= REPLAYS:
            continue
        try:
            replay = json.loads((folder / finding.replay).read_text("utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(replay, dict):
            replays[finding.replay] = mapped(replay, writable)
    return replays


def _timings(results: Results) -> dict[int, Timing]:
    """The timings of every exchange that is known of, from either record."""
    timings = {
        number: Timing(
            exchange.operation, exchange.status, exchange.started, exchange.elapsed, exchange.attempts
        )
        for number, exchange in results.exchanges.items()
    }
    return timings | results.timings
