"""The resources for generated requests: an account of their own, and others that they must not reach."""

from __future__ import annotations

import functools
import json
from dataclasses import replace
from typing import Any

from conformance.contract.fields import UNIQUE
from conformance.contract.needs import REFERENCES
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import SAMPLE_OPERATIONS, TRAITS
from conformance.judge.oracle import FOREIGN, OWN, SIBLING, UNKNOWN, ValidBody
from conformance.judge.verdicts import Inconclusive, NotApplicable
from conformance.wire.messages import Exchange
from conformance.world.cache import once_for_all_lanes
from conformance.world.calls import unknown_like
from conformance.world.known_lists import KnownList
from conformance.world.lane import Fixture, Lane
from conformance.world.purposes import purpose_of

#: Remedy where a pair is unique across accounts: that is open, but leaves nothing to test.
PAIRS_REMEDY = "Judge an environment of the server in which each account may have a wallet of the same pair."

#: Owner of a payee -> member of a payout's body -> placeholder for its id in generated bodies.
PAYEES = {
    whose: {name: f"{name[:4]}_{whose:0>24}" for name in REFERENCES["createPayout"]}
    for whose in (OWN, SIBLING, FOREIGN, UNKNOWN)
}


def payee_of(body: bytes | None) -> str:
    """Owner of the payee in a body with placeholders: OWN, or UNKNOWN if it is not the caller's."""
    others = (each for whose, ids in PAYEES.items() if whose != OWN for each in ids.values())
    return UNKNOWN if body is not None and any(other.encode() in body for other in others) else OWN


def _exchanged(body: bytes, old: str, new: str) -> bytes:
    """Replaces a text in JSON, whether its letters are escaped or not."""
    for escaped in (True, False):
        before, after = (json.dumps(text, ensure_ascii=escaped)[1:-1] for text in (old, new))
        body = body.replace(before.encode(), after.encode())
    return body


class OperationFixtures:
    """The fixtures of one part: the caller's own, a sibling account and one of another organization.

    A fixture that an example used up (a wallet's pair, a disabled beneficiary) or mutated is replaced. With
    `shared` the fixture is that of all checks, for reading only. Raises Inconclusive where the server refuses
    to create a fixture."""

    def __init__(self, lane: Lane, operation: str, *, shared: bool = False) -> None:
        self.lane = lane
        self.operation = operation
        self._shared = shared
        self._own: Fixture | None = None
        #: The last answer that shows the current beneficiary, if known.
        self.known: Exchange | None = None

    @property
    def fixture(self) -> Fixture:
        """The caller's own fixture."""
        if self._own is None:
            own = purpose_of(self.operation)
            self._own = self.lane.account(own, fresh=not self._shared, operation=self.operation)
            if TRAITS[self.operation].changes:
                self.learn(self._own.beneficiary)
            adds = OPERATIONS[self.operation].filled_by
            if adds and not TRAITS[adds].shared:  # There are accounts already.
                self._populate(self._own, adds)
            if OPERATIONS[self.operation].method == "GET":
                reading = self._own.call(self.operation)
                self.lane.find(self._own.client, reading, "a read, to see whether it is there")
        return self._own

    def _populate(self, fixture: Fixture, create: str) -> None:
        """Creates up to three elements of the list, and waits until it shows them."""
        listed = KnownList(fixture, fixture.call(self.operation))
        wallets = self.lane.samples.wallets() if TRAITS[create].unique_pair else []
        for body in wallets[:3] or [fixture.body(create) for _ in range(3)]:
            listed.add(body)
        listed.settle()

    def learn(self, exchange: Exchange) -> None:
        """Stores an answer that shows the current beneficiary."""
        self.known = exchange if isinstance(exchange.document, dict) else None

    def renew(self) -> None:
        """Discards the fixture: the next request gets a new one."""
        self._own, self.known = None, None

    @functools.cached_property
    def sibling(self) -> Fixture:
        return self.lane.account(fresh=True)

    @functools.cached_property
    def foreign(self) -> Fixture | None:
        """The fixture of the other organization, if there is one, with the resource that a read asks for."""
        try:
            fixture = self.lane.account(owner="secondary")
            if OPERATIONS[self.operation].method == "GET":
                reading = fixture.call(self.operation)
                self.lane.find(
                    fixture.client, reading, "the owner reads what another organization will ask for"
                )
        except (Inconclusive, NotApplicable):
            return None
        return fixture

    def owned_by(self, whose: str) -> Fixture:
        """Returns the account of another owner, the caller's sibling where there is no other organization."""
        return (self.foreign if whose == FOREIGN else None) or self.sibling

    @functools.cached_property
    def valid(self) -> ValidBody | None:
        """A body that the server accepts, with placeholders for ids; None for operations without one."""
        if OPERATIONS[self.operation].request_schema is None:
            return None
        operation, body = TRAITS[self.operation].subset_of or self.operation, self.fresh_body()
        if TRAITS[operation].draws_on_funds:
            body = {**body, **PAYEES[OWN]}
        pinned: set[str] = set()
        if TRAITS[operation].creates == "payout_destination":
            # The required bank details are not shown (section 2.10): all accepted ones stay.
            pinned |= body.keys() - {"label", "is_default"}
        for kind, owner in SAMPLE_OPERATIONS.items():
            if owner == operation:
                pinned |= self.lane.samples.over(kind).keys() & body.keys()
        return ValidBody(self.operation, body, frozenset(pinned))

    def fresh_body(self) -> dict[str, Any]:
        """Another body that the server accepts, with new unique values."""
        return self.fixture.body(TRAITS[self.operation].subset_of or self.operation)

    def renewed(self, body: bytes | None) -> tuple[ValidBody | None, bytes | None]:
        """The valid body and a generated one, both with new unique values in place of used ones, which a
        server may refuse, and with ids in place of placeholders."""
        valid = self.valid
        if valid is None:
            return None, body
        fresh, changed = self.fresh_body(), {}
        for name in sorted(UNIQUE & valid.body.keys() & fresh.keys()):
            old, new = valid.body[name], fresh[name]
            if isinstance(old, str) and isinstance(new, str) and old != new:
                body, changed[name] = body and _exchanged(body, old, new), new
        if TRAITS[self.operation].draws_on_funds:
            for whose, placeholders in PAYEES.items():
                for name, placeholder in placeholders.items():
                    if whose == OWN:
                        changed[name] = self._payee_id(name, whose)
                    if body and placeholder.encode() in body:
                        body = body.replace(placeholder.encode(), self._payee_id(name, whose).encode())
        return replace(valid, body={**valid.body, **changed}), body

    def _payee_id(self, member: str, whose: str) -> str:
        """Returns the id for a member of a payout's body; the caller's own is that of a payee who is paid."""
        if whose == OWN:
            beneficiary_id, destination_id, _ = self.fixture.payee
            return beneficiary_id if member == "beneficiary_id" else destination_id
        place = self.fixture if whose == UNKNOWN else self.owned_by(whose)
        identifier = place.id_of(member)
        return unknown_like(identifier) if whose == UNKNOWN else identifier


@once_for_all_lanes
def pairs_are_free(lane: Lane) -> bool:
    """True if each account can have a wallet of the same pair, which is open (wallet.pair-elsewhere); if not,
    a refused wallet proves nothing. Tried once in a run."""
    for _ in range(2):
        fixture = lane.account(fresh=True, operation="createWallet")
        last = lane.send(
            fixture.client,
            fixture.call("createWallet"),
            "the same pair in another account, to see whether it may have it",
        )
    # If both are refused, another process may have used the pair.
    return last.succeeded
