"""Every check comes to a verdict on random answers: none makes the suite itself fail.

RANDOM_ANSWERS sets the number of servers (default 20), RANDOM_ANSWERS_SEED the first seed, which is part of
the test id. Each server meets random checks, some an exploration, all in this process.
"""

from __future__ import annotations

import json
import os
import random
from typing import Any

import pytest

from conformance.checks import plan
from conformance.checks.running import run_check
from conformance.contract.rules import RULES
from conformance.fuzz import load_tests
from conformance.fuzz.exploration import EXPLORATIONS, FuzzSettings
from conformance.judge.cells import Cell
from conformance.judge.exchanges import exchange_record
from conformance.report.transcript import failure_text
from conformance.world.lane import Lane
from tests.support.in_process import InProcessTransport
from tests.support.random_answers import RandomAnswers
from tests.support.report_samples import to_plain
from tests.support.runs import run_on
from tests.variants.hurry import hurried

FIRST = int(os.environ.get("RANDOM_ANSWERS_SEED", "1"))
SEEDS = range(FIRST, FIRST + int(os.environ.get("RANDOM_ANSWERS", "20")))

#: Number of checks for each server, and one in how many servers meets an exploration.
CHECKS, EXPLORED = 12, 10

load_tests()
CASES = list(plan())


def met_by(seed: int) -> tuple[Lane, list[Cell]]:
    """Returns a run on the server of a seed, and its cells."""
    lane = run_on(
        transport=lambda server: RandomAnswers(InProcessTransport(server), seed), limits={"retry_seconds": 0}
    )
    transport: Any = lane._transport
    print(transport)
    cells: list[Cell] = []
    source = random.Random(seed)
    near = [case for case in CASES if case[1] in transport.operations]
    for check, operation in source.sample(near, min(CHECKS, len(near))):
        print(check.name, operation)
        found, _ = run_check(check, operation, lane)
        assert {cell.rule for cell in found} == {rule.id for rule in check.rules_on(operation)}
        cells += found
    if seed % EXPLORED == 0:
        exploration = source.choice([*EXPLORATIONS.values()])
        part = source.choice(exploration.parts)
        print(exploration.name, part)
        cells += exploration.judge(lane, part, FuzzSettings(seed=seed, examples=8))
    return lane, cells


@pytest.mark.parametrize("seed", SEEDS)
def test_every_check_comes_to_a_verdict(seed: int) -> None:
    with hurried():
        lane, cells = met_by(seed)
    for cell in cells:
        assert cell.rule in RULES
        text = json.dumps(to_plain(cell.cleaned(lane.redactor.clean)))
        assert len(text) < 100_000, cell.summary[:200]
    records = {exchange.number: exchange_record(exchange, lane.redactor) for exchange in lane.recent[-50:]}
    json.dumps(to_plain(list(records.values())))
    broken = [cell for cell in cells if cell.verdict.is_violation]
    failure_text(broken, records, verbose=True).encode()
