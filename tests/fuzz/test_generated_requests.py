"""Generated requests of one operation, on conforming and faulty servers in this process."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS
from conformance.fuzz import load_tests
from conformance.fuzz.examples import Examples
from conformance.fuzz.exploration import EXPLORATIONS, FuzzSettings
from conformance.fuzz.generated_requests import Fuzzer
from conformance.judge.oracle import own_path
from conformance.judge.verdicts import Verdict
from conformance.plugin.selection import Job
from conformance.reference.behaviour import Behaviour
from conformance.reference.refusals import Refusal
from conformance.wire.messages import to_json
from conformance.world.case import Case
from conformance.world.lane import Lane
from tests.support.mistakes import Closed
from tests.support.runs import broken, run_on, sent_by
from tests.variants.catalogue import named
from tests.variants.choice import compose
from tests.variants.demands import UniqueLabels, UniqueNames
from tests.variants.judging import judge
from tests.variants.replicas import ReadsBehind

load_tests()
schema_fuzzing = EXPLORATIONS["test_fuzz.test_schema_fuzzing"].judge

pytestmark = pytest.mark.usefixtures("no_waiting")


def settings(seed: int = 1, **more: Any) -> FuzzSettings:
    return FuzzSettings(seed=seed, **{"examples": 20, **more})


def fuzzer(lane: Lane, operation: str) -> Fuzzer:
    return Fuzzer(Examples(lane, operation, "test"))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_false_alarm_and_every_operation_reached(lane: Lane, operation: str) -> None:
    sent = sent_by(lane)
    cells = schema_fuzzing(lane, operation, settings())
    assert {(cell.verdict, cell.broken) for cell in cells} == {(Verdict.NOT_RUN, 0)}, broken(cells)
    assert not [key for key, tally in lane.invariants.tallies.items() if tally.broken]
    assert not [exchange for exchange in sent if exchange.status == 401]
    assert sum(cell.judged for cell in cells) > 10


@pytest.mark.parametrize("operation", [name for name, traits in TRAITS.items() if traits.creates])
def test_a_fifth_of_the_examples_may_create_what_stays(lane: Lane, operation: str) -> None:
    sent = sent_by(lane)
    schema_fuzzing(lane, operation, settings(examples=50))
    generated = [each for each in sent if each.purpose.startswith("a generated request")]
    assert 0 < sum(each.succeeded for each in generated) <= 10 < sum(each.refused for each in generated)


# ---------------------------------------------------------------------- faulty servers


class LongTexts(Behaviour):
    def length(self, ctx: Any, value: str) -> int:
        return 0


class NegativeAmounts(Behaviour):
    def check_amount(self, ctx: Any, field: Any, value: str) -> None:
        if not value.startswith("-"):
            super().check_amount(ctx, field, value)


class NoNul(Behaviour):
    def check_characters(self, ctx: Any, field: Any, value: str) -> None:
        if "\x00" in value:
            raise MemoryError("a database that cannot store it")
        super().check_characters(ctx, field, value)


class WantsTitles(Behaviour):
    def check_together(self, ctx: Any) -> None:
        if ctx.operation == "createBeneficiary" and "title" not in ctx.values:
            raise Refusal("invalid_field", "title is required.", "title", "missing_field")
        super().check_together(ctx)


class AnyLetterCase(Behaviour):
    """Reads names of members in any letter case."""

    def parse_body(self, ctx: Any) -> dict[str, Any]:
        return {name.lower(): value for name, value in super().parse_body(ctx).items()}


class AlwaysTwice(Behaviour):
    """Creates a resource before it refuses the request."""

    def create(self, ctx: Any) -> None:
        super().create(ctx)
        if ctx.operation == "createVirtualAccount" and ctx.values.get("currency") is None:
            raise Refusal("invalid_field", "currency is required.", "currency", "missing_field")

    def check_present(self, ctx: Any, field: Any) -> None:
        if not (ctx.operation == "createVirtualAccount" and field.name == "currency"):
            super().check_present(ctx, field)


@pytest.mark.parametrize(
    ("behaviour", "operation", "rule", "words"),
    [
        (LongTexts, "createAccount", "fields.max-length", "name of 256 characters (at most 255)"),
        (NegativeAmounts, "createPayin", "fields.payin-amount-positive", 'amount "-0": a refusal'),
        (NoNul, "createVirtualAccount", "http.no-server-error", '`currency` "\\u0000"'),
        (WantsTitles, "createBeneficiary", "fields.accepts-valid", "without `title`"),
        (AnyLetterCase, "createVirtualAccount", "fields.required", "a body without currency"),
        (AnyLetterCase, "updateBeneficiary", "beneficiary.update", "expected as before `"),
        (
            AlwaysTwice,
            "createVirtualAccount",
            "refusal.changes-nothing",
            "a refused request, without `currency`",
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_finds_and_tells_field_and_value(
    behaviour: type[Behaviour], operation: str, rule: str, words: str
) -> None:
    # What Hypothesis draws depends on the modules that are loaded: some seeds find nothing, or shrink to
    # another small example.
    summaries = []
    for seed in range(2, 12):
        cells = schema_fuzzing(run_on(behaviour()), operation, settings(seed, examples=400))
        if (cell := broken(cells).get(rule)) is None:
            continue
        assert len(cell.exchanges) <= 3, "the smallest example"
        summaries.append(cell.summary)
        if words in cell.summary:
            return
    pytest.fail("\n".join(summaries))


def test_same_seed_same_example() -> None:
    def summary(seed: int) -> str:
        return broken(schema_fuzzing(run_on(NoNul()), "createVirtualAccount", settings(seed, examples=400)))[
            "http.no-server-error"
        ].summary

    assert summary(2) == summary(2)


# ---------------------------------------------------------------------- conforming servers


class ReadsSoon(ReadsBehind):
    """Answers 404 to reads of a resource for 100 ms after its creation."""

    reads_behind = 100_000


@pytest.mark.parametrize("operation", ["getBeneficiary", "getVirtualAccount"])
def test_late_reads_are_waited_for(operation: str) -> None:
    cells = schema_fuzzing(run_on(compose(ReadsSoon)), operation, settings())
    assert not [cell for cell in cells if cell.verdict is Verdict.INCONCLUSIVE]


def test_generated_payouts_go_to_the_payee_of_the_target_file() -> None:
    vetted = named("vetted payees")
    judged = judge(vetted, [Job(EXPLORATIONS["test_fuzz.test_schema_fuzzing"], "createPayout")], settings())
    assert judged.inconclusive == []


@pytest.mark.parametrize(
    ("operation", "behaviour"), [("createAccount", UniqueNames), ("createVirtualAccount", UniqueLabels)]
)
def test_a_server_may_refuse_a_value_that_comes_again(operation: str, behaviour: type[Behaviour]) -> None:
    lane = run_on(behaviour())
    sent = sent_by(lane)
    assert not broken(schema_fuzzing(lane, operation, settings(examples=100)))
    one = fuzzer(lane, operation)
    sample = one.fixtures.valid
    assert sample is not None
    twice = Case(operation, "", path=own_path(operation), body=to_json(sample.body))
    one.perform(twice)
    one.perform(twice)
    first, again = [each for each in sent if "the valid request" in each.purpose][-2:]
    assert first.succeeded and again.succeeded
    assert first.request_body != again.request_body


def test_changes_through_an_odd_target_are_not_expected() -> None:
    one = fuzzer(run_on(), "updateBeneficiary")
    plain = Case("updateBeneficiary", "", path=own_path("updateBeneficiary"), body=b'{"title": "Dr"}')
    one.perform(plain)
    one.perform(replace(plain, query="x={}", body=b'{"email": "eve@example.com"}'))
    one.perform(replace(plain, body=b'{"title": "Mr"}'))
    assert one.at.lane.recent[-1].succeeded


# ---------------------------------------------------------------------- what is not judged


def test_operation_that_is_never_accepted_is_inconclusive() -> None:
    cells = schema_fuzzing(run_on(Closed("createPayin")), "createPayin", settings())
    unreached = [cell for cell in cells if cell.verdict is Verdict.INCONCLUSIVE]
    assert [cell.rule for cell in unreached] == ["http.success-json"]
    assert "no generated createPayin was accepted" in unreached[0].summary


def test_absent_operation_is_not_applicable() -> None:
    lane = run_on(payins=False)
    cells = schema_fuzzing(lane, "createPayin", settings())
    assert {cell.verdict for cell in cells} == {Verdict.NOT_APPLICABLE}
    assert lane.sent == 0


def test_server_without_accounts_is_inconclusive() -> None:
    cells = schema_fuzzing(run_on(Closed("createAccount")), "createWallet", settings())
    assert {cell.verdict for cell in cells} == {Verdict.INCONCLUSIVE}


def test_time_is_shared_by_parts_and_workers_and_kept() -> None:
    parts = sum(len(exploration.parts) for exploration in EXPLORATIONS.values())
    assert settings().share() is None
    assert settings(seconds=60.0, workers=2).share() == pytest.approx(120 / parts)
    assert FuzzSettings(1, seconds=60.0).cases > 100_000
    assert FuzzSettings(1, examples=5, seconds=60.0).cases == 5
    lane = run_on()
    schema_fuzzing(lane, "listWallets", FuzzSettings(1, seconds=0.0))
    assert lane.sent < 20
