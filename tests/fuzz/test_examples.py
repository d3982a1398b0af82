"""Hypothesis with the suite's settings: each rule's failure is shrunk apart, errors of the suite end it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from conformance.fuzz import load_tests
from conformance.fuzz.examples import Examples, settings_of
from conformance.fuzz.exploration import EXPLORATIONS, FuzzSettings
from conformance.judge.cells import Cell
from conformance.judge.outcomes import Unclear
from conformance.judge.verdicts import Inconclusive
from conformance.target.file import build
from conformance.world.lane import Lane
from tests.support.runs import run_on, sent_by

load_tests()
schema_fuzzing = EXPLORATIONS["test_fuzz.test_schema_fuzzing"].judge

TARGET = build(
    {"base_url": "http://h", "primary": {"api_key": "k", "secret": "s", "customer_id": "cus_1"}}, "test"
)


def explore(judge: Callable[[Examples, int], Any], **more: Any) -> tuple[Examples, list[int]]:
    """Explores integers; returns the judgements and the tried integers."""
    settings = FuzzSettings(**{"seed": 1, "examples": 200, **more})
    examples, tried = Examples(Lane(TARGET), "createAccount", "test"), []

    def perform(number: int) -> None:
        tried.append(number)
        judge(examples, number)

    with examples.recording():
        examples.draw(settings, "part", st.integers(0, 100_000), perform)
    return examples, tried


def broken(examples: Examples) -> dict[str, Cell]:
    return {cell.rule: cell for cell in examples.concluded() if cell.violations}


def test_failures_of_several_rules_are_each_shrunk() -> None:
    def judge(examples: Examples, number: int) -> None:
        examples.expect("fields.type", "below", "" if number < 1000 else str(number))
        examples.expect("fields.max-length", "odd", "" if number % 7 != 3 else str(number))
        examples.expect("fields.required", "", "")

    examples, _ = explore(judge)
    by_rule = broken(examples)
    assert by_rule.keys() == {"fields.type", "fields.max-length"}
    assert int(by_rule["fields.type"].violations[0].got) < 1010
    assert int(by_rule["fields.max-length"].violations[0].got) < 100
    assert examples.judged["fields.required", "createAccount"].judged > 10


def test_a_failure_that_does_not_repeat_is_still_reported() -> None:
    once = itertools.count()

    def judge(examples: Examples, number: int) -> None:
        examples.expect("fields.type", "never", "" if next(once) != 20 else "once")

    cell = broken(explore(judge)[0])["fields.type"]
    assert "did not come again" in cell.summary


@pytest.mark.parametrize(
    "error", [TypeError("a mistake of the suite"), Inconclusive(Unclear("the server is lost"))]
)
def test_errors_end_the_run_at_once(error: Exception) -> None:
    tried = []

    def judge(examples: Examples, number: int) -> None:
        tried.append(number)
        examples.expect("fields.required", "", "")
        raise error

    with pytest.raises(type(error), match=str(error)):
        explore(judge)
    assert len(tried) == 1
    if isinstance(error, Inconclusive):
        assert [cell.rule for cell in error.cells] == ["fields.required"]


def test_stored_failures_are_tried_first(tmp_path: Path) -> None:
    def judge(examples: Examples, number: int) -> None:
        examples.expect("fields.type", "less", "" if number < 51_234 else str(number))

    explore(judge, database=str(tmp_path))
    assert any(tmp_path.rglob("*"))
    assert explore(judge, database=str(tmp_path), seed=2)[1][0] == 51_234
    assert explore(judge, seed=2)[1][0] < 51_234


def test_profiles_of_hypothesis_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    how = settings_of(FuzzSettings(1, 10), "part")
    assert (how.max_examples, how.derandomize, how.database, how.deadline) == (10, False, None, None)


def test_lanes_draw_what_one_thread_draws() -> None:
    operations = ["createAccount", "createBeneficiary", "listWallets", "updateBeneficiary"] * 2

    def statuses(operation: str) -> list[int | None]:
        lane = run_on()
        sent = sent_by(lane)
        assert not [each for each in schema_fuzzing(lane, operation, FuzzSettings(5, 20)) if each.violations]
        return [each.status for each in sent if each.purpose.startswith("a generated")]

    with ThreadPoolExecutor(8) as lanes:
        together = list(lanes.map(statuses, operations))
    assert together == [statuses(operation) for operation in operations]
