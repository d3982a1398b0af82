"""The commands that repeat a run, or one failure of it.

They are meant for the working directory of the run.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from conformance._options import OPTIONS, Effort, words
from conformance.judge.cells import Cell


def again(options: Mapping[str, str], seed: int | None) -> str:
    """The command that repeats a run with these options and seed."""
    if "judge" in options:
        return _client(options)
    command = ["conformance", "load"] if "load" in options else ["pytest", "--pyargs", "conformance"]
    for name, option in OPTIONS.items():
        if option.again and name in options:
            # The values of a repeated option are recorded separated by spaces.
            command += words(name, options[name].split() if option.repeats else options[name])
    for name in ("-k", "-m"):
        if options.get(name):
            command += [name, options[name]]
    if seed is not None:
        command += words("seed", seed)
    # Locust's options.
    command += shlex.split(options.get("load", ""))
    return shlex.join(command) + _server(options)


def reproduction(cell: Cell, options: Mapping[str, str], seed: int | None) -> str:
    """The command that shows a violation again: the checks of its rule on its operation, or, if a generated
    request showed it, the same generated requests; for a client, or under load, the whole run."""
    if "judge" in options or "load" in options:
        return again(options, seed)
    command = ["pytest", "--pyargs", "conformance", "--rule", cell.rule, "--operation", cell.operation]
    if examples := cell.violations[0].examples:
        # Only if it is asked for, generated requests take part in the run of a rule.
        command += words("fuzz-examples", examples) + words("fuzz-time", options.get("fuzz-time"))
    else:
        command += words("effort", options.get("effort")) if options.get("effort") == Effort.DEEP else []
    if seed is not None:
        command += words("seed", seed)
    return shlex.join(command) + _server(options)


def _client(options: Mapping[str, str]) -> str:
    """The command that repeats the run of a client."""
    command = ["conformance", "serve", "--judge"]
    for name in ("provoke", "exec"):
        command += [f"--{name}", options[name]] if options.get(name) else []
    return shlex.join(command)


def _server(options: Mapping[str, str]) -> str:
    return "".join(
        f" --{name} {shlex.quote(options[name])}" for name in ("target", "base-url") if options.get(name)
    )
