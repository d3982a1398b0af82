"""Announced numbers of requests and creations, and the list of what a run leaves behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.checks import plan as checks
from conformance.contract.rules import RULES
from conformance.judge.ledger import CreatedRecord
from conformance.plugin import known
from conformance.plugin.known import Numbers, of
from conformance.plugin.plan import QUICK_REQUESTS, by_case, fitting, plan
from conformance.reference.serving.listener import served
from conformance.wire.budget import Budget, Quantity
from conformance.world import samples
from conformance.world.made import MadeList
from tests.support.running import counted, run, write_target
from tests.support.runs import run_on

FUZZ = "conformance/fuzz/test_fuzz.py::test_schema_fuzzing[createWallet]"
NODEIDS = [f"conformance/checks/{known.key_of(check.name, operation)}" for check, operation in checks()]


def test_plan_adds_up() -> None:
    whole = plan(NODEIDS)
    assert whole.total.requests > 7000
    assert 100 < whole.total.payouts < whole.total.creations < whole.total.requests
    assert whole.most is not None and whole.most.requests > 2 * whole.total.requests
    # A server that accepts everything creates four times as much; the announcement says so.
    assert whole.most.creations > 4 * whole.total.creations


def test_each_worker_creates_shared_fixtures_itself() -> None:
    nodeids = [nodeid for nodeid in NODEIDS if nodeid.endswith("[getBeneficiary]")]
    one, four = plan(nodeids), plan(nodeids, workers=4)
    assert one.total.requests < four.total.requests < 1.1 * one.total.requests


def test_operations_that_a_target_does_not_have_are_not_announced() -> None:
    whole, less = plan(NODEIDS).total, plan(NODEIDS).on(run_on(payouts=False, payins=False).target).total
    assert less.requests < whole.requests
    assert less.payouts < 0.2 * whole.payouts


def test_each_test_of_a_run_is_announced_for_every_target() -> None:
    target = run_on(payouts=False, payins=False).target
    left = {known.key(nodeid) for nodeid in plan(known.tests()).on(target).tests}
    assert "test_fuzz.py::test_schema_fuzzing[createPayout]" not in left


def test_a_quick_run_fits_into_its_requests_with_any_number_of_workers() -> None:
    nodeids = [nodeid for nodeid in NODEIDS if (row := of(nodeid)) and row.quick]
    assert fitting(nodeids, 1) == set(nodeids)
    for workers in (2, 4):
        chosen = fitting(nodeids, workers)
        assert 0 < len(chosen) < len(nodeids)
        assert plan(chosen, quick=True, workers=workers).total.requests <= QUICK_REQUESTS
    assert fitting(["own/test_own.py::test_own[createPayin]"], 4)


def test_generated_requests_are_as_many_as_asked_for() -> None:
    usual, twice = plan([FUZZ]).total, plan([FUZZ], 50).total
    assert usual.requests > 50
    assert twice == Numbers(usual.requests * 2, usual.creations * 2, usual.payouts * 2)
    assert plan([FUZZ], seconds=20).most is None


def test_an_unknown_check_raises_the_limit() -> None:
    nothing, unknown = plan([]).most, plan(["there/test_own.py::test_own[createWallet]"]).most
    assert nothing is not None and unknown is not None
    assert unknown.requests > nothing.requests


def test_every_rule_of_a_check_has_its_requests() -> None:
    check, operation = next((check, on) for check, on in checks() if len(check.rules_on(on)) > 1)
    nodeid = f"conformance/checks/{known.key_of(check.name, operation)}"
    rows = list(by_case(plan([nodeid, FUZZ])))
    assert [rule for rule, _, _ in rows[:-1]] == [rule.id for rule in check.rules_on(operation)]
    assert {numbers for _, _, numbers in rows[:-1]} == {plan([nodeid]).total}
    assert rows[-1] == ("generated: schema_fuzzing", "createWallet", plan([FUZZ]).total)


# --------------------------------------------------------------------------- created resources


def test_each_creation_is_recorded_once() -> None:
    run = run_on()
    fixture = run.account(fresh=True)
    call = fixture.call("createWallet")
    for _ in range(2):
        made = run.send(fixture.client, call, "")
    run.send(fixture.client, fixture.call("listWallets"), "")
    run.send(fixture.client, call.signed(signature="0" * 64), "")
    assert run.made.resources == [
        CreatedRecord("primary", "createAccount", fixture.account_id, fixture.account.call.path),
        CreatedRecord("primary", "createWallet", str(made.get("id")), call.path),
    ]


def test_creations_without_an_operation_are_counted_by_their_path() -> None:
    run, budget = run_on(), Budget()
    fixture = run.account("payouts")
    exchange = run.send(fixture.client, fixture.call("createPayout").but(operation=None), "")
    listed = MadeList(budget)
    listed.inspect(exchange)
    assert [made.operation for made in listed.resources] == ["createPayout"]
    assert (budget.used[Quantity.CREATIONS], budget.used[Quantity.PAYOUTS]) == (1, 1)


def test_marks_begin_with_the_label_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "_run", list(samples._run))
    samples.label_run("cf012345")
    marks = {samples.marker() for _ in range(1000)}
    assert len(marks) == 1000 and all(mark.startswith("cf012345") for mark in marks)
    assert "cf012345" in run_on().samples.account()["name"]


def test_run_keeps_to_what_it_says_and_lists_what_it_leaves_behind(tmp_path: Path) -> None:
    server, tables, requests = counted()
    there = {identifier for (identifier,) in server.store.query("SELECT id FROM resources")}
    with served(server, threads=True) as url:
        target = write_target(tmp_path / "target.toml", tables(url))
        outcome = run(
            "--target", str(target), "--operation", "createVirtualAccount", "-m", "not fuzz", "-n", "2",
            folder=tmp_path / "reports",
        )  # fmt: skip
    assert outcome.status == 0, outcome.output
    record, made = outcome.results["run"], outcome.results["created"]
    assert record["requests"] == len(requests)
    announced = record["announced"]
    assert f"about {announced['requests']:,} requests, {announced['created']:,} resources created" in (
        outcome.output.replace("\n", " ")
    )
    # Each process creates the shared fixtures of its own checks, and the distribution of checks varies.
    assert abs(record["requests"] - announced["requests"]) < 0.2 * announced["requests"]
    assert abs(record["created"] - announced["created"]) < 0.45 * announced["created"]
    rows = server.store.query("SELECT id, document FROM resources")
    new = {identifier for identifier, _ in rows} - there
    assert {resource["id"] for resource in made} == new and len(made) == record["created"]
    assert record["payouts"] == 0
    labelled = [
        document for identifier, document in rows if identifier in new and record["label"] in document
    ]
    assert len(labelled) > 0.5 * len(new)
    page = (outcome.folder / "report.html").read_text("utf-8")
    assert made[0]["id"] in page and record["label"] in page


# --------------------------------------------------------------------------- dry runs


def test_dry_run_sends_nothing_and_says_what_it_would_send(tmp_path: Path) -> None:
    tables = {
        "base_url": "http://127.0.0.1:1",
        "primary": {"api_key": "key_1", "secret": "secret_1", "customer_id": "cus_1"},
        "features": {"payouts": False},
    }
    target = write_target(tmp_path / "target.toml", tables)
    outcome = run(
        "--dry-run", "--target", str(target), "--rule", "wallet.*", "--rule", "payout.*",
        "-v", "-n", "2", folder=tmp_path / "reports",
    )  # fmt: skip
    assert outcome.status == 0, outcome.output
    rows = {line.split()[0]: line.split()[1:] for line in outcome.output.splitlines() if line.strip()}
    assert rows["wallet.duplicate"][0] == "1" and int(rows["wallet.duplicate"][1]) > 0
    assert "createWallet" in rows
    assert not any(rule in rows for rule in RULES if rule.startswith("payout."))
    assert "Nothing was sent." in outcome.output
    assert not (tmp_path / "reports").exists()


def test_dry_run_names_a_wrong_target(tmp_path: Path) -> None:
    outcome = run("--dry-run", "--target", str(tmp_path / "none.toml"), folder=tmp_path)
    assert outcome.status == 4
    assert "there is no such target file" in outcome.output
