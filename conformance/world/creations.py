"""One resource of each kind of valid body, created once in a run and read by several checks.

The sample comes first; a server that refuses it leaves the checks inconclusive. The other kinds omit fields,
or hold other values or text that is easily corrupted; one that the server refuses is left out, as the
specification may allow that.
"""

from __future__ import annotations

import contextlib
from collections import deque
from dataclasses import dataclass, replace

from conformance.contract.traits import TRAITS
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import Exchange
from conformance.world.bodies import CREATED_BODIES, bodies
from conformance.world.cache import once, once_for_all_lanes
from conformance.world.calls import call
from conformance.world.lane import Fixture, Lane
from conformance.world.purposes import CREATED, purpose_of
from conformance.world.samples import Body


@dataclass(frozen=True)
class CreatedResource:
    """A created resource: kind of body, body, fixture, and the exchange that created it."""

    kind: str
    body: Body
    fixture: Fixture
    exchange: Exchange


@once
def creations(lane: Lane, operation: str) -> list[CreatedResource]:
    """One resource of each kind that the server accepts, the sample first; the same in all lanes of a
    process.

    Raises Inconclusive when it refuses the sample.
    """
    resources = _created_once(lane, operation)
    fixtures = {id(each.fixture): each.fixture.seen_by(lane) for each in resources}
    return [replace(each, fixture=fixtures[id(each.fixture)]) for each in resources]


@once_for_all_lanes
def _created_once(lane: Lane, operation: str) -> list[CreatedResource]:
    fixture, other_customer = created_in(lane, operation), lane.target.primary.other_customer_id
    sample = fixture.body(operation)
    resources = [CreatedResource("the sample", sample, fixture, fixture.create(operation, sample))]
    if TRAITS[operation].creates == "beneficiary":
        with contextlib.suppress(Inconclusive):
            # A new beneficiary must not show the destinations of another one.
            _ = fixture.destination
    pair = TRAITS[operation].unique_pair
    for name in CREATED_BODIES.get(operation, ()):
        tries = bodies(fixture, operation, name)
        # A second wallet of the sample's pair needs another account (section 4.6).
        taken = bool(pair) and any(all(body[key] == sample[key] for key in pair) for body in tries)
        where = lane.account(fresh=True, operation=operation) if taken else fixture
        if TRAITS[operation].creates == "account" and other_customer and len(resources) > 1:
            where = Fixture(lane, customer_id=other_customer)
        if any(body.get("is_default") for body in tries):
            # A second default is open, so this takes a new beneficiary, if possible a business.
            where = Fixture(lane, account_id=fixture.account_id, business=True)
        for body in tries:
            exchange = lane.send(
                where.client,
                call(operation, where.ids(operation), body),
                f"{TRAITS[operation].creates.replace('_', ' ')}: {name}",
            )
            if exchange.succeeded and isinstance(exchange.document, dict):
                resources.append(CreatedResource(name, body, where, exchange))
                break
    return resources


def place(lane: Lane, operation: str) -> tuple[Fixture, Body]:
    """An account for one more resource, and its body: an account gets a wallet of each pair that the
    server takes beside the sample's."""
    pair = TRAITS[operation].unique_pair
    if not pair:
        fixture = created_in(lane, operation)
        return fixture, fixture.body(operation)
    places: deque[tuple[Fixture, Body]] = lane.cache.get(("places", operation), deque)
    if not places:
        fixture = created_in(lane, operation)
        places.append((fixture, {}))
        with contextlib.suppress(Inconclusive):
            first, *others = creations(lane, operation)
            beside = [each.body for each in others if each.fixture.account_id == first.fixture.account_id]
            places += [(fixture, {name: body[name] for name in pair}) for body in beside]
    fixture, own = places.popleft()
    return fixture, fixture.body(operation) | own


def created_in(lane: Lane, operation: str) -> Fixture:
    """The account for any number of resources; a new one for a wallet, whose pair must be unused."""
    once = TRAITS[operation].once_per == "account"
    return lane.account(purpose_of(operation, CREATED), fresh=once, operation=operation)
