"""Compares the results of two runs: the verdicts and the observed choices that changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from conformance._files import InputError, read_json
from conformance._text import clean
from conformance.judge.cells import grouped
from conformance.judge.verdicts import Verdict
from conformance.report import facts
from conformance.report.document import FORMAT, Document
from conformance.report.markdown import code, plain
from conformance.report.sections import choices, where

#: Rule, verdict before, verdict after -> operations.
Changes = dict[tuple[str, Verdict, Verdict], list[str]]


def load(path: Path) -> Document:
    """Reads a results.json, or that of a folder. Raises InputError."""
    path = path / "results.json" if path.is_dir() else path
    data = read_json(path, "results file", "a run writes results.json into its report folder")
    form = data.get("format") if isinstance(data, dict) else None
    if not isinstance(form, str):
        raise InputError(f"{path}: these are not the results of a run; name a results.json.")
    if form.partition(".")[0] != FORMAT.partition(".")[0]:
        raise InputError(
            f"{path}: its format is {clean(form)[:20]}, and this version reads {FORMAT}; use the version of "
            "the suite that wrote it."
        )
    try:
        return Document.from_json(data)
    except msgspec.ValidationError as error:
        raise InputError(
            f"{path}: the results do not fit spec/results.schema.json: {clean(str(error))}."
        ) from None


def worse(before: Document, after: Document) -> Changes:
    """The cells that are broken now and were not, or that nothing judges any more."""
    return _changed(before, after)[0]


def comparison(before: Document, after: Document) -> str:
    """All changes as Markdown text."""
    return "\n".join(_lines(before, after)) + "\n"


def _rank(verdict: Verdict) -> int:
    """0: nothing speaks against the server; 1: not judged; 2: broken."""
    if verdict.is_violation:
        return 2
    return int(verdict in (Verdict.INCONCLUSIVE, Verdict.NOT_RUN))


def _changed(before: Document, after: Document) -> tuple[Changes, Changes, Changes]:
    """The changes to the worse, to the better, and others. What a selection left out is not compared."""
    earlier = {
        cell.key: cell.verdict
        for cell in before.cells
        if not (before.run.selection and cell.verdict is Verdict.NOT_RUN)
    }
    changes: tuple[Changes, Changes, Changes] = ({}, {}, {})
    for cell in after.cells:
        old, new = earlier.get(cell.key), cell.verdict
        if old in (None, new) or (after.run.selection and new is Verdict.NOT_RUN):
            continue
        change = _rank(new) - _rank(old)
        kind = 0 if change > 0 else 1 if change < 0 and not _rank(new) else 2
        changes[kind].setdefault((cell.rule, old, new), []).append(cell.operation)
    return changes


def _choices(before: Document, after: Document) -> dict[tuple[str, str, str, str], list[str]]:
    """Rule, question, and its two answers -> operations; a question that was asked once is no difference."""
    earlier = choices(before.cells)
    return grouped(
        ((rule, question, earlier[rule, operation, question], answer), operation)
        for (rule, operation, question), answer in choices(after.cells).items()
        if earlier.get((rule, operation, question), answer) != answer
    )


def _lines(before: Document, after: Document) -> Iterator[str]:
    yield from ("## What changed between two runs", "")
    for word, document in (("Before", before), ("After", after)):
        server, sentence = code(facts.label(document), 120), plain(document.verdict.sentence)
        yield f"- {word}, {facts.started(document)}, {server}: {sentence}"
    for title, verdicts in zip(("Worse", "Better", "Otherwise"), _changed(before, after), strict=True):
        yield from ("", f"### {title}", "")
        for (rule, old, new), operations in verdicts.items():
            yield f"- `{rule}` on {where(operations, after.operations)}: {old} → {new}"
        if not verdicts:
            yield "Nothing."
    yield from ("", "### Choices where the specification is open", "")
    changes = _choices(before, after)
    for (rule, question, *answers), operations in changes.items():
        both = " → ".join(code(answer, 120) for answer in answers)
        yield f"- `{rule}` on {where(operations, after.operations)}, {plain(question)}: {both}"
    if not changes:
        yield "No change."
