"""Valid bodies carry values that no other body of the run has."""

from __future__ import annotations

from decimal import Decimal

import pytest

from conformance.world.samples import Amounts


@pytest.mark.parametrize(
    ("base", "least", "most"), [("1.00", 60, 2), ("100.00", 4000, 200), ("100", 60, 200), ("7", 60, 106)]
)
def test_unusual_amounts_are_a_little_more_and_differ(base: str, least: int, most: int) -> None:
    amounts = Amounts()
    made = [amounts.next(base) for _ in range(least)]
    assert len(set(made)) == least
    assert all(Decimal(base) < Decimal(amount) < most for amount in made)
    assert not any(amount.endswith(("0", "5", "98", "99")) for amount in made)


def test_unusual_amounts_come_in_an_order_of_their_own() -> None:
    first, second = Amounts(), Amounts()
    steps = {Decimal(first.next("50.00")) - Decimal(second.next("50.00")) for _ in range(20)}
    assert len(steps) > 1


@pytest.mark.parametrize("amount", ["1e3", "", "-1.00", "0", "9" * 20])
def test_what_is_no_plain_amount_stays(amount: str) -> None:
    assert Amounts().next(amount) == amount
