"""Opened pages, and the ledger of a run with failures."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from conformance.judge.findings import Verdict
from conformance.judge.ledger import Ledger
from tests.support.report_samples import WALK, exchange, finding, keep, whole_run

if TYPE_CHECKING:
    from playwright.sync_api import Page

PAGES = ("list.pages", "listWallets")


class Opened:
    """A page with its errors; everything that it loads must have a URL that begins with `own`."""

    def __init__(self, page: Page, own: str = "file:") -> None:
        self.page = page
        self.problems: list[str] = []
        page.on(
            "console", lambda message: self.problems.append(message.text) if message.type == "error" else None
        )
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on(
            "request",
            lambda request: (
                self.problems.append(f"loaded {request.url}") if not request.url.startswith(own) else None
            ),
        )


Show = Callable[..., Opened]


def broken() -> Ledger:
    """Returns a ledger with two broken rules, an inconclusive one, and exchanges."""
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
