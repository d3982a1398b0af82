"""`conformance replay FILE`: sends the requests of a failure again, or prints a script that does.

Sends the requests of a failure again, newly signed and with ids from the new answers, and reports whether the
rule is still broken. Exit status: 0 not reproduced, 1 reproduced, 6 undecided, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path

from conformance._text import one_line, printable
from conformance.cli.main import add_base_url, add_target
from conformance.fuzz import load_predicates
from conformance.replay import as_python, load, perform
from conformance.replay.format import Document, Step
from conformance.replay.run import NOT_REPRODUCED, REPRODUCED, UNDECIDED
from conformance.target.file import load as load_target
from conformance.target.redaction import Redactor
from conformance.wire.messages import Call, Exchange
from conformance.world.run_context import RunContext

#: Verdict -> exit status.
STATUS = {NOT_REPRODUCED: 0, REPRODUCED: 1, UNDECIDED: 6}

#: Maximum length of a printed body.
SHOWN = 2000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="a replay file, as a run writes them into reports/replays"
    )
    add_target(parser)
    add_base_url(parser)
    parser.add_argument(
        "--as",
        dest="language",
        choices=("python",),
        help="send nothing; print a Python script that signs by itself and needs nothing but Python",
    )


def run(options: argparse.Namespace) -> int:
    """Sends the requests, or prints the script. Raises InputError."""
    load_predicates()
    importlib.import_module("conformance.load.contention")
    importlib.import_module("conformance.load.sender")
    document = load(options.file)
    if options.language:
        address = _address(options)
        sys.stdout.write(as_python(document, address) if address else as_python(document))
        return 0
    return _replay(document, options)


def _address(options: argparse.Namespace) -> str:
    """The base URL from the options; empty if none is given. Raises InputError."""
    if options.base_url or not options.target:
        return options.base_url or ""
    return load_target(options.target, os.environ).base_url


def _replay(document: Document, options: argparse.Namespace) -> int:
    target = load_target(options.target, os.environ, options.base_url)
    run = RunContext(target)
    # The Date header of the answer calibrates the clock for signing.
    run.client().send(Call(None, "GET", "/"), "the server's time")
    print(_line(f"{document['rule']} on {document['operation']}: {document.get('statement', '')}") + "\n")
    if any(step.get("decisive") for step in document["steps"]):
        print("* judged; the others prepare it\n")
    replayed = perform(document, run, lambda step, exchange: _show(step, exchange, run.redactor))
    print(f"expected   {_line(document['expected'])}")
    print(f"then got   {_line(document['got'])}")
    if replayed.verdict == UNDECIDED:
        print(f"undecided: {printable(run.redactor.text(replayed.got))}")
    else:
        tries = f" in {replayed.attempts} attempts" if replayed.attempts > 1 else ""
        got = f": {printable(run.redactor.text(replayed.got))}" if replayed.got else ""
        print(f"{replayed.verdict}{tries}{got}")
    return STATUS[replayed.verdict]


def _show(step: Step, exchange: Exchange, redactor: Redactor) -> None:
    mark = "*" if step.get("decisive") else " "
    sent = f"{exchange.method} {exchange.target[:SHOWN]}"
    lines = [f"{mark}{step['id']}  {sent}  as {exchange.organization}: {_line(step.get('purpose', ''))}"]
    lines += [
        f"     > {name}: {value}"
        for name, value in redactor.headers(exchange.request_headers)
        if name.lower() in ("x-timestamp", "x-nonce", "idempotency-key", "content-type") or step.get("auth")
    ]
    if exchange.request_body:
        lines.append(f"     > {_text(exchange.request_body, redactor)}")
    lines.append(
        f"     < {exchange.status if exchange.status is not None else f'no answer: {exchange.error}'}"
        f" {_text(exchange.response_body, redactor)}"
    )
    print(printable("\n".join(lines)) + "\n")


def _line(text: str) -> str:
    """A text of the file on one line, so that a foreign file cannot imitate output of this command."""
    return printable(one_line(text, SHOWN))


def _text(body: bytes, redactor: Redactor) -> str:
    text = redactor.text(body.decode("utf-8", "backslashreplace"))
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(body)} bytes)"
