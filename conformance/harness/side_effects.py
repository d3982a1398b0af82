"""Whether requests had an effect, as the owner of the resources sees it: in lists, reads and balances.

`Watch` looks before and after; what counts as an effect is said in judge/effects.py. `SideEffects` judges
within a check:

    with SideEffects(ctx, fixture) as effects:
        answers = [ctx.send(call, "a request that must be refused")]
        effects.judge_refused("requests like this", answers, cause)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

from conformance.contract.traits import TRAITS
from conformance.harness.context import CheckContext
from conformance.harness.newest import FEWER_ACCOUNTS, newest_accounts
from conformance.harness.repetition import Again, Shown, confirmed
from conformance.judge import effects
from conformance.judge.effects import NONE, Effect, Money
from conformance.judge.expectations import Expectation, NoEffect, predicate, unusable
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import MAX_SIZE, Send, page_of, query, walk
from conformance.world.account import AccountFixture, call
from conformance.world.furnishing import added
from conformance.world.lateness import look_until
from conformance.world.run_context import RunContext

T = TypeVar("T")

UNTOUCHED = "refusal.changes-nothing"

#: The name of the probe that looks for effects, before requests and after them.
EFFECTS = "what they changed"

_FUNDED = "Name an account that payouts may draw on: [primary] funded_account_id."


def owner(fixture: AccountFixture) -> str:
    """The organization in whose name a fixture's resources are looked at."""
    return fixture.client.organization.name


