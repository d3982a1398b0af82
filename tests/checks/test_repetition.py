"""Repetitions of a request by which its effect on a balance is told from what others pay meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast

import pytest

from conformance.checks.repetition import Evidence, _followed
from conformance.judge.effects import Effect
from conformance.world.account import call

PAID = Decimal("1.37")


class Quiet:
    """A watch that sees nothing move in pauses."""

    def start(self) -> None:
        """Takes no snapshot."""

    def effect(self, sent: Any) -> Effect:
        """Nothing that moved."""
        return Effect("", False, None)


def followed(moved: list[Decimal]) -> Evidence | None:
    """The evidence of repetitions that move a balance by these amounts, and by none afterwards."""
    rounds: Iterator[Decimal] = iter(moved)
    replay: Any = SimpleNamespace(call=call("createPayout", {"account_id": "acc_1"}, {"amount": str(PAID)}))
    snapshot = cast(Any, None)

    def repeat() -> tuple[Effect, Evidence]:
        by = next(rounds, Decimal(0))
        money = {("USD", "available_balance"): by} if by else None
        return Effect("moved" if by else "", bool(by), money), Evidence(snapshot, snapshot, [replay])

    return _followed(cast(Any, Quiet()), repeat)


@pytest.mark.parametrize("spoilt", [(), (0,), (1, 3), (5,)])
def test_rounds_in_which_others_pay_are_left_out(spoilt: tuple[int, ...]) -> None:
    moved = [PAID + 7 if number in spoilt else PAID for number in range(8)]
    assert followed(moved) is not None


@pytest.mark.parametrize(
    "moved",
    [
        [Decimal(7)] * 20,
        [PAID, PAID, Decimal(0)],
        [PAID, *[Decimal(number) for number in range(3, 20)]],
    ],
)
def test_what_others_pay_is_no_effect(moved: list[Decimal]) -> None:
    assert followed(moved) is None
