"""The kinds of valid bodies that an operation takes, and which of them the server under test accepts.

Which bank details a destination needs, and in which currency a wallet destination is, is not shown
(section 2.10): what the server takes is found out once and remembered for the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from conformance.contract.fields import Field
from conformance.contract.traits import TRAITS
from conformance.judge.findings import Inconclusive
from conformance.wire.messages import Exchange
from conformance.world import samples
from conformance.world.account import AccountFixture, call
from conformance.world.accounts import purpose_of
from conformance.world.cache import Key
from conformance.world.run_context import RunContext, refusal_of_valid

Body = dict[str, Any]


#: Operation and shape -> which of the shape's bodies the server accepts.
_ACCEPTED = Key[int]("the body that is accepted")


def _sample(operation: str) -> Callable[[AccountFixture], list[Body]]:
    return lambda fixture: [fixture.body(operation)]


def _business(fixture: AccountFixture) -> list[Body]:
    body = fixture.run.samples.beneficiary()
    company = f"Analytical Engines {samples.marker()}"
    return [{"company_name": company, **body, "beneficiary_type": "business"}]


def _individual(fixture: AccountFixture) -> list[Body]:
    body = fixture.run.samples.beneficiary()
    return [{**body, "beneficiary_type": "individual"}]


def _iban(fixture: AccountFixture) -> list[Body]:
    """The accepted bank details with an IBAN beside, then an account that has only an IBAN."""
    run, body = fixture.run, fixture.body("createPayoutDestination")
    if "iban" in body:
        return [body]
    return [{**body, "iban": samples.iban(), "swift_code": "DEUTDEFF"}, run.samples.bank_accounts()[-1]]


def _swift(fixture: AccountFixture) -> list[Body]:
    """Bank details with a SWIFT code: those with an IBAN, then the accepted ones."""
    return [*_iban(fixture), {**fixture.body("createPayoutDestination"), "swift_code": "DEUTDEFF"}]


def _numbered(fixture: AccountFixture) -> list[Body]:
    """Bank details with an account number."""
    body = fixture.body("createPayoutDestination")
    if "account_number" in body:
        return [body]
    return [account for account in fixture.run.samples.bank_accounts() if "account_number" in account]


def _iban_alone(fixture: AccountFixture) -> list[Body]:
    """Bank details with an IBAN and no account number."""
    return [account for account in fixture.run.samples.bank_accounts() if "account_number" not in account]


def _wallet(fixture: AccountFixture) -> list[Body]:
    return fixture.run.samples.wallet_destinations()


#: operationId -> the name of a shape -> the bodies to try for it, the likeliest first.
_SHAPES: Mapping[str, Mapping[str, Callable[[AccountFixture], list[Body]]]] = {
    "createBeneficiary": {"individual": _individual, "business": _business},
    # The body is that of the sample; what it changes is an individual.
    "updateBeneficiary": {"individual": _sample("updateBeneficiary")},
    "createPayoutDestination": {
        "bank account": _numbered,
        "IBAN": _iban,
        "IBAN alone": _iban_alone,
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


#: operationId -> the shapes beside the sample in which all fields of the sample's shape mean something, too.
OTHER_SHAPES: Mapping[str, tuple[str, ...]] = {
    "createBeneficiary": ("individual", "business"),
    "updateBeneficiary": ("individual",),
    "createPayoutDestination": ("IBAN alone", "wallet"),
}


def shape_of(operation: str, name: str) -> str:
    """The shape of body in which a field means something; of several, the first to try it in."""
    return _SHAPE_OF.get((operation, name), "sample")


def by_shape(operation: str, fields: Iterable[Field]) -> dict[str, list[Field]]:
    """The fields of an operation's body by the shape of body in which each means something."""
    shapes: dict[str, list[Field]] = {}
    for field in fields:
        shapes.setdefault(shape_of(operation, field.name), []).append(field)
    return shapes


class AcceptedBodies:
    """Valid bodies of one operation, by shape; the shape "sample" is the suite's own sample, which every
    operation has. What the server refused for lack of fitting bank details is not a failure."""

    def __init__(self, run: RunContext, operation: str) -> None:
        self.run = run
        self.operation = operation

    @property
    def names(self) -> list[str]:
        """All shapes but the sample."""
        return list(_SHAPES.get(self.operation, {}))

    def bodies(self, shape: str, fixture: AccountFixture) -> list[Body]:
        """New bodies to try for a shape. Raises KeyError for a shape that the operation does not have."""
        make = _sample(self.operation) if shape == "sample" else _SHAPES[self.operation][shape]
        return make(fixture)

    def body(self, shape: str, fixture: AccountFixture) -> Body:
        """A new body of a shape as this server has accepted it; raises Inconclusive when it accepts none."""
        return self.bodies(shape, fixture)[self._accepted(shape)]

    def accepted(self, shape: str) -> bool:
        """Whether this server accepts a shape."""
        try:
            self._accepted(shape)
        except Inconclusive:
            return False
        return True

    def _accepted(self, shape: str) -> int:
        return self.run.cache.get(_ACCEPTED.of(f"{self.operation} {shape}"), lambda: self._try(shape))

    def _try(self, shape: str) -> int:
        """Which body of a shape the server accepts; raises Inconclusive when it accepts none."""
        # A wallet of one pair can be made only once in an account; what is updated should not be shared.
        alone = TRAITS[self.operation].once or bool(TRAITS[self.operation].changes)
        fixture = self.run.account(purpose_of(self.operation), fresh=alone)
        last: Exchange | None = None
        ids = fixture.ids(self.operation)
        for index, body in enumerate(self.bodies(shape, fixture)):
            attempt = call(self.operation, ids, body)
            purpose = f"does this server accept the valid {_named(shape, body)}?"
            last = self.run.send(fixture.client, attempt, purpose)
            if last.succeeded:
                return index
        if last is None:
            raise Inconclusive(f"there is no sample of the shape {shape}")
        raise refusal_of_valid(last)


def _named(shape: str, body: Body) -> str:
    return f"{shape} in {body['currency']}" if isinstance(body.get("currency"), str) else shape
