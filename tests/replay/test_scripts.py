"""The replay command, and replay files as standalone scripts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.cli.main import main
from conformance.judge.expectations import Refused
from conformance.reference.behaviour import Behaviour
from conformance.reference.seed import Seeded, new_server, target_text
from conformance.reference.serving.listener import served
from conformance.replay import as_python, document_of, load, perform
from conformance.wire.messages import Call
from conformance.wire.provenance import new_key
from conformance.world.account import call
from conformance.world.run_context import RunContext
from tests.replay.samples import NoNonces, finding, scripted
from tests.support.callers import run_at
from tests.support.runs import run_on
from tests.support.wire import Received, wire


@pytest.fixture(params=[NoNonces, Behaviour], ids=["faulty", "valid"])
def live(request: pytest.FixtureRequest) -> Iterator[tuple[str, Seeded, int]]:
    """The address of a server, its seeded data, and the exit status of a replay of `used_nonce`."""
    server, seeded = new_server(request.param())
    with served(server) as url:
        yield url, seeded, 1 if request.param is NoNonces else 0


def test_command(
    live: tuple[str, Seeded, int], replay_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url, seeded, status = live
    target = tmp_path / "target.toml"
    target.write_text(target_text(seeded, url), "utf-8")
    assert main(["replay", str(replay_file), "--target", str(target)]) == status
    shown = capsys.readouterr().out
    assert "* judged; the others prepare it" in shown
    assert ("not reproduced" in shown) is (status == 0) and "auth.nonce-replay on getBeneficiary" in shown
    assert seeded.primary.secret not in shown


def test_python_script(live: tuple[str, Seeded, int], replay_file: Path, tmp_path: Path) -> None:
    url, seeded, status = live
    done = scripted(load(replay_file), tmp_path, url, seeded.primary)
    assert done.returncode == status, done.stdout + done.stderr


def test_scripts_know_the_server_that_the_command_names(
    replay_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CONFORMANCE_TARGET", raising=False)
    named = ["--base-url", "http://there.test:81/it's"]
    assert main(["replay", str(replay_file), "--as", "python", *named]) == 0
    script = tmp_path / "script.py"
    script.write_text(capsys.readouterr().out, "utf-8")
    assert "there.test:81" in script.read_text("utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], env={"PATH": os.environ["PATH"]}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "CONFORMANCE_PRIMARY_API_KEY is not set in the environment" in done.stderr, done.stderr


def test_scripts_hold_awkward_texts(run: RunContext, tmp_path: Path) -> None:
    fixture = run.account()
    ids = fixture.ids("createAccount")
    exchanges = [
        run.send(fixture.client, call("createAccount", ids, {"name": text}), "awkward '\"`$(x)` \n")
        for text in ("'; rm -rf / #", '$(id) `id` \\ "', "'''", "\u540d\u0000", "{{now}}")
    ]
    exchanges.append(
        run.send(
            fixture.client,
            Call(
                "createAccount",
                "POST",
                f"/v1/customers/{ids['customer_id']}/accounts",
                b"\xff\x00",
                new_key(),
            ),
            "bytes",
        )
    )
    document = document_of(
        finding("body.malformed", "createAccount", Refused("'`$(x)` \n"), *exchanges), exchanges, run
    )
    assert document is not None
    compile(as_python(document), "script", "exec")


def test_command_prints_the_script(replay_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(replay_file), "--as", "python"]) == 0
    assert "import hmac" in capsys.readouterr().out


def test_command_names_what_is_missing(
    replay_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [variable for variable in os.environ if variable.startswith("CONFORMANCE_")]:
        monkeypatch.delenv(name)
    assert main(["replay", str(tmp_path / "none.json"), "--base-url", "http://127.0.0.1:1"]) == 2
    assert "no such replay file" in capsys.readouterr().err
    assert main(["replay", str(replay_file), "--base-url", "http://127.0.0.1:1"]) == 2
    assert "api_key" in capsys.readouterr().err


def test_secrets_stand_in_no_request(replay_file: Path) -> None:
    document = load(replay_file)
    step = document["steps"][-1]
    step["target"] += "?shown={{primary.secret}}"
    step["headers"] = [["X-Shown", "{{secondary.secret}}"]]
    step["auth"] = {"secret": "{{primary.secret}}", "signed_target": "/{{primary.secret}}"}
    run = run_on(NoNonces())
    replayed = perform(document, run)
    sent = replayed.answers[step["id"]]
    told = sent.target + str(sent.request_headers) + str(sent.call.auth.signed_target)
    assert not any(secret in told for secret in run.target.secrets)
    assert sent.call.auth.secret == run.target.primary.secret


def test_the_script_signs_as_the_suite_does(replay_file: Path, tmp_path: Path) -> None:
    document = load(replay_file)
    [step, *_] = document["steps"]
    steps = []
    unusual: list[dict[str, Any]] = [
        {"mistake": "lower-case method"},
        {"signed_target": "/v1/other", "mistake": "new line"},
        {"signed_body": "another", "signature_forms": "other.32", "name_case": "lower"},
        {"signed_nonce": "n", "mistake": "base64", "omit": ["X-API-Key"], "empty": ["X-Nonce"]},
    ]
    for at, auth in enumerate(unusual, 1):
        fixed = {"nonce": "0123456789abcdef0123456789abcdef", "timestamp": "1700000000", **auth}
        steps.append(
            {**step, "id": str(at), "target": "/v1/x?y=%20", "body": "{}", "auth": fixed, "captures": {}}
        )
    document |= {"steps": steps, "judged": ["1"]}
    with wire() as server:
        run = run_at(server.url)
        perform(document, run)
        scripted(document, tmp_path, server.url, run.target.primary)
    assert len(server.requests) == 8

    for suite, alone in zip(server.requests[:4], server.requests[4:], strict=True):
        assert _signing_headers(suite) == _signing_headers(alone) != []


def _signing_headers(received: Received) -> list[bytes]:
    return sorted(line for line in received.head.split(b"\r\n") if line.lower().startswith(b"x-"))
