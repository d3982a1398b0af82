"""Idempotency keys that resemble one another (section 4.0): a key is the same only where all of it is."""

from __future__ import annotations

from conformance.contract.rules import RULES
from conformance.fixtures.account import Scene, call, new_key
from conformance.harness.check import check
from conformance.harness.context import Trial
from conformance.harness.idempotency import own_place
from conformance.wire.messages import Call

RULE = "idempotency.key-accepted"


def resembling(key: str, place: int) -> str:
    """A key that differs from another in one place only, its first (0) or its last (-1)."""
    other = "0" if key[place] != "0" else "1"
    return other + key[1:] if place == 0 else key[:-1] + other


@check(RULE, operations=RULES["idempotency.conflict"].operations)
def test_resembling_keys(trial: Trial) -> None:
    """Beside a used key, one that differs in its last character, and one that differs in its first, are
    accepted with another body: they are other keys."""
    operation = trial.operation.id
    for place, named in ((-1, "last"), (0, "first")):
        scene, key = own_place(trial), new_key()
        trial.accept(scene.call(operation).but(idempotency_key=key), "the first use of an idempotency key")
        what = f"a key that differs from a used one in its {named} character"
        answer = trial.send(_another(trial, scene).but(idempotency_key=resembling(key, place)), what)
        if answer.succeeded or not trial.usable(RULE, answer):
            trial.succeeded(RULE, answer, what)
            continue
        control = trial.send(_another(trial, scene), "the same body with a key that resembles none")
        if control.succeeded:
            trial.succeeded(RULE, answer, what)
        else:
            trial.set_aside(
                RULE, f"with any key the body was answered {control.described()}", answer, control
            )


def _another(trial: Trial, scene: Scene) -> Call:
    """A sound call of the operation in the same place, with a body of its own."""
    operation = trial.operation.id
    if operation != "createWallet":
        return scene.call(operation)
    index = min(1, len(trial.suite.samples.wallet_pairs) - 1)
    return call(operation, scene.ids(operation), trial.suite.samples.wallet(index))
