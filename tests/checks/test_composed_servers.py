"""Servers with a combination of behaviours that a check once misjudged."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from conformance.checks import load_checks
from conformance.checks.beneficiaries import Beneficiary, moved_by
from conformance.checks.check import run_check
from conformance.judge.findings import Verdict
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.reference.refusals import Refusal
from conformance.wire.messages import Exchange
from tests.support.runs import broken, ctx_on, run_on
from tests.variants.choice import compose
from tests.variants.oddities import OddStatuses
from tests.variants.policies import PayeesReviewed


class ShowsNothing(Behaviour):
    """Shows balances of 0.00 but accepts payouts."""

    def balances(self, ctx: Context, record: Record) -> list[dict[str, Any]]:
        amounts = ("available_balance", "pending_payout", "pending_payin", "total_balance")
        return [{**shown, **dict.fromkeys(amounts, "0.00")} for shown in super().balances(ctx, record)]


class Rounds(ShowsNothing):
    """Rounds stored amounts to cents."""

    def kept_fields(self, ctx: Context) -> dict[str, Any]:
        fields = super().kept_fields(ctx)
        if ctx.operation == "createPayout":
            fields["amount"] = f"{Decimal(fields['amount']):.2f}"
        return fields


class NoFundsForTheSecond(Behaviour):
    """Has funds only for the first organization that pays."""

    def __init__(self) -> None:
        super().__init__()
        self._first = ""

    def check_funds(self, ctx: Context) -> None:
        assert ctx.organization is not None
        self._first = self._first or ctx.organization.id
        if ctx.organization.id != self._first:
            raise Refusal("insufficient_funds")
        super().check_funds(ctx)


LAST_DIGIT = "test_amounts.test_amount_to_the_last_digit"
OTHERS_KEY = "test_idempotency_isolation.test_key_of_another_organization"


@pytest.mark.parametrize(
    ("choices", "check", "rules"),
    [
        pytest.param((Rounds,), LAST_DIGIT, {"create.amount-exact"}, id="rounds where balances show nothing"),
        pytest.param((ShowsNothing,), LAST_DIGIT, set(), id="balances show nothing"),
        pytest.param(
            (OddStatuses, NoFundsForTheSecond),
            OTHERS_KEY,
            set(),
            id="a fresh key is refused with another status",
        ),
    ],
)
def test_rules_that_a_composed_server_breaks(
    choices: tuple[type[Behaviour], ...], check: str, rules: set[str]
) -> None:
    composed = load_checks()[check]
    findings, _ = run_check(composed, "createPayout", run_on(compose(*choices)))
    assert broken(findings).keys() == rules
    # A rule that another check judges as well may have found nothing to judge here.
    own = {finding.verdict for finding in findings if finding.rule == composed.rules[0]}
    assert Verdict.INCONCLUSIVE not in own


# ---------------------------------------------------------------------- reviews


class EveryOtherPayeeReviewed(PayeesReviewed):
    """Puts every second new beneficiary under review, starting with the first."""

    reviewed_every = 2

    def __init__(self) -> None:
        super().__init__()
        self._made = 1


def _patch(person: Beneficiary) -> Exchange:
    return person.patch({"note": "changed"}, "a PATCH of note")


def test_a_status_changed_by_an_earlier_review_is_no_effect_of_a_patch() -> None:
    """All patched beneficiaries happen to be under review."""
    ctx = ctx_on("updateBeneficiary", "beneficiary.update", behaviour=compose(EveryOtherPayeeReviewed))
    assert not moved_by(ctx, _patch, "status")
