"""`conformance doctor`: examines a target before a run.

Sends a dozen requests and reports each problem with its remedy. Exit status: 0 no problem, 4 wrong usage or
a target that cannot be judged, 6 some rules would stay inconclusive.
"""

from __future__ import annotations

import argparse
import os

from conformance._text import count
from conformance.cli.main import WRONG_USAGE, add_server, print_indented
from conformance.diagnosis.examine import examine
from conformance.target.file import load

#: Exit status if some rules cannot be judged, as in a run.
INCOMPLETE = 6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_server(parser)


def run(options: argparse.Namespace) -> int:
    """Examines the target and prints the diagnoses. Raises InputError for an unusable target file."""
    target = load(options.target, os.environ, options.base_url)
    print(f"Examining {target.base_url} ...", flush=True)
    examination = examine(target)
    for diagnosis in examination.diagnoses:
        print(f"\n{'✗' if diagnosis.stops else '!'} {diagnosis.name}")
        print_indented(diagnosis.text)
    sent = f"({count(len(examination.exchanges), 'request')})"
    if examination.stopped:
        print(f"\nThe target cannot be judged yet {sent}.")
        return WRONG_USAGE["doctor"]
    if problems := len(examination.diagnoses):
        print(f"\nThe target can be judged, but {count(problems, 'problem')} should be fixed {sent}.")
        return INCOMPLETE
    print(f"\nThe target can be judged {sent}. Whether it conforms shows a run: pytest --target FILE.")
    return 0
