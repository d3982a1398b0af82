"""Verdict and content of the results document, equal in every report format."""

from __future__ import annotations

import html as html_module
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator

from conformance.contract.documents import SPEC
from conformance.contract.rules import Level
from conformance.fuzz.exploration import FuzzSettings
from conformance.judge.ledger import Ledger
from conformance.judge.verdicts import Verdict
from conformance.plugin.worker import Worker
from conformance.report import evidence
from conformance.report.document import VERDICTS
from conformance.report.terminal import summary
from conformance.report.write import FORMATS
from conformance.target.file import Features, Target
from tests.support.drawn_runs import runs
from tests.support.report_samples import (
    API_KEY,
    SECRET,
    TARGET,
    WALK,
    decided,
    document,
    exchange,
    judged,
    keep,
    to_plain,
    whole_run,
)

SCHEMA = Draft202012Validator(json.loads((SPEC / "results.schema.json").read_text("utf-8")))


@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(runs())
def test_every_format_gives_the_verdict_of_the_exit_status(run: tuple[Ledger, dict[str, Any]]) -> None:
    results, how = run
    report = document(results, **how)
    SCHEMA.validate(to_plain(report))
    verdict = report.verdict
    status, sentence = verdict.exit_status, verdict.sentence
    assert VERDICTS[verdict.name][0] == status
    assert decided(results, **how) == verdict

    texts = {name: "".join(make(report)) for name, make in FORMATS.items()}
    assert json.loads(texts["results.json"]) == to_plain(report)
    assert f"exit status {status}," in texts["summary.md"]
    assert f"conformance: {verdict.name}" in texts["summary.md"]
    page = html_module.unescape(texts["report.html"])
    assert f"Exit status {status} ·" in page and sentence in page
    lines = [line for line, _ in summary(report, folder=None, width=10_000, verbose=False)]
    assert f"{sentence} Exit status {status}." in lines


IMPLIED, OPEN = ("auth.unknown-key-status", "listAccounts"), ("auth.precedence", "listAccounts")
NOTHING = {cell.key: Verdict.NOT_RUN for cell in whole_run().cells}
ALL = {"fail_on": Level.IMPLIED}
LOST = {"lost": "no answer to ten requests"}


@pytest.mark.parametrize(
    ("verdicts", "ledger", "how", "status", "words"),
    [
        ({}, {}, {}, 0, "The server conforms"),
        ({WALK: Verdict.FAILED}, {}, {}, 1, "breaks 1 rule on 1 operation (list.walk)"),
        ({WALK: Verdict.INCONCLUSIVE}, {}, {}, 6, "1 cell of 1 rule could not be exercised"),
        ({WALK: Verdict.NOT_RUN}, {}, {}, 6, "1 cell of 1 rule could not be exercised"),
        ({IMPLIED: Verdict.WARNING}, {}, {}, 0, "The server conforms"),
        ({IMPLIED: Verdict.WARNING}, {}, ALL, 1, IMPLIED[0]),
        ({IMPLIED: Verdict.INCONCLUSIVE}, {}, {}, 0, "The server conforms"),
        ({IMPLIED: Verdict.INCONCLUSIVE}, {}, ALL, 6, IMPLIED[0]),
        ({OPEN: Verdict.INCONCLUSIVE}, {}, ALL, 0, "The server conforms"),
        ({WALK: Verdict.FAILED}, {}, {"interrupted": "by the user"}, 2, "Until then the server broke 1 rule"),
        ({}, {}, {"interrupted": "by the user"}, 2, "interrupted (by the user)"),
        ({}, {"errors": ["a", "b"]}, {}, 3, "the suite itself failed (2 errors)"),
        # Nothing was exercised, or nothing that can fail a run.
        (NOTHING, {}, {}, 6, "could not be exercised"),
        (NOTHING, {"narrowed": ["-k nothing"]}, {}, 6, "no rule was exercised"),
        *(
            (NOTHING | {cell: verdict}, {"narrowed": ["--rule x"]}, {}, 0, "no required cell passed")
            for cell, verdict in (
                (IMPLIED, Verdict.PASSED),
                (IMPLIED, Verdict.WARNING),
                (OPEN, Verdict.OBSERVED),
            )
        ),
        (
            {WALK: Verdict.NOT_RUN},
            {"narrowed": ["-m 'not fuzz'"]},
            {},
            0,
            "Partial: no violation in the part",
        ),
        ({}, LOST, {}, 6, "the server was lost during the run (no answer to ten requests)"),
        ({WALK: Verdict.FAILED}, LOST, {}, 1, "does not conform"),
        ({WALK: Verdict.FAILED}, LOST, {"interrupted": LOST["lost"]}, 1, "does not conform"),
        ({}, {}, {"others_failed": True}, 1, "The server conforms"),
    ],
)
def test_exit_status(
    verdicts: dict[tuple[str, str], Verdict],
    ledger: dict[str, Any],
    how: dict[str, Any],
    status: int,
    words: str,
) -> None:
    results = whole_run(verdicts)
    for name, value in ledger.items():
        setattr(results, name, value)
    verdict = decided(results, **how)
    assert verdict.exit_status == status and words in verdict.sentence, verdict.sentence


