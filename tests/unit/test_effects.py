"""What balances of a hostile server say of payments."""

from __future__ import annotations

import itertools
from decimal import Decimal
from typing import Any

import pytest

from conformance.judge.effects import amounts, movement

ODD = (
    "1E+999999999999999999",
    "-1E+999999999999999999",
    "9" * 600,
    "1E-999999999999999999",
    "Infinity",
    "sNaN",
)


@pytest.mark.parametrize("pair", [*itertools.permutations((*ODD, "0"), 2)])
def test_amounts_beyond_all_arithmetic_are_none(pair: tuple[str, str]) -> None:
    def money(value: Any) -> dict[tuple[str, str], Decimal]:
        return amounts([{"currency": "USD", "total_balance": value, "pending_payout": value}]) or {}

    assert movement("createPayout", *map(money, pair)) == {}
    assert not any(map(money, ODD))


@pytest.mark.parametrize("value", ["0", "-12.50", "1E+9", 12.5, "9" * 400, "0.000000000000000001"])
def test_usual_amounts_are_exact(value: Any) -> None:
    found = amounts([{"currency": "USD", "total_balance": value}])
    assert found == {("USD", "total_balance"): Decimal(str(value))}
