"""State machines that draw sequences of requests, which the driver sends and judges.

Ids are never drawn: a rule draws an index into the model's resources, so that failures shrink to the first
ones. Hypothesis leaves random rules out of each example (swarm testing)."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from conformance.contract import fields
from conformance.contract.traits import TRAITS
from conformance.fuzz.engine.hypothesis_runs import errors_at_once
from conformance.fuzz.schema.operation_fixtures import OperationFixtures
from conformance.fuzz.stateful.executor import Driver
from conformance.fuzz.stateful.reference_model import Document, Payee, Thing
from conformance.fuzz.stateful.sender import ExampleOver
from conformance.wire.pages import Parameters, status_filter
from conformance.world.account import call
from conformance.world.samples import marker

#: Words of ASCII letters: a server may refuse other scripts, and digits in names.
TEXTS = ("Ada", "zoe", "ZOE", "a b")

#: Fields that are sent with a text above their maximum length.
_LIMITED = ("name", "label", "display_name", "first_name", "note", "title")

#: Value of a member to leave out.
ABSENT = object()

PLACES = st.integers(0, 5)
SIZES = st.sampled_from((100, 1, 2, 3, 10))
WORDS = st.sampled_from(TEXTS)

#: A member of a body and the value to set, or None.
Change = tuple[str, Any] | None


def mutated(operation: str) -> list[tuple[str, Any]]:
    """Changes of a body's member for which it must be refused."""
    pairs: list[tuple[str, Any]] = []
    for field in fields.request_fields(operation):
        if field.required:
            pairs.append((field.name, 5))
            if not TRAITS[operation].subset_of:
                pairs += [(field.name, ABSENT), (field.name, None)]
        if field.max_length is not None and field.name in _LIMITED:
            pairs.append((field.name, "\u0436" * (field.max_length + 1)))
        if field.choices:
            pairs.append((field.name, "robot"))
        if field.code == "country":
            pairs.append((field.name, "USA"))
    return pairs


def changes(operation: str, *more: tuple[str, Any]) -> st.SearchStrategy[Change]:
    """Strategy: no change of a body, or one for which it must be refused."""
    return st.none() | st.sampled_from((*mutated(operation), *more))


def with_mutation(body: Document, change: Change) -> Document:
    """A body with one member set or left out."""
    changed = body if change is None else {**body, change[0]: change[1]}
    return {name: value for name, value in changed.items() if value is not ABSENT}


@dataclass(frozen=True)
class Wish:
    """Drawn filters: a status, and the currency or `created` (start or end) of the element at an index."""

    status: str
    at: int
    start: bool
    end: bool
    currency: bool = False

    def filters(self, operation: str, style: str, things: list[Thing]) -> Parameters:
        """The query parameters; only the status where the model has no elements."""
        filters = status_filter(operation, style, self.status) if self.status else []
        if not things:
            return filters
        shown = things[self.at % len(things)].shown
        if self.currency:
            filters.append(("currency", str(shown.get("currency"))))
        # Else `created` is from the create, which may be more precise than what lists compare.
        if (self.start or self.end) and all(thing.listed for thing in things):
            filters.append(("start_date" if self.start else "end_date", str(shown.get("created"))))
        return filters


def accepted(operation: str) -> Callable[[Any], Any]:
    """A precondition: a valid body of this operation is known."""
    return precondition(lambda self: operation in self.driver.valid)


_TIMED = (st.sampled_from(("", "active", "inactive")), PLACES, st.booleans(), st.booleans())
WISHES, WISHES_BY_CURRENCY = st.builds(Wish, *_TIMED), st.builds(Wish, *_TIMED, st.booleans())


def until_over(act: Callable[..., None]) -> Callable[..., None]:
    """Decorates a method of a machine to do nothing after the example ended, by ExampleOver or an error."""

    @functools.wraps(act)
    def perform(machine: Machine, **drawn: Any) -> None:
        if not machine.over:
            machine.over = True
            with errors_at_once(), contextlib.suppress(ExampleOver):
                act(machine, **drawn)
                machine.over = False

    return perform


def step(**drawn: Any) -> Callable[[Callable[..., None]], Any]:
    """Marks a method as a step of an example, whose arguments Hypothesis draws."""
    return lambda act: rule(**drawn)(until_over(act))  # type: ignore[no-untyped-call]


