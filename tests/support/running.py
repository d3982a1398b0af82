"""Runs of the suite as a user starts them: pytest in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.reference.behaviour import Behaviour
from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.listener import served

ROOT = Path(__file__).parents[2]

#: Seconds that a server may take to listen.
PATIENCE = 30


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
    """The environment without anything that steers pytest or the suite, or has every run compile all anew."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CONFORMANCE_", "PYTEST_", "GITHUB_"))
        and name not in ("CI", "FORCE_COLOR", "PYTHONDONTWRITEBYTECODE")
    }
    return {**kept, **more}


def executed(
    command: Sequence[str | Path],
    cwd: Path,
    *,
    together: bool = False,
    timeout: float = 120,
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """A command that was run in a folder to its end, without a terminal and without what steers pytest or the
    suite; `together` puts what it said of errors where it belongs between the rest."""
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
    """The command that runs the checks with these arguments and reports to a folder."""
    usual = ("--pyargs", "conformance", "-p", "no:cacheprovider")
    # With `=`: pytest looks for its configuration where words lead that it takes for folders of tests.
    return [sys.executable, "-m", "pytest", *usual, f"--report-dir={folder}", *arguments]


def run(*arguments: str, folder: Path, cwd: Path = ROOT, timeout: float = 120, **variables: str) -> Outcome:
    """Runs the checks, as `pytest ARGUMENTS` in a folder does, and waits for the end."""
    done = executed(suite(folder, arguments), cwd, together=True, timeout=timeout, **variables)
    return Outcome(done.returncode, done.stdout, folder)


def run_against(
    folder: Path,
    options: str,
    behaviour: Behaviour | None = None,
    change: Callable[[dict[str, Any]], object] = lambda tables: None,
    cwd: Path = ROOT,
    **server: Any,
) -> Outcome:
    """Runs the checks with options against a new reference server of a behaviour. Target file and reports are
    in `folder`; `change` edits the tables of the target file in place, `server` are options of new_server."""
    reference, seeded = new_server(behaviour, **server)
    with served(reference, threads=True) as url:
        tables = target_tables(seeded, url)
        change(tables)
        target = write_target(folder / "target.toml", tables)
        words = (f"--target={target}", *shlex.split(options))
        return run(*words, folder=folder / "reports", cwd=cwd)


@contextlib.contextmanager
def begun(*arguments: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """As `run`, but does not wait: the context gives the process, whose standard output says how far it is.
    Kills it at the end."""
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
    """A running `conformance serve`, which is killed at the end, and the tables of its target file; `errors`
    is where its standard error goes."""
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
    """`python -m MODULE WORDS FILE` while the context lasts, once it has written FILE, the target file of the
    server that it is."""
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
    """Reads what a process says up to a line with all these words."""
    assert process.stdout is not None
    next(line for line in process.stdout if all(word in line for word in words))


def write_target(path: Path, tables: dict[str, Any]) -> Path:
    """Writes the tables as a target file."""
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
    """A reference server of a behaviour, and a function from its base URL to the tables of its target
    file."""
    server, seeded = new_server(behaviour, **options)
    return server, lambda url: target_tables(seeded, url)


def counted(behaviour: Behaviour | None = None) -> tuple[Any, Any, list[Any]]:
    """As `faulty`, and the requests that the server gets, as they come in."""
    server, tables = faulty(behaviour)
    requests: list[Any] = []
    handle = server.handle

    def handled(request: Any) -> Any:
        requests.append(request)
        return handle(request)

    server.handle = handled
    return server, tables, requests


def cells(outcome: Outcome, *verdicts: str) -> set[tuple[str, str]]:
    """The cases of a run with one of these verdicts."""
    return {
        (case["rule"], case["operation"]) for case in outcome.results["cells"] if case["verdict"] in verdicts
    }
