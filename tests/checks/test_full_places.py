"""A valid request that a server refuses for where it is sent, or for a value that was used, blames nobody: it
is sent anew elsewhere, and a check that could not judge for such a refusal is repeated."""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from conformance.checks import load_checks
from conformance.checks.check import Check, CheckDefinition
from conformance.checks.running import IN_VAIN, run_check
from conformance.checks.side_effects import anew
from conformance.checks.test_accepted import SIGNS
from conformance.contract.json_text import all_texts
from conformance.judge.cells import Cell
from conformance.judge.verdicts import Inconclusive, Verdict
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.reference.refusals import Refusal
from conformance.reference.seams.resources import RECORD_KINDS
from conformance.world.creations import creations
from conformance.world.lane import Lane
from conformance.world.payers import Payers
from conformance.world.purposes import CREATED, LISTS, PAYOUTS, SIBLING_TENANT
from tests.support.in_process import InProcessTransport
from tests.support.runs import run_on
from tests.variants.backends import few_payouts_to_one
from tests.variants.choice import compose, insert, memory
from tests.variants.demands import DailyLimit, SamePayoutOnce, few_of_each
from tests.variants.hurry import hurried
from tests.variants.networks import refusing
from tests.variants.payments import FewAccounts

from .test_spoilt_probes import faulty


def judged(lane: Lane, check: str, operation: str) -> list[Cell]:
    return run_check(load_checks()[check], operation, lane)[0]


@pytest.mark.parametrize("operation", ["createVirtualAccount", "createPayoutDestination"])
@pytest.mark.parametrize(
    "check",
    [
        "test_negotiation.test_answers_are_json_with_the_same_values",
        "test_signed_bodies.test_charset_parameter",
        "test_idempotency_keys.test_valid_keys",
        "test_idempotency_keys.test_missing_key",
    ],
)
def test_a_full_account_is_left_for_another(check: str, operation: str) -> None:
    lane = run_on(compose(few_of_each))
    full = lane.account().call(operation)
    while lane.send(lane.client(), lane.account().call(operation), "one more").succeeded:
        pass
    assert full.path == lane.account().call(operation).path
    assert {cell.verdict for cell in judged(lane, check, operation)} == {Verdict.PASSED}


def test_where_no_more_accounts_can_be_created_those_with_wallets_do() -> None:
    lane = run_on(compose(FewAccounts))
    assert judged(lane, "test_wallets.test_second_wallet_of_a_pair", "createWallet")
    shared = lane.account(SIBLING_TENANT)
    wallet = lane.accept(shared.client, shared.call("createWallet"), "a wallet where others work as well")
    lane.common.vacant.leave([wallet])
    assert lane.account(LISTS).account_id
    while lane.send(lane.client(), lane.account().call("createAccount"), "one more").succeeded:
        pass
    with pytest.raises(Inconclusive, match="quota_exceeded"):
        _ = lane.account(fresh=True).account_id
    cells = judged(lane, "test_list_contents.test_new_elements_show", "listVirtualAccounts")
    assert {cell.verdict for cell in cells} == {Verdict.PASSED, Verdict.OBSERVED}
    with pytest.raises(Inconclusive, match="quota_exceeded"):
        while True:
            assert lane.account(fresh=True, operation="listVirtualAccounts").account_id != shared.account_id


def test_where_a_customer_may_have_no_more_accounts_those_of_the_other_one_do() -> None:
    lane = run_on(compose(FewAccounts))
    while lane.send(lane.client(), lane.account().call("createAccount"), "one more").succeeded:
        pass
    other = lane.account(fresh=True, operation="createWallet")
    assert other.account_id
    assert other.customer_id == lane.target.primary.other_customer_id
    for check, operation in (
        ("test_wallets.test_same_pair_in_another_account", "createWallet"),
        ("test_balances.test_balances_are_of_the_account", "getAccountBalances"),
        ("test_idempotency.test_replay", "createAccount"),
        ("test_accepted.test_sound_bodies_are_accepted", "createAccount"),
        ("test_late.test_timestamps_tell_the_time", "createAccount"),
    ):
        for cell in judged(lane, check, operation):
            assert cell.verdict in (Verdict.PASSED, Verdict.OBSERVED), cell.summary


class StandsStill(Behaviour):
    """Shows the time of the first resource as that of each."""

    def success_document(self, ctx: Context) -> dict[str, Any]:
        shown: dict[str, Any] = super().success_document(ctx)
        if ctx.operation.startswith("create"):
            shown |= {"created": memory(self, "stands still").setdefault(ctx.operation, shown["created"])}
        return shown


class AnswersLate(Behaviour):
    """Answers all but the first creates of a customer seconds after it has performed them, together."""

    def success_document(self, ctx: Context) -> dict[str, Any]:
        document: dict[str, Any] = super().success_document(ctx)
        if ctx.operation == "createAccount":
            performed = memory(self, "performed").setdefault(document["customer_id"], [])
            performed.append(document["created"])
            document |= {"created": performed[min(len(performed) - 1, 2)]}
        return document


