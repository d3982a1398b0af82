"""The report in a real browser: hostile markup does not run, and people find what they look for."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance.contract.rules import RULES, Level
from conformance.judging.findings import Verdict
from conformance.report.comparison_formats import comparison_html
from conformance.report.html import html
from conformance.results.comparison import compare
from conformance.results.model import Results
from tests.support.report_samples import document, exchange, finding, keep, whole_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WALK, PAGES = ("list.walk", "listWallets"), ("list.pages", "listWallets")

#: Probes that a page is searched with.
NAMES, CONTRAST = ((Path(__file__).parent / name).read_text("utf-8") for name in ("names.js", "contrast.js"))

#: Ways in which text becomes script where it is not escaped.
HOSTILE = (
    "</script><script>window.pwned=1</script></script ><script >window.pwned=8</script >"
    '<img src=x onerror="window.pwned=2"><svg/onload=window.pwned=3>'
    '"><iframe srcdoc="<script>parent.pwned=4</script>"></iframe><style>*{display:none!important}</style>'
    '<a href="javascript:window.pwned=5" id=broken>x</a><!-- \u202e\u2066 \x00 \ud800 ]]> {{7*7}} ${7*7} '
    "' onmouseover='window.pwned=6' autofocus onfocus='window.pwned=7'"
)


class Opened:
    """A page and everything that went wrong in it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []
        page.on(
            "console", lambda message: self.problems.append(message.text) if message.type == "error" else None
        )
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on(
            "request",
            lambda request: (
                self.problems.append(f"loaded {request.url}") if not request.url.startswith("file:") else None
            ),
        )


Show = Callable[..., Opened]


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Show]:
    """Opens the report of results, or a page that is given; at the end it must have had no problem."""
    opened: list[Opened] = []

    def open_(results: Results | str, fragment: str = "", **how: Any) -> Opened:
        text = results if isinstance(results, str) else html(document(results))
        path = tmp_path / "report.html"
        path.write_text(text, "utf-8")
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **how})
        tab = Opened(context.new_page())
        opened.append(tab)
        tab.page.goto(path.as_uri() + fragment)
        return tab

    yield open_
    problems = [problem for tab in opened for problem in tab.problems]
    for tab in opened:
        tab.page.context.close()
    assert problems == []


def broken() -> Results:
    """Two broken rules, one inconclusive one, and exchanges."""
    results = whole_run(
        None,
        finding(
            *WALK,
            Verdict.FAILED,
            got="/items/0/id: an id that came twice",
            expected="every element once",
            exchanges=[1, 2],
        ),
        finding("auth.nonce-replay", "createWallet", Verdict.FAILED, exchanges=[3]),
        finding("list.echo", "listWallets", Verdict.INCONCLUSIVE),
        finding("list.stable", "listWallets", Verdict.PASSED, exchanges=[4]),
    )
    keep(
        results,
        exchange(1, b'{"items": [{"id": "wal_1", "amount": 1.50}], "page": 1}'),
        exchange(2, b'{"items": [{"id": "wal_2", "amount": 1.50}], "page": 1}'),
        exchange(3, b"no JSON"),
        exchange(4),
    )
    return results


def hostile() -> Results:
    """A run in which every text that a server has a say in is hostile."""
    body = json.dumps({HOSTILE: HOSTILE, "list": [HOSTILE]}).encode()
    texts: dict[str, Any] = {
        "got": HOSTILE,
        "expected": HOSTILE,
        "summary": HOSTILE,
        "further": [HOSTILE],
        "remedy": HOSTILE,
    }
    results = whole_run(
        None,
        finding(*WALK, Verdict.FAILED, exchanges=[1, 2, 3], **texts),
        finding(*PAGES, Verdict.INCONCLUSIVE, exchanges=[2], **texts),
        finding(
            "http.success-status",
            "createAccount",
            Verdict.OBSERVED,
            observations={HOSTILE: HOSTILE},
            exchanges=[3],
        ),
    )
    keep(
        results,
        exchange(1, body, response_headers=[(HOSTILE, HOSTILE)], purpose=HOSTILE, target="/v1/" + HOSTILE),
        exchange(2, HOSTILE.encode("utf-8", "surrogatepass")),
        exchange(3, b"", None, error=HOSTILE),
    )
    results.errors.append(HOSTILE)
    results.lost = HOSTILE
    return results


