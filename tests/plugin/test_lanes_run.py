"""A run in lanes comes to what a run without them comes to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.plugin.execution import share
from conformance.plugin.known import LAST, for_lanes, late
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from tests.support.running import Outcome, run_against


class SlipsOnRead(Behaviour):
    """Shows another first name than it keeps."""

    def beneficiary_fields(self, ctx: Context, record: Record) -> dict[str, Any]:
        shown = super().beneficiary_fields(ctx, record)
        return {**shown, "first_name": "Eve"} if ctx.operation == "getBeneficiary" else shown


def verdicts(results: dict[str, Any]) -> dict[str, str]:
    return {f"{cell['rule']}@{cell['operation']}": cell["verdict"] for cell in results["cells"]}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    outcome = judged(tmp_path_factory.mktemp("alone"), "--lanes 1")
    assert outcome.status == 1
    return verdicts(outcome.results)


def judged(folder: Path, options: str) -> Outcome:
    return run_against(folder, f"--operation getBeneficiary -m 'not fuzz' {options}", SlipsOnRead())


@pytest.mark.parametrize("options", ["--lanes 6", "--lanes 3 -n 2"], ids=["lanes", "both"])
def test_lanes_come_to_the_same_verdicts(options: str, alone: dict[str, str], tmp_path: Path) -> None:
    outcome = judged(tmp_path, options)
    assert outcome.status == 1, outcome.output
    assert verdicts(outcome.results) == alone
    assert "read.equals-create@getBeneficiary" in {
        key for key, verdict in alone.items() if verdict == "failed"
    }


def test_first_violation_stops_the_lanes(tmp_path: Path) -> None:
    outcome = judged(tmp_path, "--lanes 6 -x")
    assert outcome.status == 1 and "stopping after 1 failures" in outcome.output


NODES = [
    "conformance/checks/test_hostile.py::test_hostile_bodies[createAccount]",
    "conformance/checks/test_accepted.py::test_valid_bodies_are_accepted[createAccount]",
    "conformance/fuzz/test_fuzz.py::test_schema_fuzzing[createAccount]",
    "conformance/checks/test_idempotency.py::test_replay[createPayout]",
]


def test_what_may_bring_a_server_down_comes_last() -> None:
    assert [late(node) for node in NODES] == [1, 0, len(LAST), 0]
    assert set(for_lanes(NODES, 2)[:2]) == {NODES[1], NODES[3]}


def test_every_test_belongs_to_one_process() -> None:
    parts = [share(NODES, process, 2) for process in range(2)]
    assert sorted(parts[0] + parts[1]) == [0, 1, 2, 3]
    assert share(NODES, 2, 2) == []


def test_tests_that_share_set_up_stay_together() -> None:
    nodes = [f"checks/test_money.py::test_{number}[{on}]" for number in range(9) for on in ("a", "b")]
    for process in range(2):
        assert len({nodes[index][-3:] for index in share(nodes, process, 2)}) == 1


_LOADED = """
import sys
from conformance.plugin.execution import Executor

seen = []

class Explored:
    name = "explored"

class Worker:
    def explore(self, exploration, part):
        seen.append((part, {"schemathesis.specs.openapi.schemas", "hypothesis.stateful"} <= set(sys.modules)))
        return []
    def payload(self, name, findings):
        return {}

executor = Executor(lambda number: Worker(), 2)
tests = [(part, (Explored(), part)) for part in ("one", "two")]
executor.begin(dict(tests))
for nodeid, test in tests:
    assert executor.run(nodeid, test).error is None
print(sorted(seen))
"""


def test_lanes_import_what_they_share_before_they_use_it() -> None:
    done = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True, check=True)
    assert done.stdout == "[('one', True), ('two', True)]\n"
