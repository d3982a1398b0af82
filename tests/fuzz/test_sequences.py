"""Sequences along the links of openapi.yaml, on conforming and faulty servers in this process."""

from __future__ import annotations

from collections import Counter
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis.internal import charmap

from conformance.contract.operations import OPERATIONS
from conformance.fuzz import load_tests
from conformance.fuzz.exploration import EXPLORATIONS, FuzzSettings
from conformance.judge.verdicts import Verdict
from conformance.reference.behaviour import Behaviour
from conformance.reference.refusals import Refusal
from tests.support.mistakes import Closed
from tests.support.runs import broken, run_on, sent_by

load_tests()
schema_fuzzing = EXPLORATIONS["test_fuzz.test_schema_fuzzing"].judge
sequences = EXPLORATIONS["test_fuzz.test_sequences"].judge

pytestmark = pytest.mark.usefixtures("no_waiting")


def test_every_operation_succeeds_and_nobody_is_blamed() -> None:
    run = run_on()
    sent = sent_by(run)
    reached: set[str | None] = set()
    # Few sequences a seed: not each reaches all operations.
    for seed in range(5):
        sent.clear()
        cells = sequences(run, "accounts", FuzzSettings(seed))
        assert {(cell.verdict, cell.broken) for cell in cells} == {(Verdict.NOT_RUN, 0)}, broken(cells)
        steps = [each for each in sent if each.purpose.startswith("a step")]
        assert len(steps) <= 10 * 16
        reached |= {each.operation for each in steps if each.succeeded}
        if reached == set(OPERATIONS):
            return
    raise AssertionError(f"not reached: {set(OPERATIONS) - reached}")


class LosesDisabled(Behaviour):
    """Answers 404 to reads of a beneficiary once it is disabled."""

    def show_beneficiary(self, ctx: Any) -> None:
        if ctx.beneficiary["status"] == "disabled":
            raise Refusal("missing_child")
        super().show_beneficiary(ctx)


class SecondBreaks(Behaviour):
    """Fails at the second virtual account of an account, but not of the funded one, which sequences share."""

    def __init__(self) -> None:
        self.parents: list[str] = []
        self.funded: str | None = None

    def create(self, ctx: Any) -> None:
        if ctx.operation == "createVirtualAccount" and ctx.account["id"] != self.funded:
            self.parents.append(ctx.account["id"])
            if self.parents.count(ctx.account["id"]) == 2:
                raise MemoryError("a second row with this key")
        super().create(ctx)


@pytest.mark.parametrize(
    ("behaviour", "key", "operations"),
    [
        (
            LosesDisabled,
            ("read.equals-create", "getBeneficiary"),
            ["createAccount", "createBeneficiary", "disableBeneficiary", "getBeneficiary"],
        ),
        (
            SecondBreaks,
            ("http.no-server-error", "createVirtualAccount"),
            ["createAccount", "createVirtualAccount", "createVirtualAccount"],
        ),
    ],
)
def test_finds_and_tells_the_steps_that_matter(
    behaviour: type[LosesDisabled | SecondBreaks], key: tuple[str, str], operations: list[str]
) -> None:
    server = behaviour()
    run = run_on(server)
    if isinstance(server, SecondBreaks):
        server.funded = run.target.primary.funded_account_id
    # Few sequences a seed: not each has these steps.
    explored = (sequences(run, "accounts", FuzzSettings(seed)) for seed in range(20))
    matching = (each for cells in explored for each in cells if (each.rule, each.operation) == key)
    broken_one = next(each for each in matching if each.violations)
    steps = [shown.operation for each in sorted(broken_one.exchanges) if (shown := run.exchange(each))]
    assert steps[-1] == operations[-1] and not [*(Counter(operations) - Counter(map(str, steps)))]
    assert len(steps) <= 8


def test_server_without_accounts_is_inconclusive() -> None:
    cells = sequences(run_on(Closed("createAccount")), "accounts", FuzzSettings(1))
    assert (
        "no generated createAccount was accepted"
        in {each.verdict: each.summary for each in cells}[Verdict.INCONCLUSIVE]
    )


def test_no_code_point_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a cache Hypothesis would try all code points for a codec, in 180 MB."""
    monkeypatch.setattr(charmap, "intervals_from_codec", Mock(side_effect=MemoryError))
    assert not broken(sequences(run_on(), "accounts", FuzzSettings(1, 5)))
    assert not broken(schema_fuzzing(run_on(), "createBeneficiary", FuzzSettings(1, 20)))


def test_what_the_target_does_not_have_is_left_out() -> None:
    run = run_on(payins=False, payouts=False)
    sent = sent_by(run)
    assert not broken(sequences(run, "accounts", FuzzSettings(1)))
    assert not {"createPayin", "createPayout"} & {each.operation for each in sent}
