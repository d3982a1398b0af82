"""Reads at the end of a run are measured by what no other check has changed meanwhile."""

from __future__ import annotations

import time

import pytest

from conformance.checks import load_checks
from conformance.checks.check import run_check
from conformance.judge.verdicts import Verdict
from conformance.world.calls import call
from tests.support.runs import run_on
from tests.variants.hurry import hurried


@pytest.mark.parametrize(
    ("check", "operation"),
    [("test_reads_after_a_while", "getBeneficiary"), ("test_updates_after_a_while", "updateBeneficiary")],
)
def test_what_changes_while_a_check_waits_is_read_by_its_last_change(check: str, operation: str) -> None:
    run, waits = run_on(), 0

    def pause(seconds: float) -> None:
        """Changes every beneficiary during the first wait."""
        nonlocal waits
        waits += 1
        for create in [each for each in run.accepted if each.operation == "createBeneficiary"]:
            ids = {"account_id": create.call.path.split("/")[3], "beneficiary_id": str(create.get("id"))}
            if waits == 1:
                run.send(
                    run.client(), call("updateBeneficiary", ids, {"note": "changed meanwhile"}), "a change"
                )
        time.sleep(seconds)

    run.pause = pause
    with hurried():
        cells, _ = run_check(load_checks()[f"test_late.{check}"], operation, run)
    assert {cell.verdict for cell in cells} == {Verdict.PASSED} and waits
