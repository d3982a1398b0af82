"""First uses of idempotency keys, and what may come after them: replays, changes and other bodies."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from conformance.contract.operations import OPERATIONS
from conformance.fixtures import samples
from conformance.fixtures.account import Scene, call, identifier
from conformance.fixtures.bodies import Shapes
from conformance.harness.context import Trial
from conformance.judging.comparison import same, show
from conformance.judging.findings import Inconclusive
from conformance.wire.messages import Call, Exchange

Body = dict[str, Any]

#: Operations that can be done only once in one place.
ONCE = ("createWallet", "disableBeneficiary")

#: Valid values of fields whose syntax leaves no room for a changed character.
_ALTERNATIVES: dict[str, tuple[str, ...]] = {
    "title": ("Mr", "Ms"),
    "account_type": ("savings", "checking"),
    "routing_number": ("026009593", "021000021"),
    "swift_code": ("COBADEFF", "DEUTDEFF"),
    "country": ("CA", "FR"),
    "country_code": ("CA", "FR"),
    "currency": ("USD", "EUR"),
    "payment_method": ("card", "bank_transfer"),
    "type": ("wallet", "bank_account"),
    "beneficiary_type": ("individual", "business"),
    "network": ("polygon", "ethereum"),
}

#: Fields that hold free text, so that any letter may change.
_FREE = (
    "name",
    "first_name",
    "middle_name",
    "last_name",
    "display_name",
    "company_name",
    "note",
    "label",
    "account_name",
    "description",
)


def place(trial: Trial) -> Scene:
    """Where a sound call can be made once more, after any number of refused ones."""
    return trial.scene(fresh=trial.operation.id in ONCE)


class LongScene(Scene):
    """A scene one of whose texts in each body is so long that whoever compares only a part of a body misses
    something."""

    def body(self, operation: str) -> Body:
        body = super().body(operation)
        laid_over = {name for sample in self.suite.target.samples.values() for name in sample}
        for name in ("name", "label", "note", "description"):
            if isinstance(body.get(name), str) and name not in laid_over:
                body[name] = f"{body[name]} {'and so on ' * 8}{samples.marker()}"
        return body


def own_place(trial: Trial, kind: type[Scene] = Scene) -> Scene:
    """A place with resources of its own, in a shared account where that hides nothing."""
    operation, suite = trial.operation.id, trial.suite
    account = None
    if operation == "createPayout":
        account = suite.payouts().account_id
    elif operation not in ("createAccount", "createWallet"):
        account = suite.shared().account_id
    return kind(suite, account_id=account)


class Original:
    """A sound POST that was accepted: `exchange` is its answer, `call` has its key and body.

    Without a `body` it is the suite's sample, in a `scene` of its own unless one is given. Raises
    Inconclusive when the server refuses it.
    """

    def __init__(self, trial: Trial, scene: Scene | None = None, body: Body | None = None) -> None:
        self.trial = trial
        self.operation = trial.operation.id
        self.scene = scene or own_place(trial)
        self.exchange = self._made(body)
        self.call = self.exchange.call
        self.id = identifier(self.exchange)

    def _made(self, body: Body | None) -> Exchange:
        # Accounts and beneficiaries become the scene's own, so that more can be made under them.
        if body is None and self.operation in ("createAccount", "createBeneficiary"):
            made = self.scene.account if self.operation == "createAccount" else self.scene.beneficiary
            self.trial.exchanges.append(made.number)
            return made
        return self.trial.accept(self.scene.call(self.operation, body), "the first use of an idempotency key")

    # ------------------------------------------------------------------ afterwards

    def replay(self, rule: str, what: str) -> Exchange:
        """Sends the original's key and body again and judges that the original status and body come."""
        answer = self.trial.send(self.call, what)
        if self.trial.usable(rule, answer):
            expected = f"{what}: the original response, {self.exchange.status} with the same JSON body"
            self.trial.judge(
                rule, self.brings(answer), expected, self.difference(answer), self.exchange, answer
            )
        return answer

    def brings(self, answer: Exchange) -> bool:
        """Whether an answer is the original response."""
        return answer.status == self.exchange.status and same(answer.document, self.exchange.document)

    def difference(self, answer: Exchange) -> str:
        """How an answer differs from the original response, in a few words."""
        if answer.status != self.exchange.status:
            return answer.described()
        first, now = self.exchange.document, answer.document
        if not isinstance(first, dict) or not isinstance(now, dict):
            return f"{answer.described()}, another one"
        changed = [
            name
            for name in {**first, **now}
            if name not in first or name not in now or not same(first[name], now[name])
        ]
        shown = [f"{name} {show(now.get(name))} instead of {show(first.get(name))}"[:160] for name in changed]
        return f"{answer.status} with " + ("; ".join(shown[:4]) if shown else "the same body")

    def relation(self, answer: Exchange) -> str:
        """What an answer is to the original response, in words that are the same in every run."""
        if self.brings(answer):
            return "the original response"
        if not answer.succeeded:
            return answer.described()
        return "done anew" if answer.get("id") != self.id else "the original resource in another response"

    def another(self) -> Exchange:
        """Another request of the same operation in the same place, whatever comes of it."""
        body = self.trial.suite.samples.wallet(-1) if self.operation == "createWallet" else None
        return self.trial.send(self.scene.call(self.operation, body), "another request with another key")

    def with_fresh_key(self, body: Body) -> Exchange:
        """Sends a body in the original's place, or one like it, with a key of its own."""
        scene = self.scene if self.operation not in ONCE else own_place(self.trial)
        return self.trial.send(
            call(self.operation, scene.ids(self.operation), body), "the other body with a fresh key"
        )


