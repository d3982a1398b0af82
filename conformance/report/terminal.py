"""What a run says at its end on the terminal: numbers, violations by cause, what is missing, the verdict."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conformance._text import clean, count, duration, listed, one_line, operations
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES, Level
from conformance.judging.findings import Finding, Verdict
from conformance.results.causes import VIOLATED, Cause, causes
from conformance.results.commands import replay, rerun
from conformance.results.document import RunInfo
from conformance.results.model import CaseResult, Results
from conformance.results.outcome import Outcome

#: A line and how pytest's TerminalWriter marks it.
Line = tuple[str, dict[str, Any]]

#: Causes, and groups of inconclusive rules, shown without -v.
SHOWN = 25

_LABEL = re.compile(r" {3}(?:expected|got|operations|took along|remedy|rules) +")
_REPRODUCE = "   reproduce  "
_COMMAND = re.compile(r"\s*(?:::|##\[|##vso)")

_RED = {"red": True}
_BOLD = {"bold": True}
_FAINT = {"light": True}
_YELLOW = {"yellow": True}
_VERDICTS = (
    Verdict.PASSED,
    Verdict.FAILED,
    Verdict.WARNING,
    Verdict.INCONCLUSIVE,
    Verdict.ERROR,
    Verdict.NOT_RUN,
    Verdict.OBSERVED,
    Verdict.NOT_APPLICABLE,
)


def summary(results: Results, run: RunInfo, *, width: int, verbose: bool) -> list[Line]:
    """The lines of the summary with their markup; none holds a control character or ends in white space."""
    outcome = run.outcome(results)
    lines = [
        *_table(results),
        *_violations(results, run, verbose),
        *_warnings(results, run, verbose),
        *_known(results, run),
        *_pinned(results, run),
        *_inconclusive(results, run, verbose),
        *_errors(results),
        *_verdict(outcome, results, run),
    ]
    return [(fitted, markup) for text, markup in lines for fitted in _fit(text, max(width, 40))]


def _fit(text: str, width: int) -> list[str]:
    """A text on lines of the terminal's width, further lines indented under the first one's text."""
    text = " ".join(clean(text).splitlines())
    # A command is copied whole.
    if len(text) <= width or text.startswith(_REPRODUCE):
        return [text.rstrip()]
    label = _LABEL.match(text)
    start = len(label[0]) if label else len(text) - len(text.lstrip()) + 2
    first, *rest = textwrap.wrap(text, width - 1, subsequent_indent=" " * start, break_on_hyphens=False) or [
        ""
    ]
    # What a server says must not start a line that a CI system reads as a command.
    return [first, *(f"{line[:start]}.{line[start:]}" if _COMMAND.match(line) else line for line in rest)]


# ---------------------------------------------------------------------- numbers


def _table(results: Results) -> Iterator[Line]:
    counts = results.counts()
    used = [verdict for verdict in _VERDICTS if any(counts[level][verdict] for level in Level)]
    yield f"{'cases':10}" + "".join(f"{str(verdict):>{len(verdict) + 3}}" for verdict in used), _BOLD
    for level in Level:
        row = "".join(f"{counts[level][verdict] or '·':>{len(verdict) + 3}}" for verdict in used)
        yield f"{str(level):10}{row}", {}
    yield "A case is one rule on one operation.", _FAINT


# ---------------------------------------------------------------------- violations


def _violations(results: Results, run: RunInfo, verbose: bool) -> Iterator[Line]:
    gating = results.gating(run.fail_on)
    found = [
        one for one in causes(results) if not one.known and any(_level(cell) in gating for cell in _all(one))
    ]
    shown = found if verbose else found[:SHOWN]
    for number, cause in enumerate(shown, 1):
        yield "", {}
        yield from _cause(number, cause, run, verbose)
    if len(found) > len(shown):
        yield "", {}
        yield f"and {len(found) - len(shown)} more broken rules, listed in the report or with -v", _RED


def _cause(number: int, cause: Cause, run: RunInfo, verbose: bool) -> Iterator[Line]:
    rule = RULES[cause.rule]
    where = operations([cell.operation for cell in cause.cells], len(OPERATIONS))
    yield (
        f"{number}. {rule.id} on {where} ({rule.level}, section {', '.join(rule.section)})",
        {**_RED, **_BOLD},
    )
    if verbose:
        yield f"   {rule.statement}", {}
    cells = sorted(cause.cells, key=lambda cell: bool(cell.known))
    for index, cell in enumerate(cells if verbose else cells[:1]):
        finding = cell.decisive
        if finding is None:
            continue
        if verbose and len(cells) > 1:
            yield (
                f"   {cell.operation}:"
                if index == 0
                else f"   {cell.operation}: got {one_line(finding.got)}",
                {},
            )
        if index == 0:
            yield f"   expected   {one_line(finding.expected)}", {}
            yield f"   got        {one_line(finding.got)}{_confirmed(finding)}", {}
            yield f"{_REPRODUCE}{reproduction(cause.rule, cell.operation, finding, run)}", {}
    if not verbose and 1 < len(cells) < len(OPERATIONS):
        yield f"   operations {listed([cell.operation for cell in cells], 4)}", _FAINT
    if cause.took_along:
        rules = list(dict.fromkeys(cell.rule for cell in cause.took_along))
        yield (
            f"   took along {count(len(cause.took_along), 'case')} "
            f"of {listed(rules, 10**6 if verbose else 3)}",
            _FAINT,
        )


def _all(cause: Cause) -> list[CaseResult]:
    """The violated cells of a cause."""
    return [cell for cell in [*cause.cells, *cause.took_along] if cell.verdict in VIOLATED and not cell.known]


def _level(cell: CaseResult) -> Level:
    return RULES[cell.rule].level


def _confirmed(finding: Finding) -> str:
    return {
        "confirmed": " (confirmed by repeating it alone)",
        "not reproduced": " (not reproduced alone; it is a violation all the same)",
    }.get(finding.confirmed, "")


def reproduction(rule: str, operation: str, finding: Finding, run: RunInfo) -> str:
    """The command that repeats a violation: its replay file where there is one, else its check alone."""
    if finding.replay:
        return replay(_relative(run.folder / finding.replay) if run.folder else finding.replay, run.options)
    return rerun(rule, operation, run.options)


def _relative(path: Path) -> str:
    """A path as short as it can be written from here."""
    try:
        relative = os.path.relpath(path)
    except ValueError:
        return str(path)
    return str(path) if relative.startswith("..") else relative


def _warnings(results: Results, run: RunInfo, verbose: bool) -> Iterator[Line]:
    if run.fail_on is Level.IMPLIED:
        return
    by_rule: dict[str, list[CaseResult]] = {}
    for cell in results.with_verdict(Verdict.WARNING):
        if not cell.known:
            by_rule.setdefault(cell.rule, []).append(cell)
    if by_rule:
        yield "", {}
        yield "Warnings: the specification implies these, it does not state them", {**_YELLOW, **_BOLD}
    for rule, cells in by_rule.items():
        finding = cells[0].decisive
        got = (
            f": expected {one_line(finding.expected, 160)}; got {one_line(finding.got, 160)}"
            if finding
            else ""
        )
        yield f"   {rule} on {operations([cell.operation for cell in cells], len(OPERATIONS))}{got}", {}


# ---------------------------------------------------------------------- lists that the user keeps


def _known(results: Results, run: RunInfo) -> Iterator[Line]:
    if run.known is None:
        return
    stale = run.known.apply(results)
    reasons: dict[tuple[str, str], list[str]] = {}
    for cell in results.cells.values():
        if cell.known:
            reasons.setdefault((cell.rule, cell.known), []).append(cell.operation)
    if reasons or stale:
        yield "", {}
    for (rule, reason), names in reasons.items():
        yield f"known failure: {rule} on {operations(names, len(OPERATIONS))}: {one_line(reason)}", _YELLOW
    for one in stale:
        yield (
            f"{run.known.source}, line {one.line}: delete {one.entry.rule} on {one.entry.operation}: "
            f"{one.why}",
            _RED,
        )


def _pinned(results: Results, run: RunInfo) -> Iterator[Line]:
    differences = run.pinned.compare(results) if run.pinned else []
    if differences:
        yield "", {}
        yield "The server chooses otherwise than pinned", {**_YELLOW, **_BOLD}
    for one in differences:
        yield f"   {one.rule} on {one.operation}: {one.question}: {one.now}, was {one.pinned}", _YELLOW


# ---------------------------------------------------------------------- what is missing


def _inconclusive(results: Results, run: RunInfo, verbose: bool) -> Iterator[Line]:
    blocked = {(cell.rule, cell.operation) for cause in causes(results) for cell in cause.took_along}
    groups: dict[tuple[str, str], list[CaseResult]] = {}
    for cell in results.with_verdict(Verdict.INCONCLUSIVE):
        finding = cell.decisive
        if (cell.rule, cell.operation) not in blocked:
            groups.setdefault((cell.summary, finding.remedy if finding else ""), []).append(cell)
    if not results.selection and (
        missing := results.with_verdict(Verdict.NOT_RUN, levels=results.gating(run.fail_on))
    ):
        groups["no check came to run", ""] = missing
    if groups:
        yield "", {}
        yield "Inconclusive: neither passed nor failed", {**_YELLOW, **_BOLD}
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    for (reason, remedy), cells in ordered if verbose else ordered[:SHOWN]:
        yield f"   {count(len(cells), 'case')}: {one_line(reason)}", {}
        if remedy:
            yield f"   remedy     {one_line(remedy)}", {}
        yield f"   rules      {listed([cell.rule for cell in cells], 10**6 if verbose else 4)}", _FAINT
    if not verbose and len(ordered) > SHOWN:
        yield f"   and {len(ordered) - SHOWN} more reasons, listed in the report or with -v", {}


def _errors(results: Results) -> Iterator[Line]:
    errors = [*results.errors, *(cell.summary for cell in results.with_verdict(Verdict.ERROR))]
    if errors:
        yield "", {}
        yield "Errors of the suite itself", {**_RED, **_BOLD}
    for error in errors[:10]:
        yield f"   {one_line(error)}", _RED
    if len(errors) > 10:
        yield f"   and {len(errors) - 10} more", _RED


# ---------------------------------------------------------------------- the verdict


def _verdict(outcome: Outcome, results: Results, run: RunInfo) -> Iterator[Line]:
    yield "", {}
    colour = {0: {"green": True}, 6: _YELLOW, 2: _YELLOW}.get(outcome.exit_status, _RED)
    yield f"{outcome.sentence} Exit status {outcome.exit_status}.", {**colour, **_BOLD}
    for note in outcome.notes:
        yield f"   {note}", {}
    sent = f"{count(results.sent, 'request')} in {duration(run.ended - run.started)}"
    report = f"; report: {_relative(run.folder / 'report.html')}" if run.folder else ""
    yield f"{sent}{report}", {}
