"""A request that is limited to the end shows nothing: no rule of its check passes without it."""

from __future__ import annotations

import httpx
import pytest

from conformance.checks import load_checks
from conformance.checks.running import run_check
from conformance.judge.verdicts import Verdict
from conformance.wire import client
from conformance.wire.answers import receive
from conformance.wire.client import SLOWER, Client
from conformance.wire.messages import Exchange
from conformance.wire.transport import Gate
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
