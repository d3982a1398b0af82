"""Reading and searching the report page."""

from __future__ import annotations

import json

from conformance.contract.rules import RULES, Level
from conformance.judge.findings import Verdict
from conformance.report.html import html
from tests.browser.pages import Show, broken
from tests.support.report_samples import document, exchange, finding, keep, whole_run

# ---------------------------------------------------------------------- reading


def test_the_verdict_and_the_causes_are_on_top(show: Show) -> None:
    page = show(broken()).page
    assert "does not conform" in page.locator("#verdict-heading").inner_text()
    cards = page.locator("article.cause")
    assert cards.count() == 2
    assert "list.walk" in cards.nth(0).inner_text() + cards.nth(1).inner_text()
    assert page.locator("article.cause .got dd").first.is_visible()


def test_the_decisive_exchange_is_open_with_the_difference_marked(show: Show) -> None:
    page = show(broken()).page
    card = page.locator("[id='cause-list.walk']")
    first = card.locator("details.exchange").first
    if first.get_attribute("open") is None:
        first.locator("summary").click()
    first.locator(".sides").wait_for()
    assert first.locator(".line.hit").inner_text().strip().startswith('"id": "wal_1"')
    assert "differ from the answer in exchange #2" in first.inner_text()
    # Numbers are shown as sent.
    assert "1.50" in first.inner_text()


def test_a_deep_link_opens_its_rule_and_its_case(show: Show) -> None:
    page = show(broken(), "#list.walk@listWallets").page
    row = page.locator("[id='list.walk@listWallets']")
    assert row.is_visible()
    assert row.evaluate("(one) => document.activeElement === one")
    box = row.bounding_box()
    assert box and 0 <= box["y"] < 900
    page.goto(page.url.partition("#")[0] + "#auth.signature")
    assert page.locator("[id='auth.signature']").get_attribute("open") is not None


def test_a_link_to_a_hidden_rule_shows_it(show: Show) -> None:
    page = show(broken()).page
    page.fill("#q", "wallet.race")
    page.wait_for_function("() => document.getElementById('auth.signature').hidden")
    page.evaluate("() => { location.hash = '#auth.signature'; }")
    page.wait_for_function("() => document.getElementById('auth.signature').open")
    assert page.locator("[id='auth.signature']").is_visible()


def test_an_exchange_of_a_case_opens_under_it(show: Show) -> None:
    page = show(broken(), "#list.stable@listWallets").page
    link = page.locator("[id='list.stable@listWallets'] a[data-number]")
    link.click()
    assert link.get_attribute("aria-expanded") == "true"
    shown = page.locator("[id='list.stable@listWallets'] + tr .sides")
    assert '"id": "acc_1"' in shown.inner_text()
    link.click()
    assert shown.count() == 0


# ---------------------------------------------------------------------- finding


def test_search_finds_rules_by_id_words_and_findings(show: Show) -> None:
    page = show(broken()).page
    for words, rule in (
        ("wallet.race", "wallet.race"),
        ("simultaneous nonce", "auth.nonce-race"),
        ("came twice", "list.walk"),
    ):
        page.fill("#q", words)
        page.wait_for_function(
            f"() => !document.getElementById('{rule}').hidden"
            " && document.getElementById('http.content-type').hidden"
        )
        assert "of " in page.locator("#shown").inner_text()
    page.fill("#q", "no such words at all")
    page.locator("#nothing").wait_for(state="visible")


def test_filters_narrow_rules_and_matrix_alike(show: Show) -> None:
    page = show(broken()).page
    page.click("#only-broken")
    page.wait_for_function("() => document.querySelectorAll('details.rule:not([hidden])').length === 2")
    assert page.locator("table.matrix tr[data-rule]:visible").count() == 2
    page.click("button[type=reset]")
    page.wait_for_function(
        f"() => document.querySelectorAll('details.rule:not([hidden])').length === {len(RULES)}"
    )
    page.select_option("#operation", "createPayin")
    expected = sum("createPayin" in rule.operations for rule in RULES.values())
    page.wait_for_function(
        f"() => document.querySelectorAll('details.rule:not([hidden])').length === {expected}"
    )
    page.uncheck("input[value=open]")
    expected = sum(
        "createPayin" in rule.operations and rule.level is not Level.OPEN for rule in RULES.values()
    )
    page.wait_for_function(
        f"() => document.querySelectorAll('details.rule:not([hidden])').length === {expected}"
    )


# ---------------------------------------------------------------------- size


def test_ten_thousand_exchanges_make_a_page_that_opens_at_once(show: Show) -> None:
    findings, exchanges = [], []
    cells = [
        (rule.id, operation)
        for rule in RULES.values()
        if rule.level is Level.REQUIRED
        for operation in rule.operations
        if operation != "createPayin"
    ]
    body = json.dumps({"items": [{"id": f"wal_{index}", "label": "x" * 40} for index in range(60)]}).encode()
    for index, cell in enumerate(cells):
        numbers = list(range(index * 12 + 1, index * 12 + 13))
        findings.append(
            finding(*cell, Verdict.FAILED, exchanges=numbers, further=["expected this; got that"] * 19)
        )
        exchanges += [exchange(number, body) for number in numbers]
    results = whole_run(None, *findings)
    keep(results, *exchanges)
    assert len(results.exchanges) > 9_000
    text = html(document(results))
    assert len(text.encode()) < 5_000_000
    # Bounded by the browser's own timeout.
    page = show(text, "#list.walk@listWallets").page
    page.locator("[id='list.walk@listWallets']").wait_for()
