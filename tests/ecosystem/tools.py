"""Commands of the tools under test."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent

#: Timeout in seconds for commands that compile a client or start a server.
PATIENCE = 180


def run(
    command: list[str], folder: Path, environment: Mapping[str, str] | None = None, *, text: str = ""
) -> subprocess.CompletedProcess[str]:
    """Runs a command in a folder without a terminal; fails the test with its output. `text` is its standard
    input."""
    variables = {**os.environ, "CI": "true", "NO_COLOR": "1", **(environment or {})}
    variables.pop("PYTEST_CURRENT_TEST", None)
    done = subprocess.run(
        command,
        cwd=folder,
        env=variables,
        input=text,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
    )
    if done.returncode:
        pytest.fail(
            f"{command[0]} ended with {done.returncode}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        )
    return done


def credentials(target: dict[str, Any]) -> dict[str, Any]:
    """Returns the environment variables that the example clients read."""
    primary = target["primary"]
    return {
        "BASE_URL": target["base_url"],
        "API_KEY": primary["api_key"],
        "API_SECRET": primary["secret"],
        "CUSTOMER_ID": primary["customer_id"],
    }
