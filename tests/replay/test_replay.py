"""Replay files: written from failures, sent again, turned into scripts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.checks import load_checks
from conformance.cli.main import main
from conformance.fixtures.account import call, new_key
from conformance.fixtures.run_context import RunContext
from conformance.judging import recorder
from conformance.judging.expectations import KINDS, AtMostOne, Expectation, Refused, SameAnswer
from conformance.judging.findings import Finding
from conformance.reference.behaviour import Behaviour
from conformance.reference.seed import Seeded, new_server, target_text
from conformance.reference.serving.listener import served
from conformance.replay import ReplayError, as_curl, as_python, document_of, load, perform, save
from conformance.replay.document import SCHEMA, file_name
from conformance.wire.messages import Call, Exchange
from tests.support.runs import run_on


def finding(rule: str, operation: str, expectation: Expectation, *exchanges: Exchange) -> Finding:
    return recorder.judge(expectation, exchanges).finding(rule, operation, "test_x.test_y")


class PerformsAgain(Behaviour):
    def replayed(self, ctx: Any, answer: Any) -> Any:
        return None


class NoNonces(Behaviour):
    def claim_nonce(self, ctx: Any, nonce: str) -> bool:
        return True


class LongNotes(Behaviour):
    def check_length(self, ctx: Any, field: Any, value: str) -> None:
        if ctx.operation != "updateBeneficiary":
            super().check_length(ctx, field, value)


def replayed_twice(run: RunContext) -> Finding:
    """A failure that needs an account, a beneficiary and a key used twice."""
    fixture = run.shared()
    request = fixture.call("createPayoutDestination")
    first = run.send(fixture.client, request, "first")
    again = run.send(fixture.client, request, "again")
    return finding("idempotency.replay", "createPayoutDestination", SameAnswer("again"), first, again)


def used_nonce(run: RunContext) -> Finding:
    fixture = run.shared()
    first = run.send(fixture.client, fixture.call("listWallets"), "first")
    again = run.send(
        fixture.client, fixture.call("getBeneficiary").signed(nonce=first.nonce), "its nonce again"
    )
    used = Refused("a used nonce", 401, "authentication_error", "nonce_replay")
    return finding("auth.nonce-replay", "getBeneficiary", used, again)


def long_title(run: RunContext) -> Finding:
    fixture = run.shared()
    patch = run.send(
        fixture.client,
        fixture.call("updateBeneficiary", {"title": "{{key_1}} \u0436'\"" + "x" * 20}),
        "too long",
    )
    return finding("fields.max-length", "updateBeneficiary", Refused("a title of 30"), patch)


CASES = [(PerformsAgain, replayed_twice), (NoNonces, used_nonce), (LongNotes, long_title)]


def recorded(behaviour: type[Behaviour], fail: Any, folder: Path) -> dict[str, Any]:
    run = run_on(behaviour())
    found = fail(run)
    # The fixture that checks share was made earlier: its exchanges are not the check's own.
    own = [exchange for exchange in run.record.values() if not exchange.purpose.startswith("a valid")]
    path = save(found, own, run, folder)
    assert path is not None
    return load(path)


@pytest.mark.parametrize(("behaviour", "fail"), CASES, ids=[case[0].__name__ for case in CASES])
def test_reproduced_on_the_faulty_server_only(behaviour: type[Behaviour], fail: Any, tmp_path: Path) -> None:
    document = recorded(behaviour, fail, tmp_path)
    assert perform(document, run_on(behaviour())).verdict == "reproduced"
    assert perform(document, run_on()).verdict == "not reproduced"


def test_no_credential_and_no_id_of_the_server_is_written(tmp_path: Path) -> None:
    run = run_on(NoNonces())
    path = save(used_nonce(run), list(run.record.values()), run, tmp_path)
    assert path is not None
    text = path.read_text("utf-8")
    for value in (
        *run.target.secrets,
        *run.target.api_keys,
        run.target.primary.customer_id,
        run.shared().account_id,
    ):
        assert value not in text


def test_prerequisites_of_the_shared_fixture_are_followed(tmp_path: Path) -> None:
    document = recorded(PerformsAgain, replayed_twice, tmp_path)
    assert [step["operation"] for step in document["steps"]] == [
        "createAccount",
        "createBeneficiary",
        "createPayoutDestination",
        "createPayoutDestination",
    ]
    assert document["steps"][2]["idempotency_key"] == document["steps"][3]["idempotency_key"] == "{{key_3}}"
    assert [bool(step.get("decisive")) for step in document["steps"]] == [False, False, True, True]


def test_requests_that_do_not_bear_on_the_failure_are_left_out(tmp_path: Path) -> None:
    run = run_on(LongNotes())
    fixture = run.shared()
    for _ in range(3):
        run.send(fixture.client, fixture.call("createVirtualAccount"), "something else")
    document = document_of(long_title(run), list(run.record.values()), run)
    assert document is not None
    assert [step["operation"] for step in document["steps"]] == [
        "createAccount",
        "createBeneficiary",
        "updateBeneficiary",
    ]


def test_requests_sent_together_are_sent_together_again(run: RunContext) -> None:
    fixture = run.shared()
    exchanges = fixture.client.race([fixture.call("createWallet") for _ in range(3)])
    for number, exchange in enumerate(exchanges):
        exchange.started, exchange.elapsed = 1000.0 + number / 1000, 0.5
    found = finding("wallet.race", "createWallet", AtMostOne("one wallet"), *exchanges)
    document = document_of(found, exchanges, run)
    assert document is not None
    groups = [step.get("together") for step in document["steps"] if step["operation"] == "createWallet"]
    assert groups == [1, 1, 1]
    assert perform(document, run_on()).verdict == "not reproduced"


def test_nothing_is_written_without_a_request(tmp_path: Path) -> None:
    assert save(finding("wallet.race", "createWallet", AtMostOne("a")), [], run_on(), tmp_path) is None
    assert not list(tmp_path.iterdir())


class NoAccounts(Behaviour):
    def authentication_steps(self, ctx: Any) -> Any:
        return super().authentication_steps(ctx)

    def validate(self, ctx: Any) -> None:
        from conformance.reference.refusals import Refusal

        if ctx.operation == "createAccount":
            raise Refusal("invalid_field", "closed", "name", "closed")
        super().validate(ctx)


def test_replay_that_cannot_prepare_the_ground_is_undecided(tmp_path: Path) -> None:
    replayed = perform(recorded(LongNotes, long_title, tmp_path), run_on(NoAccounts()))
    assert replayed.verdict == "undecided" and "step 1 was answered 422" in replayed.got


@pytest.mark.parametrize(
    "member",
    [
        {"target": "@elsewhere.test/v1/accounts"},
        {"id": "1; id"},
        {"method": "GET /x HTTP/1.1\r\nHost: elsewhere.test\r\n\r\nGET"},
        {"captures": {"x$(id).y": ["id"]}},
        {"captures": {"primary.secret": ["id"]}},
        {"headers": [["X-A: b\r\nX-C", "d"]]},
        {"auth": {"mangle": "$(id)"}},
        {"wait": 3600},
    ],
    ids=lambda member: next(iter(member)),
)
def test_files_that_are_no_replay_of_requests_are_refused(
    member: dict[str, Any], tmp_path: Path, file: Path
) -> None:
    document = load(file)
    document["steps"][0] |= member
    path = tmp_path / "crafted.json"
    path.write_text(json.dumps(document), "utf-8")
    with pytest.raises(ReplayError, match="no replay file"):
        load(path)


def test_secrets_stand_in_no_request(file: Path) -> None:
    document = load(file)
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
    script = as_curl(document)
    assert "{{primary.secret}}" in script and "SECONDARY_SECRET" not in script


# ---------------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[]", "no replay file"),
        ('{"format": 99}', "newer version"),
        (
            json.dumps(
                {
                    "format": 2,
                    "rule": "no.such",
                    "operation": "x",
                    "expected": "",
                    "got": "",
                    "expectation": {"kind": "accepted", "what": "x"},
                    "judged": ["1"],
                    "steps": [
                        {
                            "id": "1",
                            "organization": "primary",
                            "method": "GET",
                            "target": "/",
                            "answered": {"status": 200},
                        }
                    ],
                }
            ),
            "not in the catalogue",
        ),
    ],
)
def test_unusable_files(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(content, "utf-8")
    with pytest.raises(ReplayError, match=message):
        load(path)
    with pytest.raises(ReplayError, match="no such replay file"):
        load(tmp_path / "missing.json")


def test_the_schema_names_each_kind_of_expectation() -> None:
    schema = json.loads(SCHEMA.read_bytes())
    # A kind is known where the module that has it was imported.
    load_checks()
    assert set(schema["properties"]["expectation"]["properties"]["kind"]["enum"]) == KINDS.keys()


def test_names_of_files() -> None:
    assert (
        file_name("auth.signature", "createWallet", "test_signature.test_other_secret")
        == "auth.signature.createWallet.other_secret.json"
    )
    assert "/" not in file_name("a", "b/../c", "d")


# ---------------------------------------------------------------------- the command and the scripts


@pytest.fixture(params=[NoNonces, Behaviour], ids=["faulty", "valid"])
def live(request: pytest.FixtureRequest) -> Iterator[tuple[str, Seeded, int]]:
    """The address of a server, what was seeded there, and the exit status of a replay of `used_nonce`."""
    server, seeded = new_server(request.param())
    with served(server) as url:
        yield url, seeded, 1 if request.param is NoNonces else 0


@pytest.fixture
def file(tmp_path: Path) -> Path:
    run = run_on(NoNonces())
    path = save(used_nonce(run), list(run.record.values()), run, tmp_path)
    assert path is not None
    return path


def environment(url: str, seeded: Seeded) -> dict[str, str]:
    return {
        **os.environ,
        "CONFORMANCE_BASE_URL": url,
        "CONFORMANCE_PRIMARY_API_KEY": seeded.primary.api_key,
        "CONFORMANCE_PRIMARY_SECRET": seeded.primary.secret,
        "CONFORMANCE_PRIMARY_CUSTOMER_ID": seeded.primary.customer_id,
    }


def test_command(
    live: tuple[str, Seeded, int], file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url, seeded, status = live
    target = tmp_path / "target.toml"
    target.write_text(target_text(seeded, url), "utf-8")
    assert main(["replay", str(file), "--target", str(target)]) == status
    shown = capsys.readouterr().out
    assert "* judged; the others only lead there" in shown
    assert ("not reproduced" in shown) is (status == 0) and "auth.nonce-replay on getBeneficiary" in shown
    assert seeded.primary.secret not in shown


def test_python_script(live: tuple[str, Seeded, int], file: Path, tmp_path: Path) -> None:
    url, seeded, status = live
    script = tmp_path / "script.py"
    script.write_text(as_python(load(file)), "utf-8")
    done = subprocess.run(
        [sys.executable, "-I", str(script)],
        env=environment(url, seeded),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr


def test_curl_script(live: tuple[str, Seeded, int], file: Path, tmp_path: Path) -> None:
    url, seeded, status = live
    script = tmp_path / "script.sh"
    script.write_text(as_curl(load(file)), "utf-8")
    done = subprocess.run(
        ["bash", str(script)],
        env=environment(url, seeded),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
    codes = [line.rpartition("-> ")[2] for line in done.stdout.splitlines() if "-> " in line]
    assert codes == ["201", "200", "201", "200" if status else "401"], done.stdout


def test_scripts_know_the_server_that_the_command_names(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CONFORMANCE_TARGET", raising=False)
    for language, interpreter in (("curl", "bash"), ("python", sys.executable)):
        assert main(["replay", str(file), "--as", language, "--base-url", "http://there.test:81/it's"]) == 0
        script = tmp_path / language
        script.write_text(capsys.readouterr().out, "utf-8")
        assert "there.test:81" in script.read_text("utf-8")
        done = subprocess.run(
            [interpreter, str(script)], env={"PATH": os.environ["PATH"]}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert "CONFORMANCE_PRIMARY_API_KEY is not set in the environment" in done.stderr, done.stderr


def test_scripts_hold_awkward_texts(run: RunContext, tmp_path: Path) -> None:
    fixture = run.shared()
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
        finding("body.malformed", "createAccount", Refused("'`$(x)` \n"), *exchanges),
        exchanges,
        run,
    )
    assert document is not None
    compile(as_python(document), "script", "exec")
    checked = subprocess.run(
        ["bash", "-n"], input=as_curl(document), capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr


def test_command_prints_scripts(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(file), "--as", "python"]) == 0
    assert "import hmac" in capsys.readouterr().out
    assert main(["replay", str(file), "--as", "curl"]) == 0
    assert "openssl dgst" in capsys.readouterr().out


def test_command_names_what_is_missing(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [variable for variable in os.environ if variable.startswith("CONFORMANCE_")]:
        monkeypatch.delenv(name)
    assert main(["replay", str(tmp_path / "none.json"), "--base-url", "http://127.0.0.1:1"]) == 2
    assert "no such replay file" in capsys.readouterr().err
    assert main(["replay", str(file), "--base-url", "http://127.0.0.1:1"]) == 2
    assert "api_key" in capsys.readouterr().err
