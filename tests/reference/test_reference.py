"""The reference server agrees with the contract; its own run shows that it keeps the rules."""

from __future__ import annotations

import inspect
import re
import time
from typing import Any

import pytest

from conformance.contract import signing
from conformance.contract.rules import RULES
from conformance.reference.behaviour import Behaviour
from conformance.reference.core_messages import Request
from conformance.reference.seed import new_server
from tests.support.runs import run_on
from tests.variants.hurry import hurried


def test_seams_name_rules_that_there_are() -> None:
    seams = {name: seam.__doc__ for name, seam in inspect.getmembers(Behaviour, inspect.isfunction)}
    assert not [name for name, text in seams.items() if not text]
    families = "|".join({rule.partition(".")[0] for rule in RULES})
    named = set(re.findall(rf"\b(?:{families})\.[a-z0-9-]*[a-z0-9]", " ".join(map(str, seams.values()))))
    assert named - set(RULES) == set()


@pytest.mark.parametrize(("path", "status"), [("/api", 200), ("/API", 404), ("/xyz", 404), ("", 404)])
def test_everything_is_under_the_prefix(path: str, status: int) -> None:
    server, seeded = new_server(prefix="/api/")
    tenant = seeded.primary
    target = f"{path}/v1/customers/{tenant.customer_id}/accounts".encode()
    head = signing.signed_headers(tenant.api_key, tenant.secret, "GET", target)
    request = Request("GET", target, [(name.encode(), value.encode()) for name, value in head.items()])
    assert server.handle(request).status == status


@hurried()
def test_nonce_is_remembered_as_long_as_its_request_could_be_replayed() -> None:
    run = run_on()
    client, listed = run.client(), run.account().call("listAccounts").signed(nonce="a" * 32)
    ahead = listed.signed(timestamp=str(int(time.time()) + 300))
    assert client.send(ahead).succeeded
    time.sleep(599)
    again = client.send(ahead)
    assert (again.status, again.error_code) == (401, "nonce_replay")
    time.sleep(60)
    assert client.send(listed).succeeded
    time.sleep(400)
    client.send(run.account().call("listAccounts"))
    transport: Any = run._transport
    assert transport.server.store.query("SELECT COUNT(*) FROM nonces")[0][0] == 1