class Machine(RuleBasedStateMachine):
    """Base of all machines: an example begins with a new account and ends with a read of its contents."""

    #: Makes the driver of an example.
    new_driver: ClassVar[Callable[[], Driver]]
    #: True before the start and after the end of an example: nothing is sent.
    over = True

    @initialize(
        kept=st.integers(0, 15), texts=st.lists(WORDS, min_size=1, max_size=2), destination=st.booleans()
    )
    def start(self, kept: int, texts: list[str], destination: bool) -> None:
        """Creates the account and its first contents."""
        assume(kept)  # The simplest example begins each run of Hypothesis.
        self.driver = type(self).new_driver()
        self.model = self.driver.model
        self.over = False
        self.begin(texts=texts, destination=destination)

    @until_over
    def begin(self, texts: list[str], destination: bool) -> None:
        self.driver.begin()
        self.fill(texts, destination)

    def fill(self, texts: list[str], destination: bool) -> None:
        """Creates the first contents of the account."""

    @until_over
    def teardown(self) -> None:
        self.driver.conclude()

    def body(self, operation: str, text: str) -> Document:
        """A valid body with a unique label."""
        fresh = OperationFixtures(self.driver.run, operation, shared=True).fresh_body()
        # A server may want these values unique.
        body = self.driver.valid[operation].body | {
            name: fresh[name] for name in fields.UNIQUE & fresh.keys()
        }
        for name in ("label", "display_name", "name", "description"):
            if name in body and name not in self.driver.valid[operation].pinned:
                body[name] = f"{text} {marker()}"
        return body

    def walk(self, operation: str, size: int, wish: Wish, payee: Payee | None = None) -> None:
        """Walks a list with the filters of a wish."""
        things = self.model.listed(operation, payee)
        if (wish.start or wish.end) and not all(thing.listed for thing in things):
            self.driver.learn(operation, payee)
        filters = wish.filters(operation, self.driver.run.target.array_style, things)
        self.driver.judge_list(operation, size, filters, payee)

    def payee(self, place: int) -> Payee:
        return self.model.payees[place % len(self.model.payees)]

    @precondition(lambda self: self.model.posts)
    @step(place=PLACES)
    def replay(self, place: int) -> None:
        self.driver.replay(self.model.posts[-1 - place % len(self.model.posts)])

    @precondition(lambda self: any(post.call.body for post in self.model.posts))
    @step(place=PLACES, text=WORDS)
    def conflict(self, place: int, text: str) -> None:
        posts = [post for post in self.model.posts if post.call.body]
        post = posts[-1 - place % len(posts)]
        operation = str(post.call.operation)
        body = (
            {**post.call.document, "note": f"{text} x"}
            if TRAITS[operation].draws_on_funds
            else self.body(operation, text)
        )
        self.driver.conflict(post, body)

    @precondition(lambda self: self.model.posts)
    @step(place=PLACES)
    def other_organization(self, place: int) -> None:
        self.driver.other_organization(self.model.posts[place % len(self.model.posts)])

    @step(
        operation=st.sampled_from(
            ("createVirtualAccount", "createBeneficiary", "listVirtualAccounts", "listWallets")
        ),
        key=st.sampled_from(("not-a-uuid", "1234", "")),
    )
    def intruder(self, operation: str, key: str) -> None:
        """Sends a request of the other organization, or one with an invalid key."""
        creates = bool(TRAITS[operation].creates)
        if creates and operation not in self.driver.valid:
            return
        body = self.body(operation, "intruder") if creates else None
        request = call(operation, self.driver.ids, body)
        if key and body is not None:
            self.driver.bad_key(request, key)
        else:
            self.driver.foreign(request)


