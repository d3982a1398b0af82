"""What the checks of section 5 share: sound calls that pass authentication, and judgements of those that must not."""

from __future__ import annotations

import json
from collections.abc import Iterator

from conformance.exchange import Call, Exchange, to_json
from conformance.suite import Suite, refusal_of_sound
from conformance.trial import Trial
from conformance.verdict import Inconclusive
from conformance.world import Scene, call, parameters, unknown_like


def common_scene(suite: Suite, purpose: str = "") -> Scene:
    """The scene of the checks of section 5 (for some purpose): one for the whole run."""
    key = f"authentication {purpose}"
    if key not in suite.shelf:
        suite.shelf[key] = suite.fresh()
    scene: Scene = suite.shelf[key]
    return scene


class Gate:
    """Sound calls of one trial's operation, of which one has passed authentication before.

    They go to one account for the whole run: what they are answered after authentication, such as the refusal
    of a second wallet, does not matter. Raises Inconclusive when even a sound call does not pass.
    """

    def __init__(self, trial: Trial, *, proven: bool = True) -> None:
        self.trial = trial
        self.operation = trial.operation.id
        self.scene = self._scene()
        if proven:
            self._pass()

    def _scene(self) -> Scene:
        if self.operation == "createPayout":
            return self.trial.suite.payouts()
        # Who disables a beneficiary needs one that nobody else works with.
        return common_scene(self.trial.suite, "disabling" if self.operation == "disableBeneficiary" else "")

    def _pass(self) -> None:
        shelf, key = self.trial.suite.shelf, f"passed authentication: {self.operation}"
        if key not in shelf:
            exchange = self.trial.send(self.call(), "a sound request, to derive defective ones from")
            shelf[key] = exchange
        self.passed(shelf[key])

    def call(self) -> Call:
        """A sound call, with a body and, on POST, an idempotency key of its own."""
        return self.scene.call(self.operation)

    def passed(self, exchange: Exchange) -> Exchange:
        """The exchange of a sound call, if it passed authentication; raises Inconclusive otherwise."""
        if exchange.status is None or exchange.status >= 500 or exchange.throttled or exchange.refused_authentication:
            raise refusal_of_sound(exchange)
        return exchange

    def invalid_signature(self, rule: str, call: Call, what: str) -> Exchange:
        """Sends a call and judges that it is refused with 401 invalid_signature."""
        answer = self.trial.send(call, what)
        self.trial.error(rule, answer, what, type="authentication_error", code="invalid_signature", status=401)
        return answer

    def nonce_replay(self, rule: str, call: Call, what: str) -> bool:
        """Sends a call and judges that it is refused with 401 nonce_replay."""
        answer = self.trial.send(call, what)
        return self.trial.error(rule, answer, what, type="authentication_error", code="nonce_replay", status=401)

    # ------------------------------------------------------------------ places

    def at(self, **ids: str) -> Call:
        """A sound call with other path parameters."""
        sound = self.call()
        return sound.but(target=call(self.operation, {**self.scene.ids(self.operation), **ids}).target)

    def unknown_parent(self) -> Call:
        """A sound call but for an unknown top-level customer or account."""
        top = parameters(self.operation)[0]
        return self.at(**{top: unknown_like(self.scene.ids(self.operation)[top])})

    def elsewhere(self) -> Iterator[tuple[str, Call]]:
        """Calls to places that do not exist for the caller, each with its name for a sentence."""
        ids = self.scene.ids(self.operation)
        yield "an unknown top-level resource", self.unknown_parent()
        for child in parameters(self.operation)[1:]:
            yield f"an unknown {child}", self.at(**{child: unknown_like(ids[child])})
        foreign = self._foreign_parent()
        if foreign is not None:
            yield "another organization's top-level resource", self.at(**{parameters(self.operation)[0]: foreign})

    def _foreign_parent(self) -> str | None:
        suite = self.trial.suite
        if suite.target.secondary is None:
            return None
        if parameters(self.operation)[0] == "customer_id":
            return suite.target.secondary.customer_id
        try:
            return suite.shared("secondary").account_id
        except Inconclusive:
            return None


#: A field of free text in each body, for letters outside ASCII.
FREE_TEXT = {
    "createAccount": "name", "createBeneficiary": "note", "updateBeneficiary": "note", "createPayoutDestination": "label",
    "createPayout": "note", "createVirtualAccount": "label", "createWallet": "label", "createPayin": "description",
}


def reworded(body: bytes) -> Iterator[tuple[str, bytes]]:
    """The same JSON object in other bytes, each with its name for a sentence."""
    document = json.loads(body)
    yield "with white space between its tokens", json.dumps(document, ensure_ascii=False).encode()
    yield "with its members in another order", to_json(dict(reversed(document.items())))
    yield "with its members sorted by name", to_json(dict(sorted(document.items())))
    yield "with its non-ASCII letters escaped", json.dumps(document, separators=(",", ":")).encode()
    yield "with a line feed after it", body + b"\n"
