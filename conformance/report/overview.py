"""Facts of the run: in short for the first page of the report, and whole for its end."""

from __future__ import annotations

from conformance._text import count, duration, listed
from conformance.contract.rules import Side
from conformance.judge.findings import Verdict
from conformance.judge.ledger import QUICK
from conformance.report import view
from conformance.report.document import AnnouncedRecord, Document, OrganizationRecord, TargetRecord


def facts(document: Document) -> list[tuple[str, str]]:
    """Names and values of the run in short, for the first page."""
    run = document.run
    processes = f" by {count(run.workers, 'process', 'processes')}" if run.workers > 1 else ""
    found = [
        (run.side.capitalize(), view.label(document)),
        ("Judged", f"{run.started[:16].replace('T', ' ')} UTC, in {duration(run.seconds)}{processes}"),
        ("Requests", f"{run.requests:,}"),
        ("Suite", document.suite.version),
        ("Seed", "" if run.seed is None else str(run.seed)),
        ("Only", run.selection),
    ]
    return [(name, value) for name, value in found if value]


def left_out(document: Document) -> str:
    """Size of what the user's selection left out, in words; empty for a whole run."""
    number = sum(case.verdict is Verdict.NOT_RUN for case in document.cells)
    if not document.run.selection or not number:
        return ""
    if document.run.side is Side.CLIENT:
        return f"{count(number, 'case')} not exercised by {document.run.selection}"
    return f"{count(number, 'case')} left out by {document.run.selection}"


# ---------------------------------------------------------------------- the run


def run_facts(document: Document) -> list[tuple[str, str]]:
    """Names and values of the run itself: when, how, on which server."""
    run = document.run
    found = [
        ("Started", run.started),
        ("Ended", run.ended),
        ("Workers", str(run.workers)),
        ("Seed", "none" if run.seed is None else str(run.seed)),
        ("Requests sent", f"{run.requests:,}"),
        ("Announced", _announced(run.announced)),
        ("Waits for a rate limit", f"{run.retries:,} ({run.waited:g} s)" if run.retries else ""),
        ("Suite", f"{document.suite.name} {document.suite.version}"),
        ("Catalogue of rules", document.suite.catalogue_version),
        *((f"Option {name}", value) for name, value in run.options.items()),
        ("Effort", run.effort),
        ("Rules left out", _rules_left_out(document)),
        ("Narrowed by", run.selection),
        ("Interrupted", run.interrupted),
        ("Server lost", document.lost),
        *_target(document.target),
    ]
    if pinned := document.pinned_choices:
        numbers = f"{pinned.pinned} pinned, {pinned.asked} asked again, {pinned.new} new"
        found.append(("Pinned choices", f"{pinned.source}: {numbers}"))
    if known := document.known_failures:
        rules = listed([entry.rule for entry in known.entries])
        found.append(("Known failures", f"{known.source}: {rules}"))
    return [(name, value) for name, value in found if value]


def _announced(told: AnnouncedRecord) -> str:
    if not told.requests:
        return ""
    return f"{told.requests:,} requests, {told.created:,} created, {told.payouts:,} payouts"


def _rules_left_out(document: Document) -> str:
    """The rules of which a quick run judged nothing."""
    if document.run.effort != QUICK:
        return ""
    judged = {case.rule for case in document.cells if case.verdict is not Verdict.NOT_RUN}
    return ", ".join(rule.id for rule in document.rules if rule.id not in judged)


def _target(target: TargetRecord | None) -> list[tuple[str, str]]:
    if target is None:
        return []
    features = {name: value for name, value in target.features.items() if value is not None}
    return [
        ("Server", target.base_url),
        ("Primary organization", _organization(target.primary)),
        ("Secondary organization", _organization(target.secondary)),
        ("Declared features", ", ".join(f"{name}: {value}".lower() for name, value in features.items())),
        ("Several statuses", target.array_style),
        ("Limits", ", ".join(f"{name} {value:g}" for name, value in target.limits.items() if value)),
    ]


def _organization(organization: OrganizationRecord | None) -> str:
    if organization is None:
        return "none"
    named = {
        "api key": organization.api_key,
        "customer": organization.customer_id,
        "other customer": organization.other_customer_id,
        "funded account": organization.funded_account_id,
    }
    return ", ".join(f"{name} {value}" for name, value in named.items() if value)