class Payees(Machine):
    """Beneficiaries, their destinations, and payouts to them."""

    def fill(self, texts: list[str], destination: bool) -> None:
        if "createBeneficiary" in self.driver.valid:
            for text in texts:
                self.driver.create("createBeneficiary", self.body("createBeneficiary", text))
        if destination and self.model.payees and "createPayoutDestination" in self.driver.valid:
            self.driver.create(
                "createPayoutDestination",
                self.body("createPayoutDestination", texts[0]),
                self.model.payees[0],
            )

    @accepted("createBeneficiary")
    @step(
        text=WORDS,
        dropped=st.sets(st.sampled_from(("title", "middle_name", "tax_id", "note")), max_size=3),
        business=st.booleans(),
        change=changes("createBeneficiary"),
    )
    def create_beneficiary(self, text: str, dropped: set[str], business: bool, change: Change) -> None:
        pinned = self.driver.valid["createBeneficiary"].pinned
        body = self.body("createBeneficiary", text)
        if business and "beneficiary_type" not in pinned:
            body |= {"beneficiary_type": "business", "company_name": f"{text} Ltd"}
        for name in sorted(dropped - pinned):
            body.pop(name, None)
        self.driver.create("createBeneficiary", with_mutation(body, change))

    @precondition(lambda self: self.model.payees)
    @step(place=PLACES)
    def read_beneficiary(self, place: int) -> None:
        self.driver.read(self.payee(place))

    @precondition(lambda self: self.model.payees)
    @accepted("updateBeneficiary")
    @step(
        place=PLACES,
        names=st.sets(
            st.sampled_from(("note", "display_name", "first_name", "last_name", "middle_name")), max_size=3
        ),
        text=WORDS,
        change=changes("updateBeneficiary"),
    )
    def update(self, place: int, names: set[str], text: str, change: Change) -> None:
        self.driver.update(self.payee(place), with_mutation(dict.fromkeys(sorted(names), text), change))

    @precondition(lambda self: self.model.payees)
    @step(place=PLACES)
    def disable(self, place: int) -> None:
        self.driver.disable(self.payee(place))

    @precondition(lambda self: self.model.payees)
    @step(
        place=PLACES,
        operation=st.sampled_from(
            ("getBeneficiary", "updateBeneficiary", "listPayoutDestinations", "disableBeneficiary")
        ),
        where=st.sampled_from(("sibling", "unknown")),
    )
    def misplaced(self, place: int, operation: str, where: str) -> None:
        self.driver.misplaced(operation, self.payee(place), "beneficiary_id", where)

    @precondition(lambda self: self.model.payees)
    @accepted("createPayoutDestination")
    @step(place=PLACES, text=WORDS, default=st.booleans(), change=changes("createPayoutDestination"))
    def create_destination(self, place: int, text: str, default: bool, change: Change) -> None:
        payee = self.payee(place)
        if payee.disabled:
            return  # open for a disabled beneficiary
        body = self.body("createPayoutDestination", text) | {"is_default": default and not payee.destinations}
        self.driver.create("createPayoutDestination", with_mutation(body, change), payee)

    @precondition(lambda self: self.model.payees)
    @step(place=PLACES, size=SIZES, wish=WISHES)
    def list_destinations(self, place: int, size: int, wish: Wish) -> None:
        self.walk("listPayoutDestinations", size, wish, self.payee(place))

    @precondition(
        lambda self: (
            self.driver.run.target.features.payouts and any(payee.destinations for payee in self.model.payees)
        )
    )
    @accepted("createPayout")
    @step(
        place=PLACES,
        text=WORDS,
        change=changes("createPayout", *(("amount", value) for value in ("-5.00", "0", "abc", "NaN", ""))),
    )
    def create_payout(self, place: int, text: str, change: Change) -> None:
        payees = [payee for payee in self.model.payees if payee.destinations and not payee.disabled]
        if not payees:
            return
        payee = payees[place % len(payees)]
        destination = payee.destinations[0]
        body = {
            **self.driver.valid["createPayout"].body,
            "beneficiary_id": payee.id,
            "payout_destination_id": destination.id,
            "currency": destination.shown.get("currency"),
            "note": text,
        }
        self.driver.create("createPayout", with_mutation(body, change))


class Holdings(Machine):
    """Virtual accounts, wallets, balances and payins."""

    @accepted("createVirtualAccount")
    @step(text=WORDS, currency=st.sampled_from(("", "EUR", "USD")), change=changes("createVirtualAccount"))
    def create_virtual_account(self, text: str, currency: str, change: Change) -> None:
        body = self.body("createVirtualAccount", text)
        if currency:
            body["currency"] = currency
        self.driver.create("createVirtualAccount", with_mutation(body, change))

    @precondition(lambda self: self.model.virtual_accounts)
    @step(place=PLACES)
    def read_virtual_account(self, place: int) -> None:
        self.driver.virtual_account(self.model.virtual_accounts[place % len(self.model.virtual_accounts)])

    @precondition(lambda self: self.model.virtual_accounts)
    @step(place=PLACES, where=st.sampled_from(("sibling", "unknown")))
    def misplaced_virtual_account(self, place: int, where: str) -> None:
        thing = self.model.virtual_accounts[place % len(self.model.virtual_accounts)]
        self.driver.misplaced("getVirtualAccount", thing, "virtual_account_id", where)

    @step(size=SIZES, wish=WISHES_BY_CURRENCY)
    def list_virtual_accounts(self, size: int, wish: Wish) -> None:
        self.walk("listVirtualAccounts", size, wish)

    @accepted("createWallet")
    @step(text=WORDS, pair=st.integers(0, 1), change=changes("createWallet"))
    def create_wallet(self, text: str, pair: int, change: Change) -> None:
        pairs = self.driver.run.samples.wallet_pairs
        currency, network = pairs[pair % len(pairs)]
        body = {**self.body("createWallet", text), "currency": currency, "network": network}
        self.driver.create("createWallet", with_mutation(body, change))

    @step(size=SIZES, wish=WISHES_BY_CURRENCY)
    def list_wallets(self, size: int, wish: Wish) -> None:
        self.walk("listWallets", size, wish)

    @step()
    def balances(self) -> None:
        self.driver.balances()

    @precondition(lambda self: self.driver.run.target.features.payins)
    @accepted("createPayin")
    @step(text=WORDS, change=changes("createPayin"))
    def create_payin(self, text: str, change: Change) -> None:
        self.driver.create("createPayin", with_mutation(self.body("createPayin", text), change))


class Everything(Payees, Holdings):
    """All operations, further accounts included."""

    @accepted("createAccount")
    @step(text=WORDS, change=changes("createAccount"))
    def create_account(self, text: str, change: Change) -> None:
        self.driver.create("createAccount", with_mutation(self.body("createAccount", text), change))


MACHINES: dict[str, type[Machine]] = {"payees": Payees, "holdings": Holdings, "everything": Everything}
