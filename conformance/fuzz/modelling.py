"""Stateful testing: drives a state machine against the server and compares every answer with the reference
model."""

from __future__ import annotations

from conformance.fuzz import engine
from conformance.fuzz.bodies import Sound
from conformance.fuzz.driver import Driver, elsewhere
from conformance.fuzz.ledger import Ledger
from conformance.fuzz.scenery import Scenery
from conformance.fuzz.seeds import derive
from conformance.fuzz.settings import FuzzSettings
from conformance.suite import Suite
from conformance.verdict import Finding, Inconclusive

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

    from conformance.fuzz.machines import MACHINES, Context

    ledger = Ledger(suite, check)
    others = elsewhere(suite)
    sound = _sound(suite)
    allowed = engine.budget(settings)

    def start() -> Driver:
        allowed.spend()
        ledger.begin()
        return Driver(suite, ledger, sound, others)

    context = Context(
        start, sound, suite.target.features.payouts, suite.target.features.payins, suite.samples.wallet_pairs
    )
    base = MACHINES[theme]
    for round_seed in engine.rounds(ledger, allowed, derive(settings.seed, "model", theme)):
        machine = hypothesis.seed(round_seed)(type(base.__name__, (base,), {"context": context}))
        ledger.on_violation = allowed.note_failure
        with engine.contained():
            run_state_machine_as_test(
                machine, settings=engine.hypothesis_settings(settings, allowed, stateful_step_count=STEPS)
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
