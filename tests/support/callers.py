"""Clients and runs for servers that do not implement the API, with fixed credentials."""

from __future__ import annotations

from typing import Any

from conformance.target.file import Organization, build
from conformance.wire.budget import Budget
from conformance.wire.client import Client
from conformance.wire.messages import Call
from conformance.wire.transport import Transport
from conformance.world.common import Common
from conformance.world.lane import Lane
from tests.support.wire import Wire

SECRET = "s\u00e9cret-\u6771"
KEY = "key_1"

#: Shared by all tests, since each new transport loads the system's CA certificates.
TRANSPORT = Transport()


def organization() -> Organization:
    return Organization("primary", KEY, SECRET, "cus_1")


def connect(server: Wire, **more: Any) -> Client:
    return Client(server.url, organization(), TRANSPORT, **more)


def run_at(
    url: str, limits: dict[str, float] | None = None, budget: Budget | None = None, **more: Any
) -> Lane:
    primary = {"api_key": KEY, "secret": "secret_1", "customer_id": "cus_1"}
    tables = {"base_url": url, "primary": primary, "limits": limits or {}}
    target = build(tables, "test")
    return Lane(target, **{"transport": TRANSPORT, "common": Common(target, budget), **more})


def list_accounts(target: str = "/v1/customers/cus_1/accounts") -> Call:
    return Call("listAccounts", "GET", target)