# ---------------------------------------------------------------------- hostile servers


def test_no_markup_of_a_server_runs(show: Show) -> None:
    page = show(hostile()).page
    page.evaluate("() => document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for link in page.locator("a[data-number]").all()[:6]:
        link.click()
    page.wait_for_function("() => document.querySelectorAll('details.exchange .sides').length >= 3")
    assert page.evaluate("window.pwned") is None
    assert page.title().startswith("the suite failed: Financial Accounts API")
    assert page.locator("iframe, img, main style, a[href^=javascript]").count() == 0
    assert page.locator("script").count() == 2
    assert page.locator("#verdict-heading").is_visible()
    text = page.locator("article.cause").first.inner_text()
    assert "<img src=x onerror=" in text
    assert "\u202e" not in page.content()


def test_the_policy_lets_no_other_script_run(show: Show) -> None:
    opened = show(whole_run())
    ran = opened.page.evaluate("""() => {
        const one = document.createElement("script");
        one.textContent = "window.pwned = 1";
        document.body.append(one);
        document.body.insertAdjacentHTML("beforeend", "<b id=t onclick='window.pwned=2'>t</b>");
        document.getElementById("t").click();
        return window.pwned; }""")
    assert ran is None
    assert any("Content Security Policy" in problem for problem in opened.problems)
    opened.problems.clear()


def test_a_hostile_comparison_runs_nothing(show: Show) -> None:
    page = show(comparison_html(compare({HOSTILE: document(hostile()), "other": document(whole_run())}))).page
    assert page.evaluate("window.pwned") is None
    assert page.locator("script, iframe, img").count() == 0


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
    # Numbers stand as they were sent.
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


# ---------------------------------------------------------------------- other ways to read


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
def test_text_stands_out_from_its_ground(show: Show, scheme: str) -> None:
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


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_a_narrow_comparison_shows_what_each_implementation_did(show: Show, colours: str) -> None:
    compared = compare({"before": document(whole_run()), "after": document(broken())})
    viewport = {"width": 400, "height": 900}
    page = show(comparison_html(compared), viewport=viewport, color_scheme=colours).page
    cells = page.locator("table.compared tbody td")
    assert cells.count() >= 2
    boxes = [cell.bounding_box() for cell in cells.all()]
    assert all(box and box["x"] + box["width"] <= 400 for box in boxes)
    named = cells.evaluate_all("(all) => all.map((cell) => getComputedStyle(cell, '::before').content)")
    assert {text.replace('" "', " ").strip('" ') for text in named} == {"before:", "after:"}


def test_on_paper_the_verdict_and_the_causes_come_first(show: Show) -> None:
    page = show(broken()).page
    page.emulate_media(media="print")
    assert page.locator("#verdict-heading").is_visible()
    assert page.locator("article.cause").first.is_visible()
    # The rules are folded, so their chapters and the heading above them are left out.
    for hidden in ("nav.jump", "#filter", "#theme", "#rules"):
        assert page.locator(hidden).is_hidden()
    assert len(page.pdf()) > 10_000


#: A sheet of A4 in pixels, without the margins that report.css asks for.
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
    keyed: dict[str, Any] = {"request_headers": [("Idempotency-Key", "k")]}
    results = whole_run(
        None, finding("idempotency.replay", "createAccount", Verdict.FAILED, exchanges=[2, 1])
    )
    keep(results, exchange(1, b'{"id": "acc_1"}', **keyed), exchange(2, b'{"id": "acc_2"}', **keyed))
    for width in (1280, 400):
        page = show(results, java_script_enabled=False, viewport={"width": width, "height": 900}).page
        row = page.locator("table.beside tr.other")
        assert row.locator("mark").all_inner_texts() == ["acc_1", "acc_2"]
        left, right = (row.locator("td[data-from]").nth(side).bounding_box() for side in (0, 1))
        assert left and right and (left["y"] == right["y"]) == (width > 800)


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
    before = time.monotonic()
    page = show(text, "#list.walk@listWallets").page
    page.locator("[id='list.walk@listWallets']").wait_for()
    assert time.monotonic() - before < 20
