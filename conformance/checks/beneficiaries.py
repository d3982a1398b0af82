"""A beneficiary that a check works on, and what is judged of it whenever it is changed (sections 2.3 and
3)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from conformance.checks.check_context import CheckContext
from conformance.checks.members import judge_members, look_for, mismatches
from conformance.contract.new_resources import NULLABLE, stated
from conformance.judge.comparison import MOVING, alike, document
from conformance.judge.expectations import At, Later, Member
from conformance.judge.findings import Inconclusive
from conformance.wire.messages import Exchange
from conformance.world import samples
from conformance.world.account import AccountFixture, call, identifier
from conformance.world.samples import Body

#: Reads in a row that must show a change, as each of several processes may keep what it read first.
STEADY = 4


class Beneficiary:
    """A beneficiary of its own in a fixture: the exchange that created it, and calls on it."""

    def __init__(self, ctx: CheckContext, fixture: AccountFixture, body: Body | None = None) -> None:
        self.ctx = ctx
        # The default type is not judged here.
        body = body or {"beneficiary_type": "individual", **fixture.body("createBeneficiary")}
        self.created = fixture.create("createBeneficiary", body)
        self.ids = {"account_id": fixture.account_id, "beneficiary_id": identifier(self.created)}
        #: Stated members, also where the create's answer shows something else.
        self.stated = stated("createBeneficiary", self.created.call.document, self.ids)

    def read(self, purpose: str) -> Exchange:
        return self.ctx.send(call("getBeneficiary", self.ids), purpose)

    def read_until(
        self, purpose: str, expected: Mapping[str, Any], but: Iterable[str] = MOVING, **how: Any
    ) -> Exchange:
        """Reads it, again where it does not show yet what it should (see `look_for`)."""
        return look_for(self.ctx, call("getBeneficiary", self.ids), purpose, expected, but=but, **how)

    def furnish(self, fixture: AccountFixture) -> bool:
        """Makes a destination of it and, where the target has payouts, asks for one to it; True if the server
        has taken the destination."""
        bank = self.ctx.run.bank_account(fixture)
        made = self.ctx.send(call("createPayoutDestination", self.ids, bank), "a destination of it")
        if made.succeeded:
            self.stated["payout_destinations"] = [document(made)]
        if made.succeeded and self.ctx.target.features.payouts is not False:
            payee = self.ids["beneficiary_id"], str(made.get("id")), str(made.get("currency"))
            payout = self.ctx.run.samples.payout(*payee)
            self.ctx.send(call("createPayout", {"account_id": fixture.account_id}, payout), "a payout to it")
        return made.succeeded

    def patch(self, body: Body, purpose: str) -> Exchange:
        return self.ctx.send(call("updateBeneficiary", self.ids, body), purpose)

    def move(self, purpose: str) -> Exchange:
        """Changes its note and, where the server allows it, the country that payouts to it go to."""
        country = samples.other_value("country_code", str(self.created.get("country_code")))
        moved = self.patch({"note": samples.marker(), "country_code": country}, purpose)
        return self.patch({"note": samples.marker()}, purpose) if moved.refused else moved

    def disable(self, purpose: str) -> Exchange:
        return self.ctx.send(call("disableBeneficiary", self.ids), purpose)


def required_only(fixture: AccountFixture) -> Body:
    """The sample beneficiary without the fields that may be null."""
    optional = NULLABLE["createBeneficiary"]
    return {name: value for name, value in fixture.body("createBeneficiary").items() if name not in optional}


def sparse(ctx: CheckContext, fixture: AccountFixture) -> Beneficiary:
    """A beneficiary without optional fields, where the server takes one."""
    with contextlib.suppress(Inconclusive):
        return Beneficiary(ctx, fixture, required_only(fixture))
    return Beneficiary(ctx, fixture)


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


#: Acts on a beneficiary and returns the answer.
Act = Callable[[Beneficiary], Exchange]

#: Beneficiaries on which what a request moves is told from what jobs move.
_TIMES = 5

#: Looks at each of the others: what comes of looking comes to them as well.
_LOOKS = 3


def judge_beneficiary(
    ctx: CheckContext,
    rule: str,
    answer: Exchange,
    expected: Mapping[str, Any],
    what: str,
    *,
    act: Act | None = None,
    but: Iterable[str] = (),
    otherwise: Mapping[str, Any] | None = None,
) -> None:
    """Judges the members of a beneficiary, `but` some. Those that jobs may move at any time count only where
    `act` is seen to move them: each time on beneficiaries of its own, and never on others beside."""
    left_out = set(but)
    judge_members(ctx, rule, answer, expected, what, but=MOVING | left_out, otherwise=otherwise)
    for name in sorted(({"status", "verified"} - left_out) & expected.keys()):
        shown = not mismatches(answer, {name: expected[name]})
        if shown or (act is not None and moved_by(ctx, act, name)):
            ctx.judge(rule, Member(what, name, expected[name]), answer)


def moved_by(ctx: CheckContext, act: Act, name: str) -> bool:
    """True if a member moves each time on the beneficiaries acted on, and on no other."""
    fixture = ctx.account(fresh=True)

    def moved(of: Beneficiary, seen: Exchange) -> bool:
        return not alike("getBeneficiary", name, seen.get(name), of.created.get(name))

    for _ in range(_TIMES):
        person, other = Beneficiary(ctx, fixture), Beneficiary(ctx, fixture)
        before, answer = person.read("a beneficiary, to which nothing was done yet"), act(person)
        beside = [other.read("another beneficiary, to which nothing was done") for _ in range(_LOOKS)]
        if not all(seen.succeeded for seen in (before, answer, *beside)):
            return False
        if moved(person, before) or not moved(person, answer) or any(moved(other, seen) for seen in beside):
            return False
    return True


def judge_moved(ctx: CheckContext, rule: str, before: Any, answer: Exchange, what: str) -> None:
    """Judges that `updated` of an answer is later than it was."""
    ctx.judge(rule, Later(f"{what}: an updated", At("updated"), before), answer)
