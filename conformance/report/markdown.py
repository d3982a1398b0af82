"""The summary for a pull request, in GitHub's Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from conformance._text import clean, count, duration, listed, one_line
from conformance.results import view

#: Rows of a list that the summary shows.
SHOWN = 30

_ICONS = {0: "✅", 1: "❌", 2: "⚠️", 3: "💥", 6: "⚠️"}


def markdown(document: view.Document) -> str:
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
    """A text that is not ours, as words: markup characters escaped."""
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~&@:-])", r"\\\1", one_line(clean(text), 500))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _lines(document: view.Document) -> Iterator[str]:
    verdict, run = document["verdict"], document["run"]
    icon = _ICONS.get(verdict["exit_status"], "❌")
    yield f"## {icon} Financial Accounts API conformance: {verdict['name']}"
    yield ""
    yield plain(verdict["sentence"])
    for note in verdict["notes"]:
        yield f"- {plain(note)}"
    yield ""
    yield from _counts(document)
    yield from _causes(document)
    yield from _lists(document)
    yield from _inconclusive(document)
    if document["errors"]:
        yield "### Errors of the suite itself"
        yield ""
        yield from (f"- {code(error)}" for error in document["errors"][:10])
        yield ""
    seed = f", seed {run['seed']}" if run["seed"] is not None else ""
    yield (
        f"Judged {code(view.label(document), 120)}: {count(run['requests'], 'request')} "
        f"in {duration(run['seconds'])}"
        f"{seed}, exit status {verdict['exit_status']}, suite {document['suite']['version']}. "
        "Everything is in `report.html` and `results.json`."
    )


def _counts(document: view.Document) -> Iterator[str]:
    counts = document["counts"]
    used = [verdict for verdict in view.SIGNS if any(row[verdict] for row in counts.values())]
    if not used:
        return
    yield "| cases | " + " | ".join(used) + " |"
    yield "|---|" + "---:|" * len(used)
    for level, row in counts.items():
        yield f"| {level} | " + " | ".join(f"{row[verdict]:,}" for verdict in used) + " |"
    yield ""


def _causes(document: view.Document) -> Iterator[str]:
    cells, rules = view.cells(document), view.rules(document)
    causes = [
        cause
        for cause in document["causes"]
        if any(not cells[cause["rule"], one]["known"] for one in cause["operations"])
    ]
    if not causes:
        return
    yield "### What is broken"
    yield ""
    for cause in causes[:SHOWN]:
        rule = rules[cause["rule"]]
        new = [one for one in cause["operations"] if not cells[rule["id"], one]["known"]]
        cell = cells[rule["id"], new[0]]
        finding = view.decisive(cell)
        confirmed = f", {finding['confirmed']}" if finding["confirmed"] else ""
        yield (
            f"<details><summary><b>{rule['id']}</b> on {view.where(new, document)} "
            f"({rule['level']}, section {', '.join(rule['section'])}{confirmed})</summary>"
        )
        yield ""
        yield plain(rule["statement"])
        yield ""
        yield f"- expected: {code(finding['expected'])}"
        yield f"- got: {code(finding['got'])}"
        yield f"- reproduce: {code(view.reproduction(document, cell))}"
        if len(new) > 1:
            yield f"- operations: {', '.join(new)}"
        if cause["took_along"]:
            taken = listed([one["rule"] for one in cause["took_along"]], 8)
            yield f"- took along: {count(len(cause['took_along']), 'case')} of {taken}"
        yield ""
        yield "</details>"
        yield ""
    if len(causes) > SHOWN:
        yield f"and {len(causes) - SHOWN} more."
        yield ""


def _lists(document: view.Document) -> Iterator[str]:
    known, pinned = document["known_failures"], document["pinned_choices"]
    if known and known["stale"]:
        yield "### Known failures to delete"
        yield ""
        for one in known["stale"]:
            where = f"{code(known['source'])} line {one['line']}"
            yield f"- {where}: `{one['rule']}` on `{one['operation']}`: {plain(one['why'])}"
        yield ""
    standing = [cell for cell in document["cells"] if cell["known"]]
    if standing:
        yield f"### {count(len(standing), 'known failure')}"
        yield ""
        yield from _rows(
            ["rule", "operation", "reason"],
            [[f"`{cell['rule']}`", cell["operation"], plain(cell["known"])] for cell in standing[:SHOWN]],
        )
    if pinned and pinned["differences"]:
        yield "### Choices that differ from the pinned ones"
        yield ""
        yield from _rows(
            ["rule", "operation", "question", "pinned", "now"],
            [
                [
                    f"`{one['rule']}`",
                    one["operation"],
                    plain(one["question"]),
                    code(one["pinned"], 100),
                    code(one["now"], 100),
                ]
                for one in pinned["differences"][:SHOWN]
            ],
        )


def _rows(head: list[str], rows: list[list[Any]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(_cell(str(value)) for value in row) + " |"
    yield ""


def _inconclusive(document: view.Document) -> Iterator[str]:
    groups = view.inconclusive(document)
    if not groups:
        return
    yield "### Inconclusive"
    yield ""
    for group in groups[:SHOWN]:
        remedy = f" **{plain(group['remedy'])}**" if group["remedy"] else ""
        rules = listed([cell["rule"] for cell in group["cells"]], 5)
        yield f"- {count(len(group['cells']), 'case')}: {plain(group['reason'])}.{remedy} ({rules})"
    if len(groups) > SHOWN:
        yield f"- and {len(groups) - SHOWN} more reasons"
    yield ""
