"""A comparison as Markdown, as a page, and as a folder of pages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from conformance._text import count, listed
from conformance.judge.findings import VIOLATIONS, Verdict
from conformance.report import view
from conformance.report.compared_results import ABSENT, Changes, Comparison
from conformance.report.document import Document
from conformance.report.html import html, rendered
from conformance.report.markdown import code, plain

_SIGNS: dict[str, str] = {**{str(verdict): sign for verdict, sign in view.SIGNS.items()}, ABSENT: " "}


def comparison_markdown(found: Comparison) -> str:
    return "\n".join(_lines(found)) + "\n"


def comparison_html(found: Comparison, pages: Sequence[str] = ()) -> str:
    """The comparison as a page that loads nothing; `pages` are the reports of the results, to link to."""
    rules = [
        {"rule": rule, "cells": [_column(column) for column in columns]} for rule, columns in found.rules
    ]
    values = {
        "headline": found.headline,
        "names": found.names,
        "columns": ["exit", *_NUMBERS],
        "results": [
            {
                "name": name,
                "page": page,
                "tone": view.tone(document),
                "title": document.verdict.title or document.verdict.name,
                "sentence": document.verdict.sentence,
                "numbers": [document.verdict.exit_status, *_numbers(document)],
                "started": document.run.started[:16].replace("T", " "),
                "suite": document.suite.version,
            }
            for name, document, page in zip(
                found.names, found.documents, pages or [""] * len(found.names), strict=True
            )
        ],
        "two": found.two,
        "rules": rules,
        "choices": found.choices,
        "broke": found.broke,
        "mended": found.mended,
        "moved": found.moved,
        "operations": found.documents[0].operations,
    }
    return "".join(rendered("compare.html.j2", values))


def comparison_pages(found: Comparison) -> dict[str, str]:
    """The comparison as the pages of a folder: path -> text; index.html, and the report of each result."""
    paths: list[str] = []
    for name in found.names:
        stem = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-")[:60] or "results"
        taken = {"index.html", *(path.lower() for path in paths)}
        numbered = (f"{stem}{number}.html" for number in ("", *map("-{}".format, range(2, len(taken) + 3))))
        paths.append(next(path for path in numbered if path.lower() not in taken))
    reports = {path: html(document) for path, document in zip(paths, found.documents, strict=True)}
    return {"index.html": comparison_html(found, paths), **reports}


#: Numbers of each document, in the order of the columns.
_NUMBERS = ("required failed", "required passed", "warnings", "inconclusive")


def _numbers(document: Document) -> tuple[int, ...]:
    required, implied = document.counts["required"], document.counts["implied"]
    inconclusive = sum(row["inconclusive"] for row in document.counts.values())
    return required["failed"], required["passed"], implied["warning"], inconclusive


def _column(column: dict[str, list[str]]) -> dict[str, object]:
    """One document's verdicts on a rule: the most severe, its sign, and on what."""
    worst = min(column, key=_SEVERITY.index)
    many = len(column) > 1 or len(column[worst]) > 1
    text = worst if len(column) == 1 else f"{worst} on {listed(column[worst], 3)}"
    return {
        "verdict": worst,
        "sign": _SIGNS[worst],
        "text": text if many else worst,
        "broken": worst in VIOLATIONS,
    }


#: Verdicts in a comparison, the most severe first.
_SEVERITY = [*map(str, Verdict), ABSENT]


def _row(values: list[str]) -> str:
    return "| " + " | ".join(value.replace("|", "\\|") for value in values) + " |"


def _lines(found: Comparison) -> Iterator[str]:
    yield "## Financial Accounts API conformance, compared"
    yield ""
    yield found.headline
    yield ""
    yield from _facts(found)
    if found.broke or found.mended or found.moved:
        yield from _changes("What broke", found.broke, found)
        yield from _changes("What was mended", found.mended, found)
        yield from _changes("What changed otherwise", found.moved, found)
    yield from _rules(found)
    yield from _choices(found)


def _facts(found: Comparison) -> Iterator[str]:
    yield _row(["", *map(plain, found.names)])
    yield "|---|" + "---|" * len(found.names)
    facts = {
        "verdict": [document.verdict.title or document.verdict.name for document in found.documents],
        "exit status": [str(document.verdict.exit_status) for document in found.documents],
        **{
            name: [str(_numbers(document)[index]) for document in found.documents]
            for index, name in enumerate(_NUMBERS)
        },
        "started": [document.run.started[:16].replace("T", " ") for document in found.documents],
        "suite": [document.suite.version for document in found.documents],
    }
    for name, values in facts.items():
        yield _row([name, *values])
    yield ""


def _rules(found: Comparison) -> Iterator[str]:
    if not found.rules:
        yield "No rule is judged differently, and none is broken."
        yield ""
    else:
        yield f"### {count(len(found.rules), 'rule')} judged differently, or broken somewhere"
        yield ""
        yield _row(["rule", "level", *map(plain, found.names)])
        yield "|---|---|" + "---|" * len(found.names)
        for rule, columns in found.rules:
            texts = [f"{column['sign']} {column['text']}".strip() for column in map(_column, columns)]
            yield _row([f"`{rule.id}`", str(rule.level), *texts])
        yield ""


def _choices(found: Comparison) -> Iterator[str]:
    if not found.choices:
        yield "No open question is answered differently."
        yield ""
    else:
        yield f"### {count(len(found.choices), 'open question')} answered differently"
        yield ""
        yield _row(["rule", "operations", "question", *map(plain, found.names)])
        yield "|---|---|---|" + "---|" * len(found.names)
        for (rule, question, answers), operations in found.choices.items():
            where = view.where(operations, found.documents[-1].operations)
            texts = (code(answer, 120) if answer else "not asked" for answer in answers)
            yield _row([f"`{rule}`", where, plain(question), *texts])
        yield ""


def _changes(title: str, changes: Changes, found: Comparison) -> Iterator[str]:
    yield f"### {title}"
    yield ""
    if not changes:
        yield "Nothing."
    for (rule, before, after), operations in changes.items():
        yield f"- `{rule}` on {view.where(operations, found.documents[-1].operations)}: {before} → {after}"
    yield ""
