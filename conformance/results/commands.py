"""The commands with which a user runs a check again, or sends a failure's requests again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping


def rerun(rule: str, operation: str, options: Mapping[str, str]) -> str:
    """The command that runs the checks of one rule on one operation, as a run with these options did."""
    return f"pytest --rule {rule}@{operation}{_server(options)}"


def replay(file: str, options: Mapping[str, str]) -> str:
    """The command that sends a replay file to the server of a run with these options."""
    return f"conformance replay {shlex.quote(file)}{_server(options)}"


def _server(options: Mapping[str, str]) -> str:
    return "".join(
        f" --{name} {shlex.quote(options[name])}" for name in ("target", "base-url") if options.get(name)
    )
