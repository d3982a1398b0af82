"""Runs of the suite on a reference server in the same process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import httpx

from conformance.checks import judged_on_answers, note_left_out, plan
from conformance.checks.check import Check, CheckDefinition
from conformance.checks.running import run_check
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.fuzz.exploration import FuzzSettings
from conformance.judge.cells import Cell
from conformance.judge.ledger import Ledger
from conformance.plugin.lanes import OneLane
from conformance.plugin.selection import Job, Scope, quick
from conformance.plugin.worker import EVERYTHING, Worker
from conformance.reference.app import Server
from conformance.reference.behaviour import Behaviour
from conformance.reference.seed import Seeded, new_server, target_tables
from conformance.reference.store import Store
from conformance.target.file import build
from conformance.wire.messages import Exchange
from conformance.world.lane import Lane
from tests.support.in_process import InProcessTransport
from tests.variants.hurry import hurried


def run_on(
    behaviour: Behaviour | None = None,
    transport: Callable[[Server], httpx.BaseTransport] = InProcessTransport,
    *,
    fill: Callable[[Store, Seeded], object] = lambda store, seeded: None,
    limits: Mapping[str, float] = MappingProxyType({}),
    samples: Mapping[str, Any] = MappingProxyType({}),
    **features: bool,
) -> Lane:
    """Starts a run against a new server of a behaviour. `fill` creates resources beforehand; `limits`,
    `samples` and `features` go into the target file."""
    server, seeded = new_server(behaviour, number=1)
    fill(server.store, seeded)
    tables = target_tables(seeded, "http://reference.test") | {
        "limits": dict(limits),
        "samples": dict(samples),
    }
    tables["features"] |= features
    tables["lists"] = {"array_style": server.behaviour.array_style}
    if features.get("secondary") is False:
        del tables["secondary"]
    return Lane(build(tables, "reference"), transport=transport(server))


def judged(lane: Lane, tests: Iterable[tuple[CheckDefinition, str]]) -> Ledger:
    """Runs checks, each on an operation; returns the ledger, with the rules of every response."""
    ledger = Ledger.of_catalogue(lane.target)
    for check, operation in tests:
        for cell in run_check(check, operation, lane)[0]:
            ledger.add(cell)
    for tally in lane.invariants.tallies.values():
        ledger.add(judged_on_answers(tally))
    return ledger


def jobs_of(effort: str) -> list[Job]:
    """Returns the checks of a run of an effort (quick, full, deep), each with an operation."""
    fixed = (Job(check, operation) for check, operation in plan(deep=effort == "deep"))
    return [job for job in fixed if effort != "quick" or (job.judged.name, job.parameter) in quick()]


@hurried()
def run_jobs(
    lane: Lane, jobs: Collection[Job], scope: Scope = EVERYTHING, settings: FuzzSettings | None = None
) -> Ledger:
    """Runs jobs in one lane, in the order and with all else of a user's run; returns its ledger."""
    worker = Worker(lane.target, index=0, settings=settings or FuzzSettings(1), scope=scope)
    # Time goes on only as this process works.
    worker.lane, lane.patience = lane, min(worker.lane.patience, 1.0)
    ordered = {job.title: job for job in sorted(jobs, key=lambda job: job.standing)}
    one, ledger = OneLane(worker), Ledger.of_catalogue(lane.target)
    one.begin(ordered)
    for name, job in ordered.items():
        ledger.merge(one.outcome(name, job).ledger)
    ledger.merge(one.stop(interrupted=False))
    note_left_out(ledger)
    return ledger


def sent_by(lane: Lane) -> list[Exchange]:
    """Returns a list to which a lane adds what it sends from now on."""
    sent: list[Exchange] = []
    for organization in (lane.target.primary, lane.target.secondary):
        if organization is not None:
            lane.client(organization.name).watchers.append(sent.append)
    return sent


def check_on(operation: str, *rules: str, behaviour: Behaviour | None = None) -> Check:
    """Returns the context of a check of these rules on one operation of a new server."""
    return Check(run_on(behaviour), OPERATIONS[operation], [RULES[rule] for rule in rules], "test")


def broken(cells: Iterable[Cell]) -> dict[str, Cell]:
    """Returns the violated cells, by rule."""
    return {cell.rule: cell for cell in cells if cell.violations}
