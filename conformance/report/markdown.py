"""The summary for a pull request, in GitHub's Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from conformance._text import clean, count, duration, one_line
from conformance.report import view
from conformance.report.document import Document
from conformance.report.summary import Section, sections

#: Maximum number of entries of a section.
SHOWN = 30

_ICONS = {"good": "✅", "part": "◐", "known": "🟡", "unsure": "⚠️", "suite": "💥", "bad": "❌"}


def markdown(document: Document) -> str:
    """The summary as Markdown text."""
    return "\n".join(_lines(document)) + "\n"


def code(text: str, length: int = 300) -> str:
    """Formats foreign text as a code span: no markup, mentions or links."""
    text = one_line(clean(text), length)
    if not text:
        return "(empty)"
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def plain(text: str) -> str:
    """Escapes foreign text: no markup within a line."""
    text = re.sub(r"([\\`*_{}\[\]<>#|~&@])", r"\\\1", one_line(clean(text), 500))
    # A colon starts an emoji or a link only before a word; the last pattern is of lists, headings and rules.
    text = re.sub(r":(?=\S)", r"\\:", text)
    return re.sub(r"^([-+=]|\d+[.)])", r"\\\1", text)


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
    for section in sections(document, most=SHOWN):
        yield from _section(section)
    seed = f", seed {run.seed}" if run.seed is not None else ""
    yield (
        f"Judged {code(view.label(document), 120)}: {count(run.requests, 'request')} in "
        f"{duration(run.seconds)}{seed}, exit status {verdict.exit_status}, suite {document.suite.version}. "
        "Everything is in `report.html` and `results.json`."
    )


def _counts(document: Document) -> Iterator[str]:
    numbers = view.numbers(document)
    columns = view.columns(numbers)
    if not columns:
        return
    yield "| cases | " + " | ".join(columns) + " |"
    yield "|---|" + "---:|" * len(columns)
    for level, row in numbers.items():
        yield f"| {level} | " + " | ".join(f"{row[name]:,}" for name in columns) + " |"
    yield ""


def _section(section: Section) -> Iterator[str]:
    yield f"### {section.title}"
    yield ""
    for entry in section.entries:
        if entry.note:
            yield from ("<details>", f"<summary>{entry.text}</summary>", "", plain(entry.note), "")
        else:
            yield f"- {plain(entry.text)}"
        indent = "" if entry.note else "  "
        for fact in entry.facts:
            text = code(fact.text, 600) if fact.quoted else plain(fact.text)
            yield f"{indent}- {fact.label}: {text}{fact.after}"
        if entry.note:
            yield from ("", "</details>", "")
    if section.more:
        yield f"- and {section.more} more"
    yield ""
