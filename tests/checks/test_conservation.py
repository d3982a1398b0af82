"""Lost updates of a balance are told from all else that moves it."""

from __future__ import annotations

import itertools
from decimal import Decimal
from typing import Any

import pytest

from conformance.checks import load_checks
from conformance.checks.check import run_check
from conformance.judge.findings import Finding, Verdict
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.reference.seams.validation import EXACT
from tests.support.runs import run_on
from tests.variants.hurry import hurried
from tests.variants.jobs import BalancesSettle, OthersPay
from tests.variants.payments import FeesTaken, ReservedOnApproval


class Refunds(Behaviour):
    """One payout in `one_in` is paid back at once."""

    one_in = 3

    def __init__(self) -> None:
        super().__init__()
        self._paid = itertools.count(1)

    def reserve_funds(self, ctx: Context) -> None:
        if next(self._paid) % self.one_in:
            super().reserve_funds(ctx)


class RefundsOften(Refunds):
    """One payout in two is paid back at once."""

    one_in = 2


class RefundsSeldom(Refunds):
    """One payout in eleven is paid back at once."""

    one_in = 11


class Deposits(Behaviour):
    """Another client deposits an amount each second time that anybody looks."""

    def __init__(self) -> None:
        super().__init__()
        self._looks = itertools.count(1)

    def balances(self, ctx: Context, record: Record) -> list[dict[str, Any]]:
        for balance in ctx.store.balances(record["id"]) if next(self._looks) % 2 else ():
            more = EXACT.add(Decimal(balance.available), Decimal("1.37"))
            ctx.store.set_balance(record["id"], balance._replace(available=format(more, "f")))
        return super().balances(ctx, record)


#: Servers of which nothing but payouts moves the balance, at once; and others.
PLAIN: list[type[Behaviour]] = [Behaviour, FeesTaken]
MOVED: list[type[Behaviour]] = [
    OthersPay,
    BalancesSettle,
    ReservedOnApproval,
    Refunds,
    RefundsOften,
]


def judged(behaviour: Behaviour) -> Finding:
    """What the check finds of payout.race."""
    with hurried():
        findings, _ = run_check(
            load_checks()["test_payouts.test_payouts_at_once"], "createPayout", run_on(behaviour)
        )
    (found,) = (one for one in findings if one.rule == "payout.race")
    return found


@pytest.mark.parametrize("behaviour", PLAIN)
def test_payouts_at_once_take_what_single_ones_take(behaviour: type[Behaviour]) -> None:
    assert judged(behaviour()).verdict is Verdict.PASSED


@pytest.mark.parametrize("behaviour", MOVED)
def test_nothing_is_told_where_something_else_moves_the_balance(behaviour: type[Behaviour]) -> None:
    found = judged(behaviour())
    assert (found.verdict, found.exercised) == (Verdict.INCONCLUSIVE, False)


@pytest.mark.parametrize("behaviour", [RefundsSeldom, Deposits])
def test_few_other_moves_are_no_loss(behaviour: type[Behaviour]) -> None:
    assert not judged(behaviour()).verdict.is_violation


class OthersPayAtFirst(OthersPay):
    """Another client pays whenever anybody looks, for two seconds after the first look."""

    def __init__(self) -> None:
        super().__init__()
        self._until = 0

    def balances(self, ctx: Context, record: Record) -> list[dict[str, Any]]:
        self._until = self._until or ctx.now + 2_000_000
        return (
            super().balances(ctx, record) if ctx.now < self._until else Behaviour.balances(self, ctx, record)
        )


def test_a_round_after_a_disturbed_one_waits() -> None:
    assert judged(OthersPayAtFirst()).verdict is Verdict.PASSED


def test_the_cure_of_disturbed_rounds_is_told() -> None:
    found = judged(OthersPay())
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "--lanes 1" in found.remedy
