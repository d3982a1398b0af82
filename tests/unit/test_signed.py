"""The string that was signed is told from the request as it went over the wire."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.contract import signing
from conformance.judge.exchanges import signed_string
from conformance.world.account import call
from conformance.world.run_context import RunContext


@pytest.mark.parametrize(
    "changes",
    [{}, {"signed_target": "/v1/elsewhere"}, {"signed_body": b"{}"}, {"separator": "\n"}],
    ids=["as it should be", "another path", "another body", "with separators"],
)
def test_the_signature_is_that_of_the_string(run: RunContext, changes: dict[str, Any]) -> None:
    ids = {"customer_id": run.target.primary.customer_id}
    sent = call("createAccount", ids, run.samples.account()).signed(**changes)
    exchange = run.client().send(sent, "a request")
    string = signed_string(exchange)
    assert string is not None
    headers = dict(exchange.request_headers)
    told = next(value for name, value in headers.items() if name.lower() == signing.SIGNATURE.lower())
    assert told == signing.signature(run.target.primary.secret, string)


def test_a_request_without_a_signature_signs_nothing(run: RunContext) -> None:
    ids = {"customer_id": run.target.primary.customer_id}
    for changes in ({"omit": (signing.SIGNATURE,)}, {"signature": "ab" * 32}):
        exchange = run.client().send(call("listAccounts", ids).signed(**changes), "a request")
        assert signed_string(exchange) is None
