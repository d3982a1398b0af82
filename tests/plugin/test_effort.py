"""Levels of effort: what a quick run judges and says of it, and what only deep runs have."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from conformance.checks import load_checks
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES, Level
from conformance.plugin.options import DEEP_EXAMPLES
from conformance.plugin.selection import quick
from tests.support.running import cells, run

REQUIRED = {rule.id for rule in RULES.values() if rule.level is Level.REQUIRED}


def test_a_quick_run_has_each_check_on_one_operation_and_all_operations_have_their_turn() -> None:
    there = [name for name, operation in quick() if operation != "createPayin"]
    assert Counter(there) == Counter({name: 1 for name, check in load_checks().items() if not check.waits})
    assert {operation for _, operation in quick()} == set(OPERATIONS)


@pytest.mark.parametrize(
    "spread",
    [
        pytest.param((), marks=pytest.mark.slow),
        ("--lanes", "4"),
        pytest.param(("-n", "2"), marks=pytest.mark.slow),
    ],
    ids=["one", "lanes", "processes"],
)
def test_a_quick_run_exercises_every_required_rule(spread: tuple[str, ...], tmp_path: Path) -> None:
    outcome = run("--effort", "quick", *spread, folder=tmp_path)
    assert outcome.status == 0, outcome.output
    assert {rule for rule, _ in cells(outcome, "passed")} >= REQUIRED
    results = outcome.results
    assert results["run"]["requests"] < 4000
    assert (results["run"]["effort"], results["verdict"]["name"]) == ("quick", "partial")
    assert cells(outcome, "not run")
    written = [(outcome.folder / name).read_text("utf-8") for name in ("report.html", "summary.md")]
    for text in (outcome.output, *written):
        assert "that was run (--effort quick)" in " ".join(text.replace("\\", "").split())


def test_only_deep_runs_have_deep_checks(tmp_path: Path) -> None:
    listed = {
        level: run("--effort", level, "--collect-only", "-q", "-m", "not fuzz", folder=tmp_path).output
        for level in ("full", "deep")
    }
    deep = [check.name.partition(".")[2] for check in load_checks().values() if check.deep]
    assert deep
    for name in deep:
        assert f"::{name}[" in listed["deep"] and f"::{name}[" not in listed["full"]


@pytest.mark.parametrize(
    ("options", "examples"),
    [
        ({"effort": "deep"}, DEEP_EXAMPLES),
        ({"effort": "deep", "fuzz_examples": 3}, 3),
        ({"effort": "deep", "fuzz_time": 9.0}, None),
        ({"effort": "full"}, None),
    ],
)
def test_deep_runs_generate_more_unless_a_number_or_a_time_is_given(
    options: dict[str, Any], examples: int | None, pytestconfig: pytest.Config
) -> None:
    from conformance._options import Effort
    from conformance.plugin.options import Options, parse

    usual = vars(parse(pytestconfig)) | {"fuzz_examples": None, "fuzz_time": None}
    assert Options(**(usual | options | {"effort": Effort(options["effort"])})).examples == examples