@hurried()
@pytest.mark.parametrize("operation", ["createAccount", "createWallet"])
@pytest.mark.parametrize(
    ("mistake", "verdict"),
    [((), Verdict.PASSED), ((AnswersLate,), Verdict.PASSED), ((StandsStill,), Verdict.FAILED)],
)
def test_where_no_more_is_created_that_of_the_run_tells_the_time(
    operation: str, mistake: tuple[type[Behaviour], ...], verdict: Verdict
) -> None:
    lane = run_on(compose(FewAccounts, *mistake))
    for owner in ("primary", "cousin"):
        create, wallet = lane.account(owner=owner).call("createAccount"), lane.account().call("createWallet")
        while (last := lane.send(lane.client(), create, "one more")).succeeded:
            path = wallet.path.replace(wallet.ids["account_id"], str(last.get("id")))
            lane.send(lane.client(), wallet.but(target=path), "a wallet in it")
            time.sleep(1)
            create = lane.account(owner=owner).call("createAccount")
    (cell,) = judged(lane, "test_late.test_timestamps_tell_the_time", operation)
    assert cell.verdict is verdict, cell.summary


def test_where_no_more_is_created_the_first_of_the_run_shows_what_an_answer_has() -> None:
    lane = run_on(compose(FewAccounts))
    assert creations(lane, "createAccount")
    for owner in ("primary", "cousin"):
        while True:
            create = lane.account(owner=owner).call("createAccount")
            if not lane.send(lane.client(), create, "one more").succeeded:
                break
    verdicts = {cell.verdict for cell in judged(lane, "test_hostile.test_sound_answers", "createAccount")}
    assert verdicts == {Verdict.PASSED, Verdict.OBSERVED}


class OneOfEach(Behaviour):
    """Limits an account to one beneficiary and one virtual account."""

    def check_state(self, ctx: Context) -> None:
        super().check_state(ctx)
        limited = ctx.operation in ("createBeneficiary", "createVirtualAccount")
        if limited and ctx.store.count(RECORD_KINDS[ctx.operation], self.parent(ctx)["id"]):
            raise Refusal("invalid_field", "There is one.")


@pytest.mark.parametrize("kind", ["Beneficiary", "VirtualAccount"])
@pytest.mark.parametrize("ours", [True, False])
def test_where_no_more_is_created_the_oldest_that_nobody_changed_is_read_at_the_end(
    kind: str, ours: bool
) -> None:
    lane = run_on(OneOfEach())
    changed, full = lane.account(), lane.account(CREATED)
    lane.accept(changed.client, changed.call("updateBeneficiary", {"note": "changed"}), "a change")
    only = lane.accept(full.client, full.call(f"create{kind}"), "the only one")
    if not ours:
        lane.accepted.remove(only)
    with hurried():
        (cell,) = judged(lane, "test_late.test_reads_at_the_end", f"get{kind}")
    assert (cell.verdict is Verdict.PASSED) is ours
    # Else what other checks have judged would not count.
    assert not cell.unclear and (cell.not_exercised is None) is ours


def test_where_an_account_may_pay_no_more_another_one_does() -> None:
    lane = run_on(compose(DailyLimit))
    while lane.send(lane.client(), lane.account(PAYOUTS).call("createPayout"), "one more").succeeded:
        pass
    for check in (
        "test_idempotency_keys.test_valid_keys",
        "test_signed_bodies.test_chunked_body",
        "test_late.test_timestamps_tell_the_time",
    ):
        assert {cell.verdict for cell in judged(lane, check, "createPayout")} == {Verdict.PASSED}


def test_a_payee_paid_too_often_is_left_for_another() -> None:
    lane = run_on(compose(few_payouts_to_one))
    payout = lane.account(PAYOUTS).call("createPayout")
    while lane.send(lane.client(), anew(lane, [payout])[0], "one more").succeeded:
        pass
    cells = judged(lane, "test_hang_ups.test_caller_hangs_up", "createPayout")
    assert {cell.verdict for cell in cells} == {Verdict.PASSED}


def test_accounts_with_wallets_are_taken_before_empty_ones_where_wallets_do_not_matter() -> None:
    lane = run_on()
    empty, furnished = (lane.account(fresh=True) for _ in range(2))
    lane.common.vacant.leave([lane.accept(furnished.client, furnished.call("createWallet"), "a wallet")])
    lane.common.vacant.leave([lane.accept(empty.client, empty.call("createAccount"), "an empty account")])
    assert lane.account(fresh=True, operation="listVirtualAccounts").account_id == furnished.account_id
    for _ in range(2):
        assert lane.account(fresh=True, operation="createWallet").account_id != furnished.account_id


@pytest.mark.parametrize("member", ["pending_payout", "available_balance"])
def test_balances_are_looked_at_in_the_newest_account_though_checks_have_left_others(member: str) -> None:
    last = f"What an account pays moves the balances of the one that its customer opened last: {member}"
    lane = run_on(faulty(last, "getAccountBalances"))
    opening = lane.account().account
    place = opening.organization, opening.call.path
    for check in ("test_second_wallet_of_a_pair", "test_same_pair_in_another_account"):
        judged(lane, f"test_wallets.{check}", "createWallet")
    cells = judged(lane, "test_balances.test_balances_are_of_the_account", "getAccountBalances")
    assert [cell.verdict for cell in cells] == [Verdict.FAILED]
    assert lane.common.vacant.take([place], beside_wallets=True), "else no check has left an account"


