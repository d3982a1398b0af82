"""A pytest plugin that lets the time of a run be nearly over after some requests, however fast they are."""

from __future__ import annotations

import time

import pytest

from conformance.wire.client import Client, Prepared
from conformance.wire.messages import Exchange

#: Requests after which the time is nearly over, when some tests have ended, and seconds that are left then.
REQUESTS, LEFT = 200, 0.5


def pytest_configure() -> None:
    clock, transmit = time.monotonic, Client.transmit
    ahead = 0.0
    number = 0

    def late(client: Client, prepared: Prepared) -> Exchange:
        nonlocal ahead, number
        number += 1
        if number == REQUESTS and client.budget.left is not None:
            ahead += max(0.0, client.budget.left - LEFT)
        return transmit(client, prepared)

    patch = pytest.MonkeyPatch()
    patch.setattr(time, "monotonic", lambda: clock() + ahead)
    patch.setattr(Client, "transmit", late)