def test_declared_absent_operations_neither_fail_nor_are_missing() -> None:
    bare = Target("http://sandbox.test", TARGET.primary, None, Features(payouts=False, secondary=False))
    assert decided(whole_run(target=bare), Level.IMPLIED).exit_status == 0


# ---------------------------------------------------------------------- contents of a document


def test_exchanges_are_recorded_once_and_only_as_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    results = whole_run(
        None,
        judged("list.stable", "listWallets", Verdict.PASSED, exchanges=[1, 6]),
        judged(*WALK, Verdict.FAILED, exchanges=[3, 2]),
        judged("list.pages", "listWallets", Verdict.FAILED, exchanges=[4, 3]),
    )
    keep(results, *(exchange(number) for number in range(1, 8)))
    report = document(results)
    assert list(report.exchanges) == [1, 2, 3, 4], "a passed cell has one"
    assert sum(row.exchanges for row in report.latency) == 7
    # Of many, those that decide violations stay.
    size = len(json.dumps(to_plain(results.exchanges[1])))
    monkeypatch.setattr(evidence, "DOCUMENT_EXCHANGES", int(2.5 * size))
    assert list(document(results).exchanges) == [3, 4]


def test_no_format_shows_a_secret_or_a_whole_key() -> None:
    body = json.dumps({"secret": SECRET, "key": API_KEY}).encode()
    text = f"the server said {SECRET} and {API_KEY}"
    worker = Worker(TARGET, index=0, settings=FuzzSettings(1))
    shown = exchange(1, body, response_headers=[("x-echo", SECRET)])
    worker.lane.common.exchanges[shown.number] = shown
    worker.lane.lost = text
    observed = judged("http.success-status", "createAccount", Verdict.OBSERVED, observations={text: text})
    failed = judged(*WALK, Verdict.FAILED, exchanges=[1], expected=text, got=text, further=[text])
    ledger = worker.ledger([failed, observed])
    results = whole_run()
    for cell in (failed, observed):
        results.cells.remove(results.cell(*cell.key))
    results.merge(Ledger.from_json(ledger.to_json()))
    report = document(results, options={"target": text}, interrupted=text)
    for name, make in FORMATS.items():
        written = "".join(make(report))
        # A plain `in` would have pytest compare megabytes of text to explain a failure.
        assert written.count(SECRET) == 0 and written.count(API_KEY) == 0, name


def test_bodies_and_texts_are_bounded() -> None:
    failed = judged(*WALK, Verdict.FAILED, exchanges=[1], got="x" * 10**6, further=["y" * 10**6] * 50)
    results = whole_run(None, failed)
    keep(results, exchange(1, b'"' + b"z" * 10**6 + b'"'))
    report = document(results)
    assert len(json.dumps(to_plain(report)["exchanges"])) < 20_000
    assert report.exchanges[1].response_body.size == 10**6 + 2
    assert all(len("".join(make(report))) < 2_000_000 for make in FORMATS.values())


def test_latency_counts_every_exchange_and_no_missing_answer_as_a_time() -> None:
    ledger = Ledger()
    for seconds in (0.0005, 0.001, 0.0011, 0.3, 60.0):
        ledger.measure(exchange(1, status=201, elapsed=seconds))
    ledger.measure(exchange(1, status=None, elapsed=9.0))
    row = ledger.latency["createAccount"]
    row.decide()
    assert (row.exchanges, row.max) == (6, 60.0)
    assert row.p50 == pytest.approx(0.0011, rel=0.05) and row.p95 == pytest.approx(60.0, rel=0.05)
    assert row.statuses == {"201": 5, "none": 1}
    assert sum(row.histogram.values()) == 5
    unanswered = Ledger()
    unanswered.measure(exchange(1, status=None, elapsed=9.0))
    assert unanswered.latency["createAccount"].p50 is None
