"""Beside more accounts than any check reads, what requests add to them is still seen."""

from __future__ import annotations

import pytest

from conformance.fixtures.run_context import RunContext
from conformance.reference.seed import new_server, target_tables
from conformance.target.file import build
from tests.faults.catalogue import load
from tests.faults.harness import LossyTransport, Outcome, checks_of, run_one
from tests.variants.hurry import hurried
from tests.variants.surroundings import crowded_customer

KINDS = (
    ("refusal.changes-nothing", "A refused request is performed all the same: field"),
    ("idempotency.replay", "A repeated request is answered with the original response, and performed again"),
    ("idempotency.race", "Simultaneous requests with one key are all performed"),
)


@hurried()
@pytest.mark.parametrize(("rule", "kind"), KINDS)
def test_accounts_that_should_not_be_are_seen_in_a_crowd(rule: str, kind: str) -> None:
    (fault,) = (
        fault
        for fault in load()
        if (fault.rule, fault.operation, fault.kind) == (rule, "createAccount", kind)
    )
    server, seeded = new_server(fault.make())
    crowded_customer(server.store, seeded)
    target = build(target_tables(seeded, "http://crowd.test"), "crowd")
    run, outcome = RunContext(target, transport=LossyTransport(server)), Outcome()
    for check in checks_of(rule, "createAccount"):
        run_one(check, "createAccount", run, outcome)
    assert (rule, "createAccount") in outcome.broken
