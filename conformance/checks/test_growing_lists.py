"""Lists under concurrent creates (section 8): no duplicates, and afterwards each element exactly once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from conformance.checks.check import check
from conformance.checks.check_context import CheckContext
from conformance.checks.members import its_own
from conformance.checks.races import Rounds
from conformance.contract.traits import ADDS_TO, TRAITS
from conformance.judge.expectations import Expectation
from conformance.judge.paging import Listed, echoes, no_repeats
from conformance.judge.queries import read
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import Walk, page_of, walk
from conformance.world.account import AccountFixture
from conformance.world.habits import FEWER_ACCOUNTS, newest_accounts
from conformance.world.run_context import refusal_of_valid

RULE = "list.race"

#: Simultaneous creates in a round, with as many reads interleaved, and rounds.
CREATES = 8
ROUNDS = 2

#: Simultaneous creates where a quota leaves few accounts.
FEW = 2

#: Elements of the control experiment, which are created one after the other.
ONE_BY_ONE = 12

#: Pages to read between the creates.
_PAGES = ({"page": 1, "size": 100}, {"page": 1, "size": 2}, {"page": 2, "size": 2}, {"page": 2, "size": 5})


@dataclass
class Growth:
    """A list that grows in a fixture: acknowledged creates and violations."""

    ctx: CheckContext
    fixture: AccountFixture
    acknowledged: set[str] = field(default_factory=set)
    wrong: list[tuple[Expectation, list[Exchange]]] = field(default_factory=list)
    #: Total of a customer's accounts before the creates; 0 for other lists.
    since: int = 0
    #: Expectation on the walk afterwards and its pages, where they meet it.
    right: tuple[Expectation, list[Exchange]] | None = None
    #: The last create that was refused.
    refused: Exchange | None = None

    def __post_init__(self) -> None:
        if TRAITS[self.create].creates == "account":
            page = page_of(self.ctx.send(self.fixture.call("listAccounts"), "how many are there?"))
            self.since = page.total if page and page.total is not None else 0

    @property
    def create(self) -> str:
        """The operation that adds elements to the list."""
        return ADDS_TO[self.ctx.operation.id]

    # ------------------------------------------------------------------ growing

    def creates(self, number: int, first: int = 0) -> list[Call]:
        """Creates of new elements; wallet pairs may repeat, and are then refused as duplicates."""
        if not TRAITS[self.create].unique_pair:
            return [self.fixture.call(self.create) for _ in range(number)]
        samples = self.ctx.run.samples
        pairs = len(samples.wallet_pairs)
        return [
            self.fixture.call(self.create, samples.wallet((first + index) % pairs)) for index in range(number)
        ]

    def reads(self) -> list[Call]:
        """Reads of several pages."""
        return [self.fixture.call(self.ctx.operation.id).with_query(page) for page in _PAGES]

    def together(self, rounds: Rounds) -> None:
        """Races creates and reads of pages in one round."""
        few = self.ctx.operation.resource == "account" and self.ctx.run.accounts.scarce
        pairs = zip(self.creates(FEW if few else CREATES, 1), self.reads() * 2, strict=False)
        calls = [request for pair in pairs for request in pair]
        self.take(rounds.race(calls, "simultaneous creates and reads of a list"))

    def one_by_one(self, number: int) -> None:
        """Creates elements sequentially, then reads pages."""
        self.take([self.ctx.send(create, "one create after the other") for create in self.creates(number)])
        self.take([self.ctx.send(read, "a read of the list as it is") for read in self.reads()])

    def take(self, answers: list[Exchange]) -> None:
        """Records acknowledged elements, pages with duplicates, and answers to other requests."""
        for answer in answers:
            if answer.refused and answer.operation == self.create:
                self.refused = answer
            if not answer.succeeded:
                continue
            if answer.operation == self.create:
                if isinstance(answer.get("id"), str):
                    self.acknowledged.add(str(answer.get("id")))
                name = TRAITS[self.create].free_text
                own = its_own(f"one of several creates at once: the {name} that it sent", name=name)
                expected: list[Expectation] = [own] if name in answer.call.document else []
            else:
                expected = [
                    no_repeats(f"{answer.call.query} while elements are created: no element twice"),
                    *(
                        echoes(f"{answer.call.query} while elements are created", name, value)
                        for name in ("page", "size")
                        if (value := read(answer.call.query).number(name)) is not None
                    ),
                ]
            for each in expected:
                if each.judge([answer]).good is False:
                    others = [other for other in answers if other is not answer]
                    self.wrong.append((each, [answer, *others]))

    # ------------------------------------------------------------------ afterwards

    def walk(self) -> None:
        """Walks the list until it shows every acknowledged element once (eventual consistency), and keeps the
        last walk with its verdict."""
        done = self.ctx.eventually(self._read, lambda read: not self._amiss(read))
        last = done.exchanges[-1]
        missing, repeated = self._amiss(done) or (0, 0)
        if not done.pages:
            self.ctx.skip_judgement(RULE, f"the walk was answered {last.described()}", last)
            return
        if missing and done.cut:
            reason = "the list is so long that not all elements that were created could be looked for"
            self.ctx.skip_judgement(RULE, reason, last, remedy=FEWER_ACCOUNTS)
            return
        # Elements that others add during the walk shift pages, so duplicates prove nothing.
        steady = len({page.total for page in done.pages}) == 1
        whole = Listed("a walk after simultaneous creates", sorted(self.acknowledged), once=steady)
        judged = whole, done.page_exchanges
        if missing or (repeated and steady):
            self.wrong.append(judged)
        else:
            self.right = judged

    def _amiss(self, done: Walk) -> tuple[int, int] | None:
        """Counts acknowledged elements that are missing and duplicated; None if neither."""
        seen = Counter(done.ids)
        missing = sum(1 for identifier in self.acknowledged if not seen[identifier])
        repeated = sum(1 for identifier in self.acknowledged if seen[identifier] > 1)
        return (missing, repeated) if missing or repeated else None

    def _read(self) -> Walk:
        """Walks the list; of a customer's accounts, only the pages where new ones show."""
        if TRAITS[self.create].creates == "account":
            page = page_of(self.ctx.send(self.fixture.call("listAccounts"), "how many are there?"))
            total = page.total if page and page.total is not None else self.since
            return newest_accounts(self.ctx.run, self._look, self.fixture, self.since, total)
        return walk(self.ctx.send, self.fixture.call(self.ctx.operation.id), size=5)

    def _look(self, call: Call, purpose: str) -> Exchange:
        return self.ctx.send(call, f"a walk after the creates: {purpose}")


