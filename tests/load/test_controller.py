"""The controller of a load run, and the processes that report to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from conformance.judge.exchanges import exchange_record
from conformance.judge.ledger import CreatedRecord, Ledger
from conformance.judge.verdicts import Verdict
from conformance.load import coordinator
from conformance.load.coordinator import LoadController
from conformance.load.long_checks import LONG_CHECKS
from conformance.load.process import Created, LoadProcess, Report
from conformance.load.settings import VARIABLE, Settings
from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.listener import served
from conformance.target.file import Target, build
from conformance.world.lane import Lane


@pytest.fixture
def target(lane: Lane) -> Target:
    return lane.target


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        (("1 1", "key a"), ("1 2", "key b"), Verdict.FAILED),
        (("1 1", "key a"), ("2 1", "key b"), Verdict.FAILED),
        # Another session repeats the key; a session judges its own.
        (("1 1", "key a"), ("2 1", "key a"), Verdict.NOT_RUN),
        (("1 1", "key a"), ("1 1", "key b"), Verdict.NOT_RUN),
    ],
)
def test_an_id_that_two_sessions_were_given_is_a_violation(
    first: tuple[str, str],
    second: tuple[str, str],
    verdict: Verdict,
    lane: Lane,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    controller = LoadController(Settings(lane.target, str(tmp_path)))
    create, numbers = lane.account().create("createVirtualAccount"), []
    for number, (session, origin) in enumerate((first, second), 10**6):
        record = exchange_record(replace(create, number=number, _read=None), lane.redactor)
        numbers.append(number)
        resource = CreatedRecord("primary", "createVirtualAccount", str(create.get("id")), "/v1")
        created = Created(resource, session, origin, msgspec.msgpack.encode(record))
        controller.take(msgspec.msgpack.encode(Report(Ledger(), created=[created])), session)
    cell = controller.ledger.cell("format.id-unique", "createVirtualAccount")
    assert cell.verdict is verdict
    assert ("broken: format.id-unique" in capsys.readouterr().out) is (verdict is Verdict.FAILED)
    if verdict is Verdict.FAILED:
        assert {*cell.exchanges} == {*numbers} == {*controller.ledger.exchanges}


def test_what_was_created_is_listed_once_and_counted(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinator, "LISTED", 1)
    controller = LoadController(Settings(target, str(tmp_path)))
    created = [CreatedRecord("primary", "createAccount", f"acc_{number}", "/v1") for number in (1, 1, 2)]
    for records in (created, created[1:]):
        report = Report(Ledger(), created=[Created(each, "1 1", each.id, b"") for each in records])
        controller.take(msgspec.msgpack.encode(report), "one")
    lines = (tmp_path / "created.jsonl").read_text().splitlines()
    listed = [record.id for record in controller.ledger.created]
    assert listed == ["acc_1"] and [msgspec.json.decode(line)["id"] for line in lines] == ["acc_1", "acc_2"]
    controller.finish("", 1)
    assert controller.document is not None and controller.document.run.created == 2


def test_the_last_report_has_what_was_judged_and_created_and_ends_the_requests() -> None:
    server, seeded = new_server()
    with served(server) as url:
        process = LoadProcess(build(target_tables(seeded, url), "the server"))
        process.limit(0)
        session, check = process.begin(), LONG_CHECKS["long_checks.test_keys_of_earlier_sessions"]
        judged = [process.judge(session, check, "createBeneficiary") for _ in range(2)]
        data = process.finished()
    report = msgspec.msgpack.decode(data, type=Report)
    # The first time there is nothing to repeat.
    assert judged == [False, True]
    assert report.ledger.cell("idempotency.replay", "createBeneficiary").verdict is Verdict.PASSED
    operations = {each.resource.operation for each in report.created}
    assert operations == {"createAccount", "createBeneficiary"}
    assert process.budget.ended and process.target.primary.api_key.encode() not in data


def test_settings_travel_in_the_environment(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(target, str(tmp_path), label="cf123456", options={"rate": "5"})
    monkeypatch.setenv(VARIABLE, msgspec.json.encode(settings).decode())
    assert Settings.from_environment() == settings
