"""`conformance serve --judge --exec`: environment, report, exit status, and hostile clients."""

from __future__ import annotations

import functools
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.cli.main import main
from conformance.cli.serve import log_judged
from conformance.clients.judging import BODY, RECORDS, SHOWN, JudgedRequest
from conformance.contract.rules import CLIENT_RULES
from conformance.reference.core_messages import Request
from conformance.report.building import build
from conformance.report.changes import load
from conformance.report.document import RunRecord
from conformance.report.html import pieces
from tests.clients.changes import with_header
from tests.clients.client import Client, Rig
from tests.support.report_samples import to_plain
from tests.support.running import PATIENCE, ROOT, environment

#: A client that lists accounts, and sends `{query}` after the path that it signs.
CLIENT = """
import http.client, os, sys, urllib.parse
from conformance.contract.signing import signed_headers
env = os.environ
path = "/v1/customers/" + env["CONFORMANCE_PRIMARY_CUSTOMER_ID"] + "/accounts"
key, secret = env["CONFORMANCE_PRIMARY_API_KEY"], env["CONFORMANCE_PRIMARY_SECRET"]
headers = signed_headers(key, secret, "GET", path.encode())
url = urllib.parse.urlsplit(env["CONFORMANCE_BASE_URL"])
connection = http.client.HTTPConnection(url.netloc)
connection.request("GET", url.path + path + sys.argv[1], headers=headers)
answer = connection.getresponse()
print(answer.status)
sys.exit(int(sys.argv[2]))
"""


@pytest.fixture
def judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Judges a command in an empty folder; returns exit status, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CONFORMANCE_TARGET", "elsewhere.toml")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    def run(command: str) -> tuple[int, str, str]:
        status = main(["serve", "--judge", "--port", "0", "--exec", command])
        return status, *capfd.readouterr()

    return run


@pytest.mark.parametrize(
    ("query", "ends", "status", "said"),
    [
        ("", 0, 0, "No violation in what the client sent"),
        ("?page=1", 0, 1, "The client does not conform: it breaks 1 rule on 1 operation (auth.signed-query)"),
        ("", 7, 6, "Incomplete: the command ended with exit status 7; no violation was seen until then."),
    ],
)
def test_exec_judges_a_command_and_exits_by_the_verdict(
    tmp_path: Path, judge: Callable[..., tuple[int, str, str]], query: str, ends: int, status: int, said: str
) -> None:
    (tmp_path / "client.py").write_text(CLIENT)
    ended, shown, log = judge(f"{sys.executable} client.py '{query}' {ends}")
    assert ended == status, shown + log
    assert said in " ".join(shown.split())
    document = load(tmp_path / "reports")
    assert (document.run.side, document.run.requests) == ("client", 1)
    assert {rule.id for rule in document.rules} == set(CLIENT_RULES)
    counts = {cell.verdict for cell in document.cells if cell.operation == "createPayout"}
    assert counts == {"not run"}, "what was never exercised is listed, not passed"
    names = {"results.json", "report.html", "summary.md"}
    assert {path.name for path in (tmp_path / "reports").iterdir()} == names
    if status == 1:
        page = (tmp_path / "reports" / "report.html").read_text()
        assert (
            "signature of a client that leaves the query out" in page and "conformance serve --judge" in page
        )
        assert (
            "the server signed "
            in json.loads((tmp_path / "reports" / "results.json").read_text())["cells"].__repr__()
        )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command_and_leaves_a_report(tmp_path: Path, number: signal.Signals) -> None:
    words = [sys.executable, "-m", "conformance.cli", "serve", "--judge", "--port", "0"]
    process = subprocess.Popen(
        # A signal while the command is being started would leave it behind, with this end of the pipe.
        [*words, "--exec", "sleep 2; touch begun; exec sleep 600"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
    )
    end = time.monotonic() + PATIENCE
    while not (tmp_path / "begun").exists() and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(number)
    shown = process.communicate(timeout=PATIENCE)[0].decode()
    assert process.returncode == 2 and "nterrupted" in shown
    assert load(tmp_path / "reports").run.requests == 0


def test_a_client_that_sends_nothing_is_not_judged(judge: Callable[..., tuple[int, str, str]]) -> None:
    status, shown, _ = judge("true")
    assert status == 6 and "no rule was exercised" in shown


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--exec", "true"], "give --judge as well"),
        (["--judge", "--provoke", "chaos"], "there is no provocation 'chaos'"),
        (["--judge", "--provoke", "random:x"], "a seed is a whole number"),
    ],
)
def test_wrong_options_are_said(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", *options]) == 2
    assert said in capsys.readouterr().err


# ---------------------------------------------------------------------- hostile clients


def test_a_hostile_client_fills_no_memory() -> None:
    rig = Rig()
    client = Client(rig)
    target = f"/v1/customers/{client.tenant.customer_id}/accounts"
    draw, unblamed = random.Random(1), list[object]()

    def observe(judged: JudgedRequest) -> None:
        if not any(remark.got for remark in judged.remarks):
            unblamed.append((judged.request.headers["x-nonce"], judged.request.key, judged.remarks))

    rig.sandbox.observe = observe
    for number in range(3 * SHOWN):
        request = client.request("POST", target, draw.randbytes(20) * (BODY // 10), client.key("POST"))
        rig.handle(with_header(request, "X-Filler", "y" * 2 * BODY) if number % 2 else request)
    judge = rig.sandbox.judge
    assert len(judge.recent) == SHOWN and len(judge.records) <= RECORDS
    kept = sum(
        len(seen.request.request.body) + len(str(seen.request.request.headers)) for seen in judge.recent
    )
    assert kept < SHOWN * 4 * BODY
    ledger = judge.ledger()
    assert unblamed == []
    assert sum(cell.broken for cell in ledger.cells) == 3 * SHOWN
    assert len(json.dumps([cell.summary for cell in ledger.cells])) < 200_000


def test_no_secret_and_no_control_character_comes_out(capsys: pytest.CaptureFixture[str]) -> None:
    rig = Rig()
    client = Client(rig)
    rig.sandbox.observe = functools.partial(log_judged, rig.sandbox.judge.redactor)
    secret = client.tenant.secret
    target = f"/v1/customers/{client.tenant.customer_id}/accounts?page=\x1b[2J{secret}"
    request = client.request("GET", target, b"", None)
    rig.handle(with_header(request, "X-Nonce", "\x1b]0;taken\x07"))
    rig.handle(client.request("GET", f"/v1/{'x' * 70}/{secret}", b"", None))
    rig.handle(with_header(request, "Idempotency-Key", "\u202e" + secret))
    rig.handle(Request("GET", b"/\xff\x00", [(b"X-\x00", b"\xff")], b"\xff"))
    document = build(rig.sandbox.judge.ledger(), rig.sandbox.judge.target, RunRecord(0, 1))
    shown = "".join(pieces(document)) + json.dumps(to_plain(document)) + capsys.readouterr().err
    assert secret[:12] not in shown and client.tenant.api_key not in shown
    assert not set(shown) & set("\x1b\x07\u202e")
    assert "client.secret" in {cell.rule for cell in document.cells if cell.verdict == "failed"}
