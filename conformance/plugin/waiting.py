"""Waits for a server that is starting."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx

from conformance._text import printable
from conformance.target.file import NO_FILES, TargetError, Tls
from conformance.wire.client import USER_AGENT
from conformance.wire.transport import new_transport

#: Seconds between two tries, and for which one try may last.
PAUSE, TRY = 0.2, 2.0


def wait_for(base_url: str, seconds: float, tell: Callable[[str], None], files: Tls = NO_FILES) -> None:
    """Returns once anything answers HTTP at an address. Raises TargetError when nothing does for so long."""
    end, told = time.monotonic() + seconds, False
    named = {"User-Agent": USER_AGENT}
    with httpx.Client(
        transport=new_transport(files), timeout=TRY, follow_redirects=False, headers=named
    ) as client:
        while True:
            try:
                with client.stream("GET", base_url):
                    return
            except httpx.HTTPError as error:
                reason = f"{type(error).__name__}: {error}"
            if time.monotonic() + PAUSE > end:
                raise TargetError(
                    printable(f"{base_url} did not answer within {seconds:g} s (--wait): {reason}.")
                )
            if not told:
                tell(printable(f"conformance: waiting at most {seconds:g} s for {base_url}"))
                told = True
            time.sleep(PAUSE)
