"""`conformance load`: many users at once, on one machine or on many, each answer judged.

Becomes a Locust process (https://locust.io) with users that judge every answer by the oracle. All options but
those below are Locust's: --users, --spawn-rate, --run-time, --headless, --processes, --master, --worker,
--locustfile, ... (`locust --help`). Reports are those of any run; Locust's own statistics are kept beside.
Exit status: 0 no violation, 1 violations, 2 interrupted, 4 wrong usage or unusable target, 6 incomplete.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance._options import OPTIONS, attribute
from conformance.cli.main import UsageError
from conformance.contract.rules import Level
from conformance.diagnosis.examine import preflight
from conformance.load.settings import Settings
from conformance.target.file import Target, TargetError, load
from conformance.world.samples import run_label

#: Those of a run's options that a load run has.
OWN = ("target", "rate", "max-requests", "request-timeout", "fail-on", "report-dir")

#: The locustfile that is used unless the user names another.
LOCUSTFILE = Path(__file__).parents[1] / "load" / "locustfile.py"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that are not Locust's."""
    for name in OWN:
        option = OPTIONS[name]
        parser.add_argument(
            f"--{name}",
            metavar=option.metavar,
            type=option.type,
            choices=option.choices or None,
            default=os.environ.get(option.environment) or option.usual
            if option.environment
            else option.usual,
            help=option.help.replace("%", "%%"),
        )
    parser.add_argument("--base-url", metavar="URL", default=os.environ.get("PYTEST_BASE_URL") or None)


def run(options: argparse.Namespace) -> int:
    """Becomes Locust's process, which ends with the exit status of the run. Raises UsageError where the extra
    is not installed."""
    parser = argparse.ArgumentParser(prog="conformance load", description=__doc__, allow_abbrev=False)
    add_arguments(parser)
    given, rest = parser.parse_known_args(options.words)
    if importlib.util.find_spec("locust") is None:
        raise UsageError(
            "Locust is not installed: pip install 'financial-accounts-conformance[load]' brings it along."
        )
    try:
        settings = _settings(given, rest)
        if "--worker" not in rest:
            preflight(settings.target)
    except TargetError as error:
        print(f"conformance load: {error}", file=sys.stderr)
        return 4
    words = [sys.executable, "-m", "locust", *_locust_words(rest, Path(settings.folder))]
    sys.stdout.flush()
    os.execve(sys.executable, words, {**os.environ, **settings.to_environment()})


def _settings(given: argparse.Namespace, rest: Sequence[str]) -> Settings:
    target: Target = load(Path(given.target) if given.target else None, os.environ, given.base_url)
    limits: dict[str, Any] = {
        str(OPTIONS[name].limit): value
        for name in OWN
        if OPTIONS[name].limit and (value := getattr(given, attribute(name))) is not None
    }
    target = replace(target, limits=replace(target.limits, **limits))
    folder = Path(os.path.abspath(given.report_dir or "reports"))
    folder.mkdir(parents=True, exist_ok=True)
    shown = {name: str(value) for name in OWN if (value := getattr(given, attribute(name))) is not None}
    return Settings(
        target, str(folder), Level(given.fail_on), run_label(), f"load {' '.join(rest)}".strip(), shown
    )


def _locust_words(rest: Sequence[str], folder: Path) -> list[str]:
    """Locust's options; the suite's locustfile, and files beside the report, unless the user names others."""
    names = {word.partition("=")[0] for word in rest}
    words = list(rest)
    if not names & {"-f", "--locustfile"}:
        words += ["--locustfile", str(LOCUSTFILE)]
    if "--worker" not in names:
        words += [] if "--csv" in names else ["--csv", str(folder / "locust")]
        words += [] if "--html" in names else ["--html", str(folder / "locust.html")]
    return words
