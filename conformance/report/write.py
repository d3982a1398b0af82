"""Writes all formats of a results document."""

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from conformance._files import written
from conformance._text import clean, printable
from conformance.report import commands
from conformance.report.document import VERDICTS, Document
from conformance.report.html import pieces
from conformance.report.markdown import markdown
from conformance.report.terminal import summary

#: Non-ASCII bytes.
_LETTERS = re.compile(rb"[\x80-\xff]+")


def results(document: Document) -> Iterator[str]:
    """The document as JSON, each element of a member a piece, since the whole takes megabytes."""
    for at, name in enumerate(document.__struct_fields__):
        yield f'{"," if at else "{"}"{name}":'
        yield from _pieces(getattr(document, name))
    yield "}\n"


def _pieces(value: Any) -> Iterator[str]:
    if not isinstance(value, dict | list | tuple):
        yield _in_ascii(value)
        return
    begin, end = "{}" if isinstance(value, dict) else "[]"
    parts = (
        [{key: each} for key, each in value.items()]
        if isinstance(value, dict)
        else [[each] for each in value]
    )
    yield begin
    for at, part in enumerate(parts):
        yield f"{',' * bool(at)}{_in_ascii(part)[1:-1]}"
    yield end


def _in_ascii(value: Any) -> str:
    """A value as JSON in ASCII, which is safe with any reader, whatever a server sent."""
    text = msgspec.json.encode(value)
    return _LETTERS.sub(lambda letters: json.dumps(letters[0].decode())[1:-1].encode(), text).decode()


#: File -> the function that renders it, whole or in pieces.
FORMATS: Mapping[str, Callable[[Document], str | Iterator[str]]] = {
    "results.json": results,
    "report.html": pieces,
    "summary.md": markdown,
}


def write_all(document: Document, folder: Path) -> list[str]:
    """Writes every format, and the bodies that commands name. Returns a paragraph for each failure; one does
    not prevent the others."""
    problems: list[str] = []
    for file, make in FORMATS.items():
        try:
            written(folder / file, make(document))
        except OSError as error:
            problems.append(f"{folder / file} could not be written: {error.strerror or error}.")
        except Exception as error:
            problems.append(
                f"{file} could not be made: {type(error).__name__}: {error}. This is a mistake in the suite, "
                "and says nothing about the server; the other reports in the folder hold what the run found."
            )
    try:
        shutil.rmtree(folder / commands.FOLDER, ignore_errors=True)
        for name, body in commands.bodies(document):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(body)
    except OSError as error:
        problems.append(f"{folder / commands.FOLDER} could not be written: {error.strerror or error}.")
    return problems


def finish(document: Document, folder: Path, width: int = 100) -> int:
    """Writes the reports of a run, prints its summary and problems; returns the exit status, 3 where a report
    could not be written, as the others then say."""
    if problems := write_all(document, folder):
        verdict = replace(
            document.verdict,
            name="error",
            exit_status=VERDICTS["error"][0],
            sentence=f"A report could not be written. {document.verdict.sentence}",
        )
        document = replace(document, verdict=verdict, errors=(*document.errors, *map(clean, problems)))
        write_all(document, folder)
    for line, _ in summary(document, folder=folder, width=width, verbose=False):
        print(line)
    for problem in problems:
        print(printable(problem), file=sys.stderr)
    return document.verdict.exit_status
