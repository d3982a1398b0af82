"""Lists that others make longer while a check reads them."""

from __future__ import annotations

from conformance.checks import load_checks
from conformance.checks.check import run_check
from conformance.judge.findings import Verdict
from conformance.world.known_lists import small_list
from tests.support.runs import run_on
from tests.variants.choice import compose
from tests.variants.hurry import hurried
from tests.variants.jobs import OtherClients
from tests.variants.resources import OrderOfHashes


class OneForEachRequest(OtherClients):
    """Another client creates an account whenever the suite asks for something of the customer."""

    every = 1


@hurried()
def test_element_that_others_move_to_the_next_page_is_not_shown_twice() -> None:
    run = run_on(compose(OrderOfHashes, OneForEachRequest))
    for _ in range(130):
        run.account().create("createAccount")
    findings, _ = run_check(load_checks()["test_growing_lists.test_list_while_it_grows"], "listAccounts", run)
    assert [finding.verdict for finding in findings if finding.rule == "list.race"] == [Verdict.PASSED]


def test_checks_that_create_accounts_leave_the_judged_list_alone() -> None:
    run = run_on()
    listed = small_list(run, "listAccounts").call
    before = run.send(run.client(), listed, "the list").get("total")
    run.account(fresh=True).create("createBeneficiary")
    assert run.send(run.client(), listed, "the list").get("total") == before
