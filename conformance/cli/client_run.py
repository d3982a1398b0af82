"""Serves the sandbox that judges, runs a client's command against it, and writes the report."""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from typing import Any

from conformance.clients.sandbox import Sandbox
from conformance.contract.rules import Level
from conformance.reference.serving.listener import serve, served
from conformance.report.building import RunInfo, build
from conformance.report.write import finish
from conformance.target.environment import PREFIX, variable


def run(
    options: argparse.Namespace,
    sandbox: Sandbox,
    bound: socket.socket,
    tables: Mapping[str, Any],
    ready: Callable[[], None],
) -> int:
    """Serves until a signal, or the end of the command; writes the report and returns the exit status of the
    verdict."""
    started, status, interrupted = time.time(), 0, ""
    if options.exec is None:
        serve(sandbox, bound, ready)
    else:
        with served(sandbox, at=bound):
            try:
                status = subprocess.run(
                    options.exec, shell=True, env=environment(tables), check=False
                ).returncode
            except KeyboardInterrupt:
                interrupted = "by the user"
    # Requests are judged after their answers: the last one is, once the server is closed.
    lost = f"the command ended with exit status {status}{_met(sandbox)}" if status else ""
    given = {"judge": "yes", "provoke": options.provoke, "exec": options.exec or ""}
    info = RunInfo(
        started,
        time.time(),
        options={name: value for name, value in given.items() if value},
        interrupted=interrupted,
        fail_on=Level(options.fail_on),
        folder=options.report_dir,
    )
    document = build(sandbox.judge.ledger(lost), sandbox.judge.target, info)
    return finish(document, options.report_dir, shutil.get_terminal_size((110, 24)).columns)


def _met(sandbox: Sandbox) -> str:
    """Last provocation, if nothing came after it."""
    last = sandbox.judge.recent[-1] if sandbox.judge.recent else None
    return f" after {', '.join(last.provoked)} on {last.request.name}" if last and last.provoked else ""


def environment(tables: Mapping[str, Any]) -> dict[str, str]:
    """The environment with the target's variables, and no others of the suite's."""
    found = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    for table, values in tables.items():
        keys = values if isinstance(values, dict) else {"": values}
        for key, value in keys.items():
            found[variable(table, key)] = str(value).lower() if isinstance(value, bool) else str(value)
    return found
