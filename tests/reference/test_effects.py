"""Money and instants of the reference server are exact."""

from __future__ import annotations

from decimal import Decimal, localcontext

import pytest

from conformance.reference.seams.lists import parse_instant
from conformance.wire.messages import Exchange
from conformance.world.run_context import RunContext


@pytest.mark.parametrize("amount", ["0.01", "1000000000000000000.000000000000000001", "007.50", "3"])
def test_payouts_move_money_exactly(run: RunContext, amount: str) -> None:
    fixture = run.account("payouts")

    def paid(amount: str, currency: str = "USD") -> Exchange:
        body = {**run.samples.payout(*fixture.payee), "amount": amount, "currency": currency}
        return run.send(fixture.client, fixture.call("createPayout", body), "a payout")

    made = paid(amount)
    assert (made.get("amount"), made.get("amount_in_usd")) == (amount, amount)
    shown = run.send(fixture.client, fixture.call("getAccountBalances"), "the balances")
    [dollars] = [balance for balance in shown.document["balances"] if balance["currency"] == "USD"]
    with localcontext(prec=100):
        moved = Decimal("1" + "0" * 24) - Decimal(dollars["available_balance"])
        assert moved == Decimal(dollars["pending_payout"]) == Decimal(amount)
        assert Decimal(dollars["total_balance"]) == Decimal("1" + "0" * 24)
    beyond = paid("1" + "0" * 25)
    assert (beyond.status, beyond.error_code) == (422, "insufficient_funds")
    assert paid("9" * 100, "AFN").get("amount") == "9" * 100
    assert paid("9" * 101, "AFN").status == 422


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
