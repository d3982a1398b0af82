"""`conformance site`: a static site that compares implementations over time."""

from __future__ import annotations

import argparse
from pathlib import Path

from conformance._files import written
from conformance.cli.main import UsageError
from conformance.report.history import read
from conformance.report.site import site
from conformance.report.view import DocumentError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    parser.description = (
        "Makes pages that compare implementations over time: an overview, the last report of each, and "
        "where they "
        "differ. Each folder holds the results of one implementation and names it: results.json, or one "
        "JSON file a "
        "run."
    )
    parser.add_argument(
        "folders", type=Path, nargs="+", metavar="DIR", help="the stored results of an implementation"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("site"),
        metavar="DIR",
        help="where the pages go (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> int:
    """Writes the pages. Raises UsageError."""
    try:
        for name, text in site(read(options.folders)).items():
            written(options.output / name, text)
    except DocumentError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"{error.filename}: the site cannot be written ({error.strerror}).") from None
    print(options.output / "index.html")
    return 0
