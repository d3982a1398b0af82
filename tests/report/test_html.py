"""The report page as text: what it must show of a run, and that it is valid HTML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lxml import html as parser

from conformance.contract.rules import RULES
from conformance.judge.findings import Verdict
from conformance.report.document import KnownFailureRecord
from conformance.report.html import html
from conformance.report.known_failures import KnownFailures
from conformance.report.pinned_choices import PinnedChoices
from tests.support.report_samples import REPLAY, document, exchange, finding, keep, whole_run

WALK, PAGES = ("list.walk", "listWallets"), ("list.pages", "listWallets")


def page(*findings: Any, verdicts: Any = None, exchanges: Any = (), **how: Any) -> Any:
    """The parsed page of a run."""
    results = whole_run(verdicts, *findings)
    keep(results, *exchanges)
    return parser.fromstring(html(document(results, **how)))


def text(element: Any) -> str:
    """An element's words; different cells are apart."""
    return " ".join(" ".join(element.itertext()).split())


def test_every_rule_and_case_has_a_place_of_its_own() -> None:
    shown = page()
    ids = [element.get("id") for element in shown.iter() if element.get("id")]
    assert len(set(ids)) == len(ids)
    wanted = {rule.id for rule in RULES.values()}
    wanted |= {f"{rule.id}@{operation}" for rule in RULES.values() for operation in rule.operations}
    assert wanted <= set(ids)
    links = {link.get("href") for link in shown.cssselect("table.matrix td a")}
    assert links == {f"#{link}" for link in wanted if "@" in link}


def test_a_known_failure_is_marked_and_a_stale_entry_named() -> None:
    known = KnownFailures(
        [
            KnownFailureRecord(4, *WALK, "mended <soon>", None),
            KnownFailureRecord(9, "list.echo", "listWallets", "old", None),
        ],
        "known.toml",
    )
    shown = page(verdicts={WALK: Verdict.FAILED}, known=known)
    [card] = shown.cssselect("article.cause")
    assert "known failure" in text(card)
    assert "mended <soon>" in text(card)
    assert "known.toml , line 9: list.echo on listWallets: the rule holds now" in text(
        shown.cssselect("main")[0]
    )
    assert "outdated" in shown.findtext(".//title")


def test_choices_that_differ_from_pinned_ones_are_set_side_by_side() -> None:
    place = ("http.success-status", "createAccount")
    pinned = PinnedChoices({(*place, "status of a success"): "201"}, "pinned.toml")
    shown = page(
        finding(*place, Verdict.OBSERVED, observations={"status of a success": "200"}), pinned=pinned
    )
    rows = [text(row) for row in shown.cssselect("section[aria-labelledby=observed] tr")]
    assert "http.success-status createAccount status of a success 201 200" in rows


def test_a_failure_shows_how_to_repeat_it_and_whether_it_was_confirmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    step = {**REPLAY["steps"][0], "target": "/v1/accounts/acc_1/wallets?note=%3C/script%3E"}
    replay = {**REPLAY, "got": "<b>one twice</b>", "steps": [{**step, "purpose": "</script>"}]}
    (tmp_path / "replays").mkdir()
    (tmp_path / "replays" / "walk.json").write_text(json.dumps(replay), "utf-8")
    shown = page(
        finding(*WALK, Verdict.FAILED, replay="replays/walk.json", confirmed="not reproduced"),
        folder=tmp_path,
        options={"target": "server.toml"},
    )
    [card] = shown.cssselect("article.cause")
    assert "conformance replay replays/walk.json --target server.toml" in text(card)
    assert "Repeated alone: not reproduced; it is a violation all the same" in text(card)
    [script] = card.cssselect("details.reproduce pre")
    assert "/v1/accounts/acc_1/wallets" in text(script)


def test_consequences_stand_with_their_cause() -> None:
    shown = page(verdicts={WALK: Verdict.FAILED, PAGES: Verdict.FAILED})
    [card] = shown.cssselect("article.cause")
    assert card.get("id") == "cause-list.pages"
    assert "Led to failures of list.walk" in text(card)


def test_the_decisive_exchange_can_be_read_without_a_script() -> None:
    shown = page(
        finding(*WALK, Verdict.FAILED, exchanges=[2, 1]), exchanges=[exchange(1), exchange(2, b"<b>\x00")]
    )
    [transcript] = shown.cssselect("article.cause pre")
    assert "POST /v1/customers/cus_one/accounts" in transcript.text
    assert '"name": "Savings"' in transcript.text
    assert "<b>\\x00" in transcript.text
    assert "X-API-Key: key_0" in transcript.text


def test_latency_is_told_in_numbers_beside_the_plot() -> None:
    shown = page(exchanges=[exchange(number) for number in range(1, 21)])
    [row] = shown.cssselect("table.latency tbody tr")
    assert text(row).startswith("createAccount 20 50 ms 80 ms 80 ms 200 × 20")
    assert row.cssselect("svg")[0].get("aria-label") == "half within 50 ms, 95 % within 80 ms, slowest 80 ms"


def test_nothing_is_loaded_and_no_style_or_handler_stands_in_an_attribute() -> None:
    shown = page(finding(*WALK, Verdict.FAILED, exchanges=[1]), exchanges=[exchange(1)])
    for element in shown.iter():
        if not isinstance(element.tag, str):
            continue
        assert not {"src", "srcset", "style", "data", "action"} & set(element.attrib)
        assert not any(name.startswith("on") for name in element.attrib)
        assert element.get("href", "#").startswith("#")
    policy = shown.cssselect("meta[http-equiv]")[0].get("content")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
