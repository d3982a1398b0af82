"""Ids of any characters: in paths, in requests that a front end may refuse, and unknown ones like them."""

from __future__ import annotations

import pytest

from conformance.contract.operations import match
from conformance.wire.messages import Call
from conformance.world.calls import call, quoted, unknown_like
from tests.support.runs import run_on
from tests.variants.choice import choice, compose
from tests.variants.resources import OPAQUE

IDS = [
    "acc_Zm9v+/==",
    "acc_eu:west:1",
    "acc_@eu,west;1!$",
    "acc_100%25",
    "acc_..",
    "acc_ä東",
    "acc_äää",
    "acc_@@@@@@@@@@@@@@@@@@@@@@@@@@@@",
    "acc_" + "x" * 200,
    "plain",
]


@pytest.mark.parametrize("identifier", IDS)
def test_id_stands_percent_encoded_in_a_path(identifier: str) -> None:
    reading = call("listWallets", {"account_id": identifier})
    assert reading.path == f"/v1/accounts/{quoted(identifier)}/wallets"
    assert reading.path.isascii() and reading.path.count("/") == 4
    assert reading.ids == {"account_id": identifier}
    _, parameters = match("GET", reading.path) or ("", {})
    assert parameters == {"account_id": identifier}


def test_undocumented_path_has_no_ids() -> None:
    assert Call(None, "GET", "/v1/accounts").ids == {}


@pytest.mark.parametrize("identifier", IDS)
def test_unknown_id_is_another_one(identifier: str) -> None:
    assert unknown_like(identifier) not in (identifier, "")


@pytest.mark.parametrize("name", OPAQUE)
def test_errors_are_judged_whatever_ids_are(name: str) -> None:
    """Ids with the letters of attacks do not make all refusals those of a front end."""
    run = run_on(compose(choice[name].base))
    fixture = run.account()
    wrong = fixture.call("listWallets").signed(signature="0" * 64)
    assert run.send(fixture.client, wrong, "a wrong signature").status == 401
    assert run.invariants.tallies["error.shape", "listWallets"].judged == 1
