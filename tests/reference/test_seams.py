"""Seams of the reference server get header names as sent, and may fail."""

from __future__ import annotations

import pytest

from conformance.reference.app import system_clock
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.serving.listener import served
from conformance.wire.client import Client
from conformance.wire.transport import new_transport
from tests.support.reference_world import World, refusal

# --------------------------------------------------------------------------- faults, one seam each


class ExactCase(Behaviour):
    """auth.header-case"""

    def authentication_header(self, ctx: Context, name: str) -> str | None:
        return next((value.decode() for key, value in ctx.request.headers if key == name.encode()), None)


def test_header_names_reach_the_behaviour_as_sent() -> None:
    call = World().call("listAccounts")
    swapped = call.signed(name_case="swapped")
    assert World().send(swapped).succeeded
    world = World(ExactCase())
    assert refusal(world.send(swapped)) == (401, "missing_headers")
    world.server.clock = system_clock
    with served(world.server) as base_url:
        client = Client(base_url, world.clients["primary"].organization, new_transport())
        assert client.send(call).succeeded
        assert refusal(client.send(swapped)) == (401, "missing_headers")


def test_a_broken_behaviour_is_answered_with_500(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Behaviour):
        def act(self, ctx: Context) -> None:
            raise KeyError(ctx.operation)

    world = World()
    world.server.behaviour = Broken()
    exchange = world.clients["primary"].send(world.call("listAccounts"))
    assert (exchange.status, exchange.error_type) == (500, "server_error")
    assert "KeyError" in caplog.text


# --------------------------------------------------------------------------- variants
