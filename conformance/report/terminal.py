"""What a run says at its end on the terminal: numbers, violations by cause, what is missing, the verdict."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance._files import shortest
from conformance._text import clean, count, duration, listed, one_line, operations
from conformance.contract.needs import first
from conformance.contract.rules import Level
from conformance.judge.findings import Finding, Verdict
from conformance.judge.ledger import Case
from conformance.report import view
from conformance.report.commands import replay, rerun
from conformance.report.document import Document, RunRecord
from conformance.report.verdict import gating

#: How pytest's TerminalWriter marks a line.
Markup = dict[str, Any]

#: A line of the terminal's width and its markup.
Line = tuple[str, Markup]


@dataclass(frozen=True)
class Row:
    """What one or more lines tell: a text, after a label where it has one. A command is copied whole, and so
    never broken."""

    text: str
    markup: Markup = field(default_factory=dict)
    label: str = ""
    command: bool = False

    def lines(self, width: int) -> list[str]:
        """The row on lines of this width, further lines indented under the text of the first."""
        label = f"   {self.label:<11}" if self.label else ""
        text = label + " ".join(clean(self.text).splitlines())
        if len(text) <= width or self.command:
            return [text.rstrip()]
        start = len(label) or len(text) - len(text.lstrip()) + 2
        wrapped = textwrap.wrap(text, width - 1, subsequent_indent=" " * start, break_on_hyphens=False)
        first, *rest = wrapped or [""]
        # What a server says must not start a line that a CI system reads as a command.
        return [first, *(f"{line[:start]}.{line[start:]}" if _COMMAND.match(line) else line for line in rest)]


#: Causes, and groups of inconclusive rules, shown without -v.
SHOWN = 25

#: Further checks that are shown of a cause without -v.
FURTHER_CHECKS = 6

_COMMAND = re.compile(r"\s*(?:::|##\[|##vso)")

_RED = {"red": True}
_BOLD = {"bold": True}
_FAINT = {"light": True}
_YELLOW = {"yellow": True}
_COLOURS: dict[str, dict[str, Any]] = {
    "good": {"green": True},
    "part": {"cyan": True},
    "known": _YELLOW,
    "unsure": _YELLOW,
    "suite": _RED,
    "bad": _RED,
}


def summary(document: Document, *, folder: Path | None, width: int, verbose: bool) -> list[Line]:
    """The lines of the summary with their markup; none holds a control character or ends in white space.

    `folder` is where the reports were written.
    """
    page = _Summary(document, folder, verbose)
    return [(line, row.markup) for row in page.rows() for line in row.lines(max(width, 40))]


@dataclass(frozen=True)
class _Summary:
    """The parts of the summary, in their order."""

    document: Document
    folder: Path | None
    verbose: bool

    def rows(self) -> Iterator[Row]:
        yield from self._numbers()
        yield from self._operations()
        yield from self._missing()
        yield from self._violations()
        yield from self._warnings()
        yield from self._known()
        yield from self._pinned()
        yield from self._inconclusive()
        yield from self._left_out()
        yield from self._errors()
        yield from self._verdict()

    def _on(self, names: list[str]) -> str:
        return operations(names, len(self.document.operations))

    # ------------------------------------------------------------------ numbers

    def _numbers(self) -> Iterator[Row]:
        numbers = view.numbers(self.document)
        yield Row("A case is one rule on one operation.", _FAINT)
        for level, row in numbers.items():
            words = [f"{number:,} {name}" for name, number in row.items() if number]
            yield Row(f"{level:10}{', '.join(words) or 'none'}")

    def _operations(self) -> Iterator[Row]:
        """A line for each operation, where there is something to tell them apart."""
        rows = view.by_operation(self.document)
        if not any(row.telling for row in rows):
            return
        yield Row("")
        for row in rows:
            if not row.words:
                continue
            colour = _RED if row.bad else _YELLOW if row.telling else {}
            yield Row(f"{row.operation:<26}{row.words}", colour)

    def _missing(self) -> Iterator[Row]:
        missing = self.document.missing
        if not missing:
            return
        yield Row("")
        yield Row(
            "Not implemented: a valid request is answered as an undocumented path is", {**_RED, **_BOLD}
        )
        for record in missing:
            yield Row(f"   {record.operation}: {record.answered}{view.wait(record)}")
        yield Row(first([record.operation for record in missing]), _BOLD, label="next")

    # ------------------------------------------------------------------ violations

    def _violations(self) -> Iterator[Row]:
        levels, cells = gating(self.document.verdict.fail_on), view.cells(self.document)
        rules = view.rules(self.document)
        found = [
            cause
            for cause in view.causes(self.document)
            if not cause.known
            and any(
                case.verdict.is_violation and not case.known and rules[case.rule].level in levels
                for case in [*cause.cases, *(cells[key.key] for key in cause.consequences)]
            )
        ]
        shown = found if self.verbose else found[:SHOWN]
        for number, cause in enumerate(shown, 1):
            yield Row("")
            yield from self._cause(number, cause)
        if len(found) > len(shown):
            yield Row("")
            yield Row(
                f"and {len(found) - len(shown)} more broken rules, listed in the report or with -v", _RED
            )

    def _cause(self, number: int, cause: view.Cause) -> Iterator[Row]:
        rule, first = cause.rule, cause.first
        yield Row(
            f"{number}. {rule.id} on {self._on(list(cause.record.operations))} "
            f"({rule.level}, section {', '.join(rule.section)})",
            {**_RED, **_BOLD},
        )
        if self.verbose:
            yield Row(f"   {rule.statement}")
        finding = first.decisive
        yield Row(one_line(finding.expected), label="expected")
        yield Row(f"{one_line(finding.got)}{_confirmed(finding)}", label="got")
        if signed := view.signed(self.document, first):
            yield Row(one_line(signed, 600), label="signed")
        yield Row(self._reproduction(first, finding), label="reproduce", command=True)
        yield from self._checks(cause)
        if self.verbose:
            for case in cause.cases:
                if case is not first:
                    yield Row(f"   {case.operation}: got {one_line(case.decisive.got)}")
        elif 1 < len(cause.cases) < len(self.document.operations):
            yield Row(listed(list(cause.record.operations), 4), _FAINT, label="operations")
        if cause.consequences:
            names = listed([case.rule for case in cause.consequences], 10**6 if self.verbose else 3)
            more = count(len(cause.consequences), "more case")
            yield Row(f"{more} of {names}", _FAINT, label="led to")

    def _checks(self, cause: view.Cause) -> Iterator[Row]:
        """What other checks saw of the same rule: each may be a mistake of its own."""
        further = cause.checks[1:]
        shown = further if self.verbose else further[:FURTHER_CHECKS]
        for check in shown:
            name = check.name.rpartition(".")[2].removeprefix("test_")
            yield Row(f"{name} on {self._on(list(check.operations))}: {_told(check.finding)}", label="also")
        if len(further) > len(shown):
            yield Row(f"{len(further) - len(shown)} more checks, listed with -v", _FAINT, label="also")

    def _reproduction(self, case: Case, finding: Finding) -> str:
        """The command that repeats a violation: its replay file where there is one, else its check alone."""
        folder = shortest(self.folder) if self.folder else ""
        if not finding.replay:
            return rerun(case.rule, case.operation, self.document.run.options)
        return replay(finding.replay, self.document.run.options, folder)

    def _warnings(self) -> Iterator[Row]:
        if self.document.verdict.fail_on is Level.IMPLIED:
            return
        by_rule: dict[str, list[Case]] = {}
        for case in self.document.cells:
            if case.verdict is Verdict.WARNING and not case.known:
                by_rule.setdefault(case.rule, []).append(case)
        if by_rule:
            yield Row("")
            yield Row(
                "Warnings: the specification implies these, it does not state them", {**_YELLOW, **_BOLD}
            )
        for rule, cases in by_rule.items():
            named = self._on([case.operation for case in cases])
            yield Row(f"   {rule} on {named}: {_told(cases[0].decisive)}")

    # ------------------------------------------------------------------ lists that the user keeps

    def _known(self) -> Iterator[Row]:
        known = self.document.known_failures
        reasons: dict[tuple[str, str], list[str]] = {}
        for case in self.document.cells:
            if case.known:
                reasons.setdefault((case.rule, case.known), []).append(case.operation)
        if known and (reasons or known.stale):
            yield Row("")
        for (rule, reason), names in reasons.items():
            yield Row(f"known failure: {rule} on {self._on(names)}: {one_line(reason)}", _YELLOW)
        for stale in known.stale if known else ():
            yield Row(
                f"{known.source if known else ''}, line {stale.line}: delete the entry for {stale.rule} on "
                f"{stale.operation}, from [[failure]] to the next one: {stale.why}",
                _RED,
            )

    def _pinned(self) -> Iterator[Row]:
        pinned = self.document.pinned_choices
        differences = pinned.differences if pinned else ()
        if differences:
            yield Row("")
            yield Row("The server chooses otherwise than pinned", {**_YELLOW, **_BOLD})
        for difference in differences:
            yield Row(
                f"   {difference.rule} on {difference.operation}: {difference.question}: "
                f"{difference.now}, was {difference.pinned}",
                _YELLOW,
            )

    # ------------------------------------------------------------------ what is missing

    def _inconclusive(self) -> Iterator[Row]:
        lacking = {record.operation for record in self.document.missing}
        groups = [
            group
            for group in view.inconclusive(self.document)
            if not all(case.operation in lacking for case in group.cases)
        ]
        if groups:
            yield Row("")
            yield Row("Inconclusive: neither passed nor failed", {**_YELLOW, **_BOLD})
        for group in groups if self.verbose else groups[:SHOWN]:
            yield Row(f"   {count(len(group.cases), 'case')}: {one_line(group.reason)}")
            if group.remedy:
                yield Row(one_line(group.remedy), label="remedy")
            names = listed([case.rule for case in group.cases], 10**6 if self.verbose else 4)
            yield Row(names, _FAINT, label="rules")
        if not self.verbose and len(groups) > SHOWN:
            yield Row(f"   and {len(groups) - SHOWN} more reasons, listed in the report or with -v")

    def _left_out(self) -> Iterator[Row]:
        """What a run that only reads could not judge, and why."""
        if "read-only" not in self.document.run.options:
            return
        reasons: dict[str, int] = {}
        for case in self.document.cells:
            if case.verdict is Verdict.NOT_RUN and case.summary:
                reasons[case.summary] = reasons.get(case.summary, 0) + 1
        if reasons:
            yield Row("")
            yield Row("Not judged by a run that only reads", _BOLD)
        for reason, number in sorted(reasons.items(), key=lambda pair: -pair[1]):
            yield Row(f"   {count(number, 'case')}: {one_line(reason)}")

    def _errors(self) -> Iterator[Row]:
        errors = [
            *self.document.errors,
            *(case.summary for case in self.document.cells if case.verdict is Verdict.ERROR),
        ]
        if errors:
            yield Row("")
            yield Row("Errors of the suite itself", {**_RED, **_BOLD})
        for error in errors[:10]:
            yield Row(f"   {one_line(error)}", _RED)
        if len(errors) > 10:
            yield Row(f"   and {len(errors) - 10} more", _RED)

    # ------------------------------------------------------------------ the verdict

    def _verdict(self) -> Iterator[Row]:
        verdict, run = self.document.verdict, self.document.run
        yield Row("")
        colour = _COLOURS[view.tone(self.document)]
        yield Row(f"{verdict.sentence} Exit status {verdict.exit_status}.", {**colour, **_BOLD})
        for note in verdict.notes:
            yield Row(f"   {note}")
        if pace := view.pace(self.document):
            yield Row(pace)
        sent = f"{count(run.requests, 'request')} in {duration(run.seconds)}"
        report = f"; report: {shortest(self.folder / 'report.html')}" if self.folder else ""
        yield Row(f"{sent}{_waits(run)}{report}")
        if run.created:
            made = f"{count(run.created, 'resource')}, {count(run.payouts, 'payout')} among them"
            label = f"; their names and labels contain {run.label}" if run.label else ""
            yield Row(f"Created and left behind: {made}{label}")


def _waits(run: RunRecord) -> str:
    """How often the server asked for patience, if it did."""
    return f", {count(run.retries, 'wait')} for a rate limit ({duration(run.waited)})" if run.retries else ""


def _told(finding: Finding) -> str:
    """What was expected and what was got, in a line."""
    return f"expected {one_line(finding.expected, 160)}; got {one_line(finding.got, 160)}"


def _confirmed(finding: Finding) -> str:
    return {
        "confirmed": " (confirmed by repeating it alone)",
        "not reproduced": " (not reproduced alone; it is a violation all the same)",
    }.get(finding.confirmed, "")
