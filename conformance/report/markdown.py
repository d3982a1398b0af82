"""The summary for a pull request, in GitHub's Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from conformance._text import clean, count, duration, listed, one_line
from conformance.report import view
from conformance.report.document import Document

#: Rows of a list that the summary shows.
SHOWN = 30

_ICONS = {"good": "✅", "part": "◐", "known": "🟡", "unsure": "⚠️", "suite": "💥", "bad": "❌"}


def markdown(document: Document) -> str:
    """The summary as Markdown text."""
    return "\n".join(_lines(document)) + "\n"


def code(text: str, length: int = 300) -> str:
    """A text as a code span: nothing in it is markup, a mention or a link."""
    text = one_line(clean(text), length)
    if not text:
        return "(empty)"
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def plain(text: str) -> str:
    """A text that is not ours, as words: what is markup within a line is escaped, and nothing else."""
    text = re.sub(r"([\\`*_{}\[\]<>#|~&@])", r"\\\1", one_line(clean(text), 500))
    # A colon makes an emoji or a link only between words; a list, a heading or a rule starts a line.
    text = re.sub(r":(?=\S)", r"\\:", text)
    return re.sub(r"^([-+=]|\d+[.)])", r"\\\1", text)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _lines(document: Document) -> Iterator[str]:
    verdict, run = document.verdict, document.run
    yield (
        f"## {_ICONS[view.tone(document)]} Financial Accounts API conformance: "
        f"{verdict.title or verdict.name}"
    )
    yield ""
    yield plain(verdict.sentence)
    for note in verdict.notes:
        yield f"- {plain(note)}"
    yield ""
    yield from _counts(document)
    yield from _missing(document)
    yield from _causes(document)
    yield from _lists(document)
    yield from _inconclusive(document)
    if document.errors:
        yield "### Errors of the suite itself"
        yield ""
        yield from (f"- {code(error)}" for error in document.errors[:10])
        yield ""
    seed = f", seed {run.seed}" if run.seed is not None else ""
    yield (
        f"Judged {code(view.label(document), 120)}: {count(run.requests, 'request')} "
        f"in {duration(run.seconds)}"
        f"{seed}, exit status {verdict.exit_status}, suite {document.suite.version}. "
        "Everything is in `report.html` and `results.json`."
    )


def _counts(document: Document) -> Iterator[str]:
    numbers = view.numbers(document)
    columns = [*map(str, view.SIGNS), "known failures"]
    used = [name for name in columns if any(row[name] for row in numbers.values())]
    if not used:
        return
    yield "| cases | " + " | ".join(used) + " |"
    yield "|---|" + "---:|" * len(used)
    for level, row in numbers.items():
        yield f"| {level} | " + " | ".join(f"{row[name]:,}" for name in used) + " |"
    yield ""


def _missing(document: Document) -> Iterator[str]:
    if not document.missing:
        return
    yield "### Not implemented"
    yield ""
    for record in document.missing:
        yield f"- `{record.operation}`: {plain(record.answered)}{view.wait(record)}"
    yield ""


def _causes(document: Document) -> Iterator[str]:
    causes = [cause for cause in view.causes(document) if not cause.known]
    if not causes:
        return
    yield "### What is broken"
    yield ""
    for cause in causes[:SHOWN]:
        yield from _cause(cause, document)
    if len(causes) > SHOWN:
        yield f"and {len(causes) - SHOWN} more."
        yield ""


def _cause(cause: view.Cause, document: Document) -> Iterator[str]:
    rule, finding = cause.rule, cause.first.decisive
    confirmed = f", {finding.confirmed}" if finding.confirmed else ""
    yield (
        f"<details><summary><b>{rule.id}</b> on {view.where(cause.new, document)} "
        f"({rule.level}, section {', '.join(rule.section)}{confirmed})</summary>"
    )
    yield ""
    yield plain(rule.statement)
    yield ""
    yield f"- expected: {code(finding.expected)}"
    yield f"- got: {code(finding.got)}"
    for check in cause.checks[1:]:
        yield (
            f"- also, {check.name.rpartition('.')[2]} on {view.where(check.operations, document)}: "
            f"{code(check.finding.got)}"
        )
    if signed := view.signed(document, cause.first):
        yield f"- signed: {code(signed, 600)}"
    yield f"- reproduce: {code(view.reproduction(document, cause.first))}"
    if len(cause.new) > 1:
        yield f"- operations: {', '.join(cause.new)}"
    if cause.consequences:
        taken = listed([case.rule for case in cause.consequences], 8)
        number = count(len(cause.consequences), "case")
        yield f"- also failed, or not judged, because of it: {number} of {taken}"
    yield ""
    yield "</details>"
    yield ""


def _lists(document: Document) -> Iterator[str]:
    known, pinned = document.known_failures, document.pinned_choices
    if known and known.stale:
        yield "### Known failures to delete"
        yield ""
        for stale in known.stale:
            where = f"{code(known.source)} line {stale.line}"
            yield f"- {where}: `{stale.rule}` on `{stale.operation}`: {plain(stale.why)}"
        yield ""
    standing = [case for case in document.cells if case.known]
    if standing:
        yield f"### {count(len(standing), 'known failure')}"
        yield ""
        yield from _rows(
            ["rule", "operation", "reason"],
            [[f"`{case.rule}`", case.operation, plain(case.known)] for case in standing[:SHOWN]],
        )
    if pinned and pinned.differences:
        yield "### Choices that differ from the pinned ones"
        yield ""
        yield from _rows(
            ["rule", "operation", "question", "pinned", "now"],
            [
                [
                    f"`{difference.rule}`",
                    difference.operation,
                    plain(difference.question),
                    code(difference.pinned, 100),
                    code(difference.now, 100),
                ]
                for difference in pinned.differences[:SHOWN]
            ],
        )


def _rows(head: list[str], rows: list[list[Any]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(_cell(str(value)) for value in row) + " |"
    yield ""


def _inconclusive(document: Document) -> Iterator[str]:
    groups = view.inconclusive(document)
    if not groups:
        return
    yield "### Inconclusive"
    yield ""
    for group in groups[:SHOWN]:
        remedy = f" **{plain(group.remedy)}**" if group.remedy else ""
        rules = listed([case.rule for case in group.cases], 5)
        yield f"- {count(len(group.cases), 'case')}: {plain(group.reason)}.{remedy} ({rules})"
    if len(groups) > SHOWN:
        yield f"- and {len(groups) - SHOWN} more reasons"
    yield ""
