"""A check whose process died is no violation: it runs again elsewhere, or came to nothing."""

from __future__ import annotations

import pytest

from conformance.judge.findings import Verdict
from conformance.plugin.controller import _not_finished
from conformance.plugin.selection import judged_by


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
