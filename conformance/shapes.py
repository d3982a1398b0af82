"""The kinds of sound bodies that an operation takes, and which of them the server under test accepts.

Which bank details a destination needs, and in which currency a wallet destination is, is not shown
(section 2.10): what the server takes is found out once and remembered for the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from conformance import samples
from conformance.exchange import Exchange
from conformance.fields import Field
from conformance.suite import Suite, refusal_of_sound
from conformance.verdict import Inconclusive
from conformance.world import Scene, call

Body = dict[str, Any]


def _sample(operation: str) -> Callable[[Scene], list[Body]]:
    return lambda scene: [scene.body(operation)]


def _business(scene: Scene) -> list[Body]:
    body = scene.suite.samples.beneficiary()
    company = f"Analytical Engines {samples.marker()}"
    return [{"company_name": company, **body, "beneficiary_type": "business"}]


def _individual(scene: Scene) -> list[Body]:
    body = scene.suite.samples.beneficiary()
    return [{**body, "beneficiary_type": "individual"}]


def _iban(scene: Scene) -> list[Body]:
    """The accepted bank details with an IBAN beside, then an account that has only an IBAN."""
    suite, body = scene.suite, scene.body("createPayoutDestination")
    if "iban" in body:
        return [body]
    return [{**body, "iban": samples.iban(), "swift_code": "DEUTDEFF"}, suite.samples.bank_accounts()[-1]]


def _swift(scene: Scene) -> list[Body]:
    """Bank details with a SWIFT code: those with an IBAN, then the accepted ones."""
    return [*_iban(scene), {**scene.body("createPayoutDestination"), "swift_code": "DEUTDEFF"}]


def _numbered(scene: Scene) -> list[Body]:
    """Bank details with an account number."""
    body = scene.body("createPayoutDestination")
    if "account_number" in body:
        return [body]
    return [one for one in scene.suite.samples.bank_accounts() if "account_number" in one]


def _wallet(scene: Scene) -> list[Body]:
    return scene.suite.samples.wallet_destinations()


#: operationId -> the name of a shape -> the bodies to try for it, the likeliest first.
_SHAPES: Mapping[str, Mapping[str, Callable[[Scene], list[Body]]]] = {
    "createBeneficiary": {"individual": _individual, "business": _business},
    "createPayoutDestination": {
        "bank account": _numbered,
        "IBAN": _iban,
        "SWIFT code": _swift,
        "wallet": _wallet,
    },
}


#: (operationId, field) -> the shape of body in which the field means something, where it is not the sample.
_SHAPE_OF = {
    ("createBeneficiary", "company_name"): "business",
    **{
        ("createPayoutDestination", name): shape
        for name, shape in {
            "account_number": "bank account",
            "account_name": "bank account",
            "routing_number": "bank account",
            "account_type": "bank account",
            "iban": "IBAN",
            "swift_code": "SWIFT code",
            "network": "wallet",
            "wallet_address": "wallet",
        }.items()
    },
}


def by_shape(operation: str, fields: Iterable[Field]) -> dict[str, list[Field]]:
    """The fields of an operation's body by the shape of body in which each means something."""
    shapes: dict[str, list[Field]] = {}
    for field in fields:
        shapes.setdefault(_SHAPE_OF.get((operation, field.name), "sample"), []).append(field)
    return shapes


class Shapes:
    """Sound bodies of one operation, by shape; the shape "sample" is the suite's own sample, which every
    operation has. What the server refused for lack of fitting bank details is no failure."""

    def __init__(self, suite: Suite, operation: str) -> None:
        self.suite = suite
        self.operation = operation
        self._tried: dict[str, int | Inconclusive] = suite.shelf.setdefault(f"shapes of {operation}", {})

    @property
    def names(self) -> list[str]:
        """All shapes but the sample."""
        return list(_SHAPES.get(self.operation, {}))

    def bodies(self, shape: str, scene: Scene) -> list[Body]:
        """New bodies to try for a shape. Raises KeyError for a shape that the operation does not have."""
        make = _sample(self.operation) if shape == "sample" else _SHAPES[self.operation][shape]
        return make(scene)

    def body(self, shape: str, scene: Scene) -> Body:
        """A new body of a shape as this server has accepted it; raises Inconclusive when it accepts none."""
        if shape not in self._tried:
            self._tried[shape] = self._try(shape)
        tried = self._tried[shape]
        if isinstance(tried, Inconclusive):
            raise Inconclusive(tried.reason, tried.cure, tried.cause)
        return self.bodies(shape, scene)[tried]

    def accepted(self, shape: str) -> bool:
        """Whether this server accepts a shape."""
        if shape not in self._tried:
            self._tried[shape] = self._try(shape)
        return not isinstance(self._tried[shape], Inconclusive)

    def _try(self, shape: str) -> int | Inconclusive:
        # A wallet of one pair can be made only once in an account; what is updated had better not be shared.
        alone = self.operation in ("createWallet", "updateBeneficiary")
        scene = self.suite.scene_for(self.operation, fresh=alone)
        last: Exchange | None = None
        try:
            ids = scene.ids(self.operation)
            for index, body in enumerate(self.bodies(shape, scene)):
                attempt = call(self.operation, ids, body)
                purpose = f"does this server accept the sound {_named(shape, body)}?"
                last = self.suite.send(scene.client, attempt, purpose)
                if last.succeeded:
                    return index
        except Inconclusive as stop:
            return stop
        if last is None:
            return Inconclusive(f"there is no sample of the shape {shape}")
        return refusal_of_sound(last)


def _named(shape: str, body: Body) -> str:
    return f"{shape} in {body['currency']}" if isinstance(body.get("currency"), str) else shape
