"""Jobs that change resources while a check works on them."""

from __future__ import annotations

from conformance.checks.beneficiaries import Beneficiary, moved_by
from conformance.wire.messages import Exchange
from tests.support.runs import ctx_on
from tests.variants.choice import compose
from tests.variants.policies import PayeesReviewed


class EveryOtherPayeeReviewed(PayeesReviewed):
    """Every second beneficiary is taken out of use as soon as it was made, the first to begin with."""

    every = 2

    def __init__(self) -> None:
        super().__init__()
        self._made = 1


def _patch(person: Beneficiary) -> Exchange:
    return person.patch({"note": "changed"}, "a PATCH of note")


def test_status_that_a_review_has_changed_before_is_not_moved_by_a_patch() -> None:
    """Those that are patched happen to be those under review."""
    ctx = ctx_on("updateBeneficiary", "beneficiary.update", behaviour=compose(EveryOtherPayeeReviewed))
    assert not moved_by(ctx, _patch, "status")
