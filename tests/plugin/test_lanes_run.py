"""A run in lanes comes to what a run without them comes to."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from conformance.plugin.execution import Executor, share
from conformance.plugin.ordering import LAST, for_lanes, rank
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.reference.serving.listener import served
from conformance.world.cache import RunCache
from conformance.world.lateness import PAUSES, look_until
from tests.support.running import faulty, run, write_target
from tests.variants.hurry import hurried


class SlipsOnRead(Behaviour):
    """Shows another first name than it keeps."""

    def beneficiary_fields(self, ctx: Context, record: Record) -> dict[str, Any]:
        shown = super().beneficiary_fields(ctx, record)
        return {**shown, "first_name": "Eve"} if ctx.operation == "getBeneficiary" else shown


def verdicts(results: dict[str, Any]) -> dict[str, str]:
    return {f"{cell['rule']}@{cell['operation']}": cell["verdict"] for cell in results["cells"]}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    outcome = judged(tmp_path_factory.mktemp("alone"), "--lanes", "1")
    assert outcome.status == 1
    return verdicts(outcome.results)


def judged(folder: Path, *options: str) -> Any:
    server, tables = faulty(SlipsOnRead())
    with served(server, threads=True) as url:
        target = write_target(folder / "target.toml", tables(url))
        return run(
            "--target", str(target), "--operation", "getBeneficiary", "-m", "not fuzz", *options,
            folder=folder / "reports",
        )  # fmt: skip


@pytest.mark.parametrize("options", [("--lanes", "6"), ("--lanes", "3", "-n", "2")], ids=["lanes", "both"])
def test_lanes_come_to_the_same_verdicts(
    options: tuple[str, ...], alone: dict[str, str], tmp_path: Path
) -> None:
    outcome = judged(tmp_path, *options)
    assert outcome.status == 1, outcome.output
    assert verdicts(outcome.results) == alone
    assert "read.equals-create@getBeneficiary" in {
        key for key, verdict in alone.items() if verdict == "failed"
    }


def test_first_violation_stops_the_lanes(tmp_path: Path) -> None:
    outcome = judged(tmp_path, "--lanes", "6", "-x")
    assert outcome.status == 1 and "stopping after 1 failures" in outcome.output


NODES = [
    "conformance/checks/test_hostile.py::test_hostile_bodies[createAccount]",
    "conformance/checks/test_accepted.py::test_valid_bodies_are_accepted[createAccount]",
    "conformance/checks/test_fuzz.py::test_schema_fuzzing[createAccount]",
    "conformance/checks/test_idempotency.py::test_replay[createPayout]",
]


def test_what_may_bring_a_server_down_comes_last() -> None:
    assert [rank(node) for node in NODES] == [1, 0, len(LAST), 0]
    weights = dict(zip(NODES, for_lanes(NODES, 2), strict=True))
    order = sorted(NODES, key=lambda node: -weights[node])
    assert set(order[:2]) == {NODES[1], NODES[3]}


def test_every_test_belongs_to_one_process() -> None:
    parts = [share(NODES, process, 2) for process in range(2)]
    assert sorted(parts[0] + parts[1]) == [0, 1, 2, 3]
    assert share(NODES, 2, 2) == []


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
executor.begin(tests)
for nodeid, test in tests:
    assert executor.run(nodeid, test).error is None
print(sorted(seen))
"""


def test_lanes_import_what_they_share_before_they_use_it() -> None:
    done = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True, check=True)
    assert done.stdout == "[('one', True), ('two', True)]\n"


class Seen:
    """A worker that notes in which thread each part ran, and waits for changes that show late."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.run = Mock(cache=RunCache())
        self.parts: dict[str, str] = {}

    def explore(self, exploration: Any, part: str) -> list[Any]:
        self.parts[part] = threading.current_thread().name
        looks = iter([False] * len(PAUSES) + [True])
        look_until(self.run.cache, part, lambda: next(looks), bool)
        return []

    def payload(self, name: str, findings: list[Any]) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize("widens", [True, False])
def test_one_lane_becomes_several_where_changes_show_late(widens: bool) -> None:
    workers: list[Seen] = []

    def make(number: int) -> Any:
        workers.append(Seen(number))
        return workers[-1]

    executor = Executor(make, widens=widens)
    parts = ["first", *map(str, range(20)), "last"]
    tests: list[tuple[str, Any]] = [(part, (Mock(), part)) for part in parts]
    executor.begin(tests)
    with hurried():
        for nodeid, test in tests:
            assert executor.run(nodeid, test).error is None
    executor.stop()
    assert sorted(part for worker in workers for part in worker.parts) == sorted(parts)
    assert executor.runs_ahead is widens
    # The first goes on in a lane, and has a number of its own.
    assert len({worker.number for worker in workers}) == len(workers)
    assert len(executor.workers) == len(workers)
    assert workers[0].parts["first"] == "MainThread"
    assert (executor.lanes > 1) is widens
