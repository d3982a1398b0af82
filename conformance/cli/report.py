"""`conformance report`: makes the formats of a run's results anew."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from conformance._files import written
from conformance.cli.main import UsageError
from conformance.report.view import DocumentError, load
from conformance.report.write import FORMATS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand: one for each format."""
    parser.description = (
        "Makes reports from results.json, the same as the run made. Without an option all formats are "
        "written beside it."
    )
    parser.add_argument(
        "results", type=Path, metavar="RESULTS", help="results.json of a run, or the folder it is in"
    )
    for name, (file, _) in FORMATS.items():
        if name != "json":
            parser.add_argument(
                f"--{name}", type=Path, metavar="FILE", help=f"write {file} as FILE; - is standard output"
            )


def run(options: argparse.Namespace) -> int:
    """Writes the formats. Raises UsageError for what cannot be read or written."""
    try:
        document = load(options.results)
        folder = options.results if options.results.is_dir() else options.results.parent
        wanted = {
            name: getattr(options, name) for name in FORMATS if name != "json" and getattr(options, name)
        }
        wanted = wanted or {name: folder / file for name, (file, _) in FORMATS.items() if name != "json"}
        for name, path in wanted.items():
            text = FORMATS[name][1](document)
            if str(path) == "-":
                sys.stdout.write(text)
            else:
                print(written(path, text))
    except DocumentError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"{error.filename}: the report cannot be written ({error.strerror}).") from None
    return 0
