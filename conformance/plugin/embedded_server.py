"""The target named by the options, and the embedded reference server of a run without one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance._files import InputError
from conformance.plugin.options import EMBEDDED, Options
from conformance.target.environment import given
from conformance.target.file import Target, load

#: Timeout for the server to start, in seconds.
PATIENCE = 30.0


def named_target(options: Options, environment: Mapping[str, str]) -> Target | None:
    """The target that options and environment name; None for the embedded server. Raises InputError."""
    file, base_url = options.target, options.base_url
    if file == EMBEDDED or not (file or base_url or given(environment)):
        return None
    return load(Path(file) if file else None, environment, base_url)


class EmbeddedServer:
    """The reference server in a child process, which also ends when this process does."""

    def __init__(self, folder: Path) -> None:
        self._state = folder / "embedded.json"
        self._log = folder / "embedded.log"
        module = "conformance.reference.serving.embedded"
        paths = filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")])
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, str(self._state), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            )

    def tables(self) -> dict[str, Any]:
        """The tables of the server's target file, once it accepts requests. Raises InputError."""
        end = time.monotonic() + PATIENCE
        while not self._state.exists():
            if self._process.poll() is not None or time.monotonic() > end:
                tail = self._log.read_text("utf-8", "replace").strip().splitlines()[-1:]
                raise InputError(
                    f"The embedded reference server did not start: {''.join(tail) or 'it took too long'}."
                )
            time.sleep(0.01)
        tables: dict[str, Any] = json.loads(self._state.read_text("utf-8"))
        return tables

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
