"""Accepted requests with an Idempotency-Key, and what may follow: replays and changes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from conformance.checks.check import CheckContext
from conformance.checks.side_effects import judge_pair
from conformance.contract.traits import TRAITS
from conformance.judge.outcomes import difference
from conformance.judge.verdicts import Inconclusive
from conformance.wire.forms import new_key
from conformance.wire.messages import Auth, Call, Exchange
from conformance.world import samples
from conformance.world.account import Account, Restyle, call, identifier
from conformance.world.bodies import BODIES, bodies
from conformance.world.corpora.kept_texts import PRECISE
from conformance.world.samples import LINES, SIGNS, Body
from conformance.world.shapes import accepted_body, accepts
from conformance.world.text_turns import filled


def place(ctx: CheckContext) -> Account:
    """Returns an account where a valid call can succeed once more, after any number of refused ones."""
    return ctx.account(fresh=TRAITS[ctx.operation.id].once)


def own_place(ctx: CheckContext, restyle: Restyle | None = None) -> Account:
    """Returns a fixture with resources of its own, in a shared account where that masks no effect."""
    operation, run = ctx.operation.id, ctx.run
    account = None
    if TRAITS[operation].draws_on_funds:
        account = run.account("payouts").account_id
    elif TRAITS[operation].creates != "account" and not TRAITS[operation].unique_pair:
        account = run.account().account_id
    return Account(run, account_id=account, restyle=restyle)


class IdempotentRequest:
    """A valid POST that was accepted: `exchange` is its answer, `call` has its key and body.

    The body is the sample and the fixture a new one unless given; a `spaced` body begins with white space.
    `made` is an exchange sent before. Raises Inconclusive when the server refuses the request."""

    def __init__(
        self,
        ctx: CheckContext,
        fixture: Account | None = None,
        body: Body | None = None,
        *,
        spaced: bool = False,
        made: Exchange | None = None,
    ) -> None:
        self.ctx = ctx
        self.operation = ctx.operation.id
        self.fixture = fixture or own_place(ctx)
        self.exchange = made or self._made(body, spaced)
        # Whatever is repeated is signed afresh.
        self.call = self.exchange.call.but(auth=Auth())
        self.id = identifier(self.exchange)

    def _made(self, body: Body | None, spaced: bool) -> Exchange:
        if spaced:
            request = self.fixture.call(self.operation, body)
            return self.ctx.accept(request.but(body=padded(request.body or b"")), "the first use of a key")
        # Accounts and beneficiaries become the fixture's own, so that resources can be created under them.
        creates = TRAITS[self.operation].creates
        if body is None and creates in ("account", "beneficiary"):
            made = self.fixture.account if creates == "account" else self.fixture.beneficiary
            self.ctx.exchanges.append(made.number)
            return made
        return self.ctx.accept(self.fixture.call(self.operation, body), "the first use of an idempotency key")

    # ------------------------------------------------------------------ afterwards

    def replay(self, rule: str, what: str, **beside: Any) -> Exchange:
        """Sends the original's key and body again and judges that the original status and body are returned.
        Additional headers (`beside`) are left out where a new request with them is refused."""
        answer = self.ctx.send(self.call.but(**beside), what)
        if beside and not self.brings(answer):
            new = own_place(self.ctx).call(self.operation).but(**beside)
            if not self.ctx.send(new, "a new request with those headers").succeeded:
                answer = self.ctx.send(self.call, what)
        self.ctx.same(rule, what, self.exchange, answer)
        return answer

    def brings(self, answer: Exchange) -> bool:
        """True if an answer has the status and the documented members of the original response."""
        return not difference(self.exchange, answer)

    def relation(self, answer: Exchange) -> str:
        """Describes an answer in relation to the original response, in the same words in every run."""
        if self.brings(answer):
            return "the original response"
        if not answer.succeeded:
            return answer.described()
        return "done anew" if answer.get("id") != self.id else "the original resource in another response"

    def another(self) -> Exchange:
        """Sends another request of the same operation in the same place, whatever the answer."""
        body = self.ctx.run.samples.wallet(-1) if TRAITS[self.operation].unique_pair else None
        return self.ctx.send(self.fixture.call(self.operation, body), "another request with another key")

    def with_fresh_key(self, body: Body) -> Exchange:
        """Sends a body with a new key, in the original's place or one like it."""
        fixture = own_place(self.ctx) if TRAITS[self.operation].once else self.fixture
        return self.ctx.send(
            call(self.operation, fixture.ids(self.operation), body), "the other body with a fresh key"
        )

    def judge_pair(self, refused: Sequence[Exchange]) -> None:
        """Judges that a wallet that was `refused` for its used key has not taken its pair. Only the first one
        of another pair counts, compared with a new account that has the original's wallet: a server may limit
        the wallets of an account, or not support that pair."""
        pair, made, ctx = TRAITS[self.operation].unique_pair, self.call.document, self.ctx
        others = [each for each in refused if any(each.call.document[name] != made[name] for name in pair)]
        if not others:
            return
        other = others[0].call.document

        def elsewhere() -> Exchange:
            fixture = own_place(ctx)
            ctx.send(fixture.call(self.operation, made), "a wallet such as the original in a new account")
            return ctx.send(fixture.call(self.operation, other), "the other body beside it")

        again = call(self.operation, self.fixture.ids(self.operation), other)
        created = ctx.send(again, "the other body with a fresh key, where its key was used")
        judge_pair(ctx, created, others[:1], elsewhere)


