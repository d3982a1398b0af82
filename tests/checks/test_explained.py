"""What a check adds to what it got: the part that made the difference, the time and the requests between two,
the time that one rule has where it is run alone."""

from __future__ import annotations

import itertools

import pytest

from conformance.checks import load_checks
from conformance.checks.auth_probes import be_patient, later
from conformance.checks.check import Check
from conformance.checks.races import Rounds
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.fuzz.exploration import FuzzSettings
from conformance.judge.waits import AGE, PATIENCE
from conformance.plugin.selection import Scope
from conformance.plugin.worker import Worker
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.wire.messages import Call
from conformance.world.lane import Lane
from conformance.world.purposes import AUTHENTICATION
from tests.faults.catalogue import load
from tests.faults.harness import judge
from tests.support.runs import run_on


class LowerCaseNonces(Behaviour):
    """Takes a nonce with letters in upper case for used."""

    def claim_nonce(self, ctx: Context, nonce: str) -> bool:
        return nonce == nonce.lower() and super().claim_nonce(ctx, nonce)


def sorted_query() -> Behaviour:
    """Returns a server that computes the signature over the sorted query."""
    kind = "The signature is computed over another form of the query than the one that was sent: sorted"
    return next(each for each in load() if each.name == kind and each.operation == "listWallets").make()


@pytest.mark.parametrize(
    ("behaviour", "check", "operation", "got"),
    [
        (
            LowerCaseNonces(),
            "test_authentication.test_sound_requests_pass",
            "createWallet",
            "401 authentication_error/nonce_replay; without that nonce 201 with a JSON body",
        ),
        (
            sorted_query(),
            "test_signature.test_query_as_sent",
            "listWallets",
            "401 authentication_error/invalid_signature; without its query 200 with a JSON body",
        ),
    ],
    ids=["nonce", "query"],
)
def test_a_refusal_of_what_must_pass_names_the_part_that_made_the_difference(
    behaviour: Behaviour, check: str, operation: str, got: str
) -> None:
    outcome = judge(behaviour, [(load_checks()[check], operation)])
    [cell] = (cell for cell in outcome.ledger.cells if cell.violations)
    assert {violation.got for violation in cell.violations} == {got}
    assert len(cell.violations[0].exchanges) == 2


def check_on(lane: Lane, rule: str, operation: str) -> Check:
    """Returns a check of a rule on an operation."""
    return Check(lane, OPERATIONS[operation], [RULES[rule]], "test_x.test_it")


def test_a_race_goes_on_until_it_shows_where_one_rule_is_run_alone(
    lane: Lane, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = itertools.count(0.0, 1.0)
    monkeypatch.setattr("conformance.checks.races.time.monotonic", lambda: next(clock))
    at = check_on(lane, "wallet.race", "createWallet")
    assert [*Rounds(at, 2)] == [0, 1]
    lane.patience = 5.0
    assert [*Rounds(at, 2)] == [*range(7)]
    # Several races share the time.
    assert [*Rounds(at, 2)] == [0, 1]
    lane.patience = 5.0
    for number in Rounds(at, 2):
        if number == 3:
            at.expect("wallet.race", "one", "two")
    assert number == 3


@pytest.mark.parametrize("alone", [True, False])
def test_no_check_is_patient_once_another_one_has_found_its_rule_broken(alone: bool) -> None:
    """Where that rule is run alone."""
    rule, operation = "auth.query-as-sent", "listWallets"
    lane = run_on(sorted_query())
    scope = Scope.parse([rule], [operation]) if alone else Scope()
    worker = Worker(lane.target, index=0, settings=FuzzSettings(1), scope=scope)
    worker.lane = lane
    lane.patience = PATIENCE
    waiting = check_on(lane, rule, operation)
    assert waiting.patient
    worker.run_check(load_checks()["test_signature.test_query_as_sent"], operation)
    assert waiting.patient is not alone


def test_what_was_used_before_is_asked_for_after_many_requests_where_one_rule_is_run_alone(
    lane: Lane, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("conformance.checks.auth_probes.time.monotonic", lambda: sum(pauses))
    monkeypatch.setattr("conformance.checks.auth_probes.MANY", 5)
    lane.pause = pauses.append
    at = check_on(lane, "auth.nonce-replay", "listAccounts")
    first = at.send(at.valid(), "a valid request")

    def make() -> Call:
        return lane.account(AUTHENTICATION).call("listAccounts")

    be_patient(at, make, "a request in between")
    assert len(at.exchanges) == 1 and pauses == []
    lane.patience = 30.0
    be_patient(at, make, "a request in between")
    assert len(at.exchanges) == 6 and sum(pauses) == AGE and lane.patience == 0.0
    seconds, _, requests = later(at, first).partition(" s and ")
    assert float(seconds) >= 0 and requests == "5 requests later"
