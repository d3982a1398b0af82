"""Judges the effects of requests, as the owner of the resources sees them: in lists, reads and balances.

effects = SideEffects(ctx, fixture).start()
answers = [ctx.send(call, "a request that must be refused")]
effects.judge_refused("requests like this", answers)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from conformance.checks.check_context import CheckContext
from conformance.checks.repetition import Again, confirm
from conformance.checks.watch import NotSeen, Watch
from conformance.judge import effects
from conformance.judge.outcomes import unusable
from conformance.wire.messages import Call, Exchange
from conformance.world.account import Account, call

UNTOUCHED = "refusal.changes-nothing"


def owner(fixture: Account) -> str:
    """Returns the name of the organization that owns a fixture's resources."""
    return fixture.client.organization.name


class SideEffects(Watch):
    """Judges the effects of an operation on an account between `start` and `judge`."""

    def __init__(
        self,
        ctx: CheckContext,
        fixture: Account,
        operation: str = "",
        ids: Mapping[str, str] | None = None,
    ) -> None:
        self.ctx = ctx
        organization = owner(fixture)

        def look(request: Call, purpose: str) -> Exchange:
            return ctx.shown(request, purpose, organization)

        super().__init__(ctx.run, look, fixture, operation or ctx.operation.id, ids)

    def judge(self, rule: str, what: str, sent: Sequence[Exchange], again: Again | None = None) -> None:
        """Judges that `what`, answered as `sent`, changed nothing.

        `again` repeats the requests, to tell their effect from that of others at the same time. Does nothing
        where the check does not judge the rule."""
        if rule not in self.ctx.rules:
            return
        if self.ctx.operation.traits.shown_only_by_read:
            self._judge_named(rule, what, sent)
        if self.look is None:
            return
        refused = rule == UNTOUCHED
        try:
            turn = self.round(sent)
            recurring = confirm(self, turn, again, of_refusals=refused) if turn.effect.doubtful else turn
        except NotSeen as reason:
            if reason.look is None or self.ctx.usable(rule, reason.look):
                looks = [reason.look] if reason.look else []
                self.ctx.unclear(rule, reason.reason, *looks, remedy=reason.remedy)
            return
        expected = f"no effect of {what}"
        if recurring is not None and recurring.effect:
            proof = recurring.after.looks[-1], *recurring.sent[-1:], recurring.before.looks[-1]
            self.ctx.expect(rule, expected, recurring.effect.text, *proof)
        else:
            self.ctx.expect(rule, expected, "", *turn.after.looks, *turn.before.looks, *sent)

    def judge_refused(self, what: str, answers: Sequence[Exchange], again: Again | None = None) -> None:
        """Judges that refused requests changed nothing; notes where some were not refused."""
        if UNTOUCHED not in self.ctx.rules or not answers:
            return
        if not all(answer.refused for answer in answers):
            reason = f"not all of {what} were refused, so their effects cannot be told apart"
            self.ctx.not_exercised(UNTOUCHED, reason)
        else:
            self.judge(UNTOUCHED, what, answers, again)

    def _judge_named(self, rule: str, what: str, sent: Sequence[Exchange]) -> None:
        """Reads the beneficiaries that answers name, as no operation lists beneficiaries."""
        expected = f"no effect of {what}, as far as answers name it"
        named = {
            identifier: exchange
            for exchange in sent
            for identifier in effects.named_beneficiaries(exchange)
            if identifier not in exchange.call.target and identifier not in self.accepted
        }
        for identifier, answer in list(named.items())[:5]:
            ids = {"account_id": self.fixture.account_id, "beneficiary_id": identifier}
            look = self.send(call("getBeneficiary", ids), "is there what the answer names?")
            got = f"{answer.status}, and getBeneficiary shows a new beneficiary" if look.succeeded else ""
            self.ctx.expect(rule, expected, unusable(answer) or got, answer, look)
        for last in () if named else sent[-1:]:
            self.ctx.expect(rule, expected, unusable(last) or "", last)


def judge_pair(
    ctx: CheckContext, created: Exchange, refused: Sequence[Exchange], elsewhere: Callable[[], Exchange]
) -> Exchange | None:
    """Judges that `refused` wallets have not taken the pair of `created`: it is accepted if one of that pair
    is in a new account (`elsewhere`). Where both are refused, judges nothing and returns the second
    answer."""
    evidence: Sequence[Exchange] = ()
    if created.refused and not created.throttled:
        other = elsewhere()
        if not other.succeeded:
            return other
        evidence = refused
    what = "a valid wallet after refused ones, as in a new account"
    ctx.accepted(UNTOUCHED, what, created, *evidence)
    return None
