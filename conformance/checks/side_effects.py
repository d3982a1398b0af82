"""Effects of requests, as the owner of the resources sees them: in lists, reads and balances.

`Watch` takes snapshots before and after; judge/effects.py defines an effect. `SideEffects` judges within a
check:

    effects = SideEffects(ctx, fixture).start()
    answers = [ctx.send(call, "a request that must be refused")]
    effects.judge_refused("requests like this", answers)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Self

from conformance.checks.check_context import CheckContext
from conformance.checks.repetition import Again, Evidence, confirm
from conformance.checks.snapshots import ListSnapshot, NoEffect, NotSeen, Requests, Snapshot, snapshot_of
from conformance.contract.traits import TRAITS
from conformance.judge import effects
from conformance.judge.effects import Effect
from conformance.judge.expectations import Accepted, CannotTell, Expectation, predicate
from conformance.judge.outcomes import unusable
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import Send, page_of
from conformance.world.account import AccountFixture, call
from conformance.world.habits import added
from conformance.world.run_context import RunContext

UNTOUCHED = "refusal.changes-nothing"

#: Name of the probe that takes snapshots before and after requests.
EFFECTS = "what they changed"


def owner(fixture: AccountFixture) -> str:
    """Returns the name of the organization that owns a fixture's resources."""
    return fixture.client.organization.name


class Watch:
    """Takes snapshots of what an operation may change in a fixture, before and after requests.

    `send` sends a read. `accepted` holds ids of resources that were rightly created meanwhile. `ids` are the
    path parameters of the resource that is read, where they are not the fixture's."""

    def __init__(
        self,
        run: RunContext,
        send: Send,
        fixture: AccountFixture,
        operation: str,
        ids: Mapping[str, str] | None = None,
    ) -> None:
        self.run = run
        self.send = send
        self.fixture = fixture
        self.operation = operation
        self.accepted: set[str] = set()
        self.kind = snapshot_of(operation)
        self.before: Snapshot | None = None
        self.after: Snapshot | None = None
        #: Ids that reads up to the start have shown.
        self.seen: set[str] = set()
        self._traits = TRAITS[operation]
        self._ids = ids
        #: Number of changes accepted before the start, and their ids, read on first use.
        self._earlier = 0
        self._earlier_ids: set[str] | None = None
        #: Why there is no snapshot to compare with.
        self._unseen: NotSeen | None = None
        #: Ids of elements that the server added itself.
        self._own: set[str] = set()

    @property
    def ids(self) -> Mapping[str, str]:
        """Path parameters of the resource that is read."""
        return self._ids or self.fixture.ids(self._traits.read_by)

    def look(self) -> Snapshot:
        """Takes a snapshot. Raises NotSeen."""
        if self.kind is None:
            raise NotSeen("nothing shows the effect of requests")
        return self.kind.look(self)

    def start(self) -> Self:
        """Takes the snapshot to compare with; returns the watch itself."""
        for taken in (self.before, self.after):
            self.seen |= set(ids_on(taken.looks)) if taken is not None else set()
        self.before = self.after = self._unseen = None
        try:
            self.before = self.look()
        except NotSeen as reason:
            self._unseen = reason
        else:
            self.seen |= set(ids_on(self.before.looks))
        self._earlier = len(self.run.accepted)
        self._earlier_ids = None
        return self

    def looks(self) -> list[Exchange]:
        """Returns the last read at the start and another one now, whatever they show."""
        start = self._unseen.look if self._unseen is not None else None
        if self.before is not None:
            start = self.before.looks[-1]
        now: Exchange | None
        try:
            now = self.look().looks[-1]
        except NotSeen as reason:
            now = reason.look
        return [look for look in (start, now) if look is not None]

    def effect(self, sent: Sequence[Call]) -> Effect:
        """Returns the changes since the start that `sent` may have caused. Raises NotSeen."""
        if self.before is None:
            raise self._unseen or NotSeen("no snapshot was taken before the requests")
        self.after = self.look()
        effect = self.after.compare(self.before, self._requests(sent))
        if effect and self.kind is ListSnapshot:
            items = self.after.read().values()
            self._own |= added(self.run, self._traits.listed_by, items, self.before.read())
            effect = self.after.compare(self.before, self._requests(sent))
        return effect

    def _requests(self, sent: Sequence[Call]) -> Requests:
        fresh = self.after.fresh if self.after is not None else ()
        answered = self.answered() if self._traits.changes else []
        return Requests(self.operation, sent, self._known() | self._lagging(), fresh, answered)

    def evidence(self, sent: Sequence[Exchange]) -> Evidence:
        """Returns the snapshots and the requests, answered as `sent`."""
        assert self.before is not None and self.after is not None
        return Evidence(self.before, self.after, sent, self._lagging())

    def expectation(
        self, what: str, evidence: Evidence, *, confirmed: bool, of_refusals: bool = True
    ) -> tuple[Expectation, list[Exchange]]:
        """Returns the expectation that `what` had no effect, and the exchanges that it judges."""
        fresh = evidence.after.fresh if confirmed else ()
        known = self._known() | evidence.lagging
        made = {str(each.get("id")) for each in evidence.sent if each.succeeded}
        made &= self.accepted
        exchanges: list[Exchange] = []
        groups: dict[str, list[int]] = {}
        for name, group in (
            ("before", evidence.before.looks),
            ("after", evidence.after.looks),
            ("answered", self.answered() if self._traits.changes else []),
        ):
            groups[name] = list(range(len(exchanges), len(exchanges) + len(group)))
            exchanges += group
        expectation = NoEffect(
            what,
            self.operation,
            groups,
            [identifier for identifier in ids_on(evidence.after.looks) if identifier in known - made],
            [identifier for identifier in fresh if identifier not in known],
            doubtful=confirmed,
            of_refusals=of_refusals,
            first_accepted=bool(made),
            fee=format(evidence.fee, "f"),
        )
        return expectation, [*exchanges, *evidence.sent]

    # ------------------------------------------------------------------ what was accepted before

    def _known(self) -> set[str]:
        """Returns ids in lists that are no effect: of accepted creates, of the server's own elements, and of
        all that was created before the start, which a list may show late."""
        if not self._traits.listed_by:
            return set()
        if self._earlier_ids is None:
            self._earlier_ids = set(self.run.accepted_ids[: self._earlier])
        return self.accepted | self._own | self._earlier_ids

    def _lagging(self) -> frozenset[str]:
        """Returns the ids that earlier looks have shown and the first snapshot has not: replicas lag."""
        return frozenset(self.seen - set(ids_on(self.before.looks))) if self.before else frozenset()

    def destinations(self) -> set[str]:
        """Returns the ids of the payout destinations that were accepted for the beneficiary."""
        path = call("listPayoutDestinations", self.ids).path
        accepted = zip(self.run.accepted, self.run.accepted_ids, strict=False)
        return {own for exchange, own in accepted if exchange.call.path == path}

    def answered(self) -> list[Exchange]:
        """Returns the changes of the resource accepted before the start, which a read may show late."""
        identifier = self.ids["beneficiary_id"]
        earlier = zip(self.run.accepted[: self._earlier], self.run.accepted_ids, strict=False)
        return [exchange for exchange, own in earlier if own == identifier]


