"""`conformance serve`: the reference server as a sandbox to develop clients against, and to judge them.

Runs a complete, correct Financial Accounts API server. Prints the target file for it on standard output and
one line for each request on standard error. Stops on SIGINT (Ctrl-C) and SIGTERM. With --judge it judges what
clients send, shows it at / in a browser, and writes a report when it stops; with --exec it stops when a
client's own tests have ended, and exits like a run: 0 no violation, 1 violations, 6 incomplete.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance._files import InputError, shortest, written
from conformance._options import PREFIX
from conformance._text import clean, one_line
from conformance.cli.main import add_options
from conformance.clients.judging import JudgedRequest
from conformance.clients.provocations import PROVOCATIONS, Provocations, parse
from conformance.clients.sandbox import Sandbox
from conformance.contract.rules import CLIENT_RULES, Level
from conformance.reference.app import Server
from conformance.reference.core_messages import Request, Response
from conformance.reference.seed import seed, target_tables, target_text
from conformance.reference.serving.listener import base_url, listen, serve, served
from conformance.reference.store import Store
from conformance.report.building import build as build_document
from conformance.report.document import RunRecord
from conformance.report.write import finish
from conformance.target.environment import variable
from conformance.target.file import build
from conformance.target.redaction import Redactor

#: Loopback hosts.
LOOPBACK = ("127.0.0.1", "localhost", "::1")
TARGET_FILE = "target.toml"

_LONGEST_TARGET = 500


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument(
        "--port",
        type=_port,
        default=8000,
        help="port to listen on, 0 for any free one (default: %(default)s)",
    )
    parser.add_argument(
        "--database",
        type=Path,
        metavar="FILE",
        help="keep organizations and everything else in this SQLite file across restarts "
        "(default: all is gone when the server stops)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="seed of the organizations: the same N, the same ids, keys and secrets",
    )
    parser.add_argument("--write-target", type=Path, metavar="FILE", help="write the target file there, too")
    parser.add_argument("--prefix", type=_prefix, default="", help="serve under this path, such as /api")
    judging = parser.add_argument_group("judging clients")
    judging.add_argument(
        "--judge", action="store_true", help="judge each request by the rules that bind clients"
    )
    judging.add_argument(
        "--exec",
        metavar="COMMAND",
        default="",
        help="run this shell command, with the target in its environment (CONFORMANCE_BASE_URL, "
        "CONFORMANCE_PRIMARY_API_KEY, ...), and stop when it has ended",
    )
    judging.add_argument(
        "--provoke",
        metavar="WHAT",
        default="",
        help="do what conforming servers may do: all, random:SEED, or some of " + ", ".join(PROVOCATIONS),
    )
    add_options(judging, "fail-on", "report-dir")


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"it should be a number from 0 to 65535, not {text[:40]!r}")
    return int(text)


def _prefix(text: str) -> str:
    text = text.rstrip("/")
    if text.endswith("/v1") or not re.fullmatch(r"(/[\w./~!$&'()*+,;=:@\[\]-]*)?", text, re.ASCII):
        raise argparse.ArgumentTypeError("it should be a path such as /api, without /v1, which is added")
    return text


def run(options: argparse.Namespace) -> int:
    """Serves until a signal or the end of the client's command. Raises InputError."""
    if not options.judge and (options.exec or options.provoke):
        raise InputError(f"--{'exec' if options.exec else 'provoke'}: give --judge as well.")
    try:
        provocations = parse(options.provoke) if options.provoke else Provocations()
    except ValueError as error:
        raise InputError(f"--provoke: {error}") from None
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(contextlib.closing(Store(options.database)))
        if options.seed is not None and store.seeded is not None:
            raise InputError(
                f"--seed {options.seed}: the organizations in {options.database} are there already and "
                "stay as they are; leave --seed out, or name a new --database."
            )
        seeded = seed(store, options.seed)
        bound = stack.enter_context(listen(options.host, options.port))
        url = base_url(bound, options.host, options.prefix)
        text = target_text(seeded, url)
        if options.write_target is not None:
            written(options.write_target, text, private=True)
        _announce(text, options.write_target, url)
        if not options.judge:
            serve(Server(store, prefix=options.prefix, observer=log), bound)
            return 0
        tables = target_tables(seeded, url)
        target = build(tables, "the sandbox")
        # On a network address the page is served under any host name.
        local = ("127.0.0.1", "localhost", "[::1]") if options.host in LOOPBACK else None
        observe = functools.partial(log_judged, Redactor(target))
        sandbox = Sandbox(store, target, provocations, prefix=options.prefix, observe=observe, hosts=local)
        return _judge(options, sandbox, bound, tables)


