"""The commands that repeat a run, one check, or the requests of a failure.

They are meant for the working directory of the run.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from conformance._options import OPTIONS, words


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


def rerun(rule: str, operation: str, options: Mapping[str, str]) -> str:
    """The command that runs the checks of one rule on one operation; for a client, or under load, the whole
    run."""
    if "judge" in options or "load" in options:
        return again(options, None)
    return f"pytest --pyargs conformance --rule {rule}@{operation}{_server(options)}"


def replay(file: str, options: Mapping[str, str], folder: str = "") -> str:
    """The command that sends a replay file to the server of a run with these options; `folder` has the
    reports, relative to the working directory."""
    path = f"{folder.rstrip('/')}/{file}" if folder not in ("", ".") else file
    return f"conformance replay {shlex.quote(path)}{_server(options)}"


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
