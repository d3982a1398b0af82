"""The summary for a pull request, in GitHub's Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from conformance._text import clean, one_line
from conformance.report import facts
from conformance.report.document import Document
from conformance.report.sections import Fact, Section, sections

#: Maximum number of items of a section.
MOST = 30

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
    icon = _ICONS[verdict.tone]
    yield f"## {icon} Financial Accounts API conformance: {verdict.name}"
    yield from ("", plain(verdict.sentence), *(f"- {plain(note)}" for note in verdict.notes), "")
    if columns := facts.columns(document):
        yield "| cells | " + " | ".join(columns) + " |"
        yield "|---|" + "---:|" * len(columns)
        for level, row in document.counts.items():
            yield f"| {level} | " + " | ".join(f"{row[name]:,}" for name in columns) + " |"
        yield ""
    for section in sections(document):
        yield from _section(section)
    seed = f", seed {run.seed}" if run.seed is not None else ""
    yield (
        f"Judged {code(facts.label(document), 120)}: {facts.sent(document)}{seed}, exit status "
        f"{verdict.exit_status}, suite {document.suite.version}. Everything is in `report.html` and "
        "`results.json`."
    )


def _section(section: Section) -> Iterator[str]:
    yield from (f"### {section.title}", "")
    items = section.items[:MOST]
    for item in items:
        number = f"{item.cause.number}. " if item.cause else ""
        if section.brief:
            brief = "; ".join(f"{fact.label} {_text(fact)}" for fact in item.brief)
            yield f"- {plain(number + item.text)}: {brief}"
            continue
        folded = item.cause is not None
        if folded:
            yield from ("<details>", f"<summary>{number}{item.text}</summary>", "")
            yield from (plain(item.note), "") if item.note else ()
        else:
            yield f"- {plain(item.text)}"
        for fact in item.facts:
            if not fact.more:
                yield f"{'' if folded else '  '}- {fact.label}: {_text(fact)}{fact.after}"
        if folded:
            yield from ("", "</details>", "")
    if more := len(section.items) - len(items):
        yield f"- and {more} more"
    yield ""


def _text(fact: Fact) -> str:
    return code(fact.text, 600) if fact.quoted else plain(fact.text)
