"""Writes the formats of a results document."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from conformance._files import written
from conformance.report.badge import badge
from conformance.report.document import Document
from conformance.report.github import annotations
from conformance.report.html import html
from conformance.report.junit import junit
from conformance.report.markdown import markdown
from conformance.report.sarif import sarif

__all__ = ["FORMATS", "WriteProblem", "annotations", "append_step_summary", "write_all"]

#: GitHub takes this many bytes of a step's summary.
STEP_SUMMARY = 1024 * 1024


class WriteProblem(Exception):
    """A format that could not be made or written; the text names it and says why."""


def _json(document: Document) -> str:
    # ASCII only, so that no reader trips over what a server sent.
    return json.dumps(document.to_json(), indent=None, separators=(",", ":")) + "\n"


#: Name of a format -> its file in the folder of the report, and what makes it from the document.
FORMATS: Mapping[str, tuple[str, Callable[[Document], str]]] = {
    "json": ("results.json", _json),
    "html": ("report.html", html),
    "sarif": ("report.sarif", sarif),
    "junit": ("junit.xml", junit),
    "markdown": ("summary.md", markdown),
    "badge": ("badge.svg", badge),
}


def write_all(document: Document, folder: Path) -> list[Path | WriteProblem]:
    """Writes every format, and the step summary of a GitHub Actions run; what failed is in its place.

    A problem with one format loses no other.
    """
    outcome: list[Path | WriteProblem] = []
    for name, (file, make) in FORMATS.items():
        try:
            outcome.append(written(folder / file, make(document)))
        except OSError as error:
            outcome.append(WriteProblem(f"{folder / file} could not be written: {error.strerror or error}."))
        except Exception as error:
            outcome.append(
                WriteProblem(
                    f"{file} could not be made: {type(error).__name__}: {error}. "
                    f"`conformance report results.json --{name} {file}` makes it again."
                )
            )
    try:
        append_step_summary(document, os.environ)
    except OSError as error:
        outcome.append(WriteProblem(f"the step summary could not be written: {error.strerror or error}."))
    return outcome


def append_step_summary(document: Document, environment: Mapping[str, str]) -> None:
    """Appends the summary to the file that GITHUB_STEP_SUMMARY names, if any. Raises OSError."""
    path = environment.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    text = markdown(document).encode("utf-8")
    if len(text) > STEP_SUMMARY:
        text = text[: STEP_SUMMARY - 200].rsplit(b"\n", 1)[0] + b"\n\nThe rest is in `summary.md`.\n"
    with open(path, "ab") as file:
        file.write(text)
