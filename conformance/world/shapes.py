"""Shapes: rows of BODIES in which other fields apply than in the sample, such as those of a business.

Which fields and currencies a destination needs is not shown (section 2.10), so the bodies of a shape are
tried once in a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from conformance.contract.fields import Field
from conformance.contract.traits import TRAITS
from conformance.judge.outcomes import Unclear
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import Exchange
from conformance.world.bodies import SAMPLE, bodies
from conformance.world.cache import once_for_all_lanes
from conformance.world.calls import call
from conformance.world.lane import Fixture, Lane
from conformance.world.purposes import purpose_of
from conformance.world.refused_samples import refusal_of_valid
from conformance.world.samples import BUSINESS, Body

#: operationId -> the shapes in which all fields of the sample apply, too.
SHAPES: Mapping[str, tuple[str, ...]] = {
    "createBeneficiary": ("individual", "business"),
    "updateBeneficiary": ("individual",),
    "createPayoutDestination": ("IBAN alone", "wallet"),
}

#: operationId -> rows of BODIES that replace the sample by turns in bodies with one invalid field: a server
#: may validate by currency, payment method or type of account.
TURNS: Mapping[str, tuple[str, ...]] = {
    "createBeneficiary": ("another person",),
    "createPayoutDestination": ("pounds to Germany", "a savings account, the default"),
    "createPayout": ("a wallet to pay to", "another beneficiary and currency", "no note"),
    "createVirtualAccount": ("another currency", "an address"),
    "createWallet": ("another pair (2)",),
    "createPayin": ("another payment method", "no description"),
}


def by_shape(fields: Iterable[Field]) -> dict[str, list[Field]]:
    """Groups fields by the shape to which each applies."""
    shapes: dict[str, list[Field]] = {}
    for field in fields:
        shapes.setdefault(field.shape or SAMPLE, []).append(field)
    return shapes


def accepted_body(fixture: Fixture, operation: str, shape: str) -> Body:
    """A new body of a shape, the one that the server accepts. Raises Inconclusive if it accepts none."""
    position, built = _position(fixture.lane, operation, shape), bodies(fixture, operation, shape)
    if position >= len(built):
        # What the body names could not be created this time.
        raise _no_sample(shape)
    return built[position]


def accepts(lane: Lane, operation: str, shape: str = SAMPLE) -> bool:
    """True if the server accepts a shape."""
    try:
        _position(lane, operation, shape)
    except Inconclusive:
        return False
    return True


def with_all_texts(fixture: Fixture, operation: str, shape: str = "business") -> Body:
    """A new body with every free text: for a beneficiary of a shape that has a company_name, where the server
    accepts it and the target file sets neither type nor company."""
    fixed = fixture.lane.samples.over("beneficiary").keys()
    if TRAITS[operation].creates == "beneficiary" and not BUSINESS.keys() & fixed:
        known = accepts(fixture.lane, operation, shape)
        return accepted_body(fixture, operation, shape if known else SAMPLE)
    return fixture.body(operation)


def _no_sample(shape: str) -> Inconclusive:
    return Inconclusive(Unclear(f"there is no sample of the shape {shape}"))


@once_for_all_lanes
def _position(lane: Lane, operation: str, shape: str) -> int:
    """Sends the bodies of a shape in order; returns the index of the first accepted one. Raises Inconclusive
    if none is."""
    # An account holds one wallet of a pair; an updated resource should not be shared.
    alone = TRAITS[operation].once or bool(TRAITS[operation].changes)
    fixture = lane.account(purpose_of(operation), fresh=alone)
    last: Exchange | None = None
    ids = fixture.ids(operation)
    for position, body in enumerate(bodies(fixture, operation, shape)):
        named = f"{shape} in {body['currency']}" if isinstance(body.get("currency"), str) else shape
        attempt, purpose = call(operation, ids, body), f"the valid {named}, to see whether it is accepted"
        last = lane.send(fixture.client, attempt, purpose)
        if last.succeeded:
            return position
    if last is None:
        raise _no_sample(shape)
    raise refusal_of_valid(last)
