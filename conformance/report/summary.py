"""The sections of a summary, for terminal and Markdown, and the facts of a run, for the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from conformance._options import Effort
from conformance._text import count, duration, listed, one_line
from conformance.contract.needs import first
from conformance.contract.rules import Level, Side
from conformance.judge.findings import Finding, Verdict
from conformance.judge.ledger import grouped
from conformance.report import view
from conformance.report.document import Document, OrganizationRecord, TargetRecord

#: Maximum number of further checks, and of rules in a line, unless verbose.
CHECKS, NAMES = 6, 4


@dataclass(frozen=True)
class Fact:
    """A labelled text, `quoted` if literal (of a server or a shell), followed by the unquoted `after`."""

    label: str
    text: str
    quoted: bool = False
    after: str = ""


@dataclass(frozen=True)
class SummaryLine:
    """An entry of a section with its facts; `note` is shown where there is room."""

    text: str
    facts: tuple[Fact, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Section:
    """A titled list of entries; `more` entries were omitted. `tone` is bad, unsure or empty."""

    title: str
    tone: str
    entries: tuple[SummaryLine, ...]
    more: int = 0


def sections(
    document: Document, *, most: int | None, folder: Path | None = None, verbose: bool = False
) -> Iterator[Section]:
    """Yields the non-empty sections, with at most `most` entries each.

    `folder` has the reports, if not the one in the document. `verbose` omits nothing.
    """
    found: dict[tuple[str, str], Iterable[SummaryLine]] = {
        ("Not implemented: a valid request is answered as an undocumented path is", "bad"): _missing(
            document
        ),
        ("What is broken", "bad"): _broken(document, folder, verbose),
        ("Warnings: the specification implies these, it does not state them", "unsure"): _warnings(document),
        ("Known failures", "unsure"): _known(document),
        ("Known failures to delete", "bad"): _stale(document),
        ("Inconclusive: neither passed nor failed", "unsure"): _inconclusive(document, verbose),
        ("Errors of the suite itself", "bad"): _errors(document),
    }
    for (title, tone), entries in found.items():
        if every := tuple(entries):
            yield Section(title, tone, every[:most], len(every) - len(every[:most]))


def _on(document: Document, names: Iterable[str]) -> str:
    return view.where(list(names), document.operations)


def _names(names: Iterable[str], verbose: bool) -> str:
    return listed(names, 10**6 if verbose else NAMES)


def _missing(document: Document) -> Iterator[SummaryLine]:
    missing = document.missing
    for record in missing:
        last = record is missing[-1]
        step = (Fact("next", first([each.operation for each in missing])),) if last else ()
        yield SummaryLine(f"{record.operation}: {record.answered}{view.wait(record)}", step)


# ---------------------------------------------------------------------- violations


def _broken(document: Document, folder: Path | None, verbose: bool) -> Iterator[SummaryLine]:
    """The causes that fail the run, or whose consequences do."""
    for cause in view.causes(document):
        if cause.known or not cause.failing:
            continue
        rule = cause.rule
        title = f"{rule.id} on {_on(document, cause.record.operations)}"
        section = f"({rule.level}, section {', '.join(rule.section)})"
        facts = tuple(_facts(document, cause, folder, verbose))
        yield SummaryLine(f"{title} {section}", facts, rule.statement)


def _facts(document: Document, cause: view.Cause, folder: Path | None, verbose: bool) -> Iterator[Fact]:
    shown = cause.first
    finding = shown.decisive
    yield Fact("expected", one_line(finding.expected), quoted=True)
    yield Fact("got", one_line(finding.got), quoted=True, after=_CONFIRMED.get(finding.confirmed, ""))
    if finding.remedy:
        yield Fact("remedy", one_line(finding.remedy, 600))
    if signed := view.signed(document, shown):
        yield Fact("signed", one_line(signed, 600), quoted=True)
    command = view.reproduced(document, shown)
    yield Fact("reproduce", command, quoted=True)
    further = cause.checks[1:]
    for other, operations in further if verbose else further[:CHECKS]:
        name = other.check.rpartition(".")[2].removeprefix("test_")
        yield Fact("also", f"{name} on {_on(document, operations)}: {_told(other)}")
    if not verbose and len(further) > CHECKS:
        yield Fact("also", f"{count(len(further) - CHECKS, 'more check')}")
    if verbose:
        for case in cause.cases:
            if case is not shown:
                yield Fact("got", one_line(case.decisive.got), quoted=True, after=f" on {case.operation}")
    elif 1 < len(cause.cases) < len(document.operations):
        yield Fact("operations", _names(cause.record.operations, verbose))
    if cause.consequences:
        names = _names((case.rule for case in cause.consequences), verbose)
        yield Fact("led to", f"{count(len(cause.consequences), 'more case')} of {names}")


def _warnings(document: Document) -> Iterator[SummaryLine]:
    by_rule = grouped(
        (case.rule, case) for case in document.cells if case.verdict is Verdict.WARNING and not case.known
    )
    # With --fail-on implied they are listed as broken.
    for rule, cases in by_rule.items() if document.verdict.fail_on is Level.REQUIRED else ():
        yield SummaryLine(
            f"{rule} on {_on(document, (case.operation for case in cases))}: {_told(cases[0].decisive)}"
        )


# ---------------------------------------------------------------------- lists that the user keeps


def _known(document: Document) -> Iterator[SummaryLine]:
    reasons = grouped(((case.rule, case.known), case.operation) for case in document.cells if case.known)
    for (rule, reason), names in reasons.items():
        yield SummaryLine(f"{rule} on {_on(document, names)}: {one_line(reason)}")


def _stale(document: Document) -> Iterator[SummaryLine]:
    if known := document.known_failures:
        for stale in known.stale:
            yield SummaryLine(
                f"{known.source}, line {stale.line}: delete the entry for {stale.rule} on "
                f"{stale.operation}, from [[failure]] to the next one: {stale.why}"
            )


# ---------------------------------------------------------------------- what is missing


def _inconclusive(document: Document, verbose: bool) -> Iterator[SummaryLine]:
    lacking = {record.operation for record in document.missing}
    for group in view.inconclusive(document):
        if all(case.operation in lacking for case in group.cases):
            continue
        remedy = (Fact("remedy", one_line(group.remedy)),) if group.remedy else ()
        rules = Fact("rules", _names((case.rule for case in group.cases), verbose))
        yield SummaryLine(f"{count(len(group.cases), 'case')}: {one_line(group.reason)}", (*remedy, rules))


def _errors(document: Document) -> Iterator[SummaryLine]:
    raised = (case.summary for case in document.cells if case.verdict is Verdict.ERROR)
    yield from (SummaryLine(one_line(error)) for error in (*document.errors, *raised))


def _told(finding: Finding) -> str:
    """Expected and got in one line."""
    return f"expected {one_line(finding.expected, 160)}; got {one_line(finding.got, 160)}"


_CONFIRMED = {
    "confirmed": " (confirmed by repeating it alone)",
    "not reproduced": " (not reproduced alone; it is a violation all the same)",
}


# ---------------------------------------------------------------------- the run


def facts(document: Document) -> list[tuple[str, str]]:
    """The facts of a run for the first page, as names and values."""
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
    """The number of cases that the selection left out, in words; empty for a whole run."""
    number = sum(case.verdict is Verdict.NOT_RUN for case in document.cells)
    if not document.run.selection or not number:
        return ""
    if document.run.side is Side.CLIENT:
        return f"{count(number, 'case')} not exercised by {document.run.selection}"
    return f"{count(number, 'case')} left out by {document.run.selection}"


def run_facts(document: Document) -> list[tuple[str, str]]:
    """All facts of a run: times, options, server."""
    run = document.run
    found = [
        ("Started", run.started),
        ("Ended", run.ended),
        ("Workers", str(run.workers)),
        ("Seed", "none" if run.seed is None else str(run.seed)),
        ("Requests sent", f"{run.requests:,}"),
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
    if known := document.known_failures:
        rules = listed([entry.rule for entry in known.entries])
        found.append(("Known failures", f"{known.source}: {rules}"))
    return [(name, value) for name, value in found if value]


def _rules_left_out(document: Document) -> str:
    """The rules that a quick run did not judge at all."""
    if document.run.effort != Effort.QUICK:
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
