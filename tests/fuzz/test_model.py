"""The reference model, and the state machines that compare it with the reference server and with faulty
ones."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.fuzz.exploration import FuzzSettings
from conformance.fuzz.stateful.reference_model import Model
from conformance.fuzz.test_model import THEMES
from conformance.fuzz.test_model import test_agrees_with_model as agrees_with_model
from conformance.judge.findings import Verdict
from conformance.reference.behaviour import Behaviour
from conformance.replay import perform
from conformance.world.run_context import RunContext
from tests.replay.samples import generated
from tests.support.runs import broken, run_on
from tests.variants.choice import compose
from tests.variants.jobs import StatusesReviewed

# ---------------------------------------------------------------------- the model alone


def test_what_happens_is_remembered() -> None:
    model = Model()
    model.created("createBeneficiary", {"id": "bene_1", "note": "a", "title": "Ms"})
    payee = model.payees[0]
    model.created("createPayoutDestination", {"id": "dest_1"}, payee)
    model.updated(payee, {"note": "b"})
    assert payee.shown == {"id": "bene_1", "note": "b", "title": "Ms"} and payee.rule == "beneficiary.update"
    model.disabled(payee)
    assert payee.shown["status"] == "disabled" and payee.rule == "beneficiary.disable"
    assert [destination.id for destination in model.listed("listPayoutDestinations", payee)] == ["dest_1"]
    model.created("createWallet", {"id": "wal_1", "currency": "USDC", "network": "n"})
    assert model.has_wallet("USDC", "n") and not model.has_wallet("USDC", "m")


# ---------------------------------------------------------------------- against servers


@pytest.mark.parametrize("theme", THEMES)
def test_no_false_alarm(run: RunContext, theme: str) -> None:
    findings = agrees_with_model(run, theme, FuzzSettings(1, examples=15))
    assert {finding.verdict for finding in findings} == {Verdict.PASSED}, broken(findings)
    assert sum(finding.probes for finding in findings) > 300
    assert not [key for key, tally in run.invariants.tallies.items() if tally.broken]


def test_no_false_alarm_without_payins_payouts_and_a_second_organization() -> None:
    run = run_on(payins=False, payouts=False, secondary=False)
    findings = agrees_with_model(run, "everything", FuzzSettings(1, examples=15))
    assert not broken(findings)
    assert not [
        exchange for exchange in run.record.values() if exchange.operation in ("createPayin", "createPayout")
    ]


@pytest.mark.parametrize("theme", ["holdings", "everything"])
def test_what_lists_show_anew_leaves_answers_as_they_were(theme: str) -> None:
    """A wallet that is taken out of use after it was made is still answered as at first to its key."""
    run = run_on(compose(StatusesReviewed))
    findings = agrees_with_model(run, theme, FuzzSettings(2, 30))
    assert broken(findings) == {}


def test_one_seed_fixes_what_is_drawn() -> None:
    def drawn(seed: int) -> list[Any]:
        run = run_on()
        agrees_with_model(run, "holdings", FuzzSettings(seed, examples=6))
        return [
            (
                exchange.operation,
                exchange.status,
                exchange.organization,
                exchange.call.query.partition("date")[0],
            )
            for exchange in run.record.values()
        ]

    assert drawn(3) == drawn(3) != drawn(4)


class LosesFields(Behaviour):
    def patched(self, ctx: Any, record: dict[str, Any]) -> dict[str, Any]:
        after = super().patched(ctx, record)
        return {**after, "middle_name": None} if "note" in ctx.values else after


class PerformsAgain(Behaviour):
    def replayed(self, ctx: Any, answer: Any) -> Any:
        return None if ctx.operation == "createVirtualAccount" else super().replayed(ctx, answer)


class SharesKeys(Behaviour):
    def answer_scope(self, ctx: Any) -> str:
        return str(ctx.operation)


class InclusiveEnd(Behaviour):
    def end_date_condition(self, ctx: Any, query: Any) -> Any:
        condition = super().end_date_condition(ctx, query)
        return condition and type(condition)("created", "<=", condition.value)


class TwoWallets(Behaviour):
    def claim_wallet_pair(self, ctx: Any) -> bool:
        super().claim_wallet_pair(ctx)
        return True


@pytest.mark.parametrize(
    ("behaviour", "theme", "rules"),
    [
        (LosesFields, "payees", {"beneficiary.update"}),
        (PerformsAgain, "holdings", {"idempotency.replay", "idempotency.replay-after-change"}),
        (SharesKeys, "payees", {"idempotency.other-organization", "format.id-unique"}),
        (InclusiveEnd, "holdings", {"list.end-date", "list.filters-combine"}),
        (TwoWallets, "holdings", {"wallet.duplicate"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_finds_and_repeats(behaviour: type[Behaviour], theme: str, rules: set[str]) -> None:
    run = run_on(behaviour())
    findings = broken(agrees_with_model(run, theme, FuzzSettings(1, examples=40)))
    assert findings and set(findings) <= rules, set(findings)
    for finding in findings.values():
        replay = generated(finding, run)
        assert perform(replay, run_on(behaviour())).verdict == "reproduced", finding
        assert perform(replay, run_on()).verdict == "not reproduced", finding


def test_failures_are_shrunk() -> None:
    run = run_on(LosesFields())
    finding = broken(agrees_with_model(run, "payees", FuzzSettings(1, examples=40)))["beneficiary.update"]
    assert len(finding.exchanges) <= 5, [run.record[number].operation for number in finding.exchanges]
