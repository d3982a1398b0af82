"""State machines that compare the model of resources with conforming and faulty servers."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.contract.rules import OPERATION_SETS
from conformance.fuzz.exploration import FuzzSettings
from conformance.fuzz.stateful import stateful_fuzzing
from conformance.fuzz.stateful.state_machine import MACHINES
from conformance.fuzz.stateful.stateful_fuzzing import valid_bodies
from conformance.fuzz.test_model import test_agrees_with_model as agrees_with_model
from conformance.judge.findings import Inconclusive
from conformance.reference.behaviour import Behaviour
from conformance.replay import perform
from tests.replay.samples import generated
from tests.support.mistakes import EndInclusive, KeysOfAll, TwoWallets
from tests.support.runs import broken, run_on
from tests.variants.choice import compose
from tests.variants.jobs import StatusesReviewed
from tests.variants.resources import PairOncePerOrganization

pytestmark = pytest.mark.usefixtures("no_waiting")


def test_no_false_alarm_without_payins_payouts_and_a_second_organization() -> None:
    run = run_on(payins=False, payouts=False, secondary=False)
    findings = agrees_with_model(run, "everything", FuzzSettings(1, examples=90))
    assert not broken(findings)
    assert not [
        exchange for exchange in run.record.values() if exchange.operation in ("createPayin", "createPayout")
    ]


@pytest.mark.parametrize("operation", OPERATION_SETS["body"])
def test_bodies_without_a_known_valid_form_are_not_sent(
    operation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        stateful_fuzzing,
        "valid_bodies",
        lambda run: {name: body for name, body in valid_bodies(run).items() if name != operation},
    )
    for theme in MACHINES:
        try:
            findings = agrees_with_model(run_on(), theme, FuzzSettings(1, examples=60))
        except Inconclusive:
            assert (operation, theme) == ("createBeneficiary", "payees")
        else:
            assert findings and not broken(findings)


@pytest.mark.parametrize("theme", ["holdings", "everything"])
def test_replayed_answers_stay_unchanged_after_a_change_in_lists(theme: str) -> None:
    """The answer to the wallet's key stays as at first, even after the wallet is no longer active."""
    run = run_on(compose(StatusesReviewed))
    findings = agrees_with_model(run, theme, FuzzSettings(2, 180))
    assert broken(findings) == {}


@pytest.mark.parametrize("theme", ["holdings", "everything"])
def test_taken_wallet_pairs_blame_no_server(theme: str) -> None:
    run = run_on(compose(PairOncePerOrganization))
    other = run.alone()
    for pair in range(len(run.samples.wallet_pairs)):
        fixture = other.account(fresh=True)
        other.send(fixture.client, fixture.call("createWallet", run.samples.wallet(pair)), "a taken pair")
    assert broken(agrees_with_model(run, theme, FuzzSettings(1, examples=60))) == {}


class LosesFields(Behaviour):
    def patched(self, ctx: Any, record: dict[str, Any]) -> dict[str, Any]:
        after = super().patched(ctx, record)
        return {**after, "middle_name": None} if "note" in ctx.values else after


class PerformsAgain(Behaviour):
    def replayed(self, ctx: Any, answer: Any) -> Any:
        return None if ctx.operation == "createVirtualAccount" else super().replayed(ctx, answer)


@pytest.mark.parametrize(
    ("behaviour", "theme", "rules"),
    [
        (LosesFields, "payees", {"beneficiary.update"}),
        (PerformsAgain, "holdings", {"idempotency.replay", "idempotency.replay-after-change"}),
        (KeysOfAll, "payees", {"idempotency.other-organization", "format.id-unique"}),
        (EndInclusive, "holdings", {"list.end-date", "list.filters-combine"}),
        (TwoWallets, "holdings", {"wallet.duplicate"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_finds_and_repeats(behaviour: type[Behaviour], theme: str, rules: set[str]) -> None:
    run = run_on(behaviour())
    findings = broken(agrees_with_model(run, theme, FuzzSettings(1, examples=250)))
    assert findings and set(findings) <= rules, set(findings)
    for finding in findings.values():
        replay = generated(finding, run)
        assert perform(replay, run_on(behaviour())).verdict == "reproduced", finding
        assert perform(replay, run_on()).verdict == "not reproduced", finding


def test_failures_are_shrunk() -> None:
    run = run_on(LosesFields())
    finding = broken(agrees_with_model(run, "payees", FuzzSettings(1, examples=250)))["beneficiary.update"]
    assert len(finding.exchanges) <= 5, [run.record[number].operation for number in finding.exchanges]
