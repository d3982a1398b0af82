"""Paths and commands of the tools under test."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
MODULES = HERE / "node_modules"

#: Timeout in seconds for commands that compile a client or start a server.
PATIENCE = 180


def node() -> str:
    """Returns the node command; skips the test without node or the packages of package.json."""
    command = shutil.which("node")
    if command is None:
        pytest.skip("node is not installed")
    if not MODULES.is_dir():
        pytest.skip("the npm tools are not installed: npm ci --ignore-scripts --prefix tests/ecosystem")
    return command


def npm(tool: str, *arguments: object, folder: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Runs a command of node_modules in a folder; fails the test with its output."""
    node()
    return run([str(MODULES / ".bin" / tool), *map(str, arguments)], folder, check=check)


def javascript(program: str, *arguments: object, folder: Path) -> str:
    """Runs a program that imports the packages of package.json; returns its output."""
    path = folder / "program.mjs"
    path.write_text(program, "utf-8")
    with_modules(folder)
    return run([node(), str(path), *map(str, arguments)], folder).stdout


def with_modules(folder: Path) -> None:
    """Links node_modules into a folder."""
    if not (folder / "node_modules").exists():
        (folder / "node_modules").symlink_to(MODULES, target_is_directory=True)


def python(module: str, *arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a module of a Python tool; skips the test if it is not installed."""
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed: pip install '.[ecosystem]'")
    return run([sys.executable, "-m", module, *map(str, arguments)], folder)


def run(
    command: list[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    *,
    check: bool = True,
    text: str = "",
) -> subprocess.CompletedProcess[str]:
    """Runs a command in a folder without a terminal; `text` is its standard input."""
    variables = {**os.environ, "CI": "true", "NO_COLOR": "1", "NO_UPDATE_NOTIFIER": "1"}
    variables.update(environment or {})
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
    if check and done.returncode:
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
        "FUNDED_ACCOUNT_ID": primary["funded_account_id"],
    }
