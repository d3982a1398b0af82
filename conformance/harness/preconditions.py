"""Tells a refusal of what a request asks for from one that every request of its operation gets."""

from __future__ import annotations

from conformance.harness.context import Trial
from conformance.wire.messages import Exchange


def locked_out(trial: Trial, rule: str, answer: Exchange) -> bool:
    """Whether an answer is an authentication failure that the operation's sound call is answered with, too:
    then it is set aside, as it says nothing about the rule. Asks the server only after such a failure, once
    for each operation."""
    if not answer.refused_authentication:
        return False
    shelf, key = trial.suite.shelf, f"locked out of {trial.operation.id}"
    if key not in shelf:
        shelf[key] = trial.send(
            trial.sound(), f"a sound {trial.operation.id}, after an authentication failure"
        )
    sound: Exchange = shelf[key]
    if not sound.refused_authentication:
        return False
    trial.set_aside(
        rule,
        f"the sound {trial.operation.id} was answered {sound.described()}",
        sound,
        cause="auth.accepts-valid",
    )
    return True
