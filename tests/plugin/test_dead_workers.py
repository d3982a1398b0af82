"""Worker processes that die: their check runs elsewhere or becomes inconclusive, never a violation."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from conformance.judge.findings import Verdict
from conformance.plugin.controller import _not_finished
from conformance.plugin.execution import by_share
from conformance.plugin.plan import judged_by


@pytest.mark.parametrize("folder", ["", "conformance/", "../site-packages/conformance/"])
def test_a_check_is_found_by_its_node_id(folder: str) -> None:
    test = f"{folder}checks/test_authentication.py::test_header_names_in_any_case[listWallets]"
    judged = judged_by(test)
    assert judged is not None and judged[0] is not None
    assert (judged[0].name, judged[1]) == ("test_authentication.test_header_names_in_any_case", "listWallets")


def test_other_peoples_tests_are_not_ours() -> None:
    assert judged_by("tests/test_own.py::test_own[listWallets]") is None
    assert judged_by("own/checks/test_own.py::test_own") is None


def test_a_check_that_no_process_finished_is_inconclusive() -> None:
    (finding,) = _not_finished("checks/test_authentication.py::test_header_names_in_any_case[listWallets]")
    assert (finding.rule, finding.operation) == ("auth.header-case", "listWallets")
    assert (finding.verdict, finding.remedy) == (Verdict.INCONCLUSIVE, "Run it again.")
    assert _not_finished("fuzz/test_fuzz.py::test_generated[createWallet]") == []


class Process:
    """A worker process as pytest-xdist's scheduler sees it: an address, and the tests sent to it."""

    def __init__(self, number: int) -> None:
        self.gateway = SimpleNamespace(id=f"gw{number}")
        self.sent: list[int] = []
        self.shutting_down = False

    def send_runtest_some(self, indexes: list[int]) -> None:
        self.sent += indexes

    def shutdown(self) -> None:
        self.shutting_down = True


def test_remaining_tests_of_a_dead_process_go_to_its_replacement(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests = [f"checks/test_{letter}.py::test[{number}]" for letter in "ab" for number in range(40)]
    monkeypatch.setattr(pytestconfig.option, "tx", ["popen"] * 2, raising=False)
    scheduler: Any = by_share(pytestconfig, None, 2)
    first, second, third = (Process(number) for number in range(3))
    for process in (first, second):
        scheduler.add_node(process)
        scheduler.add_node_collection(process, tests)
    scheduler.schedule()
    assert sorted(first.sent + second.sent) == list(range(len(tests)))
    begun = scheduler.remove_node(first)
    scheduler.add_node(third)
    scheduler.add_node_collection(third, tests)
    scheduler.schedule()
    while scheduler.has_pending:
        for process in (second, third):
            for index in list(scheduler.node2pending[process]):
                scheduler.mark_test_complete(process, index)
    assert sorted([tests.index(begun), *second.sent, *third.sent]) == list(range(len(tests)))
    assert third.shutting_down
