"""Verdict and content of the results document, equal in every report format."""

from __future__ import annotations

import html as html_module
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator

from conformance._records import to_plain
from conformance.contract.rules import SPEC, Level
from conformance.fuzz.exploration import FuzzSettings
from conformance.judge.ledger import Ledger
from conformance.judge.verdicts import Verdict
from conformance.plugin.worker import Worker
from conformance.report import evidence
from conformance.report.document import EXIT_STATUS
from conformance.report.terminal import summary
from conformance.report.write import FORMATS
from conformance.report.write import results as results_json
from conformance.target.file import Features, Target
from tests.support.drawn_runs import runs
from tests.support.report_samples import (
    API_KEY,
    SECRET,
    TARGET,
    decided,
    document,
    exchange,
    judged,
    keep,
    whole_run,
)

WALK = ("list.walk", "listWallets")
SCHEMA = Draft202012Validator(json.loads((SPEC / "results.schema.json").read_text("utf-8")))


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(runs())
def test_every_format_gives_the_verdict_of_the_exit_status(run: tuple[Ledger, dict[str, Any]]) -> None:
    results, how = run
    made = document(results, **how)
    SCHEMA.validate(to_plain(made))
    verdict = made.verdict
    status, sentence = verdict.exit_status, verdict.sentence
    assert EXIT_STATUS[verdict.name] == status
    assert decided(results, **how).exit_status == status
    assert decided(results, **how).sentence == sentence

    texts = {name: "".join(make(made)) for name, make in FORMATS.items()}
    assert json.loads(texts["results.json"])["verdict"] == to_plain(made)["verdict"]
    assert f"exit status {status}," in texts["summary.md"]
    assert f"conformance: {verdict.title}" in texts["summary.md"]
    page = html_module.unescape(texts["report.html"])
    assert f"Exit status {status} ·" in page
    assert sentence in page
    lines = [line for line, _ in summary(made, folder=None, width=10_000, verbose=False)]
    assert f"{sentence} Exit status {status}." in lines


@pytest.mark.parametrize(
    ("verdicts", "how", "status"),
    [
        ({}, {}, 0),
        ({WALK: Verdict.FAILED}, {}, 1),
        ({WALK: Verdict.INCONCLUSIVE}, {}, 6),
        ({WALK: Verdict.NOT_RUN}, {}, 6),
        ({("auth.unknown-key-status", "listAccounts"): Verdict.WARNING}, {}, 0),
        ({("auth.unknown-key-status", "listAccounts"): Verdict.WARNING}, {"fail_on": Level.IMPLIED}, 1),
        ({("auth.unknown-key-status", "listAccounts"): Verdict.INCONCLUSIVE}, {}, 0),
        ({("auth.unknown-key-status", "listAccounts"): Verdict.INCONCLUSIVE}, {"fail_on": Level.IMPLIED}, 6),
        ({("auth.precedence", "listAccounts"): Verdict.INCONCLUSIVE}, {"fail_on": Level.IMPLIED}, 0),
        ({WALK: Verdict.FAILED}, {"interrupted": "by the user"}, 2),
        ({}, {"interrupted": "by the user"}, 2),
    ],
)
def test_exit_status(verdicts: Mapping[tuple[str, str], Verdict], how: dict[str, Any], status: int) -> None:
    assert decided(whole_run(verdicts), **how).exit_status == status


def test_a_run_that_exercised_nothing_does_not_conform() -> None:
    nothing = Ledger.of_catalogue(TARGET)
    assert decided(nothing).exit_status == 6
    nothing.narrowed = ["-k nothing"]
    assert decided(nothing).exit_status == 6


@pytest.mark.parametrize("verdict", [Verdict.PASSED, Verdict.WARNING, Verdict.OBSERVED])
def test_a_run_of_nothing_that_can_fail_is_partial(verdict: Verdict) -> None:
    rule = "auth.precedence" if verdict is Verdict.OBSERVED else "auth.unknown-key-status"
    only = {(cell.rule, cell.operation): Verdict.NOT_RUN for cell in whole_run().cells}
    results = whole_run({**only, (rule, "listAccounts"): verdict})
    results.narrowed = [f"--rule {rule}"]
    verdict_record = decided(results)
    assert (verdict_record.exit_status, verdict_record.name) == (0, "partial")
    assert "no required cell passed" in verdict_record.sentence


def test_deselected_cases_are_named_and_leave_the_exit_status_0() -> None:
    results = whole_run({WALK: Verdict.NOT_RUN})
    results.narrowed = ["-m 'not fuzz'"]
    assert decided(results).exit_status == 0
    assert "-m 'not fuzz'" in decided(results).sentence
    assert "conforms" not in decided(results).sentence


