"""Odd values of every field of every body are never answered with 5xx (section 4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.contract.fields import Field, request_fields
from conformance.contract.operations import OPERATIONS
from conformance.fixtures.account import Scene
from conformance.harness.authentication import common_scene
from conformance.harness.check import check
from conformance.harness.context import Trial

RULE = "http.no-server-error"

_BODIES = tuple(one.id for one in OPERATIONS.values() if one.request_schema is not None)


def odd_values(field: Field, operation: str) -> Iterator[tuple[str, Any]]:
    """Values that no other check sends in a field, each with its name for a sentence."""
    yield "an empty text", ""
    if not field.required or operation == "updateBeneficiary":
        yield "null", None
    if not field.required:
        yield "a number", 12345
        if field.type != "boolean":
            yield "true", True


@check(RULE, operations=_BODIES)
def test_odd_values_of_every_field(trial: Trial) -> None:
    """Every field is sent as an empty text, and optional ones as null and in types that the checks of types
    leave out, one at a time in a sound body; whatever the answer is, it comes, with a status below 500."""
    scene = _scene(trial)
    sound = scene.body(trial.operation.id)
    for field in request_fields(trial.operation.id):
        for named, value in odd_values(field, trial.operation.id):
            what = f"{field.name} as {named}"
            answer = trial.send(scene.call(trial.operation.id, {**sound, field.name: value}), what)
            if answer.throttled or answer.unsent:
                trial.set_aside(RULE, f"{what} was answered {answer.described()}", answer)
                continue
            good = answer.status is not None and (
                answer.status < 500 or (answer.status == 501 and trial.operation.id == "createPayin")
            )
            wanted = f"{what}: an answer with a status below 500"
            trial.judge(RULE, good, wanted, answer.described(), answer)


def _scene(trial: Trial) -> Scene:
    """A place of its own, because some of this may be accepted."""
    if trial.operation.id == "createPayout":
        return trial.suite.payouts()
    if trial.operation.id == "createWallet":
        return trial.suite.fresh()
    return common_scene(trial.suite, "hostile")
