"""Hypothesis within a budget: failures are shrunk outside it, one by one, and stored in its database."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from conformance.fuzz.engine import hypothesis_runs as engine
from conformance.fuzz.engine.database import open_database
from conformance.fuzz.engine.recorder import Falsified, Recorder
from conformance.fuzz.exploration import EXPLORATIONS, FuzzSettings
from conformance.judge.expectations import Outcome, predicate
from conformance.judge.findings import Finding, Verdict
from conformance.target.file import build
from conformance.wire.messages import Exchange
from conformance.world.run_context import RunContext
from tests.variants.catalogue import VARIANTS
from tests.variants.hurry import hurried
from tests.variants.judging import new_run, parts

TARGET = build(
    {"base_url": "http://h", "primary": {"api_key": "k", "secret": "s", "customer_id": "cus_1"}}, "test"
)


@predicate
def Said(exchanges: Sequence[Exchange], good: bool = True, got: str = "") -> Outcome:
    """Returns the outcome that its parameters state."""
    return Outcome(good, got)


def explore(judge: Callable[[Recorder, int], Any], **more: Any) -> tuple[Recorder, list[int]]:
    """Explores integers; returns the recorder and the tried integers."""
    settings = FuzzSettings(**{"seed": 1, "examples": 200, **more})
    recorder, tried = Recorder(RunContext(TARGET), "test"), []

    def run(numbers: Sequence[int]) -> None:
        for number in numbers:
            tried.append(number)
            judge(recorder, number)

    # Rejects the simplest example.
    numbers = st.tuples(st.integers(0, 100_000)).filter(any)
    engine.explore(run, numbers, recorder, settings, engine.budget(settings), str(settings.seed), "test")
    return recorder, tried


def broken(recorder: Recorder) -> dict[str, Finding]:
    return {finding.rule: finding for finding in recorder.findings() if finding.verdict is not Verdict.PASSED}


def test_failures_of_several_rules_are_each_shrunk() -> None:
    def judge(recorder: Recorder, number: int) -> None:
        recorder.judge("fields.type", "createAccount", Said("less than 1000", number < 1000, str(number)))
        recorder.judge(
            "fields.max-length",
            "createAccount",
            Said("no 3 by 7", number % 7 != 3 or number < 10, str(number)),
        )
        recorder.judge("fields.required", "createAccount", Said(""))

    recorder, _ = explore(judge)
    found = broken(recorder)
    assert set(found) == {"fields.type", "fields.max-length"}
    assert recorder.entries["fields.required", "createAccount"].judged > 20


def test_a_failure_that_does_not_repeat_is_still_reported() -> None:
    once = itertools.count()

    def judge(recorder: Recorder, number: int) -> None:
        recorder.judge("fields.type", "createAccount", Said("never", next(once) != 20, "once"))

    recorder, _ = explore(judge)
    finding = broken(recorder)["fields.type"]
    assert "did not come again" in finding.further[-1]


def test_cases_run_together_are_run_alone_where_one_fails() -> None:
    recorder, tried = Recorder(RunContext(TARGET), "test"), list[tuple[int, ...]]()

    def run(numbers: Sequence[int]) -> None:
        tried.append(tuple(numbers))
        for number in numbers:
            recorder.judge("fields.type", "createAccount", Said("even", number % 2 == 0, str(number)))

    def shrink(number: int, fails: Callable[[int], bool]) -> None:
        fails(number - 2)

    engine.together(run, (2, 4), recorder, shrink)
    assert tried == [(2, 4)]
    engine.together(run, (6, 7, 8), recorder, shrink)
    assert tried[1:] == [(6, 7, 8), (6,), (7,), (5,), (8,)]
    assert broken(recorder).keys() == {"fields.type"}


def test_examples_are_not_repeated() -> None:
    _, tried = explore(lambda recorder, number: None, examples=50)
    assert len(set(tried)) == len(tried) == 50


def test_budget_of_examples_and_time() -> None:
    _, tried = explore(lambda recorder, number: None, examples=30)
    assert 25 <= len(tried) <= 30
    _, tried = explore(lambda recorder, number: None, seconds=0.0)
    assert len(tried) <= 1


@pytest.mark.parametrize("examples", [2, 200])
def test_mistakes_of_the_suite_are_not_swallowed(examples: int) -> None:
    """Even if the budget ends while Hypothesis is shrinking."""
    tried = []

    def judge(recorder: Recorder, number: int) -> None:
        tried.append(number)
        raise TypeError("a mistake of the suite")

    with pytest.raises(TypeError, match="a mistake of the suite"):
        explore(judge, examples=examples)
    assert len(tried) == 1


def test_shrinking_keeps_to_one_rule() -> None:
    recorder = Recorder(RunContext(TARGET), "test")
    with pytest.raises(Falsified):
        recorder.judge("fields.type", "createAccount", Said("a", False, "b"))
    assert not recorder.judge("fields.max-length", "createAccount", Said("a", False, "b"))
    assert set(broken(recorder)) == {"fields.type", "fields.max-length"}


def test_stored_failures_are_tried_first(tmp_path: Path) -> None:
    folder = str(tmp_path / "examples")

    def judge(recorder: Recorder, number: int) -> None:
        recorder.judge("fields.type", "createAccount", Said("less", number < 51_234, str(number)))

    explore(judge, database=folder)
    assert any((tmp_path / "examples").rglob("*"))
    _, tried = explore(judge, database=folder, seed=2)
    assert 51_234 <= tried[0] < 51_300
    _, without = explore(judge, seed=2)
    assert without[0] < 51_234


def test_profiles_of_hypothesis_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    recorder = Recorder(RunContext(TARGET), "test")
    _, made = next(engine.runs(recorder, engine.PartBudget(10, None), FuzzSettings(1), "1"))
    assert not made.derandomize and made.database is None and made.deadline is None
    assert open_database("") is None


# ---------------------------------------------------------------------- seeds


#: Random words, ids, numbers and letters that the suite or the server generates.
_RANDOM = re.compile(r"cf[b-t]{16}|[a-z]+_[0-9a-z]{24}|\+?[0-9]{9,}|[0-9a-f]{40}|DE[0-9]{20}|[^\x00-\x7f]")


def sent(exploration: str, part: str, seed: int) -> list[tuple[str | None, str, str, int | None]]:
    """Returns the requests of a part to a new server, without random values, and the answers."""
    with hurried():
        run = new_run(VARIANTS[0])
        EXPLORATIONS[exploration].function(run, part, FuzzSettings(seed, 3))
    return [
        (exchange.operation, exchange.method, _RANDOM.sub("*", _text(exchange.request_body)), exchange.status)
        for exchange in run.record.values()
    ]


def _text(body: bytes) -> str:
    return body.decode("utf-8", "replace")


@pytest.mark.parametrize(
    "part",
    [("test_fuzz", "createVirtualAccount"), ("test_fuzz", "updateBeneficiary")],
)
def test_same_seed_same_requests(part: tuple[str, str]) -> None:
    exploration = next(name for name, known in parts() if name.startswith(part[0]) and known == part[1])
    first, again, other = (sent(exploration, part[1], seed) for seed in (7, 7, 8))
    assert first == again
    assert first != other
