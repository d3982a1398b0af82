"""Replay files: contents, and verdicts on faulty and fixed servers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance._files import InputError
from conformance.judge.expectations import (
    At,
    AtMostOne,
    Equal,
    ExpectationError,
    Refused,
    SameAnswer,
    from_plain,
)
from conformance.judge.findings import Finding
from conformance.reference.behaviour import Behaviour
from conformance.replay import document_of, load, perform, save
from conformance.replay.attempts import attempts
from conformance.replay.format import file_name
from conformance.world.run_context import RunContext
from tests.replay.samples import (
    LongTexts,
    NoNonces,
    PerformsAgain,
    finding,
    long_title,
    recorded,
    replayed_twice,
    used_nonce,
)
from tests.support.mistakes import Closed, KeysIgnored
from tests.support.report_samples import REPLAY
from tests.support.runs import run_on


def test_no_credential_and_no_id_of_the_server_is_written(tmp_path: Path) -> None:
    run = run_on(NoNonces())
    path = save(used_nonce(run), list(run.record.values()), run, tmp_path)
    assert path is not None
    text = path.read_text("utf-8")
    for value in (
        *run.target.secrets,
        *run.target.api_keys,
        run.target.primary.customer_id,
        run.account().account_id,
    ):
        assert value not in text


def test_prerequisites_of_the_shared_fixture_are_followed(tmp_path: Path) -> None:
    document = recorded(PerformsAgain, replayed_twice, tmp_path)
    assert [step["operation"] for step in document["steps"]] == [
        "createAccount",
        "createBeneficiary",
        # Tells which bank details the server accepts, and changed the account.
        "createPayoutDestination",
        "createPayoutDestination",
        "createPayoutDestination",
    ]
    assert document["steps"][3]["idempotency_key"] == document["steps"][4]["idempotency_key"] == "{{key_4}}"
    assert [bool(step.get("decisive")) for step in document["steps"]] == [False, False, False, True, True]


def test_requests_that_do_not_bear_on_the_failure_are_left_out(tmp_path: Path) -> None:
    run = run_on(LongTexts())
    elsewhere, fixture = run.account(fresh=True), run.account()
    run.send(fixture.client, elsewhere.call("createVirtualAccount"), "in another account")
    run.send(fixture.client, fixture.call("createWallet", {}), "refused")
    run.send(fixture.client, fixture.call("getAccountBalances"), "a read of something else")
    document = document_of(long_title(run), list(run.record.values()), run)
    assert document is not None
    assert [step["operation"] for step in document["steps"]] == [
        "createAccount",
        "createBeneficiary",
        "updateBeneficiary",
    ]


def test_requests_sent_together_are_sent_together_again(run: RunContext) -> None:
    fixture = run.account()
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


def conflict_between(run: RunContext) -> Finding:
    """Returns a failure with a key used twice and a conflicting body between, which only a server without
    keys accepts."""
    fixture = run.account()
    request = fixture.call("createPayoutDestination")
    first = run.send(fixture.client, request, "first")
    other = fixture.call("createPayoutDestination")
    run.send(fixture.client, replace(other, idempotency_key=request.idempotency_key), "another body")
    again = run.send(fixture.client, request, "again")
    return finding("idempotency.replay", "createPayoutDestination", SameAnswer("again"), first, again)


def test_a_conflict_that_a_mended_server_refuses_leaves_nothing_undecided(tmp_path: Path) -> None:
    document = recorded(KeysIgnored, conflict_between, tmp_path)
    assert any(step.get("purpose") == "another body" for step in document["steps"])
    assert perform(document, run_on(KeysIgnored())).verdict == "reproduced"
    assert perform(document, run_on()).verdict == "not reproduced"


class ThreeMemories(Behaviour):
    """Three processes with nonces of their own: the first requests reach one, later ones each in turn."""

    def claim_nonce(self, ctx: Any, nonce: str) -> bool:
        claims = self.__dict__.setdefault("claims", [])
        claims.append(nonce)
        process = len(claims) % 3 if len(claims) > 6 else 0
        memory: set[str] = self.__dict__.setdefault(f"memory {process}", set())
        new = nonce not in memory
        memory.add(nonce)
        return new


def test_a_failure_of_one_process_is_tried_several_times(tmp_path: Path) -> None:
    document = recorded(NoNonces, used_nonce, tmp_path)
    replayed = perform(document, run_on(ThreeMemories()))
    assert (replayed.verdict, replayed.attempts > 1) == ("reproduced", True)
    replayed = perform(document, run_on())
    assert (replayed.verdict, replayed.attempts) == ("not reproduced", 9)


def after_a_used_nonce(run: RunContext) -> Finding:
    """Returns a failure with a nonce used twice, which a conforming server refuses, then once more with a
    wrong signature."""
    fixture = run.account()
    request = fixture.call("listWallets")
    first = run.send(fixture.client, request, "first")
    run.send(fixture.client, request.signed(nonce=first.nonce), "its nonce again")
    again = run.send(fixture.client, request.signed(nonce=first.nonce), "and again")
    used = Refused("a used nonce, once more", 401)
    return finding("auth.comes-first", "listWallets", used, again)


def test_a_nonce_that_a_mended_server_refuses_leaves_nothing_undecided(tmp_path: Path) -> None:
    document = recorded(NoNonces, after_a_used_nonce, tmp_path)
    assert [step.get("purpose") for step in document["steps"]][-2:] == ["its nonce again", "and again"]
    assert perform(document, run_on(NoNonces())).verdict == "reproduced"
    assert perform(document, run_on()).verdict == "not reproduced"


def test_a_request_that_a_mended_server_refuses_breaks_no_rule(tmp_path: Path) -> None:
    def shown(run: RunContext) -> Finding:
        """An acceptance also violates another rule."""
        patch = run.record[max(run.record)] if long_title(run) else None
        assert patch is not None
        return finding("beneficiary.update", "updateBeneficiary", Equal("title", At("title"), "Ms"), patch)

    document = recorded(LongTexts, shown, tmp_path)
    assert perform(document, run_on(LongTexts())).verdict == "reproduced"
    replayed = perform(document, run_on())
    assert replayed.verdict == "not reproduced" and "as it must be" in replayed.got


def test_a_replay_with_a_refused_prerequisite_is_undecided(tmp_path: Path) -> None:
    replayed = perform(recorded(LongTexts, long_title, tmp_path), run_on(Closed("createAccount")))
    assert replayed.verdict == "undecided" and "step 1 was answered 422" in replayed.got


class ClosedLongTexts(Closed, LongTexts):
    pass


def test_a_refused_unrelated_creation_reproduces_nothing(tmp_path: Path) -> None:
    def after_a_wallet(run: RunContext) -> Finding:
        run.send(run.client(), run.account().call("createWallet"), "a wallet")
        return long_title(run)

    document = recorded(LongTexts, after_a_wallet, tmp_path)
    assert any(step["operation"] == "createWallet" for step in document["steps"])
    assert perform(document, run_on(LongTexts())).verdict == "reproduced"
    assert perform(document, run_on(Closed("createWallet"))).verdict == "not reproduced"
    replayed = perform(document, run_on(ClosedLongTexts("createWallet")))
    assert replayed.verdict == "undecided" and "was answered 422" in replayed.got


# ---------------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[]", "no replay file"),
        ('{"format": 99}', "newer version"),
        ('{"format": 3}', "older version.*run the check again"),
        (json.dumps({**REPLAY, "rule": "no.such"}), "not in the catalogue"),
    ],
)
def test_unusable_files(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(content, "utf-8")
    with pytest.raises(InputError, match=message):
        load(path)
    with pytest.raises(InputError, match="no such replay file"):
        load(tmp_path / "missing.json")


def test_parameters_that_a_predicate_does_not_have_are_refused() -> None:
    with pytest.raises(ExpectationError, match="unexpected keyword"):
        from_plain({"predicate": "refused", "expected": "x", "parameters": {"colour": "red"}})


def test_names_of_files() -> None:
    assert (
        file_name("auth.signature", "createWallet", "test_signature.test_other_secret")
        == "auth.signature.createWallet.other_secret.json"
    )
    assert "/" not in file_name("a", "b/../c", "d")


@pytest.mark.parametrize(("wait", "most"), [(0.0, 9), (5.0, 7), (16.0, 2), (200.0, 1)])
def test_attempts_do_not_wait_for_long(wait: float, most: int) -> None:
    steps = [{"target": "/", "wait": wait}, {"target": "/", "together": 1}, {"target": "/", "together": 1}]
    assert attempts({"rule": "idempotency.race", "steps": steps}) == most


def test_nothing_waits_before_the_first_step() -> None:
    run = run_on(PerformsAgain())
    run.account(fresh=True).create("createWallet")
    found = replayed_twice(run)
    late = [
        replace(exchange, started=exchange.started + 60 * at)
        for at, exchange in enumerate(run.record.values())
    ]
    run.record.update((exchange.number, exchange) for exchange in late)
    document = document_of(found, late, run)
    assert document is not None
    assert [step.get("wait", 0) > 0 for step in document["steps"]] == [False, True, True, True, True]
