"""Accessibility of the report: keyboard, screen readers, without scripts, themes, widths and print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.contract.rules import RULES, Level
from conformance.judge.findings import Verdict
from conformance.judge.ledger import Ledger
from tests.browser.pages import Show, broken
from tests.support.report_samples import exchange, finding, keep, whole_run

#: Scripts that search a page for problems.
NAMES, CONTRAST = ((Path(__file__).parent / name).read_text("utf-8") for name in ("names.js", "contrast.js"))


def test_everything_can_be_done_from_the_keyboard(show: Show) -> None:
    page = show(broken()).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.type("walk")
    page.wait_for_function("() => document.getElementById('http.content-type').hidden")
    page.keyboard.press("Escape")
    page.wait_for_function("() => !document.getElementById('http.content-type').hidden")
    page.keyboard.press("n")
    first = page.evaluate("document.activeElement.id")
    page.keyboard.press("n")
    assert first.startswith("cause-")
    assert page.evaluate("document.activeElement.id").startswith("cause-")
    assert page.evaluate("document.activeElement.id") != first
    page.keyboard.press("p")
    assert page.evaluate("document.activeElement.id") == first


def test_arrows_move_in_the_matrix_and_enter_opens_a_case(show: Show) -> None:
    page = show(broken()).page
    page.locator("table.matrix td a").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#http.lost-requests@listAccounts"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert (
        page.evaluate("document.activeElement.getAttribute('href')") == "#http.no-server-error@createAccount"
    )
    assert page.locator("table.matrix td a[tabindex='0']").count() == 1
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "http.no-server-error@createAccount"


def test_without_scripts_the_failures_can_be_read(show: Show) -> None:
    page = show(broken(), java_script_enabled=False).page
    assert page.locator("article.cause").count() == 2
    card = page.locator("[id='cause-list.walk']")
    card.locator("details.exchange summary").first.click()
    assert "POST /v1/customers/cus_one/accounts" in card.locator("pre").first.inner_text()
    assert page.locator("#filter").is_hidden()
    assert page.locator("noscript").inner_text()


def test_names_and_roles_are_there_for_screen_readers(show: Show) -> None:
    page = show(broken()).page
    assert page.evaluate(NAMES) == []
    assert page.evaluate("document.documentElement.lang") == "en"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(show: Show, scheme: str) -> None:
    page = show(broken(), "#list.walk", color_scheme=scheme).page
    assert page.evaluate(CONTRAST) == []


def test_the_theme_can_be_chosen(show: Show) -> None:
    page = show(whole_run(), color_scheme="light").page
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.click("#theme")
    assert page.evaluate(ground) == light
    page.click("#theme")
    assert page.evaluate(ground) != light
    page.click("#theme")
    assert page.locator("#theme").inner_text() == "Theme: automatic"


@pytest.mark.parametrize("width", [360, 768, 1280, 1920])
def test_the_page_never_scrolls_sideways(show: Show, width: int) -> None:
    page = show(broken(), "#list.walk@listWallets", viewport={"width": width, "height": 900}).page
    page.locator("details.exchange").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


#: Finds text squeezed into a narrow column: more than 20 letters, two or three on a line, not rotated.
SQUEEZED = """() => [...document.querySelectorAll("body *")].filter((part) => {
    const text = [...part.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
    const box = part.getBoundingClientRect();
    return text.map((node) => node.data.trim()).join("").length > 20 && box.width > 1 && box.width < 40
        && box.height > 100 && !part.closest(".turned");
}).map((part) => part.outerHTML.slice(0, 200))"""


@pytest.mark.parametrize("width", [360, 400, 700])
def test_no_text_is_squeezed_into_a_narrow_column(show: Show, width: int) -> None:
    page = show(twice_performed(), viewport={"width": width, "height": 900}).page
    page.evaluate("() => document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    assert page.locator("table.beside caption").inner_text()
    assert page.evaluate(SQUEEZED) == []


def test_on_paper_the_verdict_and_the_causes_come_first(show: Show) -> None:
    page = show(broken()).page
    page.emulate_media(media="print")
    assert page.locator("#verdict-heading").is_visible()
    assert page.locator("article.cause").first.is_visible()
    # The rules are folded, so their chapters and heading are omitted.
    for hidden in ("nav.jump", "#filter", "#theme", "#rules"):
        assert page.locator(hidden).is_hidden()
    assert len(page.pdf()) > 10_000


def twice_performed() -> Ledger:
    """Returns the ledger of a run in which a repeated key was performed twice: two exchanges decide."""
    keyed: dict[str, Any] = {"request_headers": [("Idempotency-Key", "k")]}
    results = whole_run(
        None, finding("idempotency.replay", "createAccount", Verdict.FAILED, exchanges=[2, 1])
    )
    keep(results, exchange(1, b'{"id": "acc_1"}', **keyed), exchange(2, b'{"id": "acc_2"}', **keyed))
    return results


#: An A4 page in pixels, without the margins that report.css sets.
SHEET = {"width": 688, "height": 1024}


def test_the_first_sheet_holds_the_summary_of_the_worst_run(show: Show) -> None:
    cells = {
        (rule.id, operation): Verdict.FAILED
        for rule in RULES.values()
        if rule.level is Level.REQUIRED and not rule.follows
        for operation in rule.operations[:3]
    }
    long = [
        finding(rule, operation, Verdict.INCONCLUSIVE, summary=f"{rule} " + "why not, in many words " * 20)
        for rule in list(RULES)[-9:]
        for operation in RULES[rule].operations[:1]
        if (rule, operation) not in cells
    ]
    page = show(whole_run(cells, *long), viewport=SHEET).page
    page.emulate_media(media="print")
    assert page.locator(".first").evaluate("(part) => part.getBoundingClientRect().bottom") <= SHEET["height"]
    for part in ("#verdict-heading", "#numbers", "#failures", "#unjudged", "#reproduce"):
        assert page.locator(part).is_visible()
    assert page.evaluate("getComputedStyle(document.querySelector('.first')).breakAfter") == "page"


def test_operations_stand_upright_over_the_matrix(show: Show) -> None:
    head = show(broken()).page.locator("table.matrix .turned span").first.bounding_box()
    assert head and head["height"] > 2 * head["width"]


def test_two_exchanges_that_decide_stand_side_by_side_also_without_scripts(show: Show) -> None:
    results = twice_performed()
    for width in (1280, 400):
        page = show(results, java_script_enabled=False, viewport={"width": width, "height": 900}).page
        row = page.locator("table.beside tr.other")
        assert [text.strip() for text in row.locator("td[data-from]").all_inner_texts()] == [
            '"id": "acc_1"',
            '"id": "acc_2"',
        ]
        left, right = (row.locator("td[data-from]").nth(side).bounding_box() for side in (0, 1))
        assert left and right and (left["y"] == right["y"]) == (width > 800)
