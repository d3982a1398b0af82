"""Secrets (sections 2.4 and 5.1): no answer shows a signing secret or the full number of a payout
destination."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from conformance.checks.test_destinations import squeezed
from conformance.fixtures import samples
from conformance.fixtures.account import Scene, new_key, unknown_like
from conformance.harness.check import check
from conformance.harness.context import Trial
from conformance.judging.findings import Inconclusive
from conformance.judging.invariants import HIDDEN_FIELDS
from conformance.wire.messages import Call, Exchange

#: Operations whose answers are about destinations or the beneficiaries that have them.
_NEAR = (
    "createPayoutDestination",
    "listPayoutDestinations",
    "getBeneficiary",
    "updateBeneficiary",
    "disableBeneficiary",
    "createPayout",
)


@dataclass
class Vault:
    """A beneficiary with a destination of every kind that the server accepts, and the numbers they were
    made with."""

    scene: Scene
    created: list[Exchange]

    @property
    def numbers(self) -> list[tuple[str, str]]:
        """Field and value of every number that no answer may show."""
        bodies = [one.call.document for one in self.created]
        found = [
            (name, body[name]) for body in bodies for name in HIDDEN_FIELDS if isinstance(body.get(name), str)
        ]
        # A short number may stand anywhere by chance.
        return [(name, squeezed(value)) for name, value in found if len(value) >= 8]


def new_vault(trial: Trial, scene: Scene) -> Vault:
    """A vault with the scene's beneficiary. Raises Inconclusive when the server accepts no destination."""
    suite, vault = trial.suite, Vault(scene, [scene.destination])
    beside = {
        **suite.bank_account(scene),
        "iban": samples.iban(),
        "wallet_address": suite.samples.wallet_destinations()[0]["wallet_address"],
    }
    for bodies in ([suite.samples.bank_accounts()[-1]], suite.samples.wallet_destinations(), [beside]):
        for body in bodies:
            made = trial.send(
                scene.call("createPayoutDestination", body), "a destination whose number must stay hidden"
            )
            if made.succeeded:
                vault.created.append(made)
                break
    return vault


@check("secrets.hidden")
def test_no_answer_shows_secrets(trial: Trial) -> None:
    """In an account with destinations of every kind the operation is called soundly, again with its key,
    and with every sort of defect, the numbers in the refused bodies: no answer shows a full number or a
    signing secret."""
    vault = _vault(trial)
    for exchange in [
        *(vault.created if trial.operation.id == "createPayoutDestination" else ()),
        *_answers(trial, vault),
    ]:
        if exchange.status is None:
            trial.set_aside(
                "secrets.hidden",
                f"{exchange.purpose} was not answered",
                exchange,
                cause="http.no-server-error",
            )
            continue
        found = what_shows(trial, exchange, vault.numbers)
        trial.judge(
            "secrets.hidden",
            not found,
            f"{exchange.purpose}: an answer without secrets",
            found or "that",
            exchange,
        )


def what_shows(trial: Trial, exchange: Exchange, numbers: list[tuple[str, str]]) -> str:
    """Which secret an answer shows, in its body or its headers; empty if none."""
    text = exchange.response_body.decode("utf-8", "replace") + "\n".join(
        value for _, value in exchange.response_headers
    )
    if any(secret and secret in text for secret in trial.target.secrets):
        return "a signing secret"
    plain = squeezed(text)
    return next((f"the full {name} of a destination" for name, value in numbers if value in plain), "")


def _vault(trial: Trial) -> Vault:
    operation = trial.operation.id
    if operation in ("createPayout", "disableBeneficiary"):
        scene = trial.suite.payouts() if operation == "createPayout" else trial.suite.fresh()
        return new_vault(trial, scene) if operation != "createPayout" else Vault(scene, [scene.destination])
    if "vault" not in trial.suite.shelf:
        with contextlib.suppress(Inconclusive):
            trial.suite.shelf["vault"] = new_vault(trial, trial.suite.fresh())
    if "vault" in trial.suite.shelf:
        vault: Vault = trial.suite.shelf["vault"]
        return vault
    scene = trial.suite.shared()
    return Vault(scene, [scene.destination] if operation in _NEAR else [])


def _answers(trial: Trial, vault: Vault) -> Iterator[Exchange]:
    operation, scene = trial.operation.id, vault.scene
    if operation == "createPayoutDestination":
        sound = vault.created[-1].call
        for one in vault.created:
            yield trial.send(one.call, f"the key of a {one.call.document.get('type')} destination again")
    else:
        sound = scene.call(operation)
        yield trial.send(sound, "a sound request")
    for what, defective in _defects(trial, sound):
        yield trial.send(defective, what)
    if operation == "listPayoutDestinations":
        yield trial.send(sound.with_query({"page": 1, "size": 100}), "a list of 100")
        yield trial.send(sound.with_query({"size": 0}), "a size of 0")


def _defects(trial: Trial, sound: Call) -> Iterator[tuple[str, Call]]:
    """Requests to be refused, each with one defect; their errors are where a server is tempted to quote."""
    operation = trial.operation
    yield "a wrong signature", sound.signed(mangle="flip")
    parent = sound.path.split("/")[3]
    yield "an unknown parent", _fresh(sound).but(target=sound.target.replace(parent, unknown_like(parent), 1))
    if operation.id not in _NEAR:
        return
    yield "a header left out", sound.signed(omit=("X-Signature",))
    yield "a timestamp of an hour ago", sound.signed(timestamp_offset=-3600)
    if operation.is_post:
        yield "a key that is no UUID", sound.but(idempotency_key="not-a-uuid")
    if operation.is_post and sound.body:
        yield (
            "the same key with another body",
            sound.with_field("label" if "label" in sound.document else "note", samples.marker()),
        )
        yield "the key again", sound
    if sound.body:
        yield "a body cut short", _fresh(sound).but(body=sound.body[:-1])
        yield "a body in an array", _fresh(sound).with_json([sound.document])
        wrong: dict[str, Any] = {"country": "USA", "currency": "US", "note": 7, "label": ["x"]}
        for name, value in wrong.items():
            if name in sound.document:
                yield f"a wrong {name}", _fresh(sound).with_field(name, value)
        for name in operation.required_fields:
            yield f"a body without {name}", _fresh(sound).without_field(name)
    elif operation.is_post:
        yield "the key again", sound


def _fresh(sound: Call) -> Call:
    """The same call under a key that was not used yet."""
    return sound.but(idempotency_key=new_key() if sound.idempotency_key else None)
