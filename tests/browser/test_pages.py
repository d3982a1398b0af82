"""A report and the sandbox's page in Chromium: they work, fit the window, run no markup; axe is content."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from conformance.judge.verdicts import Verdict
from conformance.report.html import pieces
from tests.support.report_samples import WALK, document, exchange, judged, keep, whole_run
from tests.support.running import sandbox

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

#: Runs where it is not escaped.
MARKUP = '</script><script>window.ran=1</script><img src=x onerror="window.ran=2">'

Open = Callable[..., "Page"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium, Debian's or the one that the variable CHROMIUM names."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="the `test` extra is not installed")
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if path is None:
        pytest.skip(
            "No Chromium is installed: `apt-get install chromium`, or name one in the variable CHROMIUM."
        )
    # As root, such as in a container, Chromium starts only without its sandbox.
    flags = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Opens an address; fails at the end if a page had an error or asked another host."""
    problems: list[str] = []
    contexts = []

    def opened(address: str, width: int = 1280, scheme: str = "light") -> Page:
        # axe compiles functions from strings, which the pages' policy forbids.
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if scheme == "dark" else "light",
            bypass_csp=True,
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        own = address.partition("//")[2].partition("/")[0]
        page.on("request", lambda asked: None if f"//{own}/" in asked.url else problems.append(asked.url))
        # The browser asks for it, not the page.
        page.route("**/favicon.ico", lambda route: route.fulfill(status=200, body=""))
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert problems == []


def violations(page: Page) -> list[str]:
    """Returns what axe finds."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page).response["violations"]
    return [f"{each['id']}: {node['html'][:200]}" for each in found for node in each["nodes"]]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a report with a failure, every text of which is markup, and an inconclusive cell."""
    results = whole_run(
        None,
        judged(*WALK, Verdict.FAILED, exchanges=[1, 2], got=MARKUP, expected=MARKUP),
        judged("list.echo", "listWallets", Verdict.INCONCLUSIVE),
    )
    keep(
        results,
        exchange(1, MARKUP.encode()),
        exchange(2, b'{"id": "wal_2"}', response_headers=[("X", MARKUP)]),
    )
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text("".join(pieces(document(results))), "utf-8")
    return path.as_uri()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_report(open_page: Open, report: str, width: int, scheme: str) -> None:
    page = open_page(f"{report}#list.walk@listWallets", width, scheme)
    assert page.locator("[id='list.walk@listWallets']").is_visible()
    assert "does not conform" in page.locator("#verdict-heading").inner_text()
    assert all(heading.is_visible() for heading in page.locator("table.numbers th").all())
    page.evaluate("() => document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    assert "<img src=x" in page.locator("details.cause").first.inner_text()
    assert page.evaluate("window.ran") is None and page.locator("img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(page) == []


def test_search_of_a_report(open_page: Open, report: str) -> None:
    page = open_page(report)
    page.keyboard.press("/")
    page.keyboard.type("list.echo")
    page.wait_for_function("() => document.getElementById('auth.signature').hidden")
    assert page.locator("[id='list.echo']").is_visible()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_sandbox(open_page: Open, tmp_path: Path, width: int, scheme: str) -> None:
    with sandbox("--judge", "--report-dir", str(tmp_path)) as (_, tables):
        address = str(tables["base_url"])
        httpx.get(f"{address}/v1/accounts/acc_1/wallets", headers={"X-API-Key": MARKUP})
        page = open_page(f"{address}/?still", width, scheme)
        assert page.locator("tbody tr").count() == 1
        assert page.evaluate("window.ran") is None and page.locator("img").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert violations(page) == []
