"""The summary of a run for a terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance._files import shortest
from conformance._text import clean, count, duration
from conformance.report import view
from conformance.report.document import Document
from conformance.report.summary import Section, sections

#: Markup of a line for pytest's TerminalWriter.
Markup = dict[str, Any]

#: A line and its markup.
Line = tuple[str, Markup]


@dataclass(frozen=True)
class Row:
    """A text, possibly labelled, that wraps to several lines; a command is never wrapped, so that it can be
    copied."""

    text: str
    markup: Markup = field(default_factory=dict)
    label: str = ""
    command: bool = False

    def lines(self, width: int) -> list[str]:
        """Wraps the row to this width, with continuation lines indented."""
        label = f"   {self.label:<11}" if self.label else ""
        text = label + " ".join(clean(self.text).splitlines())
        if len(text) <= width or self.command:
            return [text.rstrip()]
        start = len(label) or len(text) - len(text.lstrip()) + 2
        wrapped = textwrap.wrap(text, width - 1, subsequent_indent=" " * start, break_on_hyphens=False)
        first, *rest = wrapped or [""]
        # Foreign text must not become a workflow command of a CI system.
        return [first, *(f"{line[:start]}.{line[start:]}" if _COMMAND.match(line) else line for line in rest)]


#: Maximum number of entries of a section without -v.
SHOWN = 25

_COMMAND = re.compile(r"\s*(?:::|##\[|##vso)")

_RED = {"red": True}
_BOLD = {"bold": True}
_FAINT = {"light": True}
_YELLOW = {"yellow": True}

#: Labels of facts in faint text.
_ASIDE = frozenset({"operations", "rules", "led to"})

#: Tone of a verdict, a section or an operation -> colour.
_COLOURS: dict[str, Markup] = {
    "": {},
    "good": {"green": True},
    "part": {"cyan": True},
    "known": _YELLOW,
    "unsure": _YELLOW,
    "suite": _RED,
    "bad": _RED,
}


def summary(document: Document, *, folder: Path | None, width: int, verbose: bool) -> list[Line]:
    """The lines of the summary with their markup, without control characters or trailing white space;
    `folder` has the reports."""
    rows = [
        *_numbers(document),
        *_operations(document),
        *(
            row
            for section in sections(document, most=None if verbose else SHOWN, folder=folder, verbose=verbose)
            for row in _section(section, verbose)
        ),
        *_verdict(document, folder),
    ]
    return [(line, row.markup) for row in rows for line in row.lines(max(width, 40))]


def _numbers(document: Document) -> Iterator[Row]:
    yield Row("A case is one rule on one operation.", _FAINT)
    for level, row in view.numbers(document).items():
        words = [f"{number:,} {name}" for name, number in row.items() if number]
        yield Row(f"{level:10}{', '.join(words) or 'none'}")


def _operations(document: Document) -> Iterator[Row]:
    """A line for each operation, unless all are without a tone."""
    rows = view.by_operation(document)
    if not any(tone for _, tone in rows.values()):
        return
    yield Row("")
    for operation, (words, tone) in rows.items():
        if words:
            yield Row(f"{operation:<26}{words}", _COLOURS[tone])


def _section(section: Section, verbose: bool) -> Iterator[Row]:
    colour = _COLOURS[section.tone]
    yield Row("")
    yield Row(section.title, {**colour, **_BOLD})
    for number, entry in enumerate(section.entries, 1):
        if entry.note:
            yield Row("")
            yield Row(f"{number}. {entry.text}", {**colour, **_BOLD})
        else:
            yield Row(f"   {entry.text}")
        if verbose and entry.note:
            yield Row(f"   {entry.note}")
        for fact in entry.facts:
            faint = _FAINT if fact.label in _ASIDE else {}
            yield Row(f"{fact.text}{fact.after}", faint, label=fact.label, command=fact.label == "reproduce")
    if section.more:
        yield Row(f"   and {section.more} more, listed in the report or with -v", colour)


def _verdict(document: Document, folder: Path | None) -> Iterator[Row]:
    verdict, run = document.verdict, document.run
    yield Row("")
    colour = _COLOURS[view.tone(document)]
    yield Row(f"{verdict.sentence} Exit status {verdict.exit_status}.", {**colour, **_BOLD})
    for note in verdict.notes:
        yield Row(f"   {note}")
    if pace := view.pace(document):
        yield Row(pace)
    sent = f"{count(run.requests, 'request')} in {duration(run.seconds)}"
    waits = f", {count(run.retries, 'wait')} for a rate limit ({duration(run.waited)})" if run.retries else ""
    report = f"; report: {shortest(folder / 'report.html')}" if folder else ""
    yield Row(f"{sent}{waits}{report}")
    if run.created:
        made = f"{count(run.created, 'resource')}, {count(run.payouts, 'payout')} among them"
        label = f"; their names and labels contain {run.label}" if run.label else ""
        yield Row(f"Created and left behind: {made}{label}")
