"""The sections of a run's summary, which the terminal and the Markdown show alike, and the facts of the run,
which the page shows: in short at its beginning, and whole at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from conformance._text import count, duration, listed, one_line
from conformance.contract.needs import first
from conformance.contract.rules import Level, Side
from conformance.judge.findings import Finding, Verdict
from conformance.judge.ledger import QUICK, grouped
from conformance.report import view
from conformance.report.document import AnnouncedRecord, Document, OrganizationRecord, TargetRecord
from conformance.report.verdict import gating

#: Further checks, and names of rules in one line, that are shown of an entry unless all is wanted.
CHECKS, NAMES = 6, 4


@dataclass(frozen=True)
class Fact:
    """A labelled text, `quoted` if it is literal, as a server or a shell has it. `after` follows unquoted."""

    label: str
    text: str
    quoted: bool = False
    after: str = ""


@dataclass(frozen=True)
class SummaryLine:
    """One line of a section, with what belongs to it. `note` is shown where there is room."""

    text: str
    facts: tuple[Fact, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Section:
    """A title, entries, and the number of those that were left out. `tone` is bad, unsure or nothing."""

    title: str
    tone: str
    entries: tuple[SummaryLine, ...]
    more: int = 0


def sections(
    document: Document, *, most: int | None, folder: Path | None = None, verbose: bool = False
) -> Iterator[Section]:
    """The sections that have entries, at most `most` in each.

    `folder` is where the reports were written, if not where the document says. `verbose` leaves out nothing.
    """
    made = _Sections(document, folder, verbose)
    for title, tone, entries in made.all():
        found = tuple(entries)
        if found:
            shown = found[:most]
            yield Section(title, tone, shown, len(found) - len(shown))


@dataclass(frozen=True)
class _Sections:
    document: Document
    folder: Path | None
    verbose: bool

    def all(self) -> Iterator[tuple[str, str, Iterable[SummaryLine]]]:
        missing = "Not implemented: a valid request is answered as an undocumented path is"
        yield missing, "bad", self._missing()
        yield "What is broken", "bad", map(self._cause, self._causes())
        warned = "Warnings: the specification implies these, it does not state them"
        yield warned, "unsure", self._warnings()
        yield "Known failures", "unsure", self._known()
        yield "Known failures to delete", "bad", self._stale()
        yield "The server chooses otherwise than pinned", "unsure", self._pinned()
        yield "Inconclusive: neither passed nor failed", "unsure", self._inconclusive()
        yield "Not judged by a run that only reads", "", self._left_out()
        yield "Errors of the suite itself", "bad", self._errors()

    def _on(self, names: Iterable[str]) -> str:
        return view.where(list(names), self.document.operations)

    def _names(self, names: Iterable[str]) -> str:
        return listed(names, 10**6 if self.verbose else NAMES)

    def _missing(self) -> Iterator[SummaryLine]:
        missing = self.document.missing
        for record in missing:
            last = record is missing[-1]
            step = (Fact("next", first([each.operation for each in missing])),) if last else ()
            yield SummaryLine(f"{record.operation}: {record.answered}{view.wait(record)}", step)

    # ------------------------------------------------------------------ violations

    def _causes(self) -> list[view.Cause]:
        """The causes that fail the run, or that take something along which does."""
        levels, cells = gating(self.document.verdict.fail_on), view.cells(self.document)
        rules = view.rules(self.document)
        return [
            cause
            for cause in view.causes(self.document)
            if not cause.known
            and any(
                case.verdict.is_violation and not case.known and rules[case.rule].level in levels
                for case in [*cause.cases, *(cells[key.key] for key in cause.consequences)]
            )
        ]

    def _cause(self, cause: view.Cause) -> SummaryLine:
        rule = cause.rule
        title = f"{rule.id} on {self._on(cause.record.operations)}"
        section = f"({rule.level}, section {', '.join(rule.section)})"
        return SummaryLine(f"{title} {section}", tuple(self._facts(cause)), rule.statement)

    def _facts(self, cause: view.Cause) -> Iterator[Fact]:
        shown = cause.first
        finding = shown.decisive
        yield Fact("expected", one_line(finding.expected), quoted=True)
        yield Fact("got", one_line(finding.got), quoted=True, after=_CONFIRMED.get(finding.confirmed, ""))
        if finding.remedy:
            yield Fact("remedy", one_line(finding.remedy, 600))
        if signed := view.signed(self.document, shown):
            yield Fact("signed", one_line(signed, 600), quoted=True)
        command = view.reproduction(self.document, shown, folder=self.folder)
        yield Fact("reproduce", command, quoted=True)
        further = cause.checks[1:]
        for check in further if self.verbose else further[:CHECKS]:
            name = check.name.rpartition(".")[2].removeprefix("test_")
            yield Fact("also", f"{name} on {self._on(check.operations)}: {_told(check.finding)}")
        if not self.verbose and len(further) > CHECKS:
            yield Fact("also", f"{count(len(further) - CHECKS, 'more check')}")
        if self.verbose:
            for case in cause.cases:
                if case is not shown:
                    yield Fact("got", one_line(case.decisive.got), quoted=True, after=f" on {case.operation}")
        elif 1 < len(cause.cases) < len(self.document.operations):
            yield Fact("operations", self._names(cause.record.operations))
        if cause.consequences:
            names = self._names(case.rule for case in cause.consequences)
            yield Fact("led to", f"{count(len(cause.consequences), 'more case')} of {names}")

    def _warnings(self) -> Iterator[SummaryLine]:
        by_rule = grouped(
            (case.rule, case)
            for case in self.document.cells
            if case.verdict is Verdict.WARNING and not case.known
        )
        # Where they fail the run they stand among what is broken.
        for rule, cases in by_rule.items() if self.document.verdict.fail_on is Level.REQUIRED else ():
            yield SummaryLine(
                f"{rule} on {self._on(case.operation for case in cases)}: {_told(cases[0].decisive)}"
            )

    # ------------------------------------------------------------------ lists that the user keeps

    def _known(self) -> Iterator[SummaryLine]:
        reasons = grouped(
            ((case.rule, case.known), case.operation) for case in self.document.cells if case.known
        )
        for (rule, reason), names in reasons.items():
            yield SummaryLine(f"{rule} on {self._on(names)}: {one_line(reason)}")

    def _stale(self) -> Iterator[SummaryLine]:
        known = self.document.known_failures
        for stale in known.stale if known else ():
            yield SummaryLine(
                f"{known.source if known else ''}, line {stale.line}: delete the entry for {stale.rule} on "
                f"{stale.operation}, from [[failure]] to the next one: {stale.why}"
            )

    def _pinned(self) -> Iterator[SummaryLine]:
        pinned = self.document.pinned_choices
        for one in pinned.differences if pinned else ():
            yield SummaryLine(f"{one.rule} on {one.operation}: {one.question}: {one.now}, was {one.pinned}")

    # ------------------------------------------------------------------ what is missing

    def _inconclusive(self) -> Iterator[SummaryLine]:
        lacking = {record.operation for record in self.document.missing}
        for group in view.inconclusive(self.document):
            if all(case.operation in lacking for case in group.cases):
                continue
            remedy = (Fact("remedy", one_line(group.remedy)),) if group.remedy else ()
            rules = Fact("rules", self._names(case.rule for case in group.cases))
            yield SummaryLine(
                f"{count(len(group.cases), 'case')}: {one_line(group.reason)}", (*remedy, rules)
            )

    def _left_out(self) -> Iterator[SummaryLine]:
        """Cases that a read-only run could not judge, with the reason."""
        cases = self.document.cells if "read-only" in self.document.run.options else []
        reasons = Counter(case.summary for case in cases if case.verdict is Verdict.NOT_RUN and case.summary)
        for reason, number in reasons.most_common():
            yield SummaryLine(f"{count(number, 'case')}: {one_line(reason)}")

    def _errors(self) -> Iterator[SummaryLine]:
        raised = (case.summary for case in self.document.cells if case.verdict is Verdict.ERROR)
        yield from (SummaryLine(one_line(error)) for error in (*self.document.errors, *raised))


def _told(finding: Finding) -> str:
    """Expectation and answer in one line."""
    return f"expected {one_line(finding.expected, 160)}; got {one_line(finding.got, 160)}"


_CONFIRMED = {
    "confirmed": " (confirmed by repeating it alone)",
    "not reproduced": " (not reproduced alone; it is a violation all the same)",
}


# ---------------------------------------------------------------------- the run


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