def _announce(text: str, file: Path | None, url: str) -> None:
    """Prints the target file with hints as TOML comments, and the address to standard error."""
    hint = "The" if file else f"Save this as {TARGET_FILE}, then the"
    print(f"# {hint} suite runs against this server with")
    print(f"#   pytest --pyargs conformance --target {file or TARGET_FILE}\n\n{text}", end="", flush=True)
    print(f"listening on {url}", file=sys.stderr, flush=True)


# ------------------------------------------------------------------ the access log


def log(request: Request, operation: str, response: Response) -> None:
    """Logs a request."""
    _write(log_line(request, operation, response))


def log_judged(redactor: Redactor, judged: JudgedRequest) -> None:
    """Logs a judged request and its violations, redacted."""
    provoked = f"provoked {' '.join(judged.provoked)}" if judged.provoked else ""
    response = replace(judged.response, reason=f"{judged.response.reason} {provoked}".strip())
    lines = [log_line(judged.request.request, judged.request.operation, response)]
    for remark in judged.broken:
        expected = CLIENT_RULES[remark.rule].client
        lines.append("  " + one_line(clean(f"{remark.rule}: expected {expected}; got {remark.got}")))
    _write(redactor.text("\n".join(lines)))


def _write(text: str) -> None:
    """Prints to standard error; the server must not stop because its log is closed."""
    with contextlib.suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


def log_line(request: Request, operation: str, response: Response) -> str:
    """The log line of a request: method, target, status, operation and reason of a refusal, without control
    characters."""
    target = request.target.decode("ascii", "backslashreplace")
    if len(target) > _LONGEST_TARGET:
        target = target[:_LONGEST_TARGET] + "..."
    words = [request.method, target, str(response.status), operation or "-", response.reason]
    return "".join(character for character in " ".join(words).rstrip() if character.isprintable())


# ------------------------------------------------------------------ judging clients


def _judge(
    options: argparse.Namespace, sandbox: Sandbox, bound: socket.socket, tables: Mapping[str, Any]
) -> int:
    """Serves until a signal or the end of the command, then writes the report; returns the exit status of the
    verdict."""
    started, lost, interrupted = time.time(), "", ""
    if not options.exec:
        serve(sandbox, bound)
    else:
        with served(sandbox, at=bound):
            before = signal.signal(signal.SIGTERM, signal.default_int_handler)
            try:
                done = subprocess.run(options.exec, shell=True, env=environment(tables), check=False)
                if done.returncode:
                    lost = f"the command ended with exit status {done.returncode}"
            except KeyboardInterrupt:
                interrupted = "by the user or the system"
            finally:
                signal.signal(signal.SIGTERM, before)
    # Requests are judged after their answers, so the last one once the server is closed.
    last = sandbox.judge.recent[-1] if sandbox.judge.recent else None
    if lost and last and last.provoked:
        lost += f" after {', '.join(last.provoked)} on {last.request.name}"
    stated = {"judge": "yes", "provoke": options.provoke, "exec": options.exec}
    run = RunRecord(
        started,
        time.time() - started,
        options={name: value for name, value in stated.items() if value},
        interrupted=interrupted,
        folder=shortest(options.report_dir),
    )
    judge, fail_on = sandbox.judge, Level(options.fail_on)
    document = build_document(judge.ledger(lost), judge.target, run, fail_on=fail_on)
    return finish(document, options.report_dir, shutil.get_terminal_size((110, 24)).columns)


def environment(tables: Mapping[str, Any]) -> dict[str, str]:
    """The environment of a client's command, with the target's variables and no others of the suite."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    for table, values in tables.items():
        keys = values if isinstance(values, dict) else {"": values}
        for key, value in keys.items():
            variables[variable(table, key)] = str(value).lower() if isinstance(value, bool) else str(value)
    return variables
