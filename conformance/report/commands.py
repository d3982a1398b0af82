"""The commands with which a user runs everything or one check again, or sends a failure's requests again.

They are meant for the folder in which the run was started.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

#: Options of a run that say what is judged, in the order of a command; each may be there several times.
_NARROWING = ("rule", "operation", "section")

#: Other options that bear on what a run finds, or on its verdict.
_OTHERS = (
    "effort",
    "shard",
    "fail-on",
    "known-failures",
    "pinned-choices",
    "fuzz-examples",
    "fuzz-time",
    "rate",
    "max-requests",
    "request-timeout",
    "run-timeout",
)

#: Options without a value.
_FLAGS = ("read-only",)

#: What options are where nobody gave them.
_DEFAULTS = {"fail-on": "required"}


def again(options: Mapping[str, str], seed: int | None) -> str:
    """The command that repeats a run with these options and this seed."""
    words = ["pytest", "--pyargs", "conformance"]
    for name in _NARROWING:
        for value in options.get(name, "").split():
            words += [f"--{name}", value]
    for name in _OTHERS:
        if options.get(name) and options[name] != _DEFAULTS.get(name):
            words += [f"--{name}", options[name]]
    words += [f"--{name}" for name in _FLAGS if options.get(name)]
    for name in ("-k", "-m"):
        if options.get(name):
            words += [name, options[name]]
    if seed is not None:
        words += ["--seed", str(seed)]
    return shlex.join(words) + _server(options)


def rerun(rule: str, operation: str, options: Mapping[str, str]) -> str:
    """The command that runs the checks of one rule on one operation, as a run with these options did."""
    return f"pytest --pyargs conformance --rule {rule}@{operation}{_server(options)}"


def replay(file: str, options: Mapping[str, str], folder: str = "") -> str:
    """The command that sends a replay file to the server of a run with these options.

    `folder` is that of the reports, as seen from where the run was started.
    """
    path = f"{folder.rstrip('/')}/{file}" if folder not in ("", ".") else file
    return f"conformance replay {shlex.quote(path)}{_server(options)}"


def _server(options: Mapping[str, str]) -> str:
    return "".join(
        f" --{name} {shlex.quote(options[name])}" for name in ("target", "base-url") if options.get(name)
    )
