"""Read-only runs change nothing on a conforming server, and stop at the first violation that would."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from conformance.checks import load_checks
from conformance.checks.check import run_check
from conformance.contract import signing
from conformance.judge.findings import Inconclusive, LeftOut
from conformance.reference.serving.in_process import InProcessTransport
from conformance.reference.serving.listener import served
from conformance.target.file import build
from conformance.wire.messages import Auth, Call
from conformance.world.read_only import NOT_SENT
from conformance.world.run_context import RunContext
from tests.support.running import cells, counted, run, write_target
from tests.support.runs import run_on
from tests.variants.networks import GatewayDate


@pytest.fixture
def world() -> Any:
    """A read-only run, and a function that returns the server's state."""
    makes = run_on()
    transport: Any = makes._transport
    for organization in ("primary", "secondary"):
        makes.account(owner=organization, fresh=True).create("createVirtualAccount")
    reads = RunContext(makes.target, transport, read_only=True)
    return reads, lambda: transport.server.store.query("SELECT id, document FROM resources ORDER BY id")


def create(run: RunContext, name: str | None = "Savings", **auth: Any) -> Call:
    customer = run.target.primary.customer_id
    call = Call("createAccount", "POST", f"/v1/customers/{customer}/accounts", idempotency_key="0" * 36)
    return call.with_json({} if name is None else {"name": name}).signed(**auth)


REFUSED = {
    "no signature": Auth(omit=(signing.SIGNATURE,)),
    "an empty nonce": Auth(empty=(signing.NONCE,)),
    "a wrong secret": Auth(secret="wrong"),
    "an unknown key": Auth(api_key="unknown"),
    "an old timestamp": Auth(timestamp_offset=-500),
    "a timestamp of tomorrow": Auth(timestamp_offset=86_400),
    "another body": Auth(signed_body=b"{}"),
    "another path": Auth(signed_target="/v1/nothing"),
    "a truncated signature": Auth(signature="0123"),
}

#: Authenticated, possibly only by a lenient server.
DOUBTFUL = {
    "nothing wrong": Auth(),
    "a recent timestamp": Auth(timestamp_offset=-310),
    "an upper-case signature": Auth(signature_forms="upper"),
    "header names in lower case": Auth(name_case="lower"),
}


@pytest.mark.parametrize("auth", REFUSED.values(), ids=REFUSED)
def test_request_that_is_not_authenticated_is_sent(auth: Auth, world: Any) -> None:
    run, shown = world
    before = shown()
    exchange = run.send(run.client(), create(run).but(auth=auth), "")
    assert exchange.refused_authentication
    assert shown() == before


@pytest.mark.parametrize("auth", DOUBTFUL.values(), ids=DOUBTFUL)
def test_request_that_may_be_authenticated_is_not_sent(auth: Auth, world: Any) -> None:
    run, shown = world
    before = shown()
    with pytest.raises(LeftOut, match=re.escape(NOT_SENT)):
        run.send(run.client(), create(run).but(auth=auth), "")
    assert shown() == before and run.sent == 0


def test_request_with_an_authentication_header_twice_is_not_sent(world: Any) -> None:
    run, _ = world
    call = create(run, secret="wrong").but(headers=((signing.SIGNATURE, "0" * 64),))
    with pytest.raises(LeftOut):
        run.send(run.client(), call, "")


def test_body_without_a_required_field_is_sent(world: Any) -> None:
    run, shown = world
    before = shown()
    assert run.send(run.client(), create(run, None), "").refused
    assert shown() == before
    for body in (b"[]", b"{", b"null"):
        with pytest.raises(LeftOut):
            run.send(run.client(), create(run).but(body=body), "")


def test_write_to_the_other_organization_is_sent_once_a_read_was_refused(world: Any) -> None:
    run, shown = world
    before = shown()
    foreign = run.account(owner="secondary").account_id
    body = run.samples.wallet()
    call = Call("createWallet", "POST", f"/v1/accounts/{foreign}/wallets", idempotency_key="0" * 36)
    assert run.send(run.client(), call.with_json(body), "").status == 403
    with pytest.raises(LeftOut):
        run.send(run.client("secondary"), call.with_json(body), "")
    with pytest.raises(LeftOut):
        run.send(run.client(), call.but(target=f"{call.target}?x=1").with_json(body), "")
    assert shown() == before


def test_simultaneous_requests_are_left_out_too(world: Any) -> None:
    run, shown = world
    before = shown()
    answers = run.client().race([create(run)] * 4)
    with pytest.raises(LeftOut):
        run.sent_all(answers)
    assert shown() == before


def test_read_only_runs_take_accounts_from_lists_and_create_nothing(world: Any) -> None:
    run, _ = world
    fixture = run.account()
    assert run.send(fixture.client, fixture.call("getAccountBalances"), "").succeeded
    with pytest.raises(LeftOut):
        assert fixture.beneficiary_id
    with pytest.raises(LeftOut):
        run.account(fresh=True)


def test_run_changes_nothing_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    server, tables, requests = counted()
    with served(server, threads=True) as url:
        makes = RunContext(build(tables(url), "target"))
        for organization in ("primary", "secondary"):
            makes.account(owner=organization, fresh=True).create("createVirtualAccount")
        requests.clear()
        before = server.store.query("SELECT id, document FROM resources ORDER BY id")
        target = write_target(tmp_path / "target.toml", tables(url))
        outcome = run(
            "--target", str(target), "--read-only", "-k",
            "test_authentication or test_tenancy or test_fields or test_fuzz or test_wallets",
            folder=tmp_path / "reports",
        )  # fmt: skip
    assert outcome.status == 0, outcome.output
    assert server.store.query("SELECT id, document FROM resources ORDER BY id") == before
    record = outcome.results["run"]
    assert (record["created"], record["requests"]) == (0, len(requests))
    assert "--read-only" in record["selection"] and outcome.results["verdict"]["name"] == "partial"
    passed = cells(outcome, "passed")
    assert {("auth.missing-header", "createPayout"), ("tenancy.foreign-parent", "listWallets")} <= passed
    assert ("wallet.duplicate", "createWallet") in cells(outcome, "not run")
    assert not cells(outcome, "failed", "inconclusive")
    assert "Not judged by a run that only reads" in outcome.output


def test_run_stops_where_a_server_accepts_what_it_must_refuse(world: Any) -> None:
    """Nor is the request repeated to confirm the violation."""
    run, _ = world
    client = run.client()
    exchange = client.transmit(client.prepare(create(run, secret="wrong")))
    exchange.status = 201
    client.watch([exchange])
    with pytest.raises(Inconclusive, match="nothing was sent after that"):
        run.send(client, create(run, secret="wrong"), "")


def test_clock_of_a_gateway_is_not_taken_for_the_server_s() -> None:
    """Without creations nothing shows the offset between the two clocks."""
    makes = run_on(transport=lambda server: GatewayDate(InProcessTransport(server)))
    makes.account(fresh=True).create("createVirtualAccount")
    run = RunContext(makes.target, makes._transport, read_only=True)
    for check in load_checks().values():
        if "timestamps" in check.name:
            findings, _ = run_check(check, "listAccounts", run)
            assert not [finding for finding in findings if finding.verdict.is_violation], check.name
