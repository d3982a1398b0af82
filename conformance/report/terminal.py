"""The summary of a run for a terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance._files import shortest
from conformance._text import clean
from conformance.report import facts
from conformance.report.document import Document
from conformance.report.sections import Section, sections

#: Markup of a line for pytest's TerminalWriter.
Markup = dict[str, Any]

#: A line and its markup.
Line = tuple[str, Markup]

#: Maximum number of items of a section without -v.
MOST = 25

_COMMAND = re.compile(r"\s*(?:::|##\[|##vso)")

_RED = {"red": True}
_BOLD = {"bold": True}
_FAINT = {"light": True}
_YELLOW = {"yellow": True}

#: Labels of facts in faint text.
_ASIDE = frozenset({"operations", "rules", "not judged"})

#: Tone of a verdict or a section -> colour.
_COLOURS: dict[str, Markup] = {
    "good": {"green": True},
    "part": {"cyan": True},
    "known": _YELLOW,
    "unsure": _YELLOW,
    "suite": _RED,
    "bad": _RED,
}


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
        first, *rest = [line.rstrip() for line in wrapped] or [""]
        # Foreign text must not become a workflow command of a CI system.
        return [first, *(f"{line[:start]}.{line[start:]}" if _COMMAND.match(line) else line for line in rest)]


def summary(document: Document, *, folder: Path | None, width: int, verbose: bool) -> list[Line]:
    """The lines of the summary with their markup, without control characters or trailing white space;
    `folder` has the reports."""
    rows = [
        *_numbers(document),
        *(row for section in sections(document) for row in _section(section, verbose)),
        *_verdict(document, folder),
    ]
    return [(line, row.markup) for row in rows for line in row.lines(max(width, 40))]


def _numbers(document: Document) -> Iterator[Row]:
    yield Row(facts.UNIT, _FAINT)
    for level, row in document.counts.items():
        words = [f"{row[name]:,} {name}" for name in facts.SIGNS if row[name]]
        yield Row(f"{level:10}{', '.join(words) or 'none'}")


def _section(section: Section, verbose: bool) -> Iterator[Row]:
    heading = {**_COLOURS[section.tone], **_BOLD}
    yield Row("")
    yield Row(section.title, heading)
    items = section.items if verbose else section.items[:MOST]
    for item in items:
        title = f"{item.cause.number}. {item.text}" if item.cause else f"   {item.text}"
        if section.brief and not verbose:
            texts = "; ".join(f"{fact.label} {fact.text}" for fact in item.brief)
            yield Row(f"{title}: {texts}")
            continue
        if item.cause:
            yield Row("")
        yield Row(title, heading if item.cause else {})
        if verbose and item.note:
            yield Row(f"   {item.note}")
        for fact in item.facts:
            if verbose or not fact.more:
                markup = _FAINT if fact.label in _ASIDE else {}
                yield Row(f"{fact.text}{fact.after}", markup, fact.label, fact.label == "reproduce")
        if more := sum(fact.more for fact in item.facts if not verbose):
            yield Row(f"{more} in the report, or with -v", _FAINT, label="more")
    if more := len(section.items) - len(items):
        yield Row(f"   and {more} more, listed in the report or with -v", _COLOURS[section.tone])


def _verdict(document: Document, folder: Path | None) -> Iterator[Row]:
    verdict = document.verdict
    yield Row("")
    colour = _COLOURS[verdict.tone]
    yield Row(f"{verdict.sentence} Exit status {verdict.exit_status}.", {**colour, **_BOLD})
    for note in verdict.notes:
        yield Row(f"   {note}")
    if pace := facts.pace(document):
        yield Row(pace)
    report = f"; report: {shortest(folder / 'report.html')}" if folder else ""
    yield Row(f"{facts.sent(document)}{report}")
    if waited := facts.waited(document):
        yield Row(waited)
    if created := facts.created(document):
        yield Row(f"Created and left behind: {created}")
