"""Levels of effort: the tests of a quick run and its report, the waits of a deep run."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from conformance._options import Effort
from conformance.checks import load_checks, plan
from conformance.checks.check import Check
from conformance.contract.rules import RULES, Level
from conformance.fuzz.exploration import FuzzSettings
from conformance.judge.findings import Verdict
from conformance.plugin import execution, known, worker
from conformance.plugin.execution import Executor
from conformance.plugin.options import DEEP_EXAMPLES, Options
from conformance.plugin.plan import in_part
from conformance.plugin.session import Run
from conformance.reference.serving.listener import served
from conformance.target.file import Target, build
from tests.faults.catalogue import load
from tests.support.mistakes import AnySignature
from tests.support.running import faulty, run, run_against
from tests.variants.hurry import hurried

# ---------------------------------------------------------------------- the table


def test_the_table_names_the_tests_that_there_are() -> None:
    there = {known.key_of(check.name, operation) for check, operation in plan(deep=True)}
    assert {key for key, test in known.tests().items() if not test.generated} == there


def quick_plan() -> list[tuple[Check, str]]:
    """Returns the tests of a quick run in order of definition."""
    return [(check, operation) for check, operation in plan() if known.in_quick(check.name, operation)]


def test_a_quick_run_says_something_of_each_operation_and_of_all_that_matters_most() -> None:
    assert {operation for _, operation in quick_plan()} == {
        operation for rule in RULES.values() for operation in rule.operations
    }
    judged = {rule.id for check, operation in quick_plan() for rule in check.rules_on(operation)}
    required = [rule.id for rule in RULES.values() if rule.level is Level.REQUIRED]
    assert len(judged & set(required)) > 0.5 * len(required)


# ---------------------------------------------------------------------- the order of a run


def nodeid(check: str, operation: str) -> str:
    return f"conformance/checks/{known.key_of(check, operation)}"


def test_tests_that_catch_more_come_first_within_their_module_and_modules_stay_together() -> None:
    nodes = [nodeid(check.name, operation) for check, operation in plan()]
    nodes = sorted(filter(known.of, nodes), key=known.place)
    modules = [node.partition("::")[0] for node in nodes]
    assert len([a for a, b in itertools.pairwise(modules) if a != b]) + 1 == len(set(modules))
    places = [known.place(node) for node in nodes if node.startswith(modules[0])]
    assert places == sorted(places)


def test_lanes_begin_with_the_long_and_keep_the_order_of_the_rest() -> None:
    nodes = [nodeid(check.name, operation) for check, operation in plan()]
    place = {node: index for index, node in enumerate(nodes)}
    order = [place[node] for node in known.for_lanes(nodes, 16)]
    usual = [index for index in order if not known.late(nodes[index])]
    assert order[: len(usual)] == usual, "what may bring a server down comes behind all else"
    most = known.LONG * sum(known.cost(nodes[index]) for index in usual) / 16
    long = {
        index
        for index in usual
        if known.cost(nodes[index]) > most and not nodes[index].endswith(known.IN_PLACE)
    }
    begin, rest = usual[: len(long)], usual[len(long) :]
    assert long and set(begin) == long and rest == sorted(rest)
    requests = [known.cost(nodes[index]) for index in begin]
    assert requests == sorted(requests, reverse=True)


# ---------------------------------------------------------------------- quick


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run("--effort", "quick", "--target", "embedded", folder=tmp_path_factory.mktemp("quick"))


def test_a_quick_run_says_that_it_was_one_and_what_it_left_out(quick: Any) -> None:
    results = quick.results
    assert (results["run"]["effort"], results["verdict"]["name"]) == ("quick", "partial")
    assert results["verdict"]["title"] == "quick run: no violation"
    left = {(case["rule"], case["operation"]) for case in results["cells"] if case["verdict"] == "not run"}
    judged = {(case["rule"], case["operation"]) for case in results["cells"]} - left
    rules = {rule for rule, _ in left} - {rule for rule, _ in judged}
    assert left and rules
    written = [(quick.folder / name).read_text("utf-8") for name in ("report.html", "summary.md")]
    for text in (quick.output, *written):
        assert "quick run" in " ".join(text.split())
    assert ", ".join(rule for rule in RULES if rule in rules) in written[0]
    partly = {
        (rule, operation) for rule, some in results["run"]["judged_in_part"].items() for operation in some
    }
    assert partly == in_part(nodeid(check.name, on) for check, on in quick_plan()) and partly & judged


def test_a_violation_in_a_quick_run_is_told_as_one(tmp_path: Path) -> None:
    outcome = run_against(tmp_path, "--effort quick --rule auth", AnySignature())
    assert outcome.status == 1, outcome.output
    assert outcome.results["verdict"]["title"].startswith("quick run: ")


# ---------------------------------------------------------------------- deep


def test_only_deep_runs_have_the_checks_that_wait(tmp_path: Path) -> None:
    listed = {
        level: run("--effort", level, "--collect-only", "-q", "-m", "not fuzz", folder=tmp_path).output
        for level in ("full", "deep")
    }
    deep = [check.name.partition(".")[2] for check in load_checks().values() if check.deep]
    assert deep
    for name in deep:
        assert f"::{name}[" in listed["deep"] and f"::{name}[" not in listed["full"]


def test_deep_runs_generate_more_unless_a_number_or_a_time_is_given(tmp_path: Path) -> None:
    def examples(level: Effort, **options: Any) -> int:
        usual = {"fuzz_examples": None, "fuzz_time": None, "seed": 1, "effort": level}
        given = Mock(spec=Options, **(usual | options))
        given.examples = Options.examples.fget(given)  # type: ignore[attr-defined]
        return worker.fuzz_settings(given, tmp_path, 0, 1).examples

    assert examples(Effort.DEEP) == DEEP_EXAMPLES > examples(Effort.FULL)
    assert examples(Effort.DEEP, fuzz_examples=3) == 3
    assert examples(Effort.DEEP, fuzz_time=9.0) == examples(Effort.FULL)


NONCES = "test_nonces.test_nonces_outlive_timestamps"
OTHER = "test_authentication.test_missing_headers"


@pytest.fixture
def forgetful() -> Iterator[Target]:
    """A server that forgets nonces of listWallets with the timestamps beside them; waiting advances its clock
    and the suite's."""
    (fault,) = [
        fault
        for fault in load()
        if (fault.rule, fault.operation) == ("auth.nonce-replay", "listWallets")
        and fault.kind == "A nonce is remembered until 300 seconds after the timestamp beside it"
    ]
    server, tables = faulty(fault.make())
    with hurried(), served(server, threads=True) as url:
        yield build(tables(url), "forgetful")


