"""Builds the results document of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from conformance import __version__
from conformance._text import clean, mapped
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import ALL_RULES, CLIENT_RULES, RULES, VERSION, Level, Side
from conformance.contract.traits import traits_of
from conformance.judge.cells import Cell
from conformance.judge.ledger import Ledger
from conformance.judge.verdicts import Verdict
from conformance.judge.waits import LIMITS, joined
from conformance.report.causes import causes
from conformance.report.document import (
    FORMAT,
    KNOWN,
    Document,
    RunRecord,
    SuiteRecord,
    WaitRecord,
)
from conformance.report.evidence import document_exchanges
from conformance.report.known_failures import KnownFailures
from conformance.report.verdict import Decision
from conformance.target.file import Target
from conformance.target.redaction import Redactor, abbreviated


def build(
    ledger: Ledger,
    target: Target | None,
    run: RunRecord,
    *,
    fail_on: Level = Level.REQUIRED,
    known: KnownFailures | None = None,
    others_failed: bool = False,
) -> Document:
    """Builds the results document of a run in its present state, and marks known failures in its ledger.

    Ledgers of workers are redacted already; options and target are redacted here.
    """
    for row in ledger.latency.values():
        row.decide()
    entries = known.apply(ledger) if known else ()
    decision = Decision(ledger, run, causes(ledger), entries, fail_on, others_failed)
    rules = RULES if ledger.side is Side.SERVER else CLIENT_RULES
    places = {operation: place for place, operation in enumerate(OPERATIONS)}
    return Document(
        format=FORMAT,
        suite=SuiteRecord("financial-accounts-conformance", __version__, VERSION),
        run=_run(ledger, run, Redactor(target)),
        target=_target(target) if target else None,
        verdict=decision.record,
        counts=_counts(ledger.cells),
        operations=tuple(OPERATIONS),
        rules=tuple(rules.values()),
        cells=ledger.cells,
        causes=decision.causes,
        known_failures=decision.known_failures,
        latency=tuple(
            sorted(ledger.latency.values(), key=lambda row: places.get(row.operation, len(places)))
        ),
        exchanges=document_exchanges(ledger.cells, ledger.exchanges),
        errors=tuple(map(clean, ledger.errors)),
        lost=clean(ledger.lost),
        created=tuple(sorted(ledger.created, key=lambda one: (one.operation, one.path, one.id))),
    )


def _counts(cells: Iterable[Cell]) -> dict[str, dict[str, int]]:
    """Level -> verdict, or KNOWN -> number of cells."""
    numbers = Counter((ALL_RULES[cell.rule].level, KNOWN if cell.known else cell.verdict) for cell in cells)
    return {
        str(level): {name: numbers[level, name] for name in (*map(str, Verdict), KNOWN)} for level in Level
    }


def _run(ledger: Ledger, run: RunRecord, redactor: Redactor) -> RunRecord:
    limits = [wait for what, wait in ledger.waits.items() if what in LIMITS.values()]
    return replace(
        run,
        options={name: redactor.clean(value) for name, value in run.options.items()},
        interrupted=redactor.clean(run.interrupted),
        selection=redactor.clean(ledger.selection),
        requests=ledger.sent,
        retries=sum(wait.times for wait in limits),
        waited=round(
            sum(end - begin for begin, end in joined(span for wait in limits for span in wait.spans)), 3
        ),
        waits=tuple(
            WaitRecord(clean(what), wait.times, round(wait.seconds, 3))
            for what, wait in sorted(ledger.waits.items(), key=lambda each: -each[1].seconds)
        ),
        folder=clean(run.folder),
        created=len(ledger.created),
        payouts=sum(traits_of(resource.operation).draws_on_funds for resource in ledger.created),
        effort=ledger.effort,
        side=ledger.side,
    )


def _target(target: Target) -> dict[str, Any]:
    plain: dict[str, Any] = mapped(target.to_plain(), Redactor(target).clean)
    for organization in target.organizations:
        part = plain[organization.name]
        part["api_key"] = abbreviated(organization.api_key)
        del part["secret"]
    return plain
