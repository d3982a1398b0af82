"""Schema fuzzing of conforming and faulty servers, in this process."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance._files import InputError
from conformance.contract.operations import OPERATIONS
from conformance.fuzz import load_tests
from conformance.fuzz.engine.database import open_database
from conformance.fuzz.engine.shrinking import shrink
from conformance.fuzz.exploration import EXPLORATIONS, FuzzSettings
from conformance.fuzz.schema.own_values import marked, owned, renewed
from conformance.fuzz.schema.schema_fuzzing import Fuzzer
from conformance.fuzz.test_fuzz import test_schema_fuzzing as schema_fuzzing
from conformance.judge.findings import Verdict
from conformance.judge.oracle import ValidBody, judge_body, own_path
from conformance.reference.behaviour import Behaviour
from conformance.reference.refusals import Refusal
from conformance.wire.forms import new_key
from conformance.wire.grammar import is_odd
from conformance.wire.messages import to_json
from conformance.world.case import Case
from conformance.world.run_context import RunContext
from conformance.world.samples import marker
from tests.support.mistakes import Closed, LongTexts
from tests.support.runs import broken, run_on
from tests.variants.authentication import KeysOfOrganization
from tests.variants.catalogue import VARIANTS
from tests.variants.choice import compose
from tests.variants.demands import UniqueLabels, UniqueNames
from tests.variants.judging import judge
from tests.variants.replicas import ReadsBehind

pytestmark = pytest.mark.usefixtures("no_waiting")


def settings(seed: int = 1, **more: Any) -> FuzzSettings:
    return FuzzSettings(seed=seed, **{"examples": 12, **more})


@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_false_alarm_and_every_operation_reached(run: RunContext, operation: str) -> None:
    findings = schema_fuzzing(run, operation, settings())
    assert {finding.verdict for finding in findings} == {Verdict.PASSED}, broken(findings)
    assert not [key for key, tally in run.invariants.tallies.items() if tally.broken]
    assert not [exchange for exchange in run.record.values() if exchange.status == 401]
    assert sum(finding.probes for finding in findings) > 10


# ---------------------------------------------------------------------- faulty servers


class NegativeAmounts(Behaviour):
    def check_amount(self, ctx: Any, field: Any, value: str) -> None:
        if not value.startswith("-"):
            super().check_amount(ctx, field, value)


class NoNul(Behaviour):
    def check_characters(self, ctx: Any, field: Any, value: str) -> None:
        if "\x00" in value:
            raise MemoryError("a database that cannot store it")
        super().check_characters(ctx, field, value)


class CountsOneMore(Behaviour):
    def length(self, ctx: Any, value: str) -> int:
        return len(value) + 1


class WantsTitles(Behaviour):
    def check_together(self, ctx: Any) -> None:
        if ctx.operation == "createBeneficiary" and "title" not in ctx.values:
            raise Refusal("invalid_field", "title is required.", "title", "missing_field")
        super().check_together(ctx)


class AlwaysTwice(Behaviour):
    def create(self, ctx: Any) -> None:
        super().create(ctx)
        if ctx.operation == "createVirtualAccount" and ctx.values.get("currency") is None:
            raise Refusal("invalid_field", "currency is required.", "currency", "missing_field")

    def check_present(self, ctx: Any, field: Any) -> None:
        if not (ctx.operation == "createVirtualAccount" and field.name == "currency"):
            super().check_present(ctx, field)


@pytest.mark.parametrize(
    ("behaviour", "operation", "rule"),
    [
        (LongTexts, "createAccount", "fields.max-length"),
        (NegativeAmounts, "createPayin", "fields.amount"),
        (NoNul, "createVirtualAccount", "http.no-server-error"),
        (CountsOneMore, "createAccount", "fields.max-length-accepted"),
        (WantsTitles, "createBeneficiary", "fields.accepts-valid"),
        (AlwaysTwice, "createVirtualAccount", "refusal.changes-nothing"),
    ],
    ids=lambda value: value if isinstance(value, str) else getattr(value, "__name__", ""),
)
def test_finds_again_with_the_same_seed(behaviour: type[Behaviour], operation: str, rule: str) -> None:
    bodies = []
    for _ in range(2):
        run = run_on(behaviour())
        finding = broken(schema_fuzzing(run, operation, settings(examples=40)))[rule]
        bodies.append([len(run.record[number].request_body) for number in finding.exchanges[:1]])
    assert bodies[0] == bodies[1]
    assert rule not in broken(schema_fuzzing(run_on(), operation, settings(examples=40)))


def test_failures_are_shrunk() -> None:
    run = run_on(LongTexts())
    finding = broken(schema_fuzzing(run, "createAccount", settings()))["fields.max-length"]
    bodies = [run.record[number].request_body for number in finding.exchanges]
    assert len(bodies) == 1 and len(bodies[0]) <= 256 + len('{"name": ""}')


def test_failures_of_cases_that_were_not_drawn_are_shrunk() -> None:
    body = {"currency": "EUR", "label": "x" * 300, "address": {"city": "x"}, "more": [1, 2]}
    case = Case("createVirtualAccount", "test", body=to_json(body), query="a=1&b=2")
    small = shrink(
        case,
        lambda smaller: smaller.body is not None and len(json.loads(smaller.body).get("label", "")) > 255,
        {"currency": "EUR", "label": "y"},
    )
    assert small.body is not None and json.loads(small.body).keys() == {"label"} and "&" not in small.query


# ---------------------------------------------------------------------- unreachable operations


class ReadsSoon(ReadsBehind):
    """Answers 404 to reads of a resource for 100 ms after its creation."""

    reads_behind = 100_000


@pytest.mark.parametrize("operation", ["getBeneficiary", "getVirtualAccount"])
def test_late_reads_are_waited_for(operation: str) -> None:
    findings = schema_fuzzing(run_on(compose(ReadsSoon)), operation, settings())
    assert not [finding for finding in findings if finding.verdict is Verdict.INCONCLUSIVE]


def test_generated_payouts_go_to_the_payee_of_the_target_file() -> None:
    vetted = next(variant for variant in VARIANTS if variant.name == "vetted payees")
    judged = judge(vetted, explored=[("test_fuzz.test_schema_fuzzing", "createPayout")], settings=settings())
    assert judged.inconclusive == []


def test_operation_that_is_never_accepted_is_inconclusive() -> None:
    findings = schema_fuzzing(run_on(Closed("createPayin")), "createPayin", settings())
    unreached = [finding for finding in findings if finding.verdict is Verdict.INCONCLUSIVE]
    assert [finding.rule for finding in unreached] == ["http.success-json"]
    assert "no generated createPayin was accepted" in unreached[0].summary


def test_absent_operation_is_not_applicable() -> None:
    run = run_on(payins=False)
    assert {finding.verdict for finding in schema_fuzzing(run, "createPayin", settings())} == {
        Verdict.NOT_APPLICABLE
    }
    assert run.sent == 0


def test_server_without_accounts_is_inconclusive() -> None:
    findings = schema_fuzzing(run_on(Closed("createAccount")), "createWallet", settings())
    assert {finding.verdict for finding in findings} == {Verdict.INCONCLUSIVE}


# ---------------------------------------------------------------------- settings


def test_time_is_shared_by_parts_and_workers() -> None:
    load_tests()
    parts = sum(len(exploration.parts) for exploration in EXPLORATIONS.values())
    assert settings().share() is None
    assert settings(seconds=60.0).share() == pytest.approx(60 / parts)
    assert settings(seconds=60.0, workers=2).share() == pytest.approx(120 / parts)
    assert FuzzSettings(1, seconds=60.0).cases > 100_000
    assert FuzzSettings(1, examples=5, seconds=60.0).cases == 5


def test_time_is_kept() -> None:
    load_tests()
    run = run_on()
    schema_fuzzing(run, "listWallets", FuzzSettings(1, seconds=0.0))
    assert len(run.record) < 60


@pytest.mark.parametrize("name", ["github:owner", "github:/x", "ftp://host/x"])
def test_unusable_database(name: str) -> None:
    with pytest.raises(InputError, match=name):
        open_database(name)


def test_a_key_that_comes_again_while_an_example_is_shrunk_need_not_be_accepted() -> None:
    fuzzer = Fuzzer(run_on(KeysOfOrganization()), "disableBeneficiary", "test")
    case = Case(
        "disableBeneficiary", "its own key", path=own_path("disableBeneficiary"), key=new_key(version=1)
    )
    fuzzer.perform([case])
    fuzzer.perform([case])
    assert [exchange.status for exchange in fuzzer.run.record.values()][-1] == 409
    assert not fuzzer.recorder.failures


@pytest.mark.parametrize(
    ("operation", "behaviour", "body"),
    [
        ("createAccount", UniqueNames, {"name": "z"}),
        ("createVirtualAccount", UniqueLabels, {"currency": "EUR", "label": "z"}),
    ],
)
def test_a_generated_value_that_comes_again_is_another_one(
    operation: str, behaviour: type[Behaviour], body: dict[str, Any]
) -> None:
    """A server that requires unique values may refuse a repeated one."""
    fuzzer = Fuzzer(run_on(behaviour()), operation, "test")
    case = Case(operation, "a generated body", path=own_path(operation), body=to_json(body))
    fuzzer.perform([case])
    fuzzer.perform([case])
    sent = [each for each in fuzzer.run.record.values() if each.purpose == case.name]
    assert [exchange.succeeded for exchange in sent] == [True, True]
    assert not fuzzer.recorder.failures


# ---------------------------------------------------------------------- odd targets


@pytest.mark.parametrize(
    "target",
    [
        "/v1/customers/acc_1%2F../accounts",
        "/v1/customers/acc_1%2e%2e/accounts",
        "/v1/customers/../accounts",
        "/v1/customers//accounts",
        "/v1/customers/acc_%00/accounts",
        "/v1/customers/acc_%zz/accounts",
        "/v1/customers/acc_{}/accounts",
        "/v1/customers/acc_1;x=1/accounts",
        "/v1/customers/acc_1%5c/accounts",
        "/v1/customers/" + "9" * 2000 + "/accounts",
        "/v1/customers/cus_1/accounts?page[]=1",
        "/v1/customers/cus_1/accounts?page=%",
        "/v1/customers/cus_1/accounts?page=%00",
        "/v1/customers/cus_1/accounts?x=a b",
    ],
)
def test_odd(target: str) -> None:
    assert is_odd(target)


@pytest.mark.parametrize(
    "target",
    [
        "/v1/customers/cus_1/accounts",
        "/v1/customers/cus%5F1/accounts?page=1&size=%31",
        "/v1/customers/cus_a.b:c@d/accounts?statuses%5B%5D=active&start_date=2025-01-01T00:00:00%2B02:00",
    ],
)
def test_plain(target: str) -> None:
    assert not is_odd(target)


def test_changes_through_an_odd_target_are_not_expected() -> None:
    fuzzer = Fuzzer(run_on(), "updateBeneficiary", "test")
    path = own_path("updateBeneficiary")
    fuzzer.perform(
        [
            Case("updateBeneficiary", "plain", path=path, body=b'{"title": "Dr"}'),
            Case("updateBeneficiary", "odd", path=path, query="x={}", body=b'{"email": "eve@example.com"}'),
            Case("updateBeneficiary", "plain", path=path, body=b'{"title": "Mr"}'),
        ]
    )
    assert list(fuzzer.run.record.values())[-1].succeeded
    assert not fuzzer.recorder.failures


# ---------------------------------------------------------------------- marked values


SAMPLE = {
    "first_name": "Ada",
    "last_name": "Lovelace",
    "display_name": "Ada Lovelace",
    "email": "ada.1@example.com",
    "phone": "+12025550123",
    "tax_id": "123456789",
    "address": {"city": "X"},
    "country_code": "US",
}
FRESH = {**SAMPLE, "email": "ada.2@example.com", "phone": "+12025550124", "tax_id": "987654321"}
VALID = ValidBody("createBeneficiary", SAMPLE)


def test_sample_values_are_renewed_wherever_they_stand() -> None:
    body = json.dumps({**SAMPLE, "note": "z"}, ensure_ascii=False).encode()
    valid, sent = renewed(VALID, body, FRESH)
    assert json.loads(sent) == {**FRESH, "note": "z"}
    assert valid.body == FRESH
    assert judge_body("createBeneficiary", sent, valid).plain


def test_mutated_bytes_stay_mutated() -> None:
    body = json.dumps(SAMPLE).encode()[:-1] + b"\xff"
    _, sent = renewed(VALID, body, FRESH)
    assert sent.endswith(b"\xff") and b"ada.1" not in sent


def test_generated_values_carry_a_word_and_keep_their_length_at_the_limit() -> None:
    valid = ValidBody("createAccount", {"name": "Conformance"})
    for name in ("z", "a b", "x" * 255, "z" * 250):
        document = {"name": name}
        for escaped in (False, True):
            sent = marked(valid, json.dumps(document, ensure_ascii=escaped).encode(), document)
            assert sent is not None
            verdict = judge_body("createAccount", sent, valid)
            assert verdict.plain and verdict.document is not None
            assert verdict.document["name"] != name
            assert len(verdict.document["name"]) == len(name) + (
                len(f" {marker()}") if len(name) < 230 else 0
            )


def test_generated_addresses_stay_plain() -> None:
    document = {**SAMPLE, "email": "z@example.com"}
    sent = marked(VALID, json.dumps(document).encode(), document)
    assert sent is not None
    again = marked(VALID, json.dumps(document).encode(), document)
    assert judge_body("createBeneficiary", sent, VALID).plain
    assert sent != again


def test_an_escaped_value_is_not_marked() -> None:
    document = {"name": "a/b"}
    assert marked(ValidBody("createAccount", {"name": "x"}), rb'{"name": "a\/b"}', document) is None


def test_fresh_sample_is_the_servers_own() -> None:
    body = {**FRESH, "note": "Hello"}
    assert owned(VALID, body).body == FRESH
    assert judge_body("createBeneficiary", json.dumps(body).encode(), owned(VALID, body)).plain


@pytest.mark.parametrize(
    ("name", "text"), [("note", "\u0436"), ("display_name", "Ada 1"), ("last_name", "Zo\u00eb")]
)
def test_other_scripts_and_digits_in_names_may_be_refused(name: str, text: str) -> None:
    verdict = judge_body("createBeneficiary", json.dumps({**SAMPLE, name: text}).encode(), VALID)
    assert not verdict.plain and not verdict.refusals
