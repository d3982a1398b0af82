"""The command beside each exchange sends the same request again, freshly signed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.judge.verdicts import Verdict
from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.listener import served
from conformance.report.commands import resend
from conformance.report.html import pieces
from conformance.report.write import write_all
from conformance.target.file import build
from conformance.wire.forms import new_key
from conformance.wire.messages import Call
from conformance.world.lane import Lane
from tests.support.report_samples import WALK, document, exchange, judged, keep, whole_run
from tests.support.running import PATIENCE, ROOT, write_target

BODY = b'{"name":"Sav\\u00efngs \'1\'"}'


def calls(customer: str) -> dict[str, Call]:
    """Requests with one oddity each, all without effect on one another."""
    path = f"/v1/customers/{customer}/accounts"
    create = Call("createAccount", "POST", path, BODY, new_key())
    read = Call("listAccounts", "GET", f"{path}?size=2")
    signed: dict[str, dict[str, Any]] = {
        "mistake": {"mistake": "no query"},
        "form": {"mistake": "last byte left out"},
        "signature": {"signature": "0" * 64},
        "late": {"timestamp_offset": -1000},
        "early, within the window": {"timestamp_offset": 200},
        "timestamp": {"timestamp": "-1"},
        "nonce": {"nonce": "x y"},
        "other target": {"signed_target": f"{path}?size=3"},
        "left out": {"omit": ("X-Nonce",)},
        "left empty": {"empty": ("X-Signature",)},
    }
    bodies = {"a line feed": b"{\n}", "long": b'{"name":"' + b"a" * 2000 + b'"}', "binary": b"\xff\x00"}
    return {
        "valid": create,
        "no key": create.but(idempotency_key=None),
        "odd key": create.but(idempotency_key="-x 1"),
        "other type": create.but(content_type="text/plain", idempotency_key=new_key()),
        "no type": create.but(content_type=None, idempotency_key=new_key()),
        "header": create.but(headers=(("Content-Encoding", "gzip"),), idempotency_key=new_key()),
        "query": read.but(target=f"{read.target}&page=%FF'"),
        **{name: read.signed(**auth) for name, auth in signed.items()},
        **{name: create.but(body=body, idempotency_key=new_key()) for name, body in bodies.items()},
    }


@pytest.mark.parametrize("source", ["target", "base-url"])
def test_each_command_gets_the_same_answer(source: str, tmp_path: Path) -> None:
    server, seeded = new_server()
    with served(server) as url:
        tables: dict[str, Any] = target_tables(seeded, url)
        target = build(tables, "a target")
        lane = Lane(target)
        sent = {
            name: lane.send(lane.client(), call, name)
            for name, call in calls(target.primary.customer_id).items()
        }
        numbers = [exchange.number for exchange in sent.values()]
        results = whole_run(None, judged(*WALK, Verdict.FAILED, exchanges=numbers[:8]))
        for at in range(8, len(numbers), 8):
            results.add(
                judged(
                    "list.pages", "listWallets", Verdict.FAILED, exchanges=numbers[at : at + 8], check=f"{at}"
                )
            )
        keep(results, *sent.values(), target=target)
        options = {"target": str(write_target(tmp_path / "target.toml", tables))}
        options |= {"base-url": url} if source == "base-url" else {}
        report = document(results, target, options=options, folder=str(tmp_path / "reports"))
        write_all(report, tmp_path / "reports")
        for name, exchange in sent.items():
            command = resend(report.exchanges[exchange.number], report)
            # A nonce that was sent on purpose is used by now.
            status = 401 if name == "nonce" else exchange.status
            assert again(command, tmp_path) == status, f"{name}: {command}"
    assert str(tables["primary"]["secret"]) not in "".join(pieces(report))


def again(command: str, folder: Path) -> int:
    """The status of the answer to the request that a command sends."""
    (folder / "conformance").write_text(f'#!/bin/sh\nexec {sys.executable} -m conformance.cli "$@"\n')
    (folder / "conformance").chmod(0o755)
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment, capture_output=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr.decode()
    return int(done.stdout.split()[1])


def test_what_no_option_expresses_has_no_command() -> None:
    results = whole_run()
    report = document(results)

    call = exchange(1).call
    keep(results, exchange(1, call=call.signed(name_case="lower")), exchange(2, request_body=b"x" * 200_000))
    assert [resend(record, report) for record in results.exchanges.values()] == ["", ""]


def test_a_key_on_a_read_is_sent_again() -> None:
    """On a POST a new one is made."""
    results, key = whole_run(), new_key()
    report = document(results)
    for number, method in enumerate(("GET", "POST")):
        keep(results, exchange(number, method=method, call=Call("", method, "/", b"", key)))
    commands = [resend(record, report) for record in results.exchanges.values()]
    assert [f"Idempotency-Key: {key}" in command for command in commands] == [True, False]
