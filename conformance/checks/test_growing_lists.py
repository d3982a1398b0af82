"""Lists while elements are created (section 8): none is shown twice, and afterwards all are there once."""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import dataclass, field

from conformance.fixtures.account import Scene
from conformance.harness.check import check
from conformance.harness.context import Trial
from conformance.harness.side_effects import LISTS, walk
from conformance.judging.comparison import same
from conformance.wire.messages import Call, Exchange

RULE = "list.race"

#: Simultaneous creates, with as many reads between them, and how often.
CREATES = 8
ROUNDS = 2

#: Elements that are created one by one, to see whether simultaneity has anything to do with a fault.
ONE_BY_ONE = 12

#: The pages that are read meanwhile.
_PAGES = ({"page": 1, "size": 100}, {"page": 1, "size": 2}, {"page": 2, "size": 2}, {"page": 2, "size": 5})


@dataclass
class Growth:
    """A list that grows in a scene: which creates were acknowledged, and what is wrong with its answers."""

    trial: Trial
    scene: Scene
    acknowledged: set[str] = field(default_factory=set)
    wrong: list[tuple[str, str, Exchange]] = field(default_factory=list)

    @property
    def create(self) -> str:
        """The operation whose resources the list shows."""
        return next(one for one, shown_by in LISTS.items() if shown_by == self.trial.operation.id)

    # ------------------------------------------------------------------ growing

    def creates(self, number: int, first: int = 0) -> list[Call]:
        """Creates of new elements; of wallets the second of each pair will be refused."""
        if self.create != "createWallet":
            return [self.scene.call(self.create) for _ in range(number)]
        samples = self.trial.suite.samples
        pairs = len(samples.wallet_pairs)
        return [self.scene.call(self.create, samples.wallet((first + one) % pairs)) for one in range(number)]

    def reads(self) -> list[Call]:
        """Reads of several pages."""
        return [self.scene.call(self.trial.operation.id).with_query(page) for page in _PAGES]

    def together(self) -> None:
        """Creates elements and reads pages simultaneously."""
        pairs = zip(self.creates(CREATES, 1), self.reads() * 2, strict=True)
        calls = [one for pair in pairs for one in pair]
        self.take(self.trial.race(calls, "simultaneous creates and reads of a list"))

    def one_by_one(self, number: int) -> None:
        """Creates elements one after the other, then reads pages."""
        self.take([self.trial.send(one, "one create after the other") for one in self.creates(number)])
        self.take([self.trial.send(one, "a read of the list as it is") for one in self.reads()])

    def take(self, answers: list[Exchange]) -> None:
        """Notes which elements were created, and pages that show one twice."""
        for answer in answers:
            if not answer.succeeded:
                continue
            if answer.operation == self.create:
                if isinstance(answer.get("id"), str):
                    self.acknowledged.add(str(answer.get("id")))
            elif twice := _twice(answer):
                expected = f"{answer.call.query} while elements are created: no element twice"
                self.wrong.append((expected, f"{twice} twice", answer))

    # ------------------------------------------------------------------ afterwards

    def walk(self) -> Exchange | None:
        """Walks through the pages, anew where others change the list; the last answer, None if it is none."""
        for _ in range(3):
            size = 100 if self.create == "createAccount" else 5
            before = self._total()
            operation = self.trial.operation.id
            items, last = walk(self.trial, self.scene, operation, "a walk after the creates", size)
            if items is None:
                self.trial.set_aside(RULE, f"the walk was answered {last.described()}", last)
                return None
            seen = Counter(str(one.get("id")) for one in items)
            missing = sum(1 for one in self.acknowledged if not seen[one])
            repeated = sum(1 for one in self.acknowledged if seen[one] > 1)
            if not missing and not repeated:
                return last
            if same(before, last.get("total")):
                break
        expected = f"a walk after {len(self.acknowledged)} creates: each created element once"
        self.wrong.append((expected, f"{missing} missing, {repeated} more than once", last))
        return last

    def _total(self) -> object:
        listing = self.scene.call(self.trial.operation.id).with_query({"page": 1, "size": 1})
        return self.trial.send(listing, "how many are there?").get("total")


@check(RULE)
def test_list_while_it_grows(trial: Trial) -> None:
    """While elements are created no list answer shows an element twice, and afterwards a walk through the
    pages shows every created one exactly once."""
    accounts = trial.operation.id == "listAccounts"
    with trial.suite.quiet_accounts() if accounts else contextlib.nullcontext():
        growths = list(_grown(trial))
        last = [growth.walk() for growth in growths]
        wrong = [one for growth in growths for one in growth.wrong]
        number = sum(len(growth.acknowledged) for growth in growths)
        if wrong and not _sound_one_by_one(trial):
            reason = "the list is wrong, too, when elements are created one by one"
            trial.set_aside(RULE, reason, wrong[0][2], cause="list.walk")
            return
    for expected, got, exchange in wrong:
        trial.judge(RULE, False, expected, got, exchange)
    if not wrong and number and last[-1] is not None:
        expected = f"{number} simultaneous creates: each element once in the list"
        trial.judge(RULE, True, expected, "each once", last[-1])
    elif not number:
        trial.set_aside(RULE, "none of the simultaneous creates was accepted")


def _grown(trial: Trial) -> list[Growth]:
    """Lists that grew by simultaneous creates. There are few wallets in an account, so these take several:
    some where all come together, and one that has a wallet before."""
    if trial.operation.id != "listWallets":
        growth = Growth(trial, _place(trial))
        for _ in range(ROUNDS):
            growth.together()
        return [growth]
    growths = [Growth(trial, trial.suite.fresh()) for _ in range(ROUNDS + 1)]
    growths[-1].take([trial.accept(one, "a first wallet") for one in growths[-1].creates(1)])
    for growth in growths:
        growth.together()
    return growths


def _sound_one_by_one(trial: Trial) -> bool:
    """Whether a list is right when its elements come one after the other."""
    other_customer = trial.target.primary.other_customer_id
    if trial.operation.id == "listAccounts" and other_customer:
        # The list of the first customer's accounts may stay wrong for good.
        growth = Growth(trial, Scene(trial.suite, customer_id=other_customer))
    else:
        growth = Growth(trial, _place(trial))
    growth.one_by_one(3 if growth.create == "createAccount" else ONE_BY_ONE)
    growth.walk()
    return not growth.wrong


def _place(trial: Trial) -> Scene:
    suite = trial.suite
    if trial.operation.id == "listAccounts":
        return suite.shared()
    if trial.operation.id == "listPayoutDestinations":
        return Scene(suite, account_id=suite.shared().account_id)
    return suite.fresh()


def _twice(answer: Exchange) -> int:
    """How many ids an answer holds more than once."""
    items = answer.get("items")
    if not isinstance(items, list):
        return 0
    ids = [one["id"] for one in items if isinstance(one, dict) and isinstance(one.get("id"), str)]
    return sum(1 for number in Counter(ids).values() if number > 1)