class Watch:
    """Looks at what an operation may change in a fixture, before requests and after them.

    `send` sends a look. `accepted` holds ids of resources that were rightly created meanwhile. `ids` are
    the path parameters of the resource that is looked at, where they are not the fixture's.
    """

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
        self._traits = TRAITS[operation]
        self._ids = ids
        self._before: Any = None
        self._started = 0
        #: The look that did not show what it was for, and why it could not.
        self.unseen: tuple[str, Exchange | None, str] | None = None
        #: The looks at the start, and those that show what has changed since.
        self.looks_before: list[Exchange] = []
        self.looks: list[Exchange] = []
        #: The ids of accounts that are new, although the looks before do not show it.
        self.fresh: list[str] = []
        #: The ids of accounts that some look showed, and of those that looks before the start did.
        self._shown: set[str] = set()
        self._old: set[str] = set()
        #: The ids of what the server itself has put beside.
        self._own: set[str] = set()

    @property
    def visible(self) -> bool:
        """Whether some operation shows the effects at all: beneficiaries are in no list."""
        traits = self._traits
        return bool(traits.listed_by or traits.moves_money or traits.changes)

    @property
    def moves_money(self) -> bool:
        """Whether the effects show in balances."""
        return bool(self._traits.moves_money)

    def start(self) -> None:
        """Takes the present state as the one to compare with."""
        self.unseen = None
        self.looks = []
        self._before = self._look() if self.visible else None
        self.looks_before, self.looks = self.looks, []
        self._old = set(self._shown)
        self._started = max(self.run.record, default=0)

    def effect(self, sent: Sequence[Call]) -> Effect | None:
        """What has changed since the start, of which `sent` may be the cause; None where it cannot be
        told."""
        if self._before is None:
            return None
        self.looks = []
        before, after = self._before, self._look()
        if after is None:
            return None
        if self._traits.moves_money:
            return effects.in_balances(self.operation, before, after)
        if self._traits.changes:
            read = self._traits.read_by
            found = effects.in_resource(read, before, after)
            answered = [exchange.document for exchange in self.answered()]
            return found and effects.in_resource(read, before, after, answered)
        if self._traits.shared:
            return self._accounts(before, after, sent)
        found = effects.in_list(self.operation, before, after, self.accepted)
        if not found:
            return found
        self._own |= added(self.run, self._traits.listed_by, after.values(), before)
        return effects.in_list(self.operation, before, after, self.accepted | self._made() | self._own)

    def moved(self) -> Money:
        """By how much each amount moved in the operation's direction since the start."""
        self.looks = []
        after = self._look()
        if not isinstance(self._before, dict) or not isinstance(after, dict):
            return {}
        return effects.movement(self.operation, self._before, after)

    def expectation(
        self,
        what: str,
        sent: Sequence[Exchange],
        *,
        doubtful: bool,
        of_refusals: bool = True,
        looks: tuple[list[Exchange], list[Exchange]] | None = None,
        fee: str = "0",
    ) -> tuple[Expectation, list[Exchange]]:
        """The expectation that `what`, answered as `sent`, had no effect, and the exchanges that it
        judges."""
        before, after = looks or (self.looks_before, self.looks)
        answered = self.answered() if self._traits.changes else []
        others = self.accepted | self._made() | self._own if self._traits.listed_by else set()
        made = {str(exchange.get("id")) for exchange in sent if exchange.succeeded} & self.accepted
        expectation = NoEffect(
            what,
            self.operation,
            len(before),
            len(after),
            len(answered),
            [identifier for identifier in ids_on(after) if identifier in others - made],
            self.fresh if doubtful else [],
            doubtful=doubtful,
            of_refusals=of_refusals,
            first_accepted=bool(made),
            fee=fee,
        )
        return expectation, [*before, *after, *answered, *sent]

    # ------------------------------------------------------------------ what was accepted before

    def _earlier(self) -> list[Exchange]:
        return [
            exchange
            for number, exchange in self.run.record.items()
            if number <= self._started and exchange.succeeded and exchange.method != "GET"
        ]

    def _made(self) -> set[str]:
        """The ids of all that was created before the start: a list may show it late."""
        return {str(exchange.get("id")) for exchange in self._earlier()}

    def answered(self) -> list[Exchange]:
        """The accepted changes of the resource before the start: a read may show them late."""
        identifier = self._path()["beneficiary_id"]
        return [exchange for exchange in self._earlier() if exchange.get("id") == identifier]

    # ------------------------------------------------------------------ looking

    def _path(self) -> Mapping[str, str]:
        return self._ids or self.fixture.ids(self._traits.read_by)

    def _look(self) -> Any:
        """What `effect` compares; None where it is not shown, and then `unseen` says why."""
        if self._traits.moves_money:
            return self._balances_now()
        if self._traits.changes:
            reading = call(self._traits.read_by, dict(self._path()))
            look = look_until(
                self.run.cache,
                self._traits.read_by,
                lambda: self.send(reading, "the beneficiary as it is"),
                lambda seen: seen.status != 404,
            )
            shown = look.document if look.succeeded and isinstance(look.document, dict) else None
            return self._seen(look, shown)
        if self._traits.shared:
            return self._accounts_now()
        listing = self.fixture.call(self._traits.listed_by)
        done = walk(lambda call, _: self.send(call, "what is in the list?"), listing)
        last = done.exchanges[-1]
        self.looks += done.exchanges[:-1]
        return self._seen(last, effects.by_id(done.items) if done.broken is None else None)

    def _seen(self, look: Exchange, shown: T, reason: str = "", remedy: str = "") -> T:
        if look not in self.looks:
            self.looks.append(look)
        if shown is None:
            reason = reason or f"which shows the effect of requests, was answered {look.described()}"
            self.unseen = (f"{look.operation}, {reason}", look, remedy)
        return shown

    def _balances_now(self) -> Money | None:
        fixture = self.fixture
        ids = {"customer_id": fixture.customer_id, "account_id": fixture.account_id}
        look = self.send(call("getAccountBalances", ids), "the balances as they are")
        shown = effects.amounts(look.get("balances")) if look.succeeded else None
        if shown == {} and self.operation == "createPayout":
            return self._seen(look, None, "by which payouts are watched, shows no balance", _FUNDED)
        return self._seen(look, shown)

    def _accounts_now(self) -> tuple[int, bool] | None:
        """How many accounts there are, and whether one page holds them all."""
        listing = self.fixture.call("listAccounts").with_query(query(1, MAX_SIZE))
        look = self.send(listing, "how many accounts are there?")
        page = page_of(look)
        if page is None or page.total is None:
            return self._seen(look, None)
        self._seen(look, page.total)
        self._shown |= set(page.ids)
        return page.total, page.total <= len(page.items)

    def _accounts(
        self, before: tuple[int, bool], after: tuple[int, bool], sent: Sequence[Call]
    ) -> Effect | None:
        """Accounts that came since the start; others create some, too, so that their names must tell."""
        since, all_known = before
        if after[0] <= since:
            return NONE
        if "name" in self.run.samples.over("account"):
            self.unseen = (
                "the target file says how accounts are named, so they cannot be told apart",
                None,
                "",
            )
            return None
        came = newest_accounts(self.run, self.send, self.fixture, since, after[0])
        self.looks += [page.exchange for page in came.pages]
        self._shown |= {identifier for page in came.pages for identifier in page.ids}
        self._seen(came.last, came.items)
        if not came.found:
            self._seen(
                came.last,
                None,
                "has too many pages to look for what a request may have added",
                FEWER_ACCOUNTS,
            )
            return None
        old = self.accepted | self._made()
        items = [item for item in came.items if isinstance(item, dict) and str(item.get("id")) not in old]
        unknown = items if all_known else [item for item in items if item in came.fresh]
        # Where a list has another order than it seemed, an old account may be where new ones show.
        fresh = [item for item in unknown if str(item.get("id")) not in self._old]
        self.fresh = [str(item.get("id")) for item in fresh]
        return effects.in_accounts(items, fresh, sent)


