"""Stateful testing: drives a state machine against the server and compares every answer with the reference
model."""

from __future__ import annotations

from conformance.fixtures.run_context import Suite
from conformance.fuzz.engine.budget import budget, contained, hypothesis_settings, rounds
from conformance.fuzz.engine.recorder import Ledger
from conformance.fuzz.engine.seeds import derive
from conformance.fuzz.schema.bodies import Sound
from conformance.fuzz.schema.operation_fixtures import Scenery
from conformance.fuzz.stateful.executor import Driver, elsewhere
from conformance.harness.exploration import FuzzSettings
from conformance.judging.findings import Finding, Inconclusive

#: Steps of one example.
STEPS = 20

#: Operations whose bodies the machines send.
_BODIES = (
    "createAccount",
    "createBeneficiary",
    "updateBeneficiary",
    "createPayoutDestination",
    "createPayout",
    "createVirtualAccount",
    "createWallet",
    "createPayin",
)


def explore_model(suite: Suite, theme: str, settings: FuzzSettings, check: str) -> list[Finding]:
    """Runs one theme's state machine and returns a finding for each rule that came to be judged.

    Raises Inconclusive when the server refuses what every example rests on.
    """
    import hypothesis
    from hypothesis.stateful import run_state_machine_as_test

    from conformance.fuzz.stateful.state_machine import MACHINES, Context

    ledger = Ledger(suite, check)
    others = elsewhere(suite)
    sound = _sound(suite)
    allowed = budget(settings)

    def start() -> Driver:
        allowed.spend()
        ledger.begin()
        return Driver(suite, ledger, sound, others)

    context = Context(
        start, sound, suite.target.features.payouts, suite.target.features.payins, suite.samples.wallet_pairs
    )
    base = MACHINES[theme]
    for round_seed in rounds(ledger, allowed, derive(settings.seed, "model", theme)):
        machine = hypothesis.seed(round_seed)(type(base.__name__, (base,), {"context": context}))
        ledger.on_violation = allowed.note_failure
        with contained():
            run_state_machine_as_test(
                machine, settings=hypothesis_settings(settings, allowed, stateful_step_count=STEPS)
            )
    return ledger.findings(settings.replay_folder)


def _sound(suite: Suite) -> dict[str, Sound]:
    """The bodies that the server is known to take; what it refuses the machines leave out."""
    sound = {}
    for operation in _BODIES:
        try:
            made = Scenery(suite, operation, shared=True).sound
        except Inconclusive:
            continue
        if made is not None:
            sound[operation] = made
    return sound
