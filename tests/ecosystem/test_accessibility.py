"""The report by the rules of axe-core: light, dark, narrow, folded and expanded.

An independent check of what tests/browser tests itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import pytest
from msgspec.structs import replace

from conformance.judge.findings import Verdict
from conformance.judge.ledger import Ledger
from conformance.report.html import html
from tests.ecosystem import tools
from tests.support.report_samples import REPLAY, document, exchange, finding, keep, whole_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

AXE = tools.MODULES / "axe-core" / "axe.min.js"

#: Width and colour scheme of a page, and True to expand all that is folded.
LOOKS: dict[str, tuple[int, Literal["light", "dark"], bool]] = {
    "light": (1280, "light", False),
    "dark, opened": (1280, "dark", True),
    "narrow, opened": (400, "light", True),
}


def broken() -> Ledger:
    """Returns a ledger with one cell of every verdict, a pair of exchanges to compare, and long names."""
    long = "a-word-that-no-line-can-break-" * 8
    results = whole_run(
        {("list.stable", "listWallets"): Verdict.NOT_RUN},
        finding("idempotency.replay", "createAccount", Verdict.FAILED, exchanges=[2, 1, 3], got=long),
        finding(
            "list.walk",
            "listWallets",
            Verdict.FAILED,
            further=["one more", long],
            exchanges=[4, 5],
            replay="replays/walk.json",
        ),
        finding("list.echo", "listWallets", Verdict.INCONCLUSIVE),
        finding("list.empty", "listWallets", Verdict.ERROR, summary="a check raised"),
        finding("auth.unknown-key-status", "listWallets", Verdict.WARNING),
        finding("http.success-status", "listWallets", Verdict.OBSERVED, observations={"status": "200"}),
    )
    keyed: dict[str, Any] = {"request_headers": [("Idempotency-Key", "k"), ("X-API-Key", "key_0…")]}
    keep(
        results,
        exchange(1, b'{"id": "acc_1"}', **keyed),
        exchange(2, b'{"id": "acc_2", "note": "' + long.encode() + b'"}', attempts=2, **keyed),
        exchange(3, b"", None, **keyed),
        exchange(4, b"no JSON", 503, target="/v1/" + long),
        exchange(5, json.dumps({"items": [{"id": f"wal_{index}"} for index in range(90)]}).encode()),
    )
    return results


def pages() -> dict[str, str]:
    """Returns the pages by name, as HTML."""
    bad = document(broken(), options={"target": "server.toml", "-m": "not fuzz"})
    bad = replace(bad, replays={"replays/walk.json": REPLAY})
    assert "as a Python script" in html(bad)
    return {"report": html(bad)}


@pytest.fixture(scope="module")
def looked_at(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Opens a page in a look; the pages are written once."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: npm ci --ignore-scripts --prefix tests/ecosystem")
    folder = tmp_path_factory.mktemp("pages")
    for name, text in pages().items():
        (folder / f"{name}.html").write_text(text, "utf-8")
    contexts = []

    def open_(name: str, look: str) -> Page:
        width, colours, opened = LOOKS[look]
        # axe-core compiles functions from strings, which the pages' policy forbids.
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=colours, bypass_csp=True
        )
        contexts.append(context)
        page = context.new_page()
        page.goto((folder / f"{name}.html").as_uri())
        if opened:
            page.evaluate(
                "() => document.querySelectorAll('details').forEach((part) => { part.open = true; })"
            )
            page.wait_for_function(
                "() => [...document.querySelectorAll('details.exchange')].every((one) => one.dataset.filled)"
            )
        return page

    yield open_
    for context in contexts:
        context.close()


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", ["report"])
def test_axe_finds_nothing(name: str, look: str, looked_at: Any) -> None:
    page = looked_at(name, look)
    width = LOOKS[look][0]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    assert [
        f"{violation['id']}: {node['html'][:200]}"
        for violation in found["violations"]
        for node in violation["nodes"]
    ] == []


def test_axe_sees_a_mistake(looked_at: Any) -> None:
    """Proves that axe-core runs at all."""
    page = looked_at("report", "light")
    page.evaluate("() => document.querySelector('main').append(document.createElement('button'))")
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("() => axe.run()")
    assert [violation["id"] for violation in found["violations"]] == ["button-name"]
