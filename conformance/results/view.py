"""Readings of a results document that several formats share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conformance._text import clean, listed, one_line
from conformance.contract.rules import SPEC
from conformance.results.commands import replay, rerun

Document = dict[str, Any]

#: The version of the format; the first number changes when a reader of the old one would misread the new one.
FORMAT = "1.0"

#: Verdicts in the order in which tables show them, with the sign of each.
SIGNS = {
    "passed": "✓",
    "failed": "✗",
    "warning": "!",
    "inconclusive": "?",
    "error": "E",
    "not run": "·",
    "observed": "○",
    "not applicable": "–",
}


#: Verdicts, the gravest first, as a summary of several shows them.
GRAVITY = (
    "failed",
    "error",
    "warning",
    "inconclusive",
    "observed",
    "not run",
    "passed",
    "not applicable",
)


class DocumentError(ValueError):
    """A results document that cannot be read; the text is one paragraph with the remedy."""


def load(path: Path) -> Document:
    """The results document in a file, or in the results.json of a folder. Raises DocumentError."""
    if path.is_dir():
        path = path / "results.json"
    try:
        document = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise DocumentError(
            f"{path}: there is no such file; a run writes results.json into its report folder."
        ) from None
    except OSError as error:
        raise DocumentError(f"{path}: the results cannot be read ({error.strerror}).") from None
    except (ValueError, RecursionError):
        raise DocumentError(
            f"{path}: this is no JSON, so no results of a run; name a results.json."
        ) from None
    given = document.get("format") if isinstance(document, dict) else None
    if not isinstance(given, str):
        raise DocumentError(f"{path}: these are no results of a run; name a results.json.")
    if given.partition(".")[0] != FORMAT.partition(".")[0]:
        raise DocumentError(
            f"{path}: its format is {clean(given)[:20]}, and this version reads {FORMAT}; use the version of "
            "the suite that wrote it."
        )
    return dict(document)


def why_unreadable(document: Document, source: object) -> DocumentError:
    """What is wrong with a document that a format could not be made of."""
    from jsonschema import Draft202012Validator

    schema = json.loads((SPEC / "results.schema.json").read_text("utf-8"))
    error = next(Draft202012Validator(schema).iter_errors(document), None)
    if error is None:
        return DocumentError(f"{source}: the results contradict themselves; make them anew.")
    place = "/".join(map(str, error.absolute_path)) or "the document"
    return DocumentError(
        f"{source}: the results do not fit spec/results.schema.json: {place}: {one_line(error.message, 200)}."
    )


def cells(document: Document) -> dict[tuple[str, str], dict[str, Any]]:
    """The cells by rule and operation."""
    return {(cell["rule"], cell["operation"]): cell for cell in document["cells"]}


def rules(document: Document) -> dict[str, dict[str, Any]]:
    """The rules by id."""
    return {rule["id"]: rule for rule in document["rules"]}


def gating(document: Document) -> tuple[str, ...]:
    """The levels that decide the run."""
    return ("required", "implied") if document["verdict"]["fail_on"] == "implied" else ("required",)


def fails(document: Document, cell: dict[str, Any], level: str) -> bool:
    """Whether a cell of a rule of this level fails the run."""
    return cell["verdict"] in ("failed", "warning") and not cell["known"] and level in gating(document)


def decisive(cell: dict[str, Any]) -> dict[str, Any]:
    """The gravest finding of a cell; empty texts where it has none."""
    nothing = {
        "expected": "",
        "got": "",
        "remedy": "",
        "cause": "",
        "check": "",
        "exchanges": [],
        "replay": "",
        "confirmed": "",
        "further": [],
        "observations": {},
        "summary": "",
        "probes": 0,
        "seconds": 0,
    }
    found: dict[str, Any] = cell["findings"][0] if cell["findings"] else nothing
    return found


def reproduction(document: Document, cell: dict[str, Any], finding: dict[str, Any] | None = None) -> str:
    """The command that repeats a cell's violation, given where the report is."""
    if file := (finding or decisive(cell))["replay"]:
        return replay(file, document["run"]["options"])
    return rerun(cell["rule"], cell["operation"], document["run"]["options"])


def where(operations: list[str], document: Document) -> str:
    """The operations in a few words."""
    if len(operations) == len(document["operations"]) > 1:
        return f"all {len(operations)} operations"
    return listed(operations, 3)


def inconclusive(document: Document) -> list[dict[str, Any]]:
    """The reasons why cells are inconclusive, the commonest first: reason, remedy and cells of each.

    Cells that a violation kept from being judged are not among them: they stand with its cause.
    """
    blocked = {(one["rule"], one["operation"]) for cause in document["causes"] for one in cause["took_along"]}
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for cell in document["cells"]:
        if (cell["rule"], cell["operation"]) in blocked:
            continue
        if cell["verdict"] == "inconclusive":
            groups.setdefault((cell["summary"], decisive(cell)["remedy"]), []).append(cell)
        elif cell["verdict"] == "not run" and not document["run"]["selection"]:
            groups.setdefault(("no check came to run", ""), []).append(cell)
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    return [{"reason": reason, "remedy": remedy, "cells": found} for (reason, remedy), found in ordered]


def observations(document: Document) -> Iterator[dict[str, Any]]:
    """What the server does on each open question: rule, question, and answer -> operations."""
    grouped: dict[tuple[str, str], dict[str, list[str]]] = {}
    for cell in document["cells"]:
        for finding in cell["findings"]:
            for question, answer in finding["observations"].items():
                operations = grouped.setdefault((cell["rule"], question), {}).setdefault(answer, [])
                if cell["operation"] not in operations:
                    operations.append(cell["operation"])
    for (rule, question), answers in grouped.items():
        yield {"rule": rule, "question": question, "answers": answers}


def label(document: Document) -> str:
    """What was judged, in a few words."""
    if document["run"]["embedded"]:
        return "the embedded reference server"
    target = document["target"]
    return str(target["base_url"]) if target else "no target"
