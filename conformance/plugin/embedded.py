"""The suite's own reference server in a child process, which also ends when this process does.

It starts beside the imports of a run, so this module imports next to nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from conformance._files import InputError

MODULE = "conformance.reference.serving.child_process"


def start() -> subprocess.Popen[str]:
    """Starts the server."""
    paths = filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")])
    return subprocess.Popen(
        [sys.executable, "-m", MODULE, str(os.getpid())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        text=True,
    )


def tables(server: subprocess.Popen[str]) -> dict[str, Any]:
    """The tables of its target file, once it accepts requests. Raises InputError."""
    assert server.stdout is not None
    try:
        values: dict[str, Any] = json.loads(server.stdout.readline())
    except ValueError:
        raise InputError(
            "The embedded reference server did not start; `conformance serve` starts the same, and says why."
        ) from None
    return values


def stop(server: subprocess.Popen[str]) -> None:
    """Ends the server."""
    with server:
        server.kill()
