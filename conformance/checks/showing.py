"""Answers that contain something to judge, and notes where there is none."""

from __future__ import annotations

from conformance.checks.check import CheckContext
from conformance.contract.traits import ADDS_TO, traits_of
from conformance.wire.messages import Exchange
from conformance.world.account import Account
from conformance.world.creations import creations

FUNDED = "Name an account that has balances: [primary] funded_account_id."


def _populated(ctx: CheckContext) -> Account:
    """Returns a fixture in which the check's operation has something to show."""
    fixture = ctx.run.account("populated")
    operation = ctx.operation
    if operation.traits.shows_balances:
        return ctx.run.account("payouts") if ctx.target.primary.funded_account_id else fixture
    if operation.traits.disables:
        fixture = ctx.run.account(fresh=True)
    if "beneficiary_id" in operation.path_parameters:
        _ = fixture.destination
    match traits_of(ADDS_TO.get(operation.id)).creates:
        case "virtual_account":
            _ = fixture.virtual_account
        case "wallet":
            return creations(ctx.run, "createWallet")[0].fixture
        case "account":
            _ = fixture.account
    return fixture


def showing(ctx: CheckContext, purpose: str) -> Exchange:
    """Returns the answer of the check's operation in a populated fixture; repeats a list until it shows an
    element (eventual consistency)."""
    request = _populated(ctx).call(ctx.operation.id)
    return ctx.eventually(
        lambda: ctx.accept(request, purpose),
        lambda answer: not ctx.operation.is_list or answer.get("items") != [],
    )


def no_balance(ctx: CheckContext, rule: str, answer: Exchange) -> None:
    """Notes that an account shows no balance, which a rule is about."""
    reason = "the account shows no balance, so that no form of one was seen"
    if ctx.target.features.payouts or ctx.target.primary.funded_account_id:
        ctx.unclear(rule, reason, answer, remedy=FUNDED)
    else:
        # Without payouts no account need ever hold money.
        ctx.not_applicable(rule, f"{reason}, and none may be drawn on ([features] payouts)")
