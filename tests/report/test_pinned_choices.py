"""Pinned choices: open behaviour of a server, compared from run to run."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance._files import InputError
from conformance._text import clean
from conformance.contract.rules import RULES, Level
from conformance.judge.findings import Verdict
from conformance.judge.ledger import Ledger
from conformance.report.document import PinnedChoicesRecord
from conformance.report.pinned_choices import PinnedChoices, choices, write_pinned
from conformance.report.verdict import decide
from tests.support.report_samples import document, finding, whole_run

STATUS = ("http.success-status", "createAccount")


def run(**answers: str) -> Ledger:
    observations = {"status of a success": "201", **answers}
    return whole_run(None, finding(*STATUS, Verdict.OBSERVED, observations=observations))


def pinned(tmp_path: Path, results: Ledger) -> PinnedChoices:
    return PinnedChoices.load(write_pinned(results, tmp_path / "pinned.toml"))


def test_the_same_choices_differ_in_nothing(tmp_path: Path) -> None:
    kept = pinned(tmp_path, run())
    assert kept.compare(run()).differences == ()
    assert decide(run(), Level.IMPLIED, pinned=kept).record.exit_status == 0


def test_another_choice_warns_and_fails_under_fail_on_implied(tmp_path: Path) -> None:
    kept, now = pinned(tmp_path, run()), run(**{"status of a success": "200"})
    [difference] = kept.compare(now).differences
    assert (difference.question, difference.pinned, difference.now) == ("status of a success", "201", "200")
    assert decide(now, Level.REQUIRED, pinned=kept).record.exit_status == 0
    assert decide(now, Level.IMPLIED, pinned=kept).record.exit_status == 1
    outcome = decide(now, Level.IMPLIED, pinned=kept).record
    assert outcome.name == "changed"
    assert any("differ" in note for note in decide(now, Level.REQUIRED, pinned=kept).record.notes)


def test_a_violation_takes_precedence_over_a_changed_choice(tmp_path: Path) -> None:
    kept = pinned(tmp_path, run())
    now = whole_run(
        {("list.walk", "listWallets"): Verdict.FAILED},
        finding(*STATUS, Verdict.OBSERVED, observations={"status of a success": "200"}),
    )
    assert decide(now, Level.IMPLIED, pinned=kept).record.name == "violations"


def test_a_question_that_was_not_asked_again_differs_in_nothing(tmp_path: Path) -> None:
    kept = pinned(tmp_path, run(further="yes"))
    assert kept.compare(run()).differences == ()
    assert kept.compare(whole_run({STATUS: Verdict.INCONCLUSIVE})).differences == ()


def test_a_new_question_is_no_difference_but_counted(tmp_path: Path) -> None:
    kept = pinned(tmp_path, run())
    record = document(run(further="yes"), pinned=kept).pinned_choices
    assert record == PinnedChoicesRecord(
        str(tmp_path / "pinned.toml"), pinned=1, asked=1, new=1, differences=()
    )


def test_two_checks_that_saw_different_things_give_one_answer_in_any_order() -> None:
    first, second = (
        finding(*STATUS, Verdict.OBSERVED, observations={"question": answer}) for answer in ("a", "b")
    )
    assert (
        choices(whole_run(None, first, second).cells)
        == choices(whole_run(None, second, first).cells)
        == {(*STATUS, "question"): "a / b"}
    )


OPEN = [
    (rule.id, operation)
    for rule in RULES.values()
    if rule.level is Level.OPEN
    for operation in rule.operations
]


@settings(max_examples=25, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(OPEN),
        st.dictionaries(st.text(max_size=30), st.text(max_size=30), max_size=4),
        max_size=6,
    )
)
def test_any_pinned_answer_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, seen: dict[tuple[str, str], dict[str, str]]
) -> None:
    results = whole_run(
        None, *(finding(*cell, Verdict.OBSERVED, observations=answers) for cell, answers in seen.items())
    )
    kept = pinned(tmp_path_factory.mktemp("pinned"), results)
    assert kept.pinned == choices(results.cells)
    assert kept.compare(results).differences == ()
    assert all(clean(answer) == answer for answer in kept.pinned.values())


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("choices = 3", ["choices", "table"]),
        ("[[choices", ["not valid TOML"]),
        ("[pins]", ["pins", "[choices]"]),
        ('[choices."no.rule".createAccount]\na = "b"', ["no.rule", "conformance rules"]),
        ('[choices.http.success-status]\na = "b"', ["choices.http", "quotes"]),
        ('[choices."http.success-status".makeAccount]\na = "b"', ["makeAccount", "createAccount"]),
        ('[choices."http.success-status".createAccount]\na = 201', ["'a'", "string", "201"]),
    ],
)
def test_a_mistake_in_the_file_is_one_clear_paragraph(tmp_path: Path, text: str, names: list[str]) -> None:
    path = tmp_path / "pinned.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as raised:
        PinnedChoices.load(path)
    assert "\n" not in str(raised.value)
    for name in [str(path), *names]:
        assert name in str(raised.value)