class SideEffects(Watch):
    """Judges the effects of an operation on an account between `start` and `judge`."""

    def __init__(
        self,
        ctx: CheckContext,
        fixture: AccountFixture,
        operation: str = "",
        ids: Mapping[str, str] | None = None,
    ) -> None:
        self.ctx = ctx
        organization = owner(fixture)

        def look(request: Call, purpose: str) -> Exchange:
            return ctx.shown(request, purpose, organization)

        super().__init__(ctx.run, look, fixture, operation or ctx.operation.id, ids)

    # ------------------------------------------------------------------ judging

    def judge(self, rule: str, what: str, sent: Sequence[Exchange], again: Again | None = None) -> None:
        """Judges that `what`, answered as `sent`, changed nothing.

        `again` repeats the requests, to tell their effect from that of others at the same time. Does nothing
        where the check does not judge the rule."""
        if rule not in self.ctx.rules:
            return
        if self.ctx.operation.traits.shown_only_by_read:
            self._judge_named(rule, what, sent)
        if self.kind is None:
            return
        refused = rule == UNTOUCHED
        confirmed: Evidence | None = None
        try:
            effect = self.effect([exchange.call for exchange in sent])
            evidence = self.evidence(sent)
            if effect.doubtful:
                confirmed = confirm(self, effect, evidence, again, of_refusals=refused)
        except NotSeen as reason:
            if reason.look is None or self.ctx.usable(rule, reason.look):
                looks = [reason.look] if reason.look else []
                self.ctx.skip_judgement(rule, reason.reason, *looks, remedy=reason.remedy)
            return
        expectation, exchanges = self.expectation(
            what, confirmed or evidence, confirmed=confirmed is not None, of_refusals=refused
        )
        self.ctx.judge(rule, expectation, *exchanges)

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
        named = {
            identifier: exchange
            for exchange in sent
            for identifier in effects.named_beneficiaries(exchange)
            if identifier not in exchange.call.target and identifier not in self.accepted
        }
        probes: list[tuple[Exchange, ...]] = []
        for identifier, exchange in list(named.items())[:5]:
            ids = {"account_id": self.fixture.account_id, "beneficiary_id": identifier}
            found = self.send(call("getBeneficiary", ids), "is there what the answer names?")
            probes.append((exchange, found))
        expected = shows_no_beneficiary(f"no effect of {what}, as far as answers name it")
        for probe in probes or [(exchange,) for exchange in sent[-1:]]:
            self.ctx.judge(rule, expected, *probe)


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
    ctx.judge(
        UNTOUCHED, Accepted("a valid wallet after refused ones, as in a new account"), created, *evidence
    )
    return None


@predicate
def shows_no_beneficiary(exchanges: Sequence[Exchange]) -> str:
    """No read, second, shows the beneficiary that the answer to a request without effect, first, names; an
    answer that names none needs no read."""
    answer, *looks = exchanges
    if reason := unusable(answer):
        raise CannotTell(reason.reason, reason.cause)
    found = any(look.succeeded for look in looks)
    return f"{answer.status}, and getBeneficiary shows a new beneficiary" if found else ""


def ids_on(looks: Sequence[Exchange]) -> list[str]:
    """Returns the ids on pages."""
    return [identifier for look in looks if (page := page_of(look)) for identifier in page.ids]
