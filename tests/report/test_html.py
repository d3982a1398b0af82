"""Content and HTML validity of the report page."""

from __future__ import annotations

from typing import Any

import pytest
from lxml import html as parser

from conformance.contract.rules import RULES, Level
from conformance.judge.findings import Verdict
from conformance.report import commands
from conformance.report.document import Document, KnownFailureRecord
from conformance.report.html import CAUSES, html
from conformance.report.known_failures import KnownFailures
from tests.support.report_samples import WALK, document, exchange, finding, keep, whole_run

PAGES = ("list.pages", "listWallets")

REPRODUCE = "pytest --pyargs conformance --rule list.walk --operation listWallets --seed 7"


def page(*findings: Any, verdicts: Any = None, exchanges: Any = (), **how: Any) -> Any:
    """Returns the parsed page of a run."""
    results = whole_run(verdicts, *findings)
    keep(results, *exchanges)
    return parser.fromstring(html(document(results, **how)))


def text(element: Any) -> str:
    """Returns an element's text, with cells separated by spaces."""
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


def test_a_failure_shows_how_to_repeat_it_and_whether_it_was_confirmed() -> None:
    shown = page(
        finding(*WALK, Verdict.FAILED, confirmed="not reproduced"), options={"target": "server.toml"}
    )
    [card] = shown.cssselect("article.cause")
    assert f"{REPRODUCE} --target server.toml" in text(card)
    assert "Repeated alone: not reproduced; it is a violation all the same" in text(card)


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


# ---------------------------------------------------------------------- first page


@pytest.mark.parametrize(
    ("options", "command"),
    [
        ({}, "pytest --pyargs conformance --seed 7"),
        (
            {"target": "my server.toml", "base-url": "http://x", "fail-on": "required", "lanes": "3"},
            "pytest --pyargs conformance --seed 7 --target 'my server.toml' --base-url http://x",
        ),
        (
            {"rule": "auth.* list.walk@listWallets", "-m": "not fuzz", "fail-on": "implied"},
            "pytest --pyargs conformance --rule 'auth.*' --rule list.walk@listWallets "
            "--fail-on implied -m 'not fuzz' --seed 7",
        ),
        (
            {"effort": "quick", "known-failures": "known ones.toml", "rate": "20.0"},
            "pytest --pyargs conformance --effort quick --known-failures 'known ones.toml' --rate 20.0 "
            "--seed 7",
        ),
        (
            {"load": "--users 50 --headless", "target": "t.toml", "rate": "20.0"},
            "conformance load --rate 20.0 --seed 7 --users 50 --headless --target t.toml",
        ),
    ],
)
def test_a_run_can_be_repeated(options: dict[str, str], command: str) -> None:
    assert commands.again(options, 7) == command


def first_page(results: Document) -> str:
    """Returns the part of the report that is printed on the first page."""
    return html(results).partition('<div class="first">')[2].partition('id="broken"')[0]


def test_the_first_page_names_what_is_broken_and_what_was_not_judged() -> None:
    results = whole_run(
        {("list.pages", "listWallets"): Verdict.INCONCLUSIVE},
        finding(*WALK, Verdict.FAILED, got="one twice"),
    )
    shown = first_page(document(results, options={"target": "server.toml"}))
    assert shown.count('<a href="#cause-') == shown.count('<a href="#cause-list.walk">list.walk</a>') == 1
    assert "<b>one twice</b>" in shown and "<summary>and" not in shown
    assert "<li><b>1 case:</b> the target file names no second organization</li>" in shown
    assert f">{REPRODUCE} --target server.toml</code>" in shown


def test_the_first_page_is_cut() -> None:
    cells = {
        (rule.id, rule.operations[0]): Verdict.FAILED
        for rule in RULES.values()
        if rule.level is Level.REQUIRED and not rule.follows
    }
    shown, more = first_page(document(whole_run(cells))).split("<summary>and ")
    assert shown.count('<a href="#cause-') == CAUSES and more.count('<a href="#cause-') > 20


def test_deselected_cases_are_counted_on_the_first_page() -> None:
    results = whole_run({WALK: Verdict.NOT_RUN})
    results.narrowed = ["-m 'not fuzz'"]
    assert "<li>1 case left out by -m &#39;not fuzz&#39;</li>" in first_page(document(results))
