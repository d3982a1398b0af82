"""The string that was signed is kept with the exchange."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.contract import signing
from conformance.world.account import call
from conformance.world.run_context import RunContext


@pytest.mark.parametrize(
    ("changes", "computed"),
    [
        ({}, True),
        ({"signed_target": "/v1/elsewhere"}, True),
        ({"signed_body": b"{}"}, True),
        ({"separator": "\n"}, True),
        ({"omit": (signing.TIMESTAMP,)}, True),
        ({"omit": (signing.SIGNATURE,)}, False),
        ({"signature": "ab" * 32}, False),
    ],
    ids=str,
)
def test_the_signature_is_that_of_the_string(
    run: RunContext, changes: dict[str, Any], computed: bool
) -> None:
    ids = {"customer_id": run.target.primary.customer_id}
    sent = call("createAccount", ids, run.samples.account()).signed(**changes)
    exchange = run.client().send(sent, "a request")
    assert (exchange.signed is not None) is computed
    if exchange.signed is not None:
        told = exchange.request_header(signing.SIGNATURE)
        assert told == signing.signature(run.target.primary.secret, exchange.signed)