# ---------------------------------------------------------------------- changes


def changes_around(trial: Trial, original: Original) -> list[Exchange]:
    """Changes the original's resource as far as the API lets it, and what surrounds it; the answers."""
    scene, operation = original.scene, original.operation
    calls: list[Call] = []
    if operation != "disableBeneficiary" and operation != "createWallet":
        calls.append(scene.call(operation))
    match operation:
        case "createAccount":
            calls += [
                scene.call("createBeneficiary"),
                scene.call("createVirtualAccount"),
                scene.call("createWallet"),
            ]
        case "createBeneficiary":
            calls += [scene.call("createPayoutDestination"), _patch(scene), scene.call("disableBeneficiary")]
        case "disableBeneficiary":
            calls += [scene.call("createPayoutDestination"), _patch(scene)]
        case "createPayoutDestination":
            body = {**scene.body(operation), "is_default": True}
            calls += [scene.call(operation, body), _patch(scene), scene.call("disableBeneficiary")]
        case "createPayout":
            calls += [_patch(scene), scene.call("disableBeneficiary")]
        case "createWallet":
            pairs = range(1, len(trial.suite.samples.wallet_pairs))
            calls += [scene.call(operation, trial.suite.samples.wallet(index)) for index in pairs]
            calls.append(scene.call("createVirtualAccount"))
        case _:
            calls.append(scene.call("createBeneficiary"))
    return [trial.send(one, f"a change around the original: {one.operation}") for one in calls]


def _patch(scene: Scene) -> Call:
    word = samples.marker()
    return scene.call("updateBeneficiary", {"note": f"changed {word}", "first_name": f"Grace {word}"})


# ---------------------------------------------------------------------- other bodies


def other_bodies(trial: Trial, original: Original, seen: set[str]) -> Iterator[tuple[str, Body]]:
    """Bodies that differ from the original's in one field and are as valid, as far as that can be known.

    Each comes with the difference in words. Fields in `seen` are left out; those that were changed are added.
    """
    operation, body = original.operation, original.call.document
    for name, value in body.items():
        if name in seen:
            continue
        seen.add(name)
        if isinstance(value, dict):
            city = _other_end(str(value.get("city") or "Paris"))
            yield f"another city in {name}", {**body, name: {**value, "city": city}}
        elif isinstance(value, str) and (other := _other(name, value, original)) not in (None, value):
            yield f"another {name}", {**body, name: other}
    if "other forms" in seen:
        return
    seen.add("other forms")
    for name in reversed(body):
        if name not in OPERATIONS[operation].required_fields and name in _FREE:
            yield f"without {name}", {key: value for key, value in body.items() if key != name}
            break
    if operation == "createVirtualAccount":
        yield "with an address", {**body, "address": samples.address("state")}
    elif operation == "createPayoutDestination":
        yield "with is_default true", {**body, "is_default": True}
    # What changes a value comes last: of several effects on one resource, that of the last request stays.
    text = next((name for name in _FREE if isinstance(body.get(name), str)), None)
    if text is not None:
        if body[text].upper() != body[text]:
            yield f"{text} in upper case", {**body, text: body[text].upper()}
        if body[text][:1] != body[text][1:2]:
            yield f"two letters of {text} swapped", {**body, text: body[text][1::-1] + body[text][2:]}


def further_originals(trial: Trial, first: Original) -> Iterator[Original]:
    """Accepted requests of other shapes, which have fields that the sample lacks."""
    shapes = Shapes(trial.suite, first.operation)
    names = {"createBeneficiary": ("business",), "createPayoutDestination": ("IBAN", "wallet")}.get(
        first.operation, ()
    )
    bodies = [shapes.body(name, first.scene) for name in names if shapes.accepted(name)]
    if first.operation == "createPayoutDestination" and bodies:
        # One body with the fields of two types, so that only the type need differ.
        bodies.append({**bodies[-1], **first.call.document})
    for body in bodies:
        with contextlib.suppress(Inconclusive):
            yield Original(trial, first.scene, body)


def _other(name: str, value: str, original: Original) -> str | None:
    """A value of a field that is as valid as this one, as far as that can be known; None if there is none."""
    if name in _FREE:
        return _other_end(value)
    if original.operation == "createWallet":
        if name not in ("currency", "network"):
            return None
        configured = [pair[name == "network"] for pair in original.trial.suite.samples.wallet_pairs]
        others = [*configured, "USDT", "USDC"] if name == "currency" else [*configured, "ethereum", "polygon"]
        return next(one for one in others if one != value)
    if name in _ALTERNATIVES:
        return next(one for one in _ALTERNATIVES[name] if one != value)
    match name:
        case "email":
            local, at, domain = value.partition("@")
            return _other_end(local) + at + domain
        case "iban":
            return samples.iban()
        case "phone" | "tax_id" | "account_number" | "amount" | "wallet_address":
            return _other_end(value)
        case "beneficiary_id" | "payout_destination_id":
            # Another scene in the same account has another beneficiary.
            other = Scene(original.trial.suite, account_id=original.scene.account_id)
            with contextlib.suppress(Inconclusive):
                return other.beneficiary_id if name == "beneficiary_id" else _second_destination(original)
    return None


def _second_destination(original: Original) -> str | None:
    made = original.trial.send(original.scene.call("createPayoutDestination"), "a second destination to name")
    return identifier(made) if made.succeeded else None


def _other_end(text: str) -> str:
    """The text with another last character of the same kind, and so of the same length."""
    if not text:
        return "x"
    last = text[-1]
    if last.isdigit():
        return text[:-1] + ("1" if last != "1" else "2")
    return text[:-1] + ("x" if last != "x" else "y")
