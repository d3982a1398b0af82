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
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from conformance._files import InputError
from conformance._options import OPTIONS, attribute
from conformance.cli.main import add_base_url, add_options
from conformance.contract.rules import Level
from conformance.diagnosis.examine import preflight
from conformance.load.settings import VARIABLE, Settings
from conformance.target.file import load
from conformance.world.samples import run_label

WRONG_USAGE = 4
PASSES_ON = True

#: Options of a run that a load run has, too.
OWN = ("target", "rate", "request-timeout", "fail-on", "report-dir")

#: The default locustfile.
LOCUSTFILE = Path(__file__).parents[1] / "load" / "locustfile.py"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options that are not Locust's."""
    add_options(parser, *OWN)
    add_base_url(parser)


def run(options: argparse.Namespace) -> int:
    """Replaces this process by Locust, which exits with the status of the run. Raises InputError if Locust is
    not installed."""
    if importlib.util.find_spec("locust") is None:
        extra = "'financial-accounts-conformance[load]'"
        raise InputError(f"Locust is not installed; install it with pip install {extra}.")
    settings = _settings(options)
    if "--worker" not in options.words:
        preflight(settings.target)
    words = [sys.executable, "-m", "conformance.load", *_locust_words(options.words, settings.folder)]
    sys.stdout.flush()
    os.execve(sys.executable, words, {**os.environ, VARIABLE: msgspec.json.encode(settings).decode()})


def _settings(options: argparse.Namespace) -> Settings:
    target = load(Path(options.target) if options.target else None, os.environ, options.base_url)
    values = {name: value for name in OWN if (value := getattr(options, attribute(name))) is not None}
    limits: dict[str, Any] = {
        OPTIONS[name].limit: value for name, value in values.items() if OPTIONS[name].limit
    }
    target = replace(target, limits=replace(target.limits, **limits))
    folder = Path(os.path.abspath(options.report_dir))
    folder.mkdir(parents=True, exist_ok=True)
    words = shlex.join(options.words)
    recorded = {name: str(value) for name, value in values.items()} | {"load": words}
    selection = f"load {' '.join(options.words)}".strip()
    return Settings(target, str(folder), Level(options.fail_on), run_label(), selection, recorded)


def _locust_words(rest: Sequence[str], folder: str) -> list[str]:
    """Locust's options, by default with the suite's locustfile and a page beside the report."""
    names = {word.partition("=")[0] for word in rest}
    words = [] if names & {"-f", "--locustfile"} else ["--locustfile", str(LOCUSTFILE)]
    return [*rest, *words, *([] if names & {"--worker", "--html"} else ["--html", f"{folder}/locust.html"])]
