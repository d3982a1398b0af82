"""`conformance report`: renders the reports of a run again.

Renders reports from results.json, identical to those of the run. Without an option all formats are written
beside it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from conformance._files import written
from conformance.report.view import load
from conformance.report.write import FORMATS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds an option for each format."""
    parser.add_argument(
        "results", type=Path, metavar="RESULTS", help="results.json of a run, or the folder it is in"
    )
    for name, (file, _) in FORMATS.items():
        parser.add_argument(
            f"--{name}", type=Path, metavar="FILE", help=f"write {file} as FILE; - is standard output"
        )


def run(options: argparse.Namespace) -> int:
    """Writes the formats. Raises InputError or OSError."""
    document = load(options.results)
    folder = options.results if options.results.is_dir() else options.results.parent
    wanted = {name: getattr(options, name) for name in FORMATS if getattr(options, name)}
    wanted = wanted or {name: folder / file for name, (file, _) in FORMATS.items()}
    for name, path in wanted.items():
        text = FORMATS[name][1](document)
        if str(path) == "-":
            sys.stdout.writelines(text)
        else:
            print(written(path, text))
    return 0
