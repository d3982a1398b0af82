"""The controller of a load run: cells of several processes together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from conformance.judge.ledger import CreatedRecord, Ledger
from conformance.judge.verdicts import Verdict
from conformance.load.coordinator import LoadController
from conformance.load.process import LoadProcess, Report, unpacked
from conformance.load.settings import VARIABLE, Settings
from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.listener import served
from conformance.target.file import Target, build
from conformance.wire.messages import Exchange
from conformance.world.run import Run


@pytest.fixture
def target(run: Run) -> Target:
    return run.target


def reported(controller: LoadController, worker: str, exchange: Exchange, origin: int) -> None:
    """Reports a resource that an exchange created, as a worker does."""
    report = Report(Ledger(), ids=[(str(exchange.get("id")), exchange.number, origin)])
    controller.take(msgspec.msgpack.encode(report), worker)


@pytest.mark.parametrize("same", [True, False])
def test_an_id_that_two_workers_were_given_is_a_violation(
    same: bool, run: Run, target: Target, tmp_path: Path
) -> None:
    first, second = (run.account().create("createVirtualAccount") for _ in range(2))
    second = replace(second, _read=None)
    if same:
        ids = [str(exchange.get("id")).encode() for exchange in (first, second)]
        second.response_body = second.response_body.replace(ids[1], ids[0])
        second.forget()
    account = next(exchange for exchange in run.accepted if exchange.operation == "createAccount")
    known = {("one", first.number): first, ("two", second.number): second}

    def find(wanted: Sequence[tuple[str, int]]) -> list[Exchange]:
        return [account, *(known[one] for one in wanted)]

    controller = LoadController(Settings(target, str(tmp_path)), find)
    reported(controller, "one", first, 1)
    reported(controller, "two", second, 2)
    case = controller.ledger.cell("format.id-unique", "createVirtualAccount")
    assert case.verdict is (Verdict.FAILED if same else Verdict.NOT_RUN)
    if same:
        assert set(case.decisive.exchanges) == {account.number, first.number, second.number}


def test_a_repeated_key_brings_the_same_id_again(run: Run, target: Target, tmp_path: Path) -> None:
    controller = LoadController(Settings(target, str(tmp_path)), lambda wanted: [])
    exchange = run.account().create("createVirtualAccount")
    for worker in ("one", "two"):
        reported(controller, worker, exchange, 1)
    assert not [cell for cell in controller.ledger.cells if cell.judged]


def test_what_was_created_is_listed_once(target: Target, tmp_path: Path) -> None:
    controller = LoadController(Settings(target, str(tmp_path)), lambda wanted: [])
    made = [CreatedRecord("primary", "createAccount", f"acc_{number}", "/v1") for number in (1, 1, 2)]
    for records in (made, made[1:]):
        controller.take(msgspec.msgpack.encode(Report(Ledger(created=records))), "one")
    lines = (tmp_path / "created.jsonl").read_text().splitlines()
    listed = [record.id for record in controller.ledger.created]
    assert listed == [msgspec.json.decode(line)["id"] for line in lines] == ["acc_1", "acc_2"]


def test_the_last_report_lists_what_all_users_share_and_ends_the_requests() -> None:
    server, seeded = new_server()
    with served(server) as url:
        process = LoadProcess(build(target_tables(seeded, url), "the server"))
        process.limit(0)
        process.ready()
        report = msgspec.msgpack.decode(process.finished(), type=Report)
    assert {made.operation for made in report.ledger.created} >= {"createAccount", "createBeneficiary"}
    assert process.budget.ended


def test_exchanges_travel_without_credentials(run: Run, target: Target) -> None:
    process = LoadProcess(target)
    made = run.account().create("createVirtualAccount")
    process.creates[made.number] = made
    [found] = unpacked(process.find([made.number, made.number + 1]))
    assert (found.call, found.response_body, found.nonce) == (made.call, made.response_body, made.nonce)
    assert target.primary.api_key not in str(found.request_headers)


def test_settings_travel_in_the_environment(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(target, str(tmp_path), label="cf123456", options={"rate": "5"})
    monkeypatch.setenv(VARIABLE, msgspec.json.encode(settings).decode())
    assert Settings.from_environment() == settings
