"""`conformance load`: judges a server under load, with many users on one machine or several.

Replaces itself by a Locust process (https://locust.io) whose users run the checks of the suite. All options
except those below are Locust's: --users, --spawn-rate, --run-time, --headless, --processes, --master,
--worker, --locustfile, ... (`locust --help`). Reports are those of any run; Locust's own statistics are
beside them.
Exit status: 0 no violation, 1 violations, 2 interrupted, 4 wrong usage or unusable target, 6 incomplete.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from conformance._files import InputError
from conformance._options import OPTIONS, attribute
from conformance.cli.main import add_options, add_server
from conformance.contract.rules import Level
from conformance.diagnosis.examine import preflight
from conformance.load.settings import VARIABLE, Settings
from conformance.target.file import load
from conformance.world.samples import run_label

PASSES_ON = True

#: Options of a run that a load run has, too.
OWN = ("rate", "request-timeout", "fail-on", "report-dir")

#: The default locustfile.
LOCUSTFILE = Path(__file__).parents[1] / "load" / "locustfile.py"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options that are not Locust's."""
    add_server(parser)
    add_options(parser, *OWN)


def run(options: argparse.Namespace) -> int:
    """Replaces this process by Locust, which exits with the status of the run. Raises InputError if Locust is
    not installed."""
    if importlib.util.find_spec("locust") is None:
        extra = "'financial-accounts-conformance[load]'"
        raise InputError(f"Locust is not installed; install it with pip install {extra}.")
    target = load(options.target, os.environ, options.base_url)
    values = {name: value for name in OWN if (value := getattr(options, attribute(name))) is not None}
    limits: dict[str, Any] = {limit: values[name] for name in values if (limit := OPTIONS[name].limit)}
    target = replace(target, limits=replace(target.limits, **limits))
    folder = Path(os.path.abspath(options.report_dir))
    folder.mkdir(parents=True, exist_ok=True)
    recorded = {"load": shlex.join(options.words)} | {name: str(value) for name, value in values.items()}
    if options.target:
        recorded["target"] = str(options.target)
    selection = f"load {' '.join(options.words)}".strip()
    settings = Settings(target, str(folder), Level(options.fail_on), run_label(), selection, recorded)
    # By default the suite's locustfile, and a page of Locust's beside the report.
    names, more = {word.partition("=")[0] for word in options.words}, []
    if not names & {"-f", "--locustfile"}:
        more += ["--locustfile", str(LOCUSTFILE)]
    if not names & {"--worker", "--html"}:
        more += ["--html", f"{folder}/locust.html"]
    if "--worker" not in names:
        preflight(target)
    words = [sys.executable, "-m", "conformance.load", *options.words, *more]
    sys.stdout.flush()
    os.execve(sys.executable, words, {**os.environ, VARIABLE: msgspec.json.encode(settings).decode()})
