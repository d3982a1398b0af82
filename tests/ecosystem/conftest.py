"""The browser that tests/browser uses."""

from tests.browser.conftest import browser

__all__ = ["browser"]