@check(RULE)
def test_list_while_it_grows(ctx: CheckContext) -> None:
    """Creates elements and reads pages at once: each answer is to its own request, no page shows an element
    twice, and a walk afterwards shows each created element exactly once."""
    growths = list(_grown(ctx))
    for growth in growths:
        growth.walk()
    wrong = [mistake for growth in growths for mistake in growth.wrong]
    number = sum(len(growth.acknowledged) for growth in growths)
    if wrong and not _right_one_by_one(ctx):
        reason = "the list is wrong, too, when elements are created one by one"
        ctx.skip_judgement(RULE, reason, wrong[0][1][-1], cause="list.walk")
        return
    right = [growth.right for growth in growths if growth.right and number and not wrong]
    for expectation, exchanges in [*wrong, *right]:
        ctx.judge(RULE, expectation, *exchanges)
    if not wrong and not number:
        refused = [growth.refused for growth in growths if growth.refused]
        stop = refusal_of_valid(refused[0]) if refused else None
        ctx.skip_judgement(RULE, "none of the simultaneous creates was accepted", *refused[:1], stop=stop)


def _grown(ctx: CheckContext) -> list[Growth]:
    """Lists after rounds of concurrent creates. An account holds few wallets, so each round of these has an
    account of its own, one of them with a wallet already."""
    if not TRAITS[ADDS_TO[ctx.operation.id]].unique_pair:
        growth, rounds = Growth(ctx, _place(ctx)), Rounds(ctx, ROUNDS)
        for _ in rounds:
            growth.together(rounds)
        return [growth]
    growths = [Growth(ctx, ctx.run.account(fresh=True)) for _ in range(ROUNDS + 1)]
    growths[-1].take([ctx.accept(create, "a first wallet") for create in growths[-1].creates(1)])
    for growth in growths:
        one_round = Rounds(ctx, 1)
        for _ in one_round:
            growth.together(one_round)
    return growths


def _right_one_by_one(ctx: CheckContext) -> bool:
    """True if the list is correct after sequential creates, so that only concurrency explains a violation."""
    other_customer = ctx.target.primary.other_customer_id
    if ctx.operation.traits.others_add and other_customer:
        # The race may have corrupted the first customer's list permanently.
        growth = Growth(ctx, AccountFixture(ctx.run, customer_id=other_customer))
    else:
        growth = Growth(ctx, _place(ctx))
    growth.one_by_one(3 if TRAITS[growth.create].creates == "account" else ONE_BY_ONE)
    growth.walk()
    return not growth.wrong


def _place(ctx: CheckContext) -> AccountFixture:
    run = ctx.run
    if ctx.operation.traits.others_add:
        return run.account()
    if "beneficiary_id" in ctx.operation.path_parameters:
        return AccountFixture(run, account_id=run.account().account_id)
    return run.account(fresh=True)
