"""Lists that servers and other clients extend while a check reads them."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import httpx
import pytest

from conformance.checks import load_checks, plan
from conformance.checks.check import Check
from conformance.checks.running import run_check
from conformance.checks.side_effects import SideEffects
from conformance.contract.operations import OPERATIONS
from conformance.judge.effects import Effect
from conformance.judge.verdicts import Verdict
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.wire.pages import MAX_SIZE
from conformance.world.known_lists import small_list
from conformance.world.lag import MOST_IN_VAIN
from tests.faults.chosen import by_id
from tests.faults.harness import LossyTransport, catch
from tests.support.in_process import InProcessTransport
from tests.support.runs import broken, judged, run_on
from tests.variants.catalogue import named
from tests.variants.choice import insert, times, varied
from tests.variants.hurry import hurried
from tests.variants.jobs import OtherClients, accounts_furnished
from tests.variants.surroundings import crowded_customer


def test_checks_that_create_accounts_leave_the_judged_list_alone() -> None:
    run = run_on()
    listed = small_list(run, "listAccounts").call
    before = run.send(run.client(), listed, "the list").get("total")
    run.account(fresh=True).create("createBeneficiary")
    assert run.send(run.client(), listed, "the list").get("total") == before


# ---------------------------------------------------------------------- pre-populated accounts


FAULTS = (
    "list.complete[listVirtualAccounts]: The elements of other parents are listed, too: everybody",
    "list.empty[listWallets]: A list without matches shows all elements of the kind instead",
    "wallet.duplicate[createWallet]: A second wallet of the same pair is created",
    "refusal.changes-nothing[createVirtualAccount]: A refused request is performed all the same: field",
)


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_caught_in_furnished_accounts(name: str) -> None:
    fault = by_id()[name]
    behaviour = type("Furnished", (fault.base, accounts_furnished), {})
    assert catch(replace(fault, base=behaviour)).shows(fault)


# ---------------------------------------------------------------------- crowded customer


KINDS = (
    ("refusal.changes-nothing", "A refused request is performed all the same: field"),
    ("idempotency.replay", "A repeated request is answered with the original response, and performed again"),
    ("idempotency.race", "Requests with one key are all performed"),
)


@hurried()
@pytest.mark.parametrize(("rule", "kind"), KINDS)
def test_created_accounts_are_found_among_thousands(rule: str, kind: str) -> None:
    fault = by_id()[f"{rule}[createAccount]: {kind}"]
    run = run_on(fault.make(), LossyTransport, fill=crowded_customer)
    assert judged(run, plan({rule}, {"createAccount"})).cell(rule, "createAccount").violations


@hurried()
def test_race_beside_accounts_that_others_create() -> None:
    """What others add while requests of one key race is told from their effect by another race."""
    others = varied("OtherClientsOften", "Creates one at every third request.", OtherClients, created_every=3)
    cell = judged(run_on(others()), plan({"idempotency.race"}, {"createAccount"})).cell(
        "idempotency.race", "createAccount"
    )
    assert cell.verdict is Verdict.PASSED, cell.unclear


class OtherNamesFirst(Behaviour):
    """Lists accounts with foreign names before the suite's."""

    def fetch(self, ctx: Context, listing: Any, *, limit: int = -1, offset: int = 0) -> list[Record]:
        records = super().fetch(ctx, listing)
        records.sort(key=lambda record: "Conformance" in str(record.get("name")))
        return records[offset:] if limit < 0 else records[offset : offset + limit]


@hurried()
def test_account_that_a_look_showed_is_not_new_whatever_the_order() -> None:
    """The first element of an unordered list is no effect, even if new accounts seem to come first."""
    run = run_on(OtherNamesFirst())
    fixture = run.account()
    send = functools.partial(run.send, run.client())
    # Slightly more accounts than fit on a page.
    for body in (*[None] * 130, {"name": "Another"}):
        send(fixture.call("createAccount", body), "an account")
    run.common.cache.put(("growing end", fixture.customer_id), "start")
    snapshots = SideEffects(Check(run, OPERATIONS["createAccount"], (), ""), fixture).start()
    fixture.create("createAccount")
    assert snapshots.round().effect == Effect()


