"""Grouping of violations by common cause, with their consequences."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace

from conformance.contract.rules import RULES, Level
from conformance.judge.cells import Violation
from conformance.judge.ledger import Ledger
from conformance.judge.outcomes import Unclear
from conformance.judge.verdicts import Verdict
from conformance.report.causes import causes
from conformance.report.html import pieces
from conformance.report.markdown import markdown
from conformance.report.sections import sections
from conformance.report.terminal import summary
from conformance.wire.messages import Auth
from tests.support.drawn_runs import runs
from tests.support.report_samples import document, exchange, judged, keep, whole_run


def follows(results: Ledger) -> dict[str, list[str]]:
    """Returns each broken rule with those that it may follow from."""
    records = causes(results)
    return {one.rule: [records[number - 1].rule for number in one.may_follow] for one in records}


def test_what_may_follow_is_named_with_its_cause_where_that_explains_it_on_each_operation() -> None:
    replay, idempotent = "auth.nonce-replay", "auth.nonce-replay-idempotent"
    broken = [
        judged(rule, operation, Verdict.FAILED, exchanges=[1])
        for rule, operation in ((replay, "createAccount"), (idempotent, "createAccount"))
    ]
    results = whole_run(None, *broken)
    keep(results, exchange(1))
    assert follows(results) == {replay: [], idempotent: [replay]}
    elsewhere = judged(idempotent, "createWallet", Verdict.FAILED, exchanges=[1])
    results = whole_run(None, *broken, elsewhere)
    keep(results, exchange(1))
    assert follows(results) == {replay: [], idempotent: []}


def test_where_a_quick_run_did_not_look_at_a_rule_its_violations_elsewhere_explain_as_much() -> None:
    replay, idempotent = "auth.nonce-replay", "auth.nonce-replay-idempotent"
    broken = [
        judged(replay, "createAccount", Verdict.FAILED, exchanges=[1]),
        judged(idempotent, "createWallet", Verdict.FAILED, exchanges=[2]),
    ]
    for verdict, behind in ((Verdict.NOT_RUN, [replay]), (Verdict.PASSED, [])):
        results = whole_run({(replay, "createWallet"): verdict}, *broken)
        keep(results, exchange(1), exchange(2))
        assert follows(results) == {replay: [], idempotent: behind}


def test_what_is_signed_over_something_else_is_one_cause() -> None:
    """The right signature is refused, and that one accepted."""
    refusal = b'{"error": {"type": "authentication_error", "code": "invalid_signature", "message": "No."}}'
    signed, wrong = "auth.path-as-sent", "auth.signed-path"
    for acceptance, behind in ((True, [signed]), (False, [])):
        right = judged(signed, "listAccounts", Verdict.FAILED, exchanges=[1], acceptance=acceptance)
        results = whole_run(None, right, judged(wrong, "listAccounts", Verdict.FAILED, exchanges=[2]))
        keep(results, exchange(1, refusal, 401), exchange(2))
        assert follows(results) == {signed: [], wrong: behind}


def test_the_form_of_an_answer_follows_from_a_probe_in_its_own_answer_only() -> None:
    probe, form = "http.negotiation", "format.money"
    for number, behind in ((1, [probe]), (2, [])):
        cells = [
            judged(rule, "createPayout", Verdict.FAILED, exchanges=[at])
            for rule, at in ((probe, 1), (form, number))
        ]
        results = whole_run(None, *cells)
        keep(results, exchange(1), exchange(2))
        assert follows(results) == {probe: [], form: behind}


def test_the_form_of_an_answer_to_a_request_that_must_be_refused_follows_from_its_acceptance() -> None:
    probe, form = "fields.required", "format.money"
    for refusal, number, status, follows_it in (
        (True, 1, 201, True),
        # Another answer; no answer of that kind; a rule that says nothing of refusals.
        (True, 2, 201, False),
        (True, 1, 403, False),
        (False, 1, 201, False),
    ):
        cells = [
            judged(probe, "createPayout", Verdict.FAILED, exchanges=[1], refusal=refusal),
            judged(form, "createPayout", Verdict.FAILED, exchanges=[number]),
        ]
        results = whole_run(None, *cells)
        keep(results, exchange(1, status=status), exchange(2))
        assert follows(results) == {probe: [], form: [probe] * follows_it}


def test_a_violation_without_evidence_is_as_one_that_got_the_same() -> None:
    for got, behind in (("403", ["auth.signature"]), ("200", [])):
        cells = [
            judged(rule, "listAccounts", Verdict.FAILED, exchanges=[1], got="403")
            for rule in ("auth.signature", "auth.signed-path")
        ]
        cells[1].violations.append(Violation("one more", got))
        results = whole_run(None, *cells)
        keep(results, exchange(1, b"{}", 403))
        assert follows(results)["auth.signed-path"] == behind


def test_another_symptom_is_another_cause() -> None:
    results = whole_run(
        None,
        judged("auth.nonce-replay", "createAccount", Verdict.FAILED, exchanges=[1]),
        judged("auth.nonce-replay-idempotent", "createAccount", Verdict.FAILED, exchanges=[2]),
    )
    keep(results, exchange(1), exchange(2, status=422))
    assert follows(results) == {"auth.nonce-replay": [], "auth.nonce-replay-idempotent": []}


def test_a_refused_signature_of_a_probe_is_grouped_by_its_reason() -> None:
    refusal = b'{"error": {"type": "authentication_error", "code": "invalid_signature", "message": "No."}}'
    results = whole_run(
        None,
        judged("auth.query-as-sent", "listAccounts", Verdict.FAILED, exchanges=[1]),
        judged("tenancy.unknown-parent", "listAccounts", Verdict.FAILED, exchanges=[2]),
        judged("tenancy.foreign-parent", "listAccounts", Verdict.FAILED, exchanges=[3]),
    )
    keep(results, *(exchange(number, refusal, 401) for number in (1, 2)), exchange(3, b"{}", 404))
    assert follows(results) == {
        "auth.query-as-sent": [],
        "tenancy.unknown-parent": ["auth.query-as-sent"],
        "tenancy.foreign-parent": [],
    }


def test_a_refused_signature_is_a_cause_of_the_rule_that_wants_it_accepted() -> None:
    """Not of that which wants the same request refused for another reason."""
    refusal = b'{"error": {"type": "authentication_error", "code": "invalid_signature", "message": "No."}}'
    nonce, signed = "auth.nonce-replay", "auth.body-as-sent"
    # Words of a text decide nothing: a nonce may be that of "an accepted request".
    wanted = {nonce: "an accepted request again: 401 nonce_replay", signed: "served"}
    cells = [
        judged(rule, "createAccount", Verdict.FAILED, exchanges=[number], expected=wanted[rule])
        for number, rule in enumerate(wanted, 1)
    ]
    cells[1].violations = [replace(each, acceptance=True) for each in cells[1].violations]
    results = whole_run(None, *cells)
    nonced = exchange(1).call.but(auth=Auth(nonce="0" * 32, timestamp_offset=-2))
    keep(results, exchange(1, refusal, 401, call=nonced), exchange(2, refusal, 401))
    assert follows(results) == {signed: [], nonce: [signed]}
    assert [one.rule for one in causes(results)] == [signed, nonce]


def test_server_errors_are_grouped_by_what_triggers_them() -> None:
    crash = "http.no-server-error"
    cell = judged(crash, "createAccount", Verdict.FAILED, exchanges=[1])
    second, third = (Violation(f"probe {number}: below 500", "500", (number,)) for number in (2, 3))
    results = whole_run(None, replace(cell, violations=[*cell.violations, second, third]))
    usual = exchange(1, status=500)
    headers = usual.call.but(headers=(("Accept", "text/html"),))
    keep(
        results,
        exchange(1, status=500, request_body=b'{"name": "a\\u0000b"}'),
        exchange(2, status=500, call=headers),
        exchange(3, status=500, request_body=b'{"name": "a\\u0000b"}'),
    )
    report = document(results)
    assert [(one.rule, one.trigger) for one in report.causes] == [(crash, "a NUL"), (crash, "a header")]
    [broken] = sections(report)
    assert [item.cause and len(item.cause.violations["createAccount"]) for item in broken.items] == [2, 1]
    assert "from 2 causes (http.no-server-error (a NUL) and http.no-server-error (a header))" in (
        report.verdict.sentence
    )


@pytest.mark.parametrize(
    ("broken", "status", "consequence"),
    [
        ("createAccount", 500, True),
        ("createAccount", None, True),
        # The evidence shows another operation, or no server error.
        ("createWallet", 500, False),
        ("createAccount", 204, False),
    ],
)
def test_what_was_not_judged_shows_the_operation_and_the_symptom_of_its_cause(
    broken: str, status: int | None, consequence: bool
) -> None:
    unclear = judged(
        "list.walk", "listWallets", Verdict.INCONCLUSIVE, cause="http.no-server-error", exchanges=[1]
    )
    results = whole_run({("http.no-server-error", broken): Verdict.FAILED}, unclear)
    keep(results, exchange(1, status=status))
    led_to = [rule for cause in causes(results) for rule, _ in cause.consequences]
    assert led_to == ["list.walk"] * consequence


@pytest.mark.parametrize(("broken", "consequence"), [("listWallets", True), ("listAccounts", False)])
def test_a_consequence_without_evidence_is_of_its_own_operation(broken: str, consequence: bool) -> None:
    unclear = judged("list.walk", "listWallets", Verdict.INCONCLUSIVE, cause="http.success-json")
    [record] = causes(whole_run({("http.success-json", broken): Verdict.FAILED}, unclear))
    assert bool(record.consequences) == consequence


def test_a_refusal_of_a_valid_request_that_is_a_finding_needs_no_other_remedy() -> None:
    refusal = b'{"error": {"type": "validation_error", "code": "invalid_field", "message": "No."}}'
    broken = judged("create.echo", "createAccount", Verdict.FAILED, exchanges=[1])
    # What a check names as the cause may hold on that operation.
    for status, cause, found in ((422, "", True), (422, "auth.accepts-valid", True), (400, "", False)):
        remedy = Unclear("the valid createAccount was answered 422", cause, "Raise that limit.", (2,))
        unclear = judged("list.walk", "listAccounts", Verdict.INCONCLUSIVE, unclear=remedy)
        results = whole_run(None, broken, unclear)
        keep(results, exchange(1, refusal, 422), exchange(2, refusal, status))
        [record] = causes(results)
        assert bool(record.consequences) == found
        assert ("Raise that limit." in markdown(document(results))) != found


def test_a_refusal_of_the_wrong_shape_explains_no_acceptance() -> None:
    shape = judged("error.shape", "listAccounts", Verdict.FAILED)
    key, got = ("auth.signature", "listAccounts"), "401 without error type and code"
    unshaped = judged(*key, Verdict.FAILED, got=got, without_error_body=True)
    accepted = judged(*key, Verdict.FAILED, got="200 with a JSON body")
    assert follows(whole_run(None, shape, unshaped)) == {"error.shape": [], key[0]: ["error.shape"]}
    assert follows(whole_run(None, shape, accepted)) == {"error.shape": [], key[0]: []}


def test_a_warning_stands_under_the_warnings_and_all_numbers_agree() -> None:
    """Whatever it may follow from."""
    results = whole_run(
        None,
        judged("idempotency.replay", "createPayout", Verdict.FAILED, exchanges=[1]),
        judged("payout.race", "createPayout", Verdict.WARNING, exchanges=[1]),
        judged("idempotency.race", "createPayout", Verdict.FAILED, exchanges=[1]),
        judged("wallet.race", "createWallet", Verdict.FAILED, exchanges=[1]),
    )
    keep(results, exchange(1))
    report = document(results)
    broken, warnings = sections(report)
    assert [item.text.partition(" ")[0] for item in warnings.items] == ["payout.race"]
    assert warnings.items[0].text.endswith("; may follow from 1")
    assert {fact.label for fact in warnings.items[0].facts} >= {"expected", "got", "reproduce"}
    assert "1 warning, 1 cell: rules that the specification only implies" in report.verdict.notes
    assert [item.cause and item.cause.number for item in broken.items] == [1, 2, 3]
    assert broken.title == "Violations: 2 causes, and 1 rule that may follow"
    assert "it breaks 3 rules on 2 operations, 3 cells, from 2 causes" in report.verdict.sentence
    assert sum(not one.may_follow for one in report.causes) == 2
    text = "\n".join(line for line, _ in summary(report, folder=None, width=100, verbose=False))
    for words in (broken.title, "2 causes", *(f"{number}. " for number in range(1, 5))):
        assert words in text, words
        assert words in markdown(report), words
        assert words in "".join(pieces(report)), words


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(runs())
def test_every_violation_is_named_once_and_follows_from_a_cause(run: tuple[Ledger, dict[str, Any]]) -> None:
    results, _ = run
    records = causes(results)
    keys = {(one.rule, operation) for one in records for operation in one.operations}
    assert keys == {cell.key for cell in results.cells if cell.violations}
    assert all(one.operations for one in records)
    unjudged = [key for one in records for key in one.consequences]
    assert len({*unjudged}) == len(unjudged) and not [
        key for key in unjudged if results.cell(*key).violations
    ]
    for one in records:
        while one.may_follow:
            one = records[one.may_follow[0] - 1]
    assert not records or not records[0].may_follow


def test_the_form_of_answers_is_told_before_what_checks_find_in_them() -> None:
    """An id of a wrong form is in no list."""
    form, lists = ("format.id", "createWallet"), ("list.complete", "listWallets")
    cells = [judged(*key, Verdict.FAILED) for key in (lists, form)]
    assert [*follows(whole_run(None, *cells))] == [form[0], lists[0]]
    wider = judged("list.complete", "listAccounts", Verdict.FAILED)
    assert [*follows(whole_run(None, *cells, wider))] == [form[0], lists[0]]


def test_no_rule_follows_itself_in_a_circle_and_open_ones_follow_nothing() -> None:
    for rule in RULES.values():
        assert not rule.follows or rule.level is not Level.OPEN
        assert all(RULES[follow].level is not Level.OPEN for follow in rule.follows)
        behind, todo = set(), list(rule.follows)
        while todo:
            follow = todo.pop()
            assert follow != rule.id
            if follow not in behind:
                behind.add(follow)
                todo += RULES[follow].follows
