"""Payouts and payins (sections 2.5, 2.8, 4.4 and 4.7): what is particular to them."""

from __future__ import annotations

from conformance.checks.check import check
from conformance.checks.check_context import CheckContext
from conformance.contract.traits import TRAITS
from conformance.judge.expectations import Documented
from conformance.world.account import AccountFixture, call, identifier
from conformance.world.creations import created_in

#: Amounts that number formats of programming languages like to show with an exponent or without their zeros.
TELLING_AMOUNTS = ("0.0000001", "10000000", "0.10")


@check("format.money", operations=tuple(name for name, traits in TRAITS.items() if traits.moves_money))
def test_amounts_have_no_exponent(ctx: CheckContext) -> None:
    """Very small, large and round amounts come back as plain decimals, where the server accepts them."""
    operation = ctx.operation.id
    fixture = created_in(ctx.run, operation)
    ctx.accept(fixture.call(operation), "the sample's amount")
    for amount in TELLING_AMOUNTS:
        answer = ctx.send(fixture.call(operation).with_field("amount", amount), f"an amount of {amount}")
        if answer.succeeded:
            what = f"an amount of {amount}: shown as a plain decimal"
            ctx.judge("format.money", Documented(what, "format.money", operation), answer)


@check("payout.disabled-beneficiary")
def test_payout_to_a_disabled_beneficiary(ctx: CheckContext) -> None:
    """Notes what a payout to a disabled beneficiary is answered, after one to an active beneficiary was
    accepted."""
    payer = ctx.run.account("payouts")
    ctx.accept(payer.call("createPayout"), "a payout to an active beneficiary")
    fixture = AccountFixture(ctx.run, account_id=payer.account_id)
    payout = fixture.call("createPayout")
    ids = {"account_id": payer.account_id, "beneficiary_id": identifier(fixture.beneficiary)}
    disabled = ctx.accept(call("disableBeneficiary", ids), "the beneficiary is disabled")
    answer = ctx.send(payout, "a payout to a disabled beneficiary")
    seen = "accepted" if answer.succeeded else answer.described()
    ctx.observe("payout.disabled-beneficiary", "a payout to a disabled beneficiary", seen, disabled, answer)
