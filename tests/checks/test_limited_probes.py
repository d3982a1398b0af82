"""A request that is limited to the end shows nothing: no rule of its check passes without it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import httpx
import pytest

from conformance.checks import load_checks
from conformance.checks.running import run_check
from conformance.judge.verdicts import Verdict
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.reference.refusals import Refusal
from conformance.wire import client
from conformance.wire.answers import receive
from conformance.wire.client import SLOWER, Client
from conformance.wire.messages import Exchange
from conformance.wire.transport import Gate
from tests.support.balances import change_balances
from tests.support.runs import run_on
from tests.variants.hurry import hurried

#: Check, operation and rule -> beginning of the purpose of the requests that are limited.
LIMITED = {
    ("test_conflicts.test_conflict", "createPayout", "idempotency.conflict"): "a second destination to name",
    ("test_conflicts.test_conflict", "createWallet", "refusal.changes-nothing"): "a used key, but another",
    ("test_destinations.test_numbers_alike", "createPayoutDestination", "create.echo"): (
        "a destination whose account_number ends as"
    ),
    ("test_destinations.test_masked_numbers", "createPayoutDestination", "destination.masked"): (
        "an IBAN in groups of four"
    ),
    ("test_amounts.test_amount_to_the_last_digit", "createPayout", "create.amount-exact"): (
        "the balances, for their currencies"
    ),
    (
        "test_embedded_destinations.test_destinations_of_a_beneficiary",
        "getBeneficiary",
        "read.equals-create",
    ): ("another default"),
    (
        "test_list_contents.test_new_elements_show",
        "listPayoutDestinations",
        "list.complete",
    ): "it is disabled",
    ("test_filters.test_start_date", "listVirtualAccounts", "list.filters-combine"): "start_date just after",
    ("test_late.test_reads_after_a_while", "getBeneficiary", "read.equals-create"): "one of several reads",
    ("test_races.test_reads_at_once", "getBeneficiary", "read.equals-create"): "one of several simultaneous",
}


@pytest.mark.parametrize("cell", LIMITED, ids=lambda cell: cell[0])
def test_rule_does_not_pass_where_a_request_of_its_check_is_limited(
    cell: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    check, operation, rule = cell
    usual, limited = Client._receive, list[Exchange]()

    def limits(self: Client, request: httpx.Request, exchange: Exchange, gate: Gate | None) -> None:
        if not exchange.purpose.startswith(LIMITED[cell]):
            usual(self, request, exchange, gate)
            return
        if gate is not None:
            gate.wait()
        limited.append(exchange)
        receive(httpx.Response(429, json={}), exchange)

    monkeypatch.setattr(client.Client, "_receive", limits)
    with hurried():
        cells, _ = run_check(load_checks()[check], operation, run_on())
    assert limited
    judged = next(each for each in cells if each.rule == rule)
    assert judged.verdict is Verdict.INCONCLUSIVE, judged.summary
    assert judged.decisive.remedy == SLOWER


class Holds(Behaviour):
    """Refuses the first request with a key for a time, and holds its amount for so many seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._keys = set[str | None]()
        #: When each amount is free again, in microseconds.
        self._held: list[tuple[float, Decimal]] = []

    def check_state(self, ctx: Context) -> None:
        if ctx.operation == "createPayout" and ctx.key not in self._keys:
            self._keys.add(ctx.key)
            amount = Decimal(str(ctx.values["amount"]))
            self._held.append((ctx.now + self._seconds * 1e6, amount))
            change_balances(ctx, self.parent(ctx)["id"], "USD".__eq__, available=-amount)
            refusal = Refusal("invalid_field", headers=[(b"retry-after", b"0")])
            refusal.status = 503
            raise refusal
        super().check_state(ctx)

    def balances(self, ctx: Context, record: Record) -> Any:
        for held in [each for each in self._held if each[0] <= ctx.now]:
            self._held.remove(held)
            change_balances(ctx, record["id"], "USD".__eq__, available=held[1])
        return super().balances(ctx, record)


@pytest.mark.parametrize(("seconds", "broken"), [(3, False), (100_000, True)])
def test_what_a_refused_payout_holds_for_a_while_is_no_second_one(seconds: float, broken: bool) -> None:
    with hurried():
        lane = run_on(Holds(seconds))
        cells, _ = run_check(load_checks()["test_payouts.test_payouts_at_once"], "createPayout", lane)
    (cell,) = (cell for cell in cells if cell.rule == "idempotency.replay")
    assert bool(cell.violations) is broken, cell.summary
    if broken:
        assert "twice, in two rounds" in cell.summary