def begun(tests: dict[str, str], target: Target) -> tuple[Executor, list[tuple[str, Any]]]:
    """Returns an executor that has started with checks, each on its operation, and their tests."""

    def make(number: int) -> worker.Worker:
        return worker.Worker(target, index=number, workers=1, settings=FuzzSettings(1))

    checks = load_checks()
    items = [(nodeid(name, on), (checks[name], on)) for on, name in tests.items()]
    executor = Executor(make)
    executor.begin(dict(items))
    return executor, items


def test_checks_that_wait_run_beside_the_others(forgetful: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    others_ran = threading.Event()

    def wait(over: threading.Event, seconds: float) -> bool:
        assert others_ran.wait(60), "the other tests do not wait for this one"
        time.sleep(seconds)
        return False

    monkeypatch.setattr(execution, "wait", wait)
    begin = time.monotonic()
    executor, (waiting, other) = begun({"listWallets": NONCES, "getBeneficiary": OTHER}, forgetful)
    executor.run(*other)
    others_ran.set()
    executed = executor.run(*waiting)
    executor.stop()
    assert executed.error is None
    (finding,) = executed.findings
    assert finding.verdict is Verdict.FAILED and "almost too old" in finding.expected
    assert 5 <= time.monotonic() - begin < 100


def test_waits_pass_together_and_end_with_the_run(forgetful: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    both_wait = threading.Barrier(3)

    def wait(over: threading.Event, seconds: float) -> bool:
        both_wait.wait(60)
        return over.wait(60)

    monkeypatch.setattr(execution, "wait", wait)
    executor, tests = begun({"listWallets": NONCES, "listAccounts": NONCES}, forgetful)
    both_wait.wait(60)
    executor.stop()
    for test in tests:
        assert "the run ended before" in str(executor.run(*test).error)


def test_processes_know_their_tests_from_the_beginning() -> None:
    """Otherwise a worker process might receive a waiting check that it has not started."""
    values = {"dist": "load", "tx": ["popen", "popen"]}
    config = Mock(getoption=values.get, getvalue=values.get)
    session = Run(Mock(), Mock(), lambda: None, Mock())
    scheduler = session.pytest_xdist_make_scheduler(config, Mock())
    assert type(scheduler).__name__ == "ByShare"
