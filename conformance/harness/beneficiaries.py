"""A beneficiary that a check works on, and what is judged of it whenever it is changed (sections 2.3 and
3)."""

from __future__ import annotations

from typing import Any

from conformance.contract.resources import stated
from conformance.fixtures.account import AccountFixture, call, identifier
from conformance.harness.context import CheckContext
from conformance.judging.comparison import alike, document
from conformance.judging.expectations import At, Later
from conformance.wire.messages import Exchange

Body = dict[str, Any]


class Beneficiary:
    """A beneficiary of its own in a scene: the exchange that created it, and calls on it."""

    def __init__(self, ctx: CheckContext, fixture: AccountFixture, body: Body | None = None) -> None:
        self.ctx = ctx
        # What an omitted type means is not at stake here.
        body = body or {"beneficiary_type": "individual", **fixture.body("createBeneficiary")}
        self.created = fixture.create("createBeneficiary", body)
        self.ids = {"account_id": fixture.account_id, "beneficiary_id": identifier(self.created)}
        #: What is known of it even if the create's answer shows something else.
        self.stated = stated("createBeneficiary", self.created.call.document, self.ids)

    def read(self, purpose: str) -> Exchange:
        return self.ctx.send(call("getBeneficiary", self.ids), purpose)

    def patch(self, body: Body, purpose: str) -> Exchange:
        return self.ctx.send(call("updateBeneficiary", self.ids, body), purpose)

    def disable(self, purpose: str) -> Exchange:
        return self.ctx.send(call("disableBeneficiary", self.ids), purpose)


def arrived(exchange: Exchange) -> float:
    """When an answer came, as Unix seconds of the local clock."""
    return exchange.started + exchange.elapsed


def unreliable(created: Exchange, read: Exchange) -> list[str]:
    """The members that a create and a read right after it show differently, which is another rule's
    business."""
    if not read.succeeded:
        return []
    before, after = document(created), document(read)
    return [
        name
        for name in before
        if name in after and not alike("getBeneficiary", name, after[name], before[name])
    ]


def judge_moved(ctx: CheckContext, rule: str, before: Any, answer: Exchange, what: str) -> None:
    """Judges that `updated` of an answer is later than it was."""
    ctx.judge(rule, Later(f"{what}: an updated", At("updated"), before), answer)
