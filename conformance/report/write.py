"""Writes all formats of a results document, the badge, and the outputs for GitHub Actions."""

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

import msgspec

from conformance._files import written
from conformance._text import clean, one_line, printable
from conformance.report import view
from conformance.report.document import Document
from conformance.report.html import pieces
from conformance.report.junit import junit
from conformance.report.markdown import markdown
from conformance.report.sarif import sarif
from conformance.report.terminal import summary

#: GitHub shows at most ten annotations of a kind per step.
ANNOTATIONS = 10

#: GitHub's limit for the summary of a step, in bytes.
STEP_SUMMARY = 1024 * 1024

#: The remedy if neither a format nor results.json could be made.
_WITHOUT_RESULTS = (
    "This is a mistake in the suite, and says nothing about the server. The other reports in the folder hold "
    "what the run found; only another run makes this one."
)

#: Non-ASCII bytes.
_LETTERS = re.compile(rb"[\x80-\xff]+")


def results(document: Document) -> Iterator[str]:
    """The document as JSON, in pieces of at most one case or exchange, since the whole takes megabytes."""
    for at, name in enumerate(document.__struct_fields__):
        value = getattr(document, name)
        yield f'{"," if at else "{"}"{name}":'
        if isinstance(value, Mapping):
            yield from _bracketed("{}", ({key: one} for key, one in value.items()))
        elif isinstance(value, list | tuple):
            yield from _bracketed("[]", ([one] for one in value))
        else:
            yield _ascii(msgspec.json.encode(value))
    yield "}\n"


def _bracketed(brackets: str, values: Iterable[Any]) -> Iterator[str]:
    """Joins the encodings of one-member objects, or arrays, to one of all members."""
    yield brackets[0]
    for at, value in enumerate(values):
        yield ("," if at else "") + _ascii(msgspec.json.encode(value)[1:-1])
    yield brackets[1]


def _ascii(text: bytes) -> str:
    # ASCII is safe with any reader, whatever a server sent.
    return _LETTERS.sub(lambda letters: json.dumps(letters[0].decode())[1:-1].encode(), text).decode()


# ---------------------------------------------------------------------- the badge

#: Grey for a partial run, neither good nor bad.
_COLOURS = {
    "good": "#1a7f37",
    "part": "#6e7781",
    "known": "#8a6d00",
    "unsure": "#8a5a00",
    "suite": "#6e3fa3",
    "bad": "#c5221f",
}

#: Approximate width of a letter of Verdana at 11 px.
_LETTER = 6.6


def badge(document: Document) -> str:
    """The badge as SVG text."""
    colour = _COLOURS[view.tone(document)]
    left, right = "conformance", document.verdict.title or document.verdict.name
    widths = [round(len(text) * _LETTER) + 12 for text in (left, right)]
    total = sum(widths)
    title = escape(f"{left}: {right}")
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="20" role="img" aria-label="{title}">
<title>{title}</title>
<clipPath id="r"><rect width="{total}" height="20" rx="3"/></clipPath>
<g clip-path="url(#r)">
<rect width="{widths[0]}" height="20" fill="#444c56"/>
<rect x="{widths[0]}" width="{widths[1]}" height="20" fill="{colour}"/>
</g>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">
<text x="{widths[0] / 2:g}" y="14" textLength="{widths[0] - 12}">{escape(left)}</text>
<text x="{widths[0] + widths[1] / 2:g}" y="14" textLength="{widths[1] - 12}">{escape(right)}</text>
</g>
</svg>
"""


# ---------------------------------------------------------------------- all formats

#: Name of a format -> its file, and the function that renders it, whole or in pieces.
FORMATS: Mapping[str, tuple[str, Callable[[Document], str | Iterator[str]]]] = {
    "html": ("report.html", pieces),
    "sarif": ("report.sarif", sarif),
    "junit": ("junit.xml", junit),
    "markdown": ("summary.md", markdown),
    "badge": ("badge.svg", badge),
}


def write_all(document: Document, folder: Path) -> tuple[list[Path], list[str]]:
    """Writes the results, every format and the step summary of GitHub Actions. Returns the files, and a
    paragraph for each failure; one failure does not prevent the others."""
    files: list[Path] = []
    problems: list[str] = []
    made = {"json": ("results.json", results), **FORMATS}
    for name, (file, make) in made.items():
        try:
            files.append(written(folder / file, make(document)))
        except OSError as error:
            problems.append(f"{folder / file} could not be written: {error.strerror or error}.")
        except Exception as error:
            # Formats can be made again if results.json, which is the first, was written.
            again = f"`conformance report {folder} --{name} {folder / file}` makes it again."
            cure = again if folder / "results.json" in files else _WITHOUT_RESULTS
            problems.append(f"{file} could not be made: {type(error).__name__}: {error}. {cure}")
    try:
        append_step_summary(document, os.environ)
    except OSError as error:
        problems.append(f"the step summary could not be written: {error.strerror or error}.")
    return files, problems


def finish(document: Document, folder: Path, width: int = 100) -> int:
    """Prints the summary of a run, writes its reports, prints problems; returns the exit status."""
    for line, _ in summary(document, folder=folder, width=width, verbose=False):
        print(line)
    _, problems = write_all(document, folder)
    for problem in problems:
        print(printable(problem), file=sys.stderr)
    return document.exit_status(problems)


def append_step_summary(document: Document, environment: Mapping[str, str]) -> None:
    """Appends the summary to the file in GITHUB_STEP_SUMMARY, if set. Raises OSError."""
    path = environment.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    text = markdown(document).encode("utf-8")
    if len(text) > STEP_SUMMARY:
        text = text[: STEP_SUMMARY - 200].rsplit(b"\n", 1)[0] + b"\n\nThe rest is in `summary.md`.\n"
    with open(path, "ab") as file:
        file.write(text)


def annotations(document: Document) -> list[str]:
    """Workflow commands of GitHub Actions: an error for each cause that fails the run, a warning for each
    other.

    There is an error if and only if the exit status is not 0.
    """
    errors: list[str] = []
    warnings: list[str] = []
    verdict = document.verdict
    for cause in view.causes(document):
        if cause.known:
            continue
        finding = cause.first.decisive
        text = f"expected {finding.expected}; got {finding.got}"
        title = f"{cause.rule.id} on {view.where(cause.new, document.operations)}"
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
