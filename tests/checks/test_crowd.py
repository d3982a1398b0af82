"""Beside more accounts than any check reads, what requests add to them is still seen."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.checks import load_checks
from conformance.checks.check import run_check
from conformance.checks.side_effects import Watch
from conformance.judge.effects import Effect
from conformance.judge.findings import Verdict
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import MAX_SIZE
from conformance.world.habits import GROWING_END, growing_end
from tests.faults.harness import LossyTransport, Outcome, checks_of, run_one
from tests.prove.selection import by_id
from tests.support.runs import run_on
from tests.variants.choice import compose
from tests.variants.hurry import hurried
from tests.variants.lists import NewestFirst
from tests.variants.resources import OrderOfHashes
from tests.variants.surroundings import crowded_customer

KINDS = (
    ("refusal.changes-nothing", "A refused request is performed all the same: field"),
    ("idempotency.replay", "A repeated request is answered with the original response, and performed again"),
    ("idempotency.race", "Simultaneous requests with one key are all performed"),
)


@hurried()
@pytest.mark.parametrize(("rule", "kind"), KINDS)
def test_accounts_that_should_not_be_are_seen_in_a_crowd(rule: str, kind: str) -> None:
    fault = by_id()[f"{rule}[createAccount]: {kind}"]
    run, outcome = run_on(fault.make(), LossyTransport, fill=crowded_customer), Outcome()
    for check in checks_of(rule, "createAccount"):
        run_one(check, "createAccount", run, outcome)
    assert (rule, "createAccount") in outcome.broken


class CustomerWithManyAccounts:
    """A conforming server whose customer has some more accounts than a page holds."""

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
def test_end_at_which_accounts_show_is_found(choices: tuple[type[Behaviour], ...], place: str) -> None:
    customer = CustomerWithManyAccounts(*choices)
    assert growing_end(customer.run, customer.send, customer.fixture) == place


class OtherNamesFirst(Behaviour):
    """Accounts of other names than the suite's come first in lists."""

    def fetch(self, ctx: Context, listing: Any, *, limit: int = -1, offset: int = 0) -> list[Record]:
        records = super().fetch(ctx, listing)
        records.sort(key=lambda record: "Conformance" in str(record.get("name")))
        return records[offset:] if limit < 0 else records[offset : offset + limit]


@hurried()
def test_account_that_a_look_showed_is_not_new_whatever_the_order() -> None:
    """The first element of a list without an order is no effect, though new accounts seem to be first."""
    customer = CustomerWithManyAccounts(OtherNamesFirst)
    run, fixture = customer.run, customer.fixture
    customer.send(fixture.call("createAccount", {"name": "Another"}), "an account without a mark")
    run.cache.get(GROWING_END.of(fixture.customer_id), lambda: "start")
    watch = Watch(run, customer.send, fixture, "createAccount")
    watch.start()
    fixture.create("createAccount")
    assert watch.effect([]) == Effect()


class OthersFollow(Behaviour):
    """Others create accounts right behind a new one."""

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
    # The last of them begins another page.
    behaviour.others = MAX_SIZE - total % MAX_SIZE
    findings, _ = run_check(load_checks()["test_list_contents.test_new_account_shows"], "listAccounts", run)
    assert {finding.rule: finding.verdict for finding in findings}["list.complete"] is Verdict.PASSED
