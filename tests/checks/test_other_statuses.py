"""Refusals whose status is open, and another one each time."""

from __future__ import annotations

from conformance.checks import load_checks
from conformance.checks.check import run_check
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.refusals import Refusal
from tests.support.runs import broken, run_on
from tests.variants.choice import compose
from tests.variants.oddities import OddStatuses


class NoFundsForTheSecond(Behaviour):
    """Only the first organization that pays has money."""

    def __init__(self) -> None:
        super().__init__()
        self._first = ""

    def check_funds(self, ctx: Context) -> None:
        assert ctx.organization is not None
        self._first = self._first or ctx.organization.id
        if ctx.organization.id != self._first:
            raise Refusal("insufficient_funds")
        super().check_funds(ctx)


def test_fresh_key_may_be_refused_with_another_status() -> None:
    run = run_on(compose(OddStatuses, NoFundsForTheSecond))
    check = load_checks()["test_idempotency_isolation.test_key_of_another_organization"]
    findings, _ = run_check(check, "createPayout", run)
    assert broken(findings) == {}
