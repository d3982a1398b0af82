"""Refused requests are blamed for what they change, and for nothing that others change."""

from __future__ import annotations

from decimal import Decimal

import pytest

from conformance.checks.bodies import DefectiveBodies
from conformance.checks.side_effects import UNTOUCHED
from conformance.judge.findings import Finding, Verdict
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.refusals import Refusal
from tests.support.runs import ctx_on


class Busy(Behaviour):
    """Between any two requests somebody creates an account and pays out from the funded one."""

    def list_records(self, ctx: Context) -> None:
        if ctx.operation == "listAccounts":
            assert ctx.customer is not None
            instant = self.instant(ctx)
            ctx.store.insert(
                "account",
                {
                    "id": self.new_id(ctx, "account"),
                    "organization": ctx.customer["organization"],
                    "parent": ctx.customer["id"],
                    "created": instant,
                    "updated": instant,
                    "status": "active",
                    "name": "Somebody's",
                },
            )
        super().list_records(ctx)

    def show_account(self, ctx: Context) -> None:
        assert ctx.account is not None
        for balance in ctx.store.balances(ctx.account["id"]):
            pending = str(Decimal(balance.pending_payout) + 1)
            ctx.store.set_balance(ctx.account["id"], balance._replace(pending_payout=pending))
        super().show_account(ctx)


class ActsAndRefuses(Behaviour):
    """Acts on a body with a spoiled field before it refuses it."""

    def check_length(self, ctx: Context, field, value: str) -> None:  # type: ignore[no-untyped-def]
        try:
            super().check_length(ctx, field, value)
        except Refusal:
            ctx.values.update({**ctx.body, field.name: "cut"})
            self.act(ctx)
            raise


class TakesAnything(Behaviour):
    """Finds no value too long."""

    def check_length(self, ctx: Context, field, value: str) -> None:  # type: ignore[no-untyped-def]
        pass


FIELD = {
    "createAccount": "name",
    "createPayout": "note",
    "createVirtualAccount": "label",
    "createWallet": "label",
    "updateBeneficiary": "title",
}


def finding(behaviour: Behaviour, operation: str) -> Finding:
    """What is found out about refusals after a value that is too long and one of another type."""
    ctx = ctx_on(operation, "fields.max-length", UNTOUCHED, behaviour=behaviour)
    with DefectiveBodies(ctx) as engine:
        long = engine.having(FIELD[operation], "x" * 1000)
        engine.perform(engine.defective("fields.max-length", "a long value", long))
        engine.send_body(engine.having(FIELD[operation], [1]), "a value of another type")
    return next(finding for finding in ctx.findings() if finding.rule == UNTOUCHED)


@pytest.mark.parametrize("operation", FIELD)
def test_a_conforming_server_passes(operation: str) -> None:
    assert finding(Behaviour(), operation).verdict is Verdict.PASSED


@pytest.mark.parametrize("operation", FIELD)
def test_an_effect_is_seen(operation: str) -> None:
    assert finding(ActsAndRefuses(), operation).verdict is Verdict.FAILED


@pytest.mark.parametrize("operation", ["createAccount", "createPayout"])
def test_what_others_do_is_no_effect(operation: str) -> None:
    assert finding(Busy(), operation).verdict is Verdict.PASSED


@pytest.mark.parametrize("operation", FIELD)
def test_what_was_accepted_is_no_effect_of_a_refusal(operation: str) -> None:
    assert finding(TakesAnything(), operation).verdict is Verdict.PASSED
