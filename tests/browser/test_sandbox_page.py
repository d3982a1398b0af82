"""The sandbox page, with and without scripts."""

from __future__ import annotations

import contextlib
import http.client
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from conformance.clients.provocations import PROVOCATIONS
from conformance.reference.app import system_clock
from conformance.reference.core_messages import Request
from conformance.reference.serving.listener import served
from tests.browser.pages import Opened
from tests.clients.changes import header, mistaken, with_header
from tests.clients.client import Client, Clock, Refused, Rig
from tests.clients.wrong import NewKeyOnRetry

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

from conformance.contract.signing_mistakes import MISTAKES

HOSTILE = "<script>document.title='taken'</script><img src=x onerror=alert(1)>"


@pytest.fixture
def rig() -> Iterator[Rig]:
    rig = Rig("lost-answer", clock=Clock())
    rig.clock.now = system_clock()
    rig.sandbox.hosts = ("127.0.0.1",)
    with contextlib.suppress(Refused):
        client = NewKeyOnRetry(rig)
        client.call("POST", f"/v1/customers/{client.tenant.customer_id}/accounts", {"name": HOSTILE})
        client.rig.provocations.names.clear()
        _Unsigned(rig).call("GET", f"/v1/customers/{client.tenant.customer_id}/accounts?page=1&size=5")
    with served(rig.sandbox) as rig.url:
        yield rig


class _Unsigned(Client):
    """Signs without the query, and sends markup in a header."""

    def changed(self, request: Request) -> Request:
        mistake = next(mistake for mistake in MISTAKES if mistake.name == "no query")
        made = mistaken(mistake)(self, with_header(request, "X-Note", HOSTILE))
        assert made is not None and header(made, "X-Note")
        return made


@pytest.fixture
def tab(browser: Browser, rig: Rig) -> Iterator[Callable[..., Page]]:
    """Opens a page of the sandbox; fails on errors in it and on requests to other hosts."""
    opened: list[Opened] = []

    def open_(path: str = "/?still", **how: object) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **how})  # type: ignore[arg-type]
        opened.append(Opened(context.new_page(), rig.url))
        page = opened[-1].page
        # Requested by the browser, not by the page.
        page.route("**/favicon.ico", lambda route: route.fulfill(status=200, body=""))
        page.goto(rig.url + path)
        return page

    yield open_
    assert [problem for tab in opened for problem in tab.problems] == []


@pytest.mark.parametrize("scripts", [True, False])
def test_the_worst_mistake_comes_first_and_requests_as_they_came(
    tab: Callable[..., Page], scripts: bool
) -> None:
    page = tab(java_script_enabled=scripts)
    cards = page.locator("article.cause")
    assert cards.count() == 2
    assert "client.retry-key on createAccount" in " ".join(cards.first.inner_text().split())
    assert "may be done twice" in cards.first.inner_text()
    rows = page.locator("tbody tr")
    assert [rows.nth(place).locator("th").inner_text() for place in range(3)] == ["3", "2", "1"]
    assert "auth.signed-query" in rows.first.inner_text() and "lost" in rows.nth(2).inner_text()


def test_a_wrong_signature_is_shown_beside_the_right_one(tab: Callable[..., Page], rig: Rig) -> None:
    page = tab()
    page.locator("tbody tr").first.locator("a").click()
    assert "leaves the query out" in page.locator("article.cause").inner_text()
    sides = page.locator("dl.commands dd")
    assert sides.nth(0).locator("mark").inner_text() == "?page=1&size=5"
    assert sides.nth(1).locator("mark").inner_text() == ""
    text = page.content()
    assert "taken" not in page.title() and page.locator("img").count() == 0
    for tenant in (rig.seeded.primary, rig.seeded.secondary):
        assert tenant.secret not in text and tenant.api_key not in text


def test_provocations_are_switched_without_scripts(tab: Callable[..., Page], rig: Rig) -> None:
    page = tab(java_script_enabled=False)
    page.get_by_role("button", name="rate-limit: off").click()
    assert page.get_by_role("button", name="rate-limit: on").get_attribute("aria-pressed") == "true"
    assert rig.provocations.names == {"rate-limit"}
    page.get_by_role("button", name="Switch all on").click()
    page.get_by_role("button", name="nulls: on").wait_for()
    assert rig.provocations.names == set(PROVOCATIONS)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/?still", "/?request=3"])
def test_the_page_fits_a_narrow_screen(tab: Callable[..., Page], scheme: str, path: str) -> None:
    page = tab(path, viewport={"width": 400, "height": 800}, color_scheme=scheme)
    assert page.evaluate("() => document.documentElement.scrollWidth <= 400")


def _asked(rig: Rig, method: str, headers: dict[str, str], body: str = "") -> int:
    connection = http.client.HTTPConnection(urlsplit(rig.url).netloc, timeout=10)
    connection.request(method, "/", body or None, headers)
    return connection.getresponse().status


def test_other_sites_neither_read_nor_switch(rig: Rig) -> None:
    assert _asked(rig, "GET", {}) == 200
    assert _asked(rig, "GET", {"Host": "rebound.example:8000"}) == 403
    for headers in ({"Origin": "https://other.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert _asked(rig, "POST", headers, "toggle=all") == 403
    assert rig.provocations.names == set()


def test_the_page_moves_unless_it_is_held(rig: Rig) -> None:
    moving, still = (
        rig.sandbox.handle(Request("GET", target, [(b"Host", b"127.0.0.1:80")]))
        for target in (b"/", b"/?still")
    )
    assert (b"refresh", b"2") in moving.headers and (b"refresh", b"2") not in still.headers