def test_a_lost_server_never_conforms() -> None:
    results = whole_run()
    results.lost = "no answer to ten requests"
    assert decided(results).exit_status == 6
    assert "no answer to ten requests" in decided(results).sentence
    broken = whole_run({WALK: Verdict.FAILED})
    broken.lost = results.lost
    assert decided(broken).exit_status == 1
    assert decided(broken, interrupted=results.lost).exit_status == 1


def test_declared_absent_operations_neither_fail_nor_are_missing() -> None:
    bare = Target("http://sandbox.test", TARGET.primary, None, Features(payouts=False, secondary=False))
    assert decided(whole_run(target=bare), Level.IMPLIED).exit_status == 0


# ---------------------------------------------------------------------- contents of a document


def test_exchanges_are_kept_once_and_only_as_evidence() -> None:
    results = whole_run(
        None,
        judged(*WALK, Verdict.FAILED, exchanges=[3, 1]),
        judged("list.pages", "listWallets", Verdict.FAILED, exchanges=[3]),
        judged("list.stable", "listWallets", Verdict.PASSED, exchanges=[4, 5]),
    )
    keep(results, *(exchange(number) for number in range(1, 8)))
    made = document(results)
    assert list(made.exchanges) == [1, 3, 4]
    assert sum(row.exchanges for row in made.latency) == 7
    SCHEMA.validate(to_plain(made))


def test_no_format_shows_a_secret_or_a_whole_key(tmp_path: Path) -> None:
    body = json.dumps({"secret": SECRET, "key": API_KEY}).encode()
    text = f"the server said {SECRET} and {API_KEY}"
    worker = Worker(TARGET, index=0, settings=FuzzSettings(1))
    worker.run.record[1] = exchange(1, body, response_headers=[("x-echo", SECRET)])
    worker.run.lost = text
    ledger = worker.ledger(
        [
            judged(*WALK, Verdict.FAILED, exchanges=[1], expected=text, got=text, further=[text]),
            judged("http.success-status", "createAccount", Verdict.OBSERVED, observations={text: text}),
        ]
    )
    results = whole_run()
    for cell in (WALK, ("http.success-status", "createAccount")):
        results.cells.remove(results.cell(*cell))
    results.merge(Ledger.from_json(ledger.to_json()))
    made = document(results, options={"target": text}, interrupted=text)
    for name, make in FORMATS.items():
        shown = "".join(make(made))
        # A plain `in` would have pytest compare megabytes of text to explain a failure.
        assert shown.count(SECRET) == 0, name
        assert shown.count(API_KEY) == 0, name


def test_of_many_exchanges_those_that_decide_violations_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    results = whole_run(
        None,
        judged("list.stable", "listWallets", Verdict.PASSED, exchanges=[1]),
        judged(*WALK, Verdict.FAILED, exchanges=[2, 3]),
        judged("list.pages", "listWallets", Verdict.FAILED, exchanges=[4, 5]),
    )
    keep(results, *(exchange(number) for number in range(1, 6)))
    size = len(json.dumps(to_plain(results.exchanges[1])))
    monkeypatch.setattr(evidence, "DOCUMENT_EXCHANGES", int(2.5 * size))
    assert list(document(results).exchanges) == [2, 4]
    monkeypatch.setattr(evidence, "DOCUMENT_EXCHANGES", int(4.5 * size))
    made = document(results)
    assert list(made.exchanges) == [2, 3, 4, 5]
    assert json.loads("".join(results_json(made))) == to_plain(made)
    assert all("".join(make(made)) for make in FORMATS.values())


def test_bodies_and_texts_are_bounded() -> None:
    results = whole_run(
        None, judged(*WALK, Verdict.FAILED, exchanges=[1], got="x" * 10**6, further=["y" * 10**6] * 50)
    )
    keep(results, exchange(1, b'"' + b"z" * 10**6 + b'"'))
    made = document(results)
    assert len(json.dumps(to_plain(made)["exchanges"])) < 20_000
    assert made.exchanges[1].response_body.size == 10**6 + 2
    assert all(len("".join(make(made))) < 2_000_000 for make in FORMATS.values())


def test_latency_counts_every_exchange_and_no_missing_answer_as_a_time() -> None:
    ledger = Ledger()
    for seconds in (0.0005, 0.001, 0.0011, 0.3, 60.0):
        ledger.measure(exchange(1, status=201, elapsed=seconds))
    ledger.measure(exchange(1, status=None, elapsed=9.0))
    row = ledger.latency["createAccount"]
    assert (row.exchanges, row.max) == (6, 60.0)
    assert row.p50 == pytest.approx(0.0011, rel=0.05) and row.p95 == pytest.approx(60.0, rel=0.05)
    assert row.statuses == {"201": 5, "none": 1}
    assert sum(row.histogram.values()) == 5
    unanswered = Ledger()
    unanswered.measure(exchange(1, status=None, elapsed=9.0))
    assert unanswered.latency["createAccount"].p50 is None