class SideEffects(Watch):
    """What an operation does to a fixture between entering the block and `judge`."""

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
            return ctx.send(request, purpose, organization)

        super().__init__(ctx.run, look, fixture, operation or ctx.operation.id, ids)

    def __enter__(self) -> SideEffects:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is held while requests are watched."""

    # ------------------------------------------------------------------ judging

    def judge(
        self,
        rule: str,
        what: str,
        sent: Sequence[Exchange],
        again: Again | None = None,
    ) -> None:
        """Judges that `what`, the answers of which are `sent`, changed nothing.

        `again` repeats the requests, to tell their effect from what others do at the same time. Does nothing
        where the check does not judge the rule.
        """
        if rule not in self.ctx.rules:
            return
        if self.ctx.operation.id == "createBeneficiary":
            self._judge_named(rule, what, sent)
        if not self.visible:
            return
        shown = Shown(self.effect([exchange.call for exchange in sent]), self.looks_before, self.looks, sent)
        shown.fresh = self.fresh
        if shown.effect is not None and shown.effect.doubtful:
            shown = confirmed(self, shown, again, of_refusals=rule == UNTOUCHED)
        if shown.effect is None:
            self._cannot_tell(rule)
            return
        self.fresh = shown.fresh
        expectation, exchanges = self.expectation(
            what,
            shown.sent,
            doubtful=bool(shown.effect),
            of_refusals=rule == UNTOUCHED,
            looks=(shown.before, shown.after),
            fee=format(shown.fee, "f"),
        )
        self.ctx.judge(rule, expectation, *exchanges)

    def judge_refused(
        self,
        what: str,
        answers: Sequence[Exchange],
        cause: str,
        again: Again | None = None,
    ) -> None:
        """Judges that refused requests changed nothing, unless some were not refused, which is `cause`'s
        business."""
        if UNTOUCHED not in self.ctx.rules or not answers:
            return
        if not all(answer.refused for answer in answers):
            reason = f"not all of {what} were refused, so their effects cannot be told apart"
            self.ctx.not_exercised(UNTOUCHED, reason)
        else:
            self.judge(UNTOUCHED, what, answers, again)

    def _judge_named(self, rule: str, what: str, sent: Sequence[Exchange]) -> None:
        """No operation lists beneficiaries: only one that an answer names can be looked for."""
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

    def _cannot_tell(self, rule: str) -> None:
        if self.unseen is None:
            self.ctx.skip_judgement(rule, "nothing shows the effect of requests")
            return
        reason, look, remedy = self.unseen
        if look is None or self.ctx.usable(rule, look):
            self.ctx.skip_judgement(rule, reason, *([look] if look else []), remedy=remedy)


@predicate
def shows_no_beneficiary(exchanges: Sequence[Exchange]) -> str:
    """No read, second, shows the beneficiary that the answer to a request without effect, first, names; one
    that names none needs no read."""
    answer, *looks = exchanges
    if reason := unusable(answer):
        raise reason
    found = any(look.succeeded for look in looks)
    return f"{answer.status}, and getBeneficiary shows a new beneficiary" if found else ""


def ids_on(looks: Sequence[Exchange]) -> list[str]:
    """The ids on pages."""
    return [identifier for look in looks if (page := page_of(look)) for identifier in page.ids]