def restyled(ctx: CheckContext, restyle: Restyle) -> IdempotentRequest:
    """Returns an accepted request with restyled texts, or the sample where the server refuses them."""
    try:
        return IdempotentRequest(ctx, own_place(ctx, restyle))
    except Inconclusive:
        return IdempotentRequest(ctx)


def with_all_signs(body: Body) -> Body:
    """Texts of a body with what stores escape or lose."""
    text = filled(f"{PRECISE} {SIGNS}")
    return {
        name: each
        for name, each in {"name": text, "label": text, "note": text + LINES}.items()
        if name in body
    }


# ---------------------------------------------------------------------- keys


#: Error code of a key that is not a UUID.
INVALID = "invalid_idempotency_key"

#: Error type and code of a used key with another body.
CONFLICT = ("idempotency_error", "idempotency_key_conflict")


def with_letters(variant: str = "") -> str:
    """Draws a key that upper case changes."""
    while (key := new_key(variant=variant)).upper() == key:
        pass
    return key


# ---------------------------------------------------------------------- changes


def changes_around(ctx: CheckContext, original: IdempotentRequest) -> list[Exchange]:
    """Changes the original's resource and its surroundings as far as the API allows; returns the answers."""
    fixture, operation = original.fixture, original.operation
    calls: list[Call] = []
    if not TRAITS[operation].once:
        calls.append(fixture.call(operation))
    match TRAITS[operation].creates:
        case "account":
            calls += [
                fixture.call("createBeneficiary"),
                fixture.call("createVirtualAccount"),
                fixture.call("createWallet"),
            ]
        case "beneficiary":
            calls += [
                fixture.call("createPayoutDestination"),
                _patch(fixture),
                fixture.call("disableBeneficiary"),
            ]
        case "" if TRAITS[operation].disables:
            # A server may refuse changes of a disabled beneficiary, but not another one.
            calls += [
                fixture.call("createBeneficiary"),
                fixture.call("createPayoutDestination"),
                _patch(fixture),
            ]
        case "payout_destination":
            body = {**fixture.body(operation), "is_default": True}
            calls += [fixture.call(operation, body), _patch(fixture), fixture.call("disableBeneficiary")]
        case "payout":
            calls += [_patch(fixture), fixture.call("disableBeneficiary")]
        case "wallet":
            calls += [fixture.call(operation, body) for body in ctx.run.samples.wallets()[1:]]
            calls.append(fixture.call("createVirtualAccount"))
        case _:
            calls.append(fixture.call("createBeneficiary"))
    return [ctx.send(request, f"a change around the original: {request.operation}") for request in calls]


def _patch(fixture: Account) -> Call:
    word = samples.marker()
    return fixture.call("updateBeneficiary", {"note": f"changed {word}", "first_name": f"Grace {word}"})


def further_originals(ctx: CheckContext, first: IdempotentRequest) -> Iterator[IdempotentRequest]:
    """Yields accepted requests of other shapes, with fields that the sample lacks."""
    create = first.operation
    names = {"createBeneficiary": ("business",), "createPayoutDestination": ("IBAN", "wallet")}.get(
        create, ()
    )
    found = [accepted_body(first.fixture, create, name) for name in names if accepts(ctx.run, create, name)]
    if TRAITS[create].creates == "payout_destination" and found:
        # One body with the fields of two types, so that only the type need differ.
        found.append({**found[-1], **first.call.document})
    if "address" not in first.call.document:
        found += bodies(first.fixture, create, "an address")[:1] if "an address" in BODIES[create] else []
    for body in found:
        with contextlib.suppress(Inconclusive):
            yield IdempotentRequest(ctx, first.fixture, body)


#: Spaces before the first member of a body, few enough for front ends.
_SPACES = 3000


def padded(body: bytes) -> bytes:
    """Inserts white space before the first member of a JSON object."""
    return body[:1] + b" " * _SPACES + body[1:]
