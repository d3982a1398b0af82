"""`conformance compare`: one table of several results.

Compares the results of several servers, or of two versions of one: the verdict of each, the rules with
different verdicts, the choices that differ. Without --html or --markdown the Markdown goes to standard
output. Exit status: 0; with --gate 1 if a rule that held in the first results is violated in the last.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from conformance._files import InputError, written
from conformance.cli.main import add_results
from conformance.report.compared_results import (
    compare,
    comparison_html,
    comparison_markdown,
    comparison_pages,
    names,
)
from conformance.report.view import load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_results(parser, "a run")
    parser.add_argument(
        "--name",
        action="append",
        default=[],
        metavar="NAME",
        help="the name of the first, second, ... results",
    )
    parser.add_argument(
        "--html",
        type=Path,
        metavar="PATH",
        help="write a page if PATH ends in .html, else a folder of pages, with the report of each result",
    )
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="write the table as Markdown; - is standard output"
    )
    parser.add_argument(
        "--gate",
        action="store_true",
        help="exit with 1 if a rule that held in the first results is violated in the last",
    )


def run(options: argparse.Namespace) -> int:
    """Writes the comparison. Raises InputError."""
    if len(options.results) < 2:
        raise InputError(
            "give at least two results to compare: "
            "conformance compare before/results.json after/results.json."
        )
    if options.name and len(options.name) != len(options.results):
        raise InputError(
            f"--name: give one for each of the {len(options.results)} results, in their order, or none."
        )
    if len(set(options.name)) != len(options.name):
        raise InputError("--name: the names should differ from one another.")
    documents = [load(source) for source in options.results]
    columns = names([str(path) for path in options.results], documents, options.name)
    found = compare(dict(zip(columns, documents, strict=True)))
    markdown = comparison_markdown(found)
    if options.html and options.html.suffix.lower() in (".html", ".htm"):
        print(written(options.html, comparison_html(found)))
    elif options.html:
        for name, page in comparison_pages(found).items():
            written(options.html / name, page)
        print(options.html / "index.html")
    if options.markdown and str(options.markdown) != "-":
        print(written(options.markdown, markdown))
    elif options.markdown or not options.html:
        sys.stdout.write(markdown)
    broke = (
        found.broke if found.two else compare({columns[0]: documents[0], columns[-1]: documents[-1]}).broke
    )
    return 1 if options.gate and broke else 0