@hurried()
def test_accounts_are_counted_again_while_a_create_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server counts what another lane creates before its answer comes."""
    lane = run_on(fill=crowded_customer)
    fixture = lane.account()
    lane.common.cache.put(("growing end", fixture.customer_id), "")
    snapshots = SideEffects(Check(lane, OPERATIONS["createAccount"], (), ""), fixture).start()
    fixture.create("createAccount")
    unanswered, number = iter([0]), lane.created.number
    monkeypatch.setattr(lane.created, "number", lambda *given: next(unanswered, number(*given)))
    assert snapshots.round().effect == Effect()


@hurried()
@pytest.mark.parametrize("kind", ["quotes are straight", "C1 is dropped", "a date is a time"])
def test_names_of_accounts_are_judged_where_the_list_was_long_already(kind: str) -> None:
    fault = by_id()[
        f"create.echo[createAccount]: A text is kept in another form than it was sent: name, {kind}"
    ]
    run = run_on(fault.make(), fill=crowded_customer)
    check = load_checks()["test_resources.test_labels_of_many"]
    assert "create.echo" in broken(run_check(check, "createAccount", run)[0])


@hurried()
def test_replicas_of_different_age_lose_no_element_where_nobody_waits_any_more() -> None:
    check = load_checks()["test_lists.test_walking_pages"]
    uneven = named("lists uneven")
    for _ in range(3):
        run = run_on(uneven.behaviour())
        for _ in range(MOST_IN_VAIN):
            run.lag.eventually("listAccounts", lambda: 0, lambda _: False)
        assert not broken(run_check(check, "listAccounts", run)[0])


# ---------------------------------------------------------------------- totals


#: Faults of a list of accounts that grows while it is read.
GROWING = (
    "total counts the accounts of all customers: of the organization",
    "total counts the accounts of all customers: of all organizations",
    "A page does not hold what it should: last page without its last",
)


@pytest.mark.parametrize("earlier", (0, 4, 8, 16, 22))
@pytest.mark.parametrize("kind", GROWING)
def test_totals_and_last_pages_are_judged_whenever_others_add(kind: str, earlier: int) -> None:
    fault = by_id()[f"list.walk[listAccounts]: {kind}"]
    behaviour = type("Busy", (fault.base, OtherClients), {"earlier": earlier})
    assert catch(replace(fault, base=behaviour)).shows(fault)


def test_a_last_page_that_others_fill_each_time_is_inconclusive() -> None:
    fault = by_id()[f"list.walk[listAccounts]: {GROWING[-1]}"]
    behaviour = type("Busier", (fault.base, OtherClients), {"created_every": 3})
    outcome = catch(replace(fault, base=behaviour))
    assert "others added" in outcome.inconclusive[fault.rule, fault.operation]


# ---------------------------------------------------------------------- creates under way


class Impatient(InProcessTransport):
    """A gateway that answers one create of a virtual account with 502, while the server goes on: the element
    is there after so many requests, or when it has been asked for twice more."""

    AFTER = 0

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.creates = self.requests = self.repetitions = 0
        self.pending: tuple[httpx.Request, int] | None = None

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests += 1
        if self.pending and (self.requests > self.pending[1] or self.repetitions > 1):
            super().handle_request(self.pending[0])
            self.pending = None
        if request.method == "POST" and request.url.path.endswith("/virtual-accounts"):
            self.creates += 1
            key = request.headers.get("idempotency-key")
            if self.pending and self.pending[0].headers["idempotency-key"] == key:
                self.repetitions += 1
                return httpx.Response(409, json={"error": {"type": "x", "code": "in_use", "message": "x"}})
            if self.creates == 5:
                self.pending = request, self.requests + self.AFTER
                return httpx.Response(502, content=b"")
        return super().handle_request(request)


@pytest.mark.parametrize("after", (59, 62, 65, 68))
def test_a_walk_waits_for_creates_under_way(after: int) -> None:
    """An element that appears in the middle of a walk would look like one that is listed twice or not."""
    run = run_on(transport=type("After", (Impatient,), {"AFTER": after}))
    with hurried():
        cells, _ = run_check(load_checks()["test_lists.test_walking_pages"], "listVirtualAccounts", run)
    assert broken(cells) == {}


class CountedFirst(Behaviour):
    """Adds an account before a list is read whole: counted at once, shown from the second walk on."""

    hidden: bool | None = None

    def count(self, ctx: Context, listing: Any) -> int:
        if ctx.operation == "listAccounts" and ctx.customer is not None:
            if self.hidden is None and listing.size == 1:
                insert(self, ctx, "account", ctx.customer, name="of another client")
                self.hidden = True
            elif self.hidden and listing.size not in (1, MAX_SIZE):
                self.hidden = False
        return super().count(ctx, listing)

    def fetch(self, ctx: Context, listing: Any, *, limit: int = -1, offset: int = 0) -> list[Record]:
        records = super().fetch(ctx, listing, limit=limit, offset=offset)
        return [each for each in records if not self.hidden or each.get("name") != "of another client"]


@hurried()
def test_an_account_that_is_counted_before_it_is_listed_is_missing_nowhere() -> None:
    check = load_checks()["test_lists.test_walking_pages"]
    assert broken(run_check(check, "listAccounts", run_on(CountedFirst()))[0]) == {}


class OthersOfTheName(Behaviour):
    """Another client opens accounts of one name, a hundred a second at most."""

    last = 0

    def resolve(self, ctx: Context) -> Any:
        answered = super().resolve(ctx)
        if ctx.customer is not None and ctx.now - self.last > 10_000:
            self.last = ctx.now
            insert(self, ctx, "account", ctx.customer, name="Operating")
        return answered


class OldReplica(OtherClients):
    """Answers each second request for the accounts, the newest first, from a replica that does not know those
    of other clients of the last four seconds yet."""

    created_every, newest_first = 8, True

    def resolve(self, ctx: Context) -> Any:
        answered = super().resolve(ctx)
        self.old = ctx.operation == "listAccounts" and times(self, "old replica") % 2 == 0
        return answered

    def count(self, ctx: Context, listing: Any) -> int:
        return super().count(ctx, listing) - len(self._unknown(ctx, listing))

    def fetch(self, ctx: Context, listing: Any, *, limit: int = -1, offset: int = 0) -> list[Record]:
        unknown = self._unknown(ctx, listing)
        known = [each for each in super().fetch(ctx, listing) if each["id"] not in unknown]
        return known[offset:] if limit < 0 else known[offset : offset + limit]

    def _unknown(self, ctx: Context, listing: Any) -> set[str]:
        return {
            each["id"]
            for each in super().fetch(ctx, listing)
            if self.old
            and "another client" in str(each.get("name"))
            and each["created"] > ctx.now - 4_000_000
        }


@hurried()
def test_an_element_may_slip_between_the_pages_of_replicas() -> None:
    check = load_checks()["test_lists.test_walking_pages"]
    for earlier in (0, 3):
        behaviour = OldReplica()
        behaviour.earlier = earlier
        assert broken(run_check(check, "listAccounts", run_on(behaviour))[0]) == {}


@hurried()
def test_the_order_is_judged_by_walks_between_which_nothing_was_added() -> None:
    check, busy = (
        load_checks()["test_lists.test_walking_pages"],
        type("Busy", (OtherClients,), {"created_every": 12}),
    )
    verdicts = {cell.rule: cell.verdict for cell in run_check(check, "listAccounts", run_on(busy()))[0]}
    assert verdicts["list.stable"] is Verdict.PASSED
    fault = by_id()[
        "list.stable[listAccounts]: The order differs from request to request: reversed every time"
    ]
    behaviour = type("BusyToo", (fault.base, busy), {})
    cells, _ = run_check(check, "listAccounts", run_on(replace(fault, base=behaviour).make()))
    assert "list.stable" in broken(cells)


@hurried()
@pytest.mark.parametrize(
    ("rule", "kind"),
    [*KINDS[1:], ("refusal.changes-nothing", "A used key with another body is refused, and performed")],
)
def test_accounts_of_one_name_are_told_by_ids_that_no_answer_shows(rule: str, kind: str) -> None:
    wrong = by_id()[f"{rule}[createAccount]: {kind}"].make()
    for behaviour, verdict in (
        (wrong, Verdict.FAILED),
        (Behaviour(), Verdict.PASSED),
        (OthersOfTheName(), Verdict.PASSED),
    ):
        run = run_on(behaviour, LossyTransport, samples={"account": {"name": "Operating"}})
        cell = judged(run, plan({rule}, {"createAccount"})).cell(rule, "createAccount")
        assert cell.verdict is verdict, cell.summary
