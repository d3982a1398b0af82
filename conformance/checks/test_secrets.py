"""Secrets (sections 2.4 and 5.1): no answer has a signing secret or the full number of a payout
destination."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from conformance.checks.check import CheckContext, check
from conformance.checks.private_data import numbers_of
from conformance.contract.fields import request_fields
from conformance.contract.traits import ADDS_TO, traits_of
from conformance.judge.invariants import secret_in, telling_secrets
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import Call, Exchange
from conformance.world import samples
from conformance.world.account import Account, renewed, unknown_like
from conformance.world.bodies import bodies
from conformance.world.cache import Key

CREATE = "createPayoutDestination"

#: Operations whose answers concern destinations or their beneficiaries.
_NEAR = (
    CREATE,
    "listPayoutDestinations",
    "getBeneficiary",
    "updateBeneficiary",
    "disableBeneficiary",
    "createPayout",
)

#: A fixture, and the creates of its destinations.
Vault = tuple[Account, list[Exchange]]

_VAULT = Key[Vault]("an account with secrets in it")


def new_vault(ctx: CheckContext) -> Vault:
    """A new account with a destination of each kind that the server accepts. Raises Inconclusive if it
    refuses the sample."""
    run, fixture = ctx.run, ctx.run.account(fresh=True)
    created = [fixture.destination]
    wallet, bank = run.samples.wallet_destinations()[0], fixture.bank_account()
    # A server may mask only the numbers of the destination's type, or only addresses of one network.
    numbered = {**wallet, "iban": samples.iban()}
    other = {**numbered, "network": "solana_devnet", "wallet_address": samples.solana_address()}
    card = {**bank, "type": "card", "account_number": samples.digits(16)}
    beside = {**bank, "iban": samples.iban(), "wallet_address": wallet["wallet_address"]}
    rows = [bodies(fixture, CREATE, name) for name in ("an IBAN", "wallet")]
    for tries in (*rows, [other, numbered], [card], [beside]):
        calls = [fixture.call(CREATE, body) for body in tries]
        answers = ctx.until_accepted(calls, "a destination whose number must stay hidden")
        created += [answer for answer in answers if answer.succeeded]
    return fixture, created


@check("secrets.hidden")
def test_no_answer_shows_secrets(ctx: CheckContext) -> None:
    """In an account with destinations of each kind the operation is called validly, as an idempotent replay
    and with all sorts of defects, with the numbers in the bodies: no answer has a full number or a signing
    secret."""
    fixture, created = _vault(ctx)
    numbers = numbers_of(created)
    if not numbers and not telling_secrets(ctx.target):
        raise Inconclusive(
            "the signing secrets are so short that they may stand in any text by chance",
            "Give the organizations secrets of 16 characters or more.",
        )
    creates = created if ctx.operation.id == CREATE else []
    for exchange in (*creates, *_answers(ctx, fixture, created)):
        what = f"{exchange.purpose}: an answer without secrets"
        ctx.expect("secrets.hidden", what, secret_in(exchange, ctx.target, numbers), exchange)


def _vault(ctx: CheckContext) -> Vault:
    if ctx.operation.traits.draws_on_funds:
        fixture = ctx.run.account("payouts")
        return fixture, [fixture.destination]
    if ctx.operation.traits.disables:
        return new_vault(ctx)
    with contextlib.suppress(Inconclusive):
        return ctx.run.cache.get(_VAULT, lambda: new_vault(ctx))
    fixture = ctx.run.account()
    return fixture, [fixture.destination] if ctx.operation.id in _NEAR else []


def _answers(ctx: CheckContext, fixture: Account, created: Sequence[Exchange]) -> Iterator[Exchange]:
    operation, creates = ctx.operation.id, ctx.operation.id == CREATE
    valid = created[-1].call if creates else fixture.call(operation)
    for each in created if creates else ():
        kind = each.call.document.get("type")
        yield ctx.send(each.call, f"the key of a {kind} destination again")
        if each.call is not valid and kind != "card":
            for what, defective in _wrong_fields(ctx, each.call):
                yield ctx.send(defective, f"a {kind} destination with {what}")
    if not creates:
        yield ctx.send(valid, "a valid request")
    for what, defective in _defects(ctx, valid):
        yield ctx.send(defective, what)
    if creates:
        yield ctx.send(valid.signed(nonce=created[-1].nonce), "a nonce that was used before")
        if ctx.target.secondary is not None:
            yield ctx.send(renewed(valid), "another organization's request", "secondary")
    if traits_of(ADDS_TO.get(operation)).creates == "payout_destination":
        yield ctx.send(valid.with_query({"page": 1, "size": 100}), "a list of 100")
        yield ctx.send(valid.with_query({"size": 0}), "a size of 0")


def _defects(ctx: CheckContext, valid: Call) -> Iterator[tuple[str, Call]]:
    """Requests with one defect each, whose error messages may quote the request."""
    operation, (_, _, _, parent, _, *children) = ctx.operation, valid.path.split("/")

    def for_unknown(known: str) -> Call:
        return renewed(valid).but(target=valid.target.replace(known, unknown_like(known), 1))

    yield "a wrong signature", valid.signed(signature_form="other middle digit")
    yield "an unknown parent", for_unknown(parent)
    if operation.id not in _NEAR:
        return
    yield "a header left out", valid.signed(omit=("X-Signature",))
    yield "a timestamp of an hour ago", valid.signed(timestamp_offset=-3600)
    if operation.id == CREATE:
        yield "an unknown API key", valid.signed(api_key=unknown_like(ctx.target.primary.api_key))
        yield "an empty nonce", valid.signed(empty=("X-Nonce",))
        yield "no key", valid.but(idempotency_key=None)
        yield "an unknown child", for_unknown(children[0])
    if operation.is_post:
        yield "a key that is not a UUID", valid.but(idempotency_key="not-a-uuid")
        if valid.body:
            text = "label" if "label" in valid.document else "note"
            yield "the same key with another body", valid.with_field(text, samples.marker())
        yield "the key again", valid
    if valid.body:
        yield "a body cut short", renewed(valid).but(body=valid.body[:-1])
        yield "a body in an array", renewed(valid).with_json([valid.document])
        yield from _wrong_fields(ctx, valid)


def _wrong_fields(ctx: CheckContext, valid: Call) -> Iterator[tuple[str, Call]]:
    """The request with one invalid field, or without a required one."""
    wrong = {"country": "USA", "currency": "US", "note": 7, "label": ["x"], "account_type": ""}
    for name, value in wrong.items():
        if name in valid.document:
            yield f"a wrong {name}", renewed(valid).with_field(name, value)
    for name in ctx.operation.required_fields:
        yield f"a body without {name}", renewed(valid).without_field(name)
    if {"iban", "account_number"} <= valid.document.keys():
        for field in request_fields(ctx.operation.id):
            if not field.required and field.name not in wrong:
                yield f"{field.name} in an array", renewed(valid).with_field(field.name, ["x"])
