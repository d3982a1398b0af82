"""Runs of the suite on a reference server in the same process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import httpx

from conformance.checks import judged_on_answers
from conformance.checks.check import Check, CheckDefinition
from conformance.checks.running import run_check
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.judge.cells import Cell
from conformance.judge.ledger import Ledger
from conformance.reference.app import Server
from conformance.reference.behaviour import Behaviour
from conformance.reference.seed import Seeded, new_server, target_tables
from conformance.reference.store import Store
from conformance.target.file import build
from conformance.wire.messages import Exchange
from conformance.world.lane import Lane
from tests.support.in_process import InProcessTransport


def run_on(
    behaviour: Behaviour | None = None,
    transport: Callable[[Server], httpx.BaseTransport] = InProcessTransport,
    *,
    fill: Callable[[Store, Seeded], object] = lambda store, seeded: None,
    limits: Mapping[str, float] = MappingProxyType({}),
    **features: bool,
) -> Lane:
    """Starts a run against a new server of a behaviour. `fill` creates resources beforehand; `limits` and
    `features` go into the target file."""
    server, seeded = new_server(behaviour, number=1)
    fill(server.store, seeded)
    tables = target_tables(seeded, "http://reference.test") | {"limits": dict(limits)}
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
