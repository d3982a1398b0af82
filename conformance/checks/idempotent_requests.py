"""Accepted requests with an Idempotency-Key, and what may be sent with that key again (section 4.0)."""

from __future__ import annotations

from typing import Any

from conformance.checks.check import Check
from conformance.judge.outcomes import difference
from conformance.judge.verdicts import Inconclusive
from conformance.wire.forms import new_key
from conformance.wire.messages import Auth, Call, Exchange
from conformance.world.calls import call, identifier
from conformance.world.lane import Fixture, Restyle
from conformance.world.purposes import PAYOUTS, names_account
from conformance.world.samples import Body

#: Error code of a key that is not a UUID.
INVALID = "invalid_idempotency_key"

#: Error type and code of a used key with another body.
CONFLICT = ("idempotency_error", "idempotency_key_conflict")


def refused_for_key(answer: Exchange) -> bool:
    """True if an answer refuses the Idempotency-Key, whatever else its request has."""
    return answer.error_code in (INVALID, CONFLICT[1]) or answer.error_type == CONFLICT[0]


#: Spaces on either side of the members of a body: more than a kilobyte, and few enough for front ends.
_SPACES = 1500


def padded(body: bytes) -> bytes:
    """Inserts white space before the first member of a JSON object, and behind the last."""
    return body[:1] + b" " * _SPACES + body[1:-1] + b" " * _SPACES + body[-1:]


def with_letters(variant: str = "") -> str:
    """Draws a key that upper case changes."""
    while (key := new_key(variant=variant)).upper() == key:
        pass
    return key


def own_place(at: Check, restyle: Restyle | None = None, owner: str = "primary") -> Fixture:
    """Returns a fixture with resources of its own, in a shared account where that masks no effect."""
    run, traits, account = at.lane, at.operation.traits, None
    if traits.draws_on_funds:
        account = run.account(PAYOUTS, owner).account_id
    elif traits.creates != "account" and not traits.unique_pair:
        account = run.account(owner=owner).account_id
    vacant, anywhere = traits.creates != "account", names_account(at.operation.id)
    return Fixture(run, owner, account_id=account, restyle=restyle, vacant=vacant, anywhere=anywhere)


class IdempotentRequest:
    """A valid POST that was accepted: `exchange` is its answer, `call` has its key and body.

    The body is the sample and the fixture a new one unless set; a `spaced` body begins and ends with white
    space. `exchange` may have been sent before. Raises Inconclusive when the server refuses the request."""

    def __init__(
        self,
        at: Check,
        fixture: Fixture | None = None,
        body: Body | None = None,
        *,
        spaced: bool = False,
        exchange: Exchange | None = None,
    ) -> None:
        self.at = at
        self.operation = at.operation.id
        self.fixture = fixture or own_place(at)
        self.exchange = exchange or self._sent(body, spaced)
        # Whatever is repeated is signed afresh.
        self.call = self.exchange.call.but(auth=Auth())
        self.id = identifier(self.exchange)

    def _sent(self, body: Body | None, spaced: bool) -> Exchange:
        # Accounts and beneficiaries become the fixture's own, so that resources can be created under them.
        kind = self.at.operation.traits.creates
        if body is None and not spaced and kind in ("account", "beneficiary"):
            create = self.fixture.account if kind == "account" else self.fixture.beneficiary
            self.at.exchanges.append(create)
            return create
        request = self.fixture.call(self.operation, body)
        if spaced:
            request = request.but(body=padded(request.body or b""))
        return self.at.accept(request, "the first use of an idempotency key")

    def replay(self, rule: str, what: str, **beside: Any) -> Exchange:
        """Sends the original's key and body again and judges that the original status and body are returned.
        Additional headers (`beside`) are left out where a new request with them is refused."""
        answer = self.at.send(self.call.but(**beside), what)
        if beside and not self.repeated_in(answer):
            new = own_place(self.at).call(self.operation).but(**beside)
            if not self.at.send(new, "a new request with those headers").succeeded:
                answer = self.at.send(self.call, what)
        self.at.same(rule, self.exchange, answer)
        return answer

    def repeated_in(self, answer: Exchange) -> bool:
        """True if an answer has the status and the documented members of the original response."""
        return not difference(self.exchange, answer)

    def relation(self, answer: Exchange) -> str:
        """Describes an answer in relation to the original response, in the same words in every run."""
        if self.repeated_in(answer):
            return "the original response"
        if not answer.succeeded:
            return answer.described()
        return "done anew" if answer.get("id") != self.id else "the original resource in another response"

    def another(self) -> Call:
        """Builds a valid call of the same operation in the same place, with another body and key."""
        body = self.at.lane.samples.wallet(-1) if self.at.operation.traits.unique_pair else None
        return self.fixture.call(self.operation, body)

    def with_fresh_key(self, body: Body) -> Exchange:
        """Sends a body with a new key, in the original's place or one like it."""
        fixture = own_place(self.at) if self.at.operation.traits.once else self.fixture
        fresh = call(self.operation, fixture.ids(self.operation), body)
        return self.at.send(fresh, "the other body with a fresh key")


def restyled(at: Check, place: Fixture) -> IdempotentRequest:
    """Returns an accepted request in a place with restyled texts, or the sample where the server refuses
    them."""
    try:
        return IdempotentRequest(at, place)
    except Inconclusive:
        return IdempotentRequest(at)
