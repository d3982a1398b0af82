"""A headless Chromium, where one is installed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str | None:
    """The path of an installed Chromium; CHROMIUM names another one."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)


def flags() -> list[str]:
    """What Chromium is started with: as root, as in containers, it starts only without its sandbox."""
    return ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser; without network, so that a page that loads anything shows it."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="the `test` extra is not installed: no playwright"
    )
    path = chromium()
    if path is None:
        pytest.skip(
            "no Chromium is installed: `apt-get install chromium`, or name one in the variable CHROMIUM"
        )
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=flags())
        yield browser
        browser.close()
