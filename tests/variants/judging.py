"""Runs checks and explorations on a conforming server, in this process and without sockets."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from conformance.checks.presence import missing
from conformance.contract.needs import UNBUILT
from conformance.fuzz import load_tests
from conformance.fuzz.exploration import EXPLORATIONS, FuzzSettings
from conformance.judge.verdicts import Verdict
from conformance.plugin.selection import Job, Scope
from conformance.plugin.worker import EVERYTHING
from conformance.reference.seed import new_server, target_tables
from conformance.target.file import build
from conformance.world.lane import Lane
from tests.support.in_process import InProcessTransport
from tests.support.runs import run_jobs

from .variant import Variant

#: Verdicts that no conforming server may get.
BLAMED = (Verdict.FAILED, Verdict.WARNING)


@dataclass
class Judged:
    """Verdicts of the suite on a server.

    `blamed` has the summaries of violations, `inconclusive` rule, operation and reason, `incurable` those of
    them without a remedy on implemented operations, but where a check only had no occasion; `sent` is the
    number of all requests.
    """

    blamed: list[str]
    inconclusive: list[tuple[str, str, str]]
    incurable: list[tuple[str, str, str]]
    sent: int


def new_run(variant: Variant) -> Lane:
    """Returns a run against a new server of a variant."""
    server, seeded = new_server(variant.behaviour(), variant.clock)
    variant.fill(server.store, seeded)
    transport = InProcessTransport(server)
    tables = target_tables(seeded, "http://variant.test")
    target = build(variant.change(tables) if variant.change else tables, variant.name)
    return Lane(target, variant.wrap(transport) if variant.wrap else transport)


def parts() -> list[Job]:
    """Returns each part of every exploration."""
    load_tests()  # Registers them.
    return [
        Job(exploration, part)
        for _, exploration in sorted(EXPLORATIONS.items())
        for part in exploration.parts
    ]


def judge(
    variant: Variant, jobs: Collection[Job], settings: FuzzSettings | None = None, scope: Scope = EVERYTHING
) -> Judged:
    """Runs checks, and parts of explorations, on a variant, as a run of a scope does."""
    lane = new_run(variant)
    results = run_jobs(lane, jobs, scope, settings)
    blamed = [
        f"{violation.check}: {cell.rule} on {cell.operation}: {violation.sentence}"
        for cell in results.with_verdict(*BLAMED)
        if cell.rule not in variant.breaks
        and not (cell.rule == UNBUILT and cell.operation in variant.unreached)
        for violation in cell.violations
    ]
    cells = results.with_verdict(Verdict.INCONCLUSIVE)
    inconclusive = [(cell.rule, cell.operation, cell.summary) for cell in cells]
    incurable = [
        (cell.rule, cell.operation, cell.summary)
        for cell in cells
        if cell.unclear and not cell.decisive.remedy and not missing(lane, cell.operation)
    ]
    return Judged([*blamed, *results.errors], inconclusive, incurable, lane.sent)
