"""Writes the formats of a results document, and what GitHub Actions takes of it."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from conformance._files import written
from conformance._text import clean, one_line
from conformance.report import view
from conformance.report.badge import badge
from conformance.report.document import Document
from conformance.report.html import html
from conformance.report.junit import junit
from conformance.report.markdown import markdown
from conformance.report.sarif import sarif

#: GitHub shows ten of a kind for each step.
ANNOTATIONS = 10

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


def annotations(document: Document) -> list[str]:
    """Workflow commands of GitHub Actions: an error for each cause of the verdict, a warning for each other.

    There is an error exactly where the exit status is not 0.
    """
    errors: list[str] = []
    warnings: list[str] = []
    verdict = document.verdict
    for cause in view.causes(document):
        if cause.known:
            continue
        finding = cause.first.decisive
        text = f"expected {finding.expected}; got {finding.got}"
        title = f"{cause.rule.id} on {view.where(cause.new, document)}"
        failing = view.fails(document, cause.first, cause.rule.level) and verdict.exit_status != 0
        (errors if failing else warnings).append(_command("error" if failing else "warning", title, text))
    if verdict.exit_status:
        errors.insert(0, _command("error", f"Conformance: {verdict.title or verdict.name}", verdict.sentence))
    return errors[:ANNOTATIONS] + warnings[:ANNOTATIONS]


def _command(kind: str, title: str, text: str) -> str:
    title = _escaped(one_line(clean(title))).replace(":", "%3A").replace(",", "%2C")
    return f"::{kind} title={title}::{_escaped(one_line(clean(text), 600))}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
