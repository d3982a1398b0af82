"""Money and instants of the reference server are exact."""

from __future__ import annotations

from decimal import Decimal, localcontext

import pytest

from conformance.reference.seams.lists import parse_instant
from tests.support.reference_world import World, refusal


@pytest.mark.parametrize("amount", ["0.01", "1000000000000000000.000000000000000001", "007.50", "3"])
def test_payouts_move_money_exactly(world: World, amount: str) -> None:
    account = world.seeded.primary.funded_account_id
    beneficiary = world.make("createBeneficiary", account_id=account)["id"]
    ids = {"account_id": account, "beneficiary_id": beneficiary}
    ids["payout_destination_id"] = world.make("createPayoutDestination", **ids)["id"]
    made = world.make("createPayout", {"amount": amount, "currency": "USD"}, **ids)
    assert (made["amount"], made["amount_in_usd"]) == (amount, amount)
    balances = {item["currency"]: item for item in world.make("getAccountBalances")["balances"]}
    dollars = balances["USD"]
    with localcontext(prec=100):
        moved = Decimal("1" + "0" * 24) - Decimal(dollars["available_balance"])
        assert moved == Decimal(dollars["pending_payout"]) == Decimal(amount)
        assert Decimal(dollars["total_balance"]) == Decimal("1" + "0" * 24)
    beyond = world.call("createPayout", {"amount": "1" + "0" * 25, "currency": "USD"}, **ids)
    assert refusal(world.send(beyond)) == (422, "insufficient_funds")
    digits = {"amount": "9" * 100, "currency": "AFN"}
    assert world.make("createPayout", digits, **ids)["amount"] == "9" * 100
    assert world.send(world.call("createPayout", digits, **ids).with_field("amount", "9" * 101)).status == 422


# --------------------------------------------------------------------------- lists


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("1970-01-01", 0),
        ("1970-01-01T00:00:01Z", 1_000_000),
        ("1970-01-01T00:00:00.5Z", 500_000),
        ("1970-01-01T00:00:00.0000001Z", 1),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T23:30:00-0030", 0),
        ("0001-01-01T00:00:00+23:59", -62_135_683_140_000_000),
        ("10000-01-01", None),
        ("1970-01-01T24:00:00Z", None),
        ("1970-13-01", None),
        ("now", None),
        ("1970-01-01T00:00:00+99:00", None),
    ],
)
def test_dates(text: str, micros: int | None) -> None:
    assert parse_instant(text) == micros