class Adders(Payers):
    """Knows whether a thread is alone."""

    held = False

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        self.held = True
        yield
        self.held = False


def test_balances_are_looked_at_in_the_newest_account_though_other_lanes_open_more() -> None:
    last = "What an account pays moves the balances of the one that its customer opened last: available_bal"
    server, adders = faulty(last, "getAccountBalances"), Adders()

    class Beside(type(server)):  # type: ignore[misc]
        """Another lane opens an account after each read of balances, if it may."""

        def balances(self, ctx: Context, record: Record) -> Any:
            if not adders.held and ctx.customer is not None:
                insert(self, ctx, "account", ctx.customer, name="Of another lane")
            return super().balances(ctx, record)

    server.__class__ = Beside
    lane = run_on(server)
    lane.adders = adders
    cells = judged(lane, "test_balances.test_balances_are_of_the_account", "getAccountBalances")
    assert [cell.verdict for cell in cells] == [Verdict.FAILED]


def test_bursts_go_on_with_another_payee() -> None:
    lane = run_on(compose(few_payouts_to_one))
    cells = judged(lane, "test_races.test_many_bursts_with_one_key", "createPayout")
    assert {cell.verdict for cell in cells} == {Verdict.PASSED}


@pytest.mark.parametrize(
    "check",
    [
        "test_hang_ups.test_caller_hangs_up",
        "test_negotiation.test_answers_are_json_with_the_same_values",
        "test_signed_bodies.test_chunked_body",
        "test_idempotency_keys.test_valid_keys",
    ],
)
def test_a_refused_duplicate_blames_nobody(check: str) -> None:
    lane = run_on(compose(SamePayoutOnce))
    amounts = itertools.chain(["1.99", "1.99"], (f"1.{number}" for number in itertools.count(30)))
    lane.samples.amount = lambda operation: next(amounts)  # type: ignore[method-assign]
    payout = lane.account(PAYOUTS).call("createPayout")
    assert lane.send(lane.client(), payout, "a payout, before one of the same amount").succeeded
    for cell in judged(lane, check, "createPayout"):
        assert not cell.violations, cell.summary


def test_what_is_always_refused_is_not_repeated_for_ever() -> None:
    class Closed(Behaviour):
        def check_state(self, ctx: Context) -> None:
            if ctx.operation == "createVirtualAccount":
                raise Refusal("invalid_field", "No virtual accounts are opened today.")

    lane = run_on(Closed())
    sent = []
    for _ in range(IN_VAIN + 2):
        before = lane.sent
        cells = judged(lane, "test_idempotency.test_replay", "createVirtualAccount")
        assert {cell.verdict for cell in cells} == {Verdict.INCONCLUSIVE}
        sent.append(lane.sent - before)
    assert min(sent[:IN_VAIN]) > max(sent[IN_VAIN:])


def test_what_a_lost_caller_made_twice_shows_though_the_first_place_is_full() -> None:
    again = "Work is done again where its caller has hung up"
    lane = run_on(faulty(again, "createVirtualAccount", few_of_each))
    while lane.send(lane.client(), lane.account().call("createVirtualAccount"), "one more").succeeded:
        pass
    cells = judged(lane, "test_hang_ups.test_caller_hangs_up", "createVirtualAccount")
    assert [cell.verdict for cell in cells] == [Verdict.FAILED]


def test_a_violation_of_a_repeated_check_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of a rule that the check could judge the first time."""
    times = []

    def function(at: Check) -> None:
        times.append(at)
        refused = at.send(at.valid().but(body=b"[]"), "refused")
        at.unclear("http.chunked-body", "it was refused", refused)
        at.expect(
            "http.charset-parameter", "as the first time", "" if len(times) == 1 else "another", refused
        )

    rules = "http.charset-parameter", "http.chunked-body"
    definition = CheckDefinition("test.repeated", function, rules, ("createAccount",))
    cells, _ = run_check(definition, "createAccount", run_on())
    assert {cell.rule: cell.verdict for cell in cells} == {
        "http.charset-parameter": Verdict.WARNING,
        "http.chunked-body": Verdict.INCONCLUSIVE,
    }


@pytest.mark.parametrize("signs", SIGNS)
def test_a_firewall_that_counts_signs_is_not_blamed(signs: str) -> None:
    def many(request: httpx.Request, target: bytes) -> bool:
        body = request.read()
        texts = all_texts(json.loads(body)) if body.startswith(b"{") else ()
        return any(sum(text.count(sign) for sign in signs) >= 12 for text in texts)

    front = refusing(403, "Forbidden", many)
    lane = run_on(transport=lambda server: front(InProcessTransport(server)))
    cells = judged(lane, "test_accepted.test_longest_text_of_signs", "createBeneficiary")
    assert not any(cell.violations for cell in cells), cells[0].summary
