"""A rule passes by its own checks alone: with each of them replaced in turn by one that judges nothing, or
raises, no cell passes that no other check judges, whatever was seen by the way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from conformance.checks import judged_on_answers, load_checks, plan
from conformance.checks.check import Check, CheckDefinition, CheckFunction
from conformance.contract.operations import OPERATIONS
from conformance.fuzz import load_tests
from conformance.fuzz.exploration import EXPLORATIONS, FuzzSettings
from conformance.judge.ledger import Ledger
from conformance.judge.verdicts import HELD
from conformance.load.process import LoadProcess, Report
from conformance.plugin.selection import Job
from conformance.plugin.worker import Worker
from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.listener import served
from conformance.report.terminal import summary
from conformance.target.file import build
from tests.support.report_samples import document
from tests.support.running import cells, run_against
from tests.support.runs import run_on
from tests.variants.hurry import hurried

#: A rule on an operation.
Key = tuple[str, str]

#: Operations of the sample: a list that others add to, a read, and a create.
SAMPLE = frozenset({"listAccounts", "getBeneficiary", "createPayout"})


def nothing(at: Check) -> None:
    """Judges nothing."""


def raises(at: Check) -> None:
    """Fails with an error of the suite."""
    raise ZeroDivisionError("planted")


WAYS = (nothing, raises)


class Judged:
    """A whole run in one process on some operations: the cells of its jobs, and of the rules of every
    response."""

    def __init__(self, operations: frozenset[str]) -> None:
        load_tests()
        self.worker = Worker(run_on().target, index=0, settings=FuzzSettings(1, examples=10))
        self.worker.lane = run_on()
        jobs = [Job(check, operation) for check, operation in plan(operations={*operations})]
        explorations = [Job(each, part) for each in EXPLORATIONS.values() for part in each.parts]
        jobs += [job for job in explorations if job.parameter in operations]
        with hurried():
            self.own = [(job, cell) for job in jobs for cell in self.worker.judge(job).own]
        tallies = self.worker.lane.invariants.tallies.values()
        self.by_answers = [judged_on_answers(tally) for tally in tallies]

    def without(self, check: CheckDefinition, way: CheckFunction, keys: set[Key]) -> Ledger:
        """The cells with these keys of the run with one check replaced."""
        cells = [cell for job, cell in self.own if job.judged is not check and cell.key in keys]
        for operation in {operation for _, operation in keys}:
            cells += self.worker.judge(Job(replace(check, function=way), operation)).ledger.cells
        ledger = Ledger()
        for cell in [*cells, *self.by_answers]:
            if cell.key in keys:
                ledger.add(cell)
        return ledger


@pytest.fixture(scope="module", params=[SAMPLE, pytest.param(frozenset(OPERATIONS), marks=pytest.mark.slow)])
def whole(request: pytest.FixtureRequest) -> Judged:
    return Judged(request.param)


def only_by(check: CheckDefinition, operations: frozenset[str]) -> set[Key]:
    """The cells of a check on some operations that no other one judges."""
    others = {
        key
        for other in load_checks().values()
        if other is not check
        for operation in other.operations
        for key in other.cells(operation)
    }
    return {key for operation in operations & {*check.operations} for key in check.cells(operation)} - others


@pytest.mark.parametrize("way", WAYS)
def test_without_its_check_no_cell_passes(whole: Judged, way: CheckFunction) -> None:
    operations, by_the_way = frozenset(job.parameter for job, _ in whole.own), 0
    for check in load_checks().values():
        if keys := only_by(check, operations):
            ledger = whole.without(check, way, keys)
            assert not ledger.with_verdict(*HELD), check.name
            by_the_way += sum(cell.judged > 0 for cell in ledger.cells)
            results = document(ledger)
            assert not sum(row["passed"] + row["observed"] for row in results.counts.values())
            assert not any(
                " passed" in line for line, _ in summary(results, folder=None, width=100, verbose=False)
            )
    # Else this shows nothing.
    assert by_the_way > 10


# ---------------------------------------------------------------------- in whole runs

#: Replaces the one check of a cell that generated requests judge by the way.
PLANTING = """
from conformance.checks import load_checks

def nothing(at):
    pass

def raises(at):
    raise ZeroDivisionError("planted")

def pytest_sessionstart(session):
    import os
    check = load_checks()["test_list_ranges.test_size_out_of_range"]
    object.__setattr__(check, "function", globals()[os.environ["WAY"]])
"""

CELL = ("list.size-range", "listAccounts")


@pytest.mark.parametrize("way", ["nothing", "raises"])
@pytest.mark.parametrize("spread", ["--lanes 3", pytest.param("-n 2", marks=pytest.mark.slow)])
def test_without_its_check_no_cell_passes_in_a_whole_run(way: str, spread: str, tmp_path: Path) -> None:
    (tmp_path / "planting.py").write_text(PLANTING)
    options = f"--operation listAccounts -k 'fuzz or list_ranges' -p planting {spread} --seed 1"
    outcome = run_against(tmp_path, options, variables={"WAY": way, "PYTHONPATH": str(tmp_path)})
    [cell] = [cell for cell in outcome.results["cells"] if (cell["rule"], cell["operation"]) == CELL]
    assert cell["judged"] > 0 and not cell["looks"]
    assert cell["verdict"] == "inconclusive", outcome.output
    assert ("list.page-range", "listAccounts") in cells(outcome, "passed")
    page = (outcome.folder / "report.html").read_text("utf-8")
    assert f'aria-label="{cell["verdict"]}">' in page.partition(f'href="#{"@".join(CELL)}"')[2][:60]


def test_without_its_check_no_cell_passes_under_load() -> None:
    server, seeded = new_server()
    check = load_checks()["test_isolation.test_odd_queries_stay_within_the_path"]
    with served(server, threads=True) as url:
        process = LoadProcess(build(target_tables(seeded, url), "the server"))
        process.limit(0)
        for each, way in ((check, check.function), (check, nothing)):
            session = process.begin()
            process.judge(session, replace(each, function=way), "getBeneficiary")
            process.end(session)
            report = msgspec.msgpack.decode(process.report(), type=Report)
            passed = {cell.key for cell in report.ledger.with_verdict(*HELD)}
            assert (("tenancy.isolation", "getBeneficiary") in passed) is (way is check.function)
