"""`conformance doctor`: examines a target before a run.

Sends a dozen requests and reports each problem with its remedy. Exit status: 0 no problem, 4 the target
cannot be judged, 6 some rules would stay inconclusive.
"""

from __future__ import annotations

import argparse
import os
import statistics
import textwrap

from conformance._text import count, milliseconds
from conformance.cli.main import add_base_url, add_target
from conformance.diagnosis.examination import Examination
from conformance.diagnosis.examine import examine, sentences
from conformance.target.file import load

#: Exit status if nothing can be judged, and if only some rules cannot; as in a run.
UNUSABLE, INCOMPLETE = 4, 6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_target(parser)
    add_base_url(parser)


def run(options: argparse.Namespace) -> int:
    """Examines the target and prints the diagnoses. Raises InputError for an unusable target file."""
    target = load(options.target, os.environ, options.base_url)
    print(f"Examining {target.base_url} ...", flush=True)
    examination = examine(target)
    for diagnosis in sentences(examination):
        print(f"\n{'✗' if diagnosis.stops else '!'} {diagnosis.name}")
        print(
            textwrap.fill(
                diagnosis.text, 98, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
            )
        )
    print(f"\n{_conclusion(examination)}")
    if examination.stopped:
        return UNUSABLE
    return INCOMPLETE if examination.diagnoses else 0


def _conclusion(examination: Examination) -> str:
    answered = [exchange.elapsed for exchange in examination.exchanges if exchange.status is not None]
    sent = count(len(examination.exchanges), "request")
    speed = f", median {milliseconds(statistics.median(answered))}" if answered else ""
    if examination.stopped:
        return f"The target cannot be judged yet ({sent}{speed})."
    if examination.diagnoses:
        return (
            f"The target can be judged, but {count(len(examination.diagnoses), 'problem')} should be "
            f"fixed ({sent}{speed})."
        )
    return (
        f"The target can be judged ({sent}{speed}). This does not show that the server conforms: run "
        "pytest --target FILE."
    )
