"""Runs the state machine of a theme against the server."""

from __future__ import annotations

import hypothesis
from hypothesis.stateful import run_state_machine_as_test

from conformance.contract.rules import OPERATION_SETS
from conformance.fuzz.engine.hypothesis_runs import budget, contained, runs
from conformance.fuzz.engine.recorder import Recorder
from conformance.fuzz.exploration import FuzzSettings
from conformance.fuzz.schema.operation_fixtures import OperationFixtures
from conformance.fuzz.stateful.executor import Driver, elsewhere
from conformance.fuzz.stateful.state_machine import MACHINES
from conformance.judge.findings import Finding, Inconclusive
from conformance.judge.oracle import ValidBody
from conformance.world.run_context import RunContext

#: Steps of one example.
STEPS = 20

#: Examples for each case of the budget: an example sends some 30 requests.
EXAMPLES_PER_CASE = 0.16


def explore_model(run: RunContext, part: str, settings: FuzzSettings, check: str) -> list[Finding]:
    """Runs the machine of a part (`theme` or `theme-number`) and returns a finding for each judged rule.

    Raises Inconclusive when the server refuses a precondition of every example.
    """
    recorder = Recorder(run, check)
    others = elsewhere(run)
    valid = valid_bodies(run)
    theme = part.partition("-")[0]
    if theme == "payees" and "createBeneficiary" not in valid:
        raise Inconclusive("the server is not known to take a beneficiary, which every example rests on")
    allowed = budget(settings, EXAMPLES_PER_CASE)

    def start() -> Driver:
        allowed.spend()
        recorder.begin()
        return Driver(run, recorder, valid, others)

    base = MACHINES[theme]
    seed = f"{settings.seed} model {part}"
    for run_seed, how in runs(recorder, allowed, settings, seed, stateful_step_count=STEPS):
        machine = hypothesis.seed(run_seed)(type(base.__name__, (base,), {"new_driver": staticmethod(start)}))
        with recorder.keeping(), contained():
            run_state_machine_as_test(machine, settings=how)
    return recorder.findings()


def valid_bodies(run: RunContext) -> dict[str, ValidBody]:
    """The valid bodies of the operations whose samples the server accepts."""
    valid = {}
    for operation in OPERATION_SETS["body"]:
        try:
            made = OperationFixtures(run, operation, shared=True).valid
        except Inconclusive:
            continue
        if made is not None:
            valid[operation] = made
    return valid
