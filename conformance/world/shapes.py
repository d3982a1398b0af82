"""Shapes of bodies: rows of the table of bodies in which other fields mean something than in the sample.

Which bank details a destination needs, and in which currency a wallet destination is, is not shown
(section 2.10): the body of a shape that the server accepts is found out once in a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from conformance.contract.fields import Field
from conformance.contract.traits import TRAITS
from conformance.judge.findings import Inconclusive
from conformance.wire.messages import Exchange
from conformance.world.account import AccountFixture, call
from conformance.world.accounts import purpose_of
from conformance.world.bodies import SAMPLE, bodies
from conformance.world.cache import Key
from conformance.world.run_context import RunContext, refusal_of_valid
from conformance.world.samples import Body

#: operationId -> its shapes beside the sample.
SHAPES: Mapping[str, tuple[str, ...]] = {
    "createBeneficiary": ("individual", "business"),
    "updateBeneficiary": ("individual",),
    "createPayoutDestination": ("bank account", "IBAN", "IBAN alone", "SWIFT code", "wallet"),
}

#: operationId -> the shapes in which all fields of the sample's shape mean something, too.
OTHER_SHAPES: Mapping[str, tuple[str, ...]] = {
    "createBeneficiary": ("individual", "business"),
    "updateBeneficiary": ("individual",),
    "createPayoutDestination": ("IBAN alone", "wallet"),
}

#: operationId -> rows of the table of bodies that stand in for the sample by turns where a field is wrong: a
#: server may have rules of its own for a currency, a payment method or a type of account.
TURNS: Mapping[str, tuple[str, ...]] = {
    "createBeneficiary": ("another person",),
    "createPayoutDestination": ("pounds to Germany", "a savings account"),
    "createPayout": ("a wallet to pay to", "another beneficiary and currency", "no note"),
    "createVirtualAccount": ("another currency", "an address"),
    "createWallet": ("another pair (2)",),
    "createPayin": ("another payment method", "no description"),
}

#: operationId -> field -> the shape in which the field means something, where that is not the sample.
_SHAPE_OF: Mapping[str, Mapping[str, str]] = {
    "createBeneficiary": {"company_name": "business"},
    "createPayoutDestination": {
        "account_number": "bank account",
        "account_name": "bank account",
        "routing_number": "bank account",
        "account_type": "bank account",
        "iban": "IBAN",
        "swift_code": "SWIFT code",
        "network": "wallet",
        "wallet_address": "wallet",
    },
}

#: Operation and shape -> the position of the body that the server accepts.
_ACCEPTED = Key[int]("the body that is accepted")


def shape_of(operation: str, name: str) -> str:
    """The shape of body in which a field means something; of several, the first to try it in."""
    return _SHAPE_OF.get(operation, {}).get(name, SAMPLE)


def by_shape(operation: str, fields: Iterable[Field]) -> dict[str, list[Field]]:
    """The fields of an operation's body by the shape of body in which each means something."""
    shapes: dict[str, list[Field]] = {}
    for field in fields:
        shapes.setdefault(shape_of(operation, field.name), []).append(field)
    return shapes


def accepted_body(fixture: AccountFixture, operation: str, shape: str = SAMPLE) -> Body:
    """A new body of a shape as this server has accepted it. Raises Inconclusive where it accepts none."""
    return bodies(fixture, operation, shape)[_position(fixture.run, operation, shape)]


def accepts(run: RunContext, operation: str, shape: str = SAMPLE) -> bool:
    """True if this server accepts a shape."""
    try:
        _position(run, operation, shape)
    except Inconclusive:
        return False
    return True


def with_all_texts(fixture: AccountFixture, operation: str) -> Body:
    """A new body that has every free text: a beneficiary's is that of a business, where the server takes one
    and the target file names neither its type nor its company."""
    told = fixture.run.samples.over("beneficiary").keys()
    if TRAITS[operation].creates == "beneficiary" and not {"beneficiary_type", "company_name"} & told:
        business = accepts(fixture.run, operation, "business")
        return accepted_body(fixture, operation, "business" if business else SAMPLE)
    return fixture.body(operation)


def _position(run: RunContext, operation: str, shape: str) -> int:
    return run.cache.get(_ACCEPTED.of(f"{operation} {shape}"), lambda: _try(run, operation, shape))


def _try(run: RunContext, operation: str, shape: str) -> int:
    """The position of the body that the server accepts. Raises Inconclusive where it accepts none."""
    accounts = run.accounts
    if shape == SAMPLE and TRAITS[operation].creates == "account" and accounts.scarce and accounts.created():
        # Asking would take the room of another account; those that the run has made were samples.
        return 0
    # A wallet of one pair can be made only once in an account; what is updated should not be shared.
    alone = TRAITS[operation].once or bool(TRAITS[operation].changes)
    fixture = run.account(purpose_of(operation), fresh=alone)
    last: Exchange | None = None
    ids = fixture.ids(operation)
    for position, body in enumerate(bodies(fixture, operation, shape)):
        named = f"{shape} in {body['currency']}" if isinstance(body.get("currency"), str) else shape
        attempt, purpose = call(operation, ids, body), f"does this server accept the valid {named}?"
        last = run.send(fixture.client, attempt, purpose)
        if last.succeeded:
            return position
    if last is None:
        raise Inconclusive(f"there is no sample of the shape {shape}")
    raise refusal_of_valid(last)
