"""Lists that servers and other clients extend while a check reads them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conformance.checks import load_checks
from conformance.checks.check import run_check
from conformance.checks.watch import Watch
from conformance.judge.effects import Effect
from conformance.judge.verdicts import Verdict
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import MAX_SIZE
from conformance.world.habits import GROWING_END, growing_end, prepopulated
from conformance.world.known_lists import small_list
from tests.faults.harness import LossyTransport, Outcome, catch, checks_of, run_one
from tests.prove.selection import by_id
from tests.support.runs import run_on
from tests.variants.choice import compose
from tests.variants.hurry import hurried
from tests.variants.jobs import AccountsFurnished, AccountsFurnishedLater
from tests.variants.lists import NewestFirst
from tests.variants.resources import OrderOfHashes
from tests.variants.surroundings import crowded_customer


def test_checks_that_create_accounts_leave_the_judged_list_alone() -> None:
    run = run_on()
    listed = small_list(run, "listAccounts").call
    before = run.send(run.client(), listed, "the list").get("total")
    run.account(fresh=True).create("createBeneficiary")
    assert run.send(run.client(), listed, "the list").get("total") == before


def test_late_read_of_a_list_leaves_out_what_may_not_show_yet() -> None:
    run = run_on()
    fixture = run.account(fresh=True)
    page = fixture.call("listVirtualAccounts").with_query("page=1&size=100")
    run.send(fixture.client, page, "the empty list")
    long_ago, lately = (fixture.create("createVirtualAccount") for _ in range(2))
    long_ago.started -= 60
    waits: list[float] = []
    run.pause = waits.append
    check = load_checks()["test_late.test_lists_after_a_while"]
    [cell], numbers = run_check(check, "listVirtualAccounts", run)
    assert cell.verdict is Verdict.PASSED and not waits
    assert long_ago.number in numbers and lately.number not in numbers


# ---------------------------------------------------------------------- pre-populated accounts


FAULTS = (
    "list.complete[listVirtualAccounts]: The elements of other parents are listed, too: everybody",
    "list.empty[listWallets]: A list without matches shows all elements of the kind instead",
    "wallet.duplicate[createWallet]: A second wallet of the same pair is refused, but it is there",
    "refusal.changes-nothing[createVirtualAccount]: A refused request is performed all the same: field",
)


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_caught_in_furnished_accounts(name: str) -> None:
    fault = by_id()[name]
    behaviour = type("Furnished", (fault.behaviour, AccountsFurnished), {})
    assert catch(replace(fault, behaviour=behaviour)).shows(fault)


@hurried()
@pytest.mark.parametrize("furnishing", [AccountsFurnished, AccountsFurnishedLater])
def test_furnished_accounts_are_known(furnishing: type[Behaviour]) -> None:
    run = run_on(compose(furnishing))
    assert prepopulated(run, "listVirtualAccounts")
    assert prepopulated(run, "listWallets") is (furnishing is AccountsFurnished)
    assert not prepopulated(run, "listPayoutDestinations")


# ---------------------------------------------------------------------- crowded customer


KINDS = (
    ("refusal.changes-nothing", "A refused request is performed all the same: field"),
    ("idempotency.replay", "A repeated request is answered with the original response, and performed again"),
    ("idempotency.race", "Simultaneous requests with one key are all performed"),
)


@hurried()
@pytest.mark.parametrize(("rule", "kind"), KINDS)
def test_created_accounts_are_found_among_thousands(rule: str, kind: str) -> None:
    fault = by_id()[f"{rule}[createAccount]: {kind}"]
    run, outcome = run_on(fault.make(), LossyTransport, fill=crowded_customer), Outcome()
    for check in checks_of(rule, "createAccount"):
        run_one(check, "createAccount", run, outcome)
    assert (rule, "createAccount") in outcome.broken


class CustomerWithManyAccounts:
    """A conforming server whose customer has slightly more accounts than fit on a page."""

    accounts = 130

    def __init__(self, *choices: type[Behaviour]) -> None:
        self.run = run_on(compose(*choices))
        self.fixture = self.run.account()
        for _ in range(self.accounts):
            self.fixture.create("createAccount")

    def send(self, call: Call, purpose: str) -> Exchange:
        return self.run.send(self.run.client(), call, purpose)


@hurried()
@pytest.mark.parametrize(
    ("choices", "place"),
    [
        pytest.param((), "end", id="oldest-first"),
        pytest.param((NewestFirst,), "start", id="newest-first"),
        pytest.param((OrderOfHashes,), "", id="no-order"),
    ],
)
def test_the_end_of_a_list_with_new_elements_is_found(
    choices: tuple[type[Behaviour], ...], place: str
) -> None:
    customer = CustomerWithManyAccounts(*choices)
    assert growing_end(customer.run, customer.send, customer.fixture) == place


class OtherNamesFirst(Behaviour):
    """Lists accounts with foreign names before the suite's."""

    def fetch(self, ctx: Context, listing: Any, *, limit: int = -1, offset: int = 0) -> list[Record]:
        records = super().fetch(ctx, listing)
        records.sort(key=lambda record: "Conformance" in str(record.get("name")))
        return records[offset:] if limit < 0 else records[offset : offset + limit]


@hurried()
def test_account_that_a_look_showed_is_not_new_whatever_the_order() -> None:
    """The first element of an unordered list is no effect, even if new accounts seem to come first."""
    customer = CustomerWithManyAccounts(OtherNamesFirst)
    run, fixture = customer.run, customer.fixture
    customer.send(fixture.call("createAccount", {"name": "Another"}), "an account without a mark")
    run.cache.get(GROWING_END.of(fixture.customer_id), lambda: "start")
    watch = Watch(run, customer.send, fixture, "createAccount")
    watch.start()
    fixture.create("createAccount")
    assert watch.effect([]) == Effect()


class OthersFollow(Behaviour):
    """Other clients create accounts immediately after each new one."""

    others = 0

    def create(self, ctx: Context) -> None:
        super().create(ctx)
        record = ctx.record or {}
        if ctx.operation == "createAccount":
            for number in range(self.others):
                ctx.store.insert("account", {**record, "id": f"{record['id']}x{number}"})


@hurried()
def test_new_account_shows_on_the_page_before_the_last() -> None:
    behaviour = OthersFollow()
    run = run_on(behaviour, fill=crowded_customer)
    total = (
        run.client().send(run.account().call("listAccounts").with_query({"page": 1, "size": 1})).get("total")
    )
    # The last of them starts a new page.
    behaviour.others = MAX_SIZE - total % MAX_SIZE
    cells, _ = run_check(load_checks()["test_list_contents.test_new_account_shows"], "listAccounts", run)
    assert {cell.rule: cell.verdict for cell in cells}["list.complete"] is Verdict.PASSED
