"""Nonces that the lanes of a process have in common."""

from types import SimpleNamespace
from typing import Any

from tests.support.callers import list_accounts, run_at


def test_retry_keeps_a_nonce_that_another_lane_has_sent() -> None:
    """A repeated nonce that was throttled is sent again as it is: its reuse is what the request probes."""
    url, nonce = "http://127.0.0.1:1", "a" * 32
    first = run_at(url)
    second = run_at(url, common=first.common)
    for run in (first, second):
        run.client().nonces.planned(nonce)
    call = list_accounts().signed(nonce=nonce)
    throttled: Any = SimpleNamespace(nonce=nonce)
    assert second.client().nonces.renewed(call, throttled) is call
