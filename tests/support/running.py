"""Runs of the suite in a subprocess, as a user starts them."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from conformance.reference.behaviour import Behaviour
from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.listener import served

ROOT = Path(__file__).parents[2]

#: Seconds within which a command must end, or a server listen, however busy the machine is; and within which
#: a whole run must end.
PATIENCE, LONGEST = 300.0, 900.0


@dataclass
class Outcome:
    """Exit status, output and report folder of a run."""

    status: int
    output: str
    folder: Path

    @property
    def results(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.folder / "results.json").read_text("utf-8"))
        return document


def environment(**more: str) -> dict[str, str]:
    """Returns the environment without variables that configure pytest, the suite or Python's bytecode
    cache, and with the temporary folder of this process."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CONFORMANCE_", "PYTEST_", "GITHUB_"))
        and name not in ("CI", "FORCE_COLOR", "PYTHONDONTWRITEBYTECODE")
    }
    return {**kept, "TMPDIR": tempfile.gettempdir(), **more}


def executed(
    command: Sequence[str | Path],
    cwd: Path,
    *,
    together: bool = False,
    timeout: float = PATIENCE,
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """Runs a command in a folder, without a terminal and without variables that configure pytest or the
    suite. `together` merges standard error into standard output."""
    return subprocess.run(
        command,
        cwd=cwd,
        env=environment(**variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if together else subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        timeout=timeout,
        check=False,
    )


def suite(folder: Path, arguments: Sequence[str]) -> list[str]:
    """Returns the command line of a run with these arguments, with reports in a folder."""
    usual = ("--pyargs", "conformance", "-p", "no:cacheprovider")
    # With `=`, since pytest would take a separate folder for a path to tests and look for its configuration
    # there.
    return [sys.executable, "-m", "pytest", *usual, f"--report-dir={folder}", *arguments]


def run(
    *arguments: str, folder: Path, cwd: Path = ROOT, timeout: float = PATIENCE, **variables: str
) -> Outcome:
    """Runs `pytest ARGUMENTS` in a folder and waits for its end."""
    done = executed(suite(folder, arguments), cwd, together=True, timeout=timeout, **variables)
    return Outcome(done.returncode, done.stdout, folder)


def run_against(
    folder: Path,
    options: str,
    behaviour: Behaviour | None = None,
    change: Callable[[dict[str, Any]], object] = lambda tables: None,
    cwd: Path = ROOT,
    variables: Mapping[str, Any] = MappingProxyType({}),
    timeout: float = PATIENCE,
    **server: Any,
) -> Outcome:
    """Runs the checks against a new reference server of a behaviour. The target file and the reports are
    written to `folder`; `change` edits the tables of the target file in place, `variables` are of the
    environment, `server` are options of new_server."""
    reference, seeded = new_server(behaviour, **server)
    with served(reference, threads=True) as url:
        tables = target_tables(seeded, url)
        change(tables)
        target = write_target(folder / "target.toml", tables)
        words = (f"--target={target}", *shlex.split(options))
        return run(*words, folder=folder / "reports", cwd=cwd, timeout=timeout, **variables)


@contextlib.contextmanager
def begun(*arguments: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Starts a run without waiting for its end, and yields the process with its output as a pipe. Kills it at
    the end of the context."""
    process = subprocess.Popen(
        suite(folder, arguments),
        cwd=folder.parent,
        env=environment(PYTHONUNBUFFERED="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def sandbox(
    *options: str, errors: int = subprocess.DEVNULL
) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Starts `conformance serve`, and yields the process and the tables of its target file. Kills it at the
    end of the context; `errors` is its standard error."""
    command = [sys.executable, "-m", "conformance.cli", "serve", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process:
        try:
            assert process.stdout is not None
            text = ""
            while "payins" not in text:
                line = process.stdout.readline()
                assert line, "conformance serve ended"
                text += line
            yield process, tomllib.loads(text)
        finally:
            process.kill()


@contextlib.contextmanager
def server_of(module: str, file: Path, *words: str) -> Iterator[Path]:
    """Runs `python -m MODULE WORDS FILE`, a server that writes its target file to FILE, and yields FILE once
    it exists."""
    command = [sys.executable, "-m", module, *words, str(file)]
    process = subprocess.Popen(command, cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL)
    try:
        end = time.monotonic() + PATIENCE
        while not file.exists():
            assert process.poll() is None and time.monotonic() < end, f"{module} does not serve"
            time.sleep(0.02)
        yield file
    finally:
        process.kill()
        process.wait()


def until(process: subprocess.Popen[str], *words: str) -> None:
    """Reads the output of a process up to a line with all these words."""
    assert process.stdout is not None
    next(line for line in process.stdout if all(word in line for word in words))


def write_target(path: Path, tables: dict[str, Any]) -> Path:
    """Writes the tables as a TOML target file."""
    path.write_text(_toml(tables), "utf-8")
    return path


def _toml(tables: dict[str, Any], prefix: str = "") -> str:
    plain = [
        f"{key} = {json.dumps(value)}"
        for key, value in tables.items()
        if not isinstance(value, dict) and value is not None
    ]
    nested = [
        f"[{prefix}{key}]\n{_toml(value, f'{prefix}{key}.')}"
        for key, value in tables.items()
        if isinstance(value, dict)
    ]
    return "\n".join([*plain, *nested])


def faulty(behaviour: Behaviour | None = None, **options: Any) -> tuple[Any, Any]:
    """Returns a reference server of a behaviour, and a function from its base URL to the tables of its target
    file."""
    server, seeded = new_server(behaviour, **options)
    return server, lambda url: target_tables(seeded, url)


def counted(behaviour: Behaviour | None = None) -> tuple[Any, Any, list[Any]]:
    """Returns the same as `faulty`, and a list that collects the requests of the server."""
    server, tables = faulty(behaviour)
    requests: list[Any] = []
    handle = server.handle

    def handled(request: Any) -> Any:
        requests.append(request)
        return handle(request)

    server.handle = handled
    return server, tables, requests


def cells(outcome: Outcome, *verdicts: str) -> set[tuple[str, str]]:
    """Returns the cells of a run with one of these verdicts."""
    return {
        (cell["rule"], cell["operation"]) for cell in outcome.results["cells"] if cell["verdict"] in verdicts
    }
