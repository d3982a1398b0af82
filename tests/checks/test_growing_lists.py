"""Lists that others make longer while a check reads them."""

from __future__ import annotations

from conformance.checks import load_checks
from conformance.checks.check import run_check
from conformance.judge.findings import Verdict
from conformance.world.known_lists import listed_customer, small_list
from tests.support.runs import run_on
from tests.variants.choice import compose
from tests.variants.hurry import hurried
from tests.variants.jobs import OtherClients
from tests.variants.replicas import ListsUneven
from tests.variants.resources import OrderOfHashes


class OneForEachRequest(OtherClients):
    """Another client creates an account whenever the suite asks for something of the customer."""

    created_every = 1


@hurried()
def test_element_that_others_move_to_the_next_page_is_not_shown_twice() -> None:
    run = run_on(compose(OrderOfHashes, OneForEachRequest))
    for _ in range(130):
        run.account().create("createAccount")
    findings, _ = run_check(load_checks()["test_growing_lists.test_list_while_it_grows"], "listAccounts", run)
    assert [finding.verdict for finding in findings if finding.rule == "list.race"] == [Verdict.PASSED]


@hurried()
def test_an_account_that_replicas_show_one_after_the_other_is_waited_for() -> None:
    run = run_on(compose(ListsUneven))
    small_list(run, "listAccounts")
    listed_customer(run).create("createAccount")
    findings, _ = run_check(load_checks()["test_lists.test_defaults"], "listAccounts", run)
    assert findings[0].verdict is Verdict.PASSED


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
    [finding], numbers = run_check(check, "listVirtualAccounts", run)
    assert finding.verdict is Verdict.PASSED and not waits
    assert long_ago.number in numbers and lately.number not in numbers
