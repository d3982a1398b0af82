"""The engine judges a case only by what the oracle says of its rule."""

from __future__ import annotations

import pytest

from conformance.checks import load_checks
from conformance.checks.auth_probes import AuthProbes
from conformance.judge.verdicts import InternalError, Verdict
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.refusals import Refusal
from conformance.reference.store import OrganizationRow
from conformance.wire.messages import Auth
from tests.support.runs import check_on


class AsksNobody(Behaviour):
    """Attributes a request without valid authentication to the last authenticated organization."""

    known: OrganizationRow | None = None

    def authenticate(self, ctx: Context) -> None:
        try:
            super().authenticate(ctx)
            self.known = ctx.organization
        except Refusal:
            ctx.organization = self.known


def test_a_row_that_the_oracle_does_not_understand_is_an_error_of_the_suite() -> None:
    at = check_on("listWallets", "auth.signature")
    engine = AuthProbes(at)
    sent = len(at.exchanges)
    case = engine.case("auth.signature", "a valid request", auth=Auth())
    with pytest.raises(InternalError, match=r"auth\.signature, but the oracle says"):
        engine.batch([case])
    assert len(at.exchanges) == sent


def test_a_case_whose_control_is_answered_no_better_shows_nothing() -> None:
    rules = ("auth.bearer-only", "auth.missing-header", "auth.missing-header-status")
    at = check_on("listWallets", *rules, behaviour=AsksNobody())
    load_checks()["test_authentication.test_missing_headers"].function(at)
    found = {cell.rule: cell for cell in at.concluded()}
    assert found["auth.missing-header"].verdict is Verdict.FAILED
    assert found["auth.bearer-only"].verdict is Verdict.INCONCLUSIVE
    assert found["auth.bearer-only"].unclear[0].cause == "auth.missing-header"
