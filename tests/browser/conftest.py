"""Fixture that opens pages and fails on errors in them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance.judge.ledger import Ledger
from conformance.report.html import html
from tests.browser.pages import Opened, Show
from tests.support.report_samples import document

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Show]:
    """Opens the report of results, or a given page; fails at the end if the page had an error."""
    opened: list[Opened] = []

    def open_(results: Ledger | str, fragment: str = "", **how: Any) -> Opened:
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
