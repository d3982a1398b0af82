"""Money that others move is told from money that refused requests move."""

from __future__ import annotations

from decimal import Decimal

import pytest

from conformance.checks import load_checks
from conformance.checks.check import run_check
from conformance.checks.snapshots import NoEffect
from conformance.judge.findings import Finding, Verdict
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.refusals import Refusal
from conformance.reference.seams.validation import EXACT
from tests.faults.refusals import asked
from tests.support.runs import run_on
from tests.variants.hurry import hurried
from tests.variants.jobs import OthersPay

UNTOUCHED = "refusal.changes-nothing"

#: The checks that look at what refused payouts did.
CHECKS = sorted(
    name
    for name, check in load_checks().items()
    if UNTOUCHED in check.rules
    and "createPayout" in check.operations
    # The reference server pays from accounts without funds, so nothing is refused for lack of them.
    and "payout.insufficient-funds" not in check.rules
)


class AlwaysTheSame(OthersPay):
    """Others pay the same each time."""

    amounts = (Decimal("1.23"),)


class PaysInvalidKeys(AlwaysTheSame):
    """Others pay the same each time; a payout that is refused for its key is carried out as well, for a
    fee."""

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        if refusal.kind == "invalid_idempotency_key":
            account = ctx.params["account_id"]
            for balance in ctx.store.balances(account):
                left = EXACT.subtract(Decimal(balance.available), asked(ctx) + Decimal("0.40"))
                ctx.store.set_balance(account, balance._replace(available=format(left, "f")))


def found(behaviour: Behaviour, name: str) -> Finding:
    with hurried():
        findings, _ = run_check(load_checks()[name], "createPayout", run_on(behaviour))
    return next(finding for finding in findings if finding.rule == UNTOUCHED)


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("behaviour", [OthersPay, AlwaysTheSame])
def test_what_others_pay_is_no_effect(behaviour: type[Behaviour], name: str) -> None:
    finding = found(behaviour(), name)
    assert finding.verdict is Verdict.PASSED, finding.summary


def test_refused_payouts_are_known_among_what_others_pay() -> None:
    finding = found(PaysInvalidKeys(), "test_idempotency.test_invalid_key")
    assert finding.verdict is Verdict.FAILED
    assert finding.expectation and finding.expectation.name == NoEffect.name
    # What others pay, and the fees of seven refused payouts.
    assert finding.expectation.parameters["fee"] == str(Decimal("1.23") + 7 * Decimal("0.40"))
