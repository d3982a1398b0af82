"""Amounts are tried to the last digit where balances show nothing, too, as long as payouts are taken."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from conformance.checks import load_checks
from conformance.checks.check import run_check
from conformance.judge.findings import Verdict
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from tests.support.runs import run_on


class ShowsNothing(Behaviour):
    """Balances read 0.00, and payouts are taken all the same."""

    def balances(self, ctx: Context, record: Record) -> list[dict[str, Any]]:
        amounts = ("available_balance", "pending_payout", "pending_payin", "total_balance")
        return [{**shown, **dict.fromkeys(amounts, "0.00")} for shown in super().balances(ctx, record)]


class Rounds(ShowsNothing):
    """Amounts are kept in cents."""

    def kept_fields(self, ctx: Context) -> dict[str, Any]:
        fields = super().kept_fields(ctx)
        if ctx.operation == "createPayout":
            fields["amount"] = f"{Decimal(fields['amount']):.2f}"
        return fields


def verdict(behaviour: Behaviour) -> Mapping[str, Verdict]:
    check = load_checks()["test_amounts.test_amount_to_the_last_digit"]
    findings, _ = run_check(check, "createPayout", run_on(behaviour))
    return {finding.rule: finding.verdict for finding in findings}


def test_rounding_is_seen_where_balances_read_nothing() -> None:
    assert verdict(Rounds())["create.amount-exact"] is Verdict.FAILED


def test_balances_that_read_nothing_are_no_fault() -> None:
    assert verdict(ShowsNothing())["create.amount-exact"] is Verdict.PASSED
