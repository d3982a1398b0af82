"""Secrets (sections 2.4 and 5.1): no answer has a signing secret or the full number of a payout
destination."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from conformance.checks.check import CheckContext, check
from conformance.contract.fields import request_fields
from conformance.contract.traits import ADDS_TO, TRAITS, traits_of
from conformance.judge.hidden_numbers import HIDDEN_FIELDS, squeezed
from conformance.judge.invariants import secret_in, telling_secrets
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import Call, Exchange
from conformance.world import samples
from conformance.world.account import Account, renewed, unknown_like
from conformance.world.bodies import bodies
from conformance.world.cache import Key

#: Operations whose answers concern destinations or their beneficiaries.
_NEAR = (
    "createPayoutDestination",
    "listPayoutDestinations",
    "getBeneficiary",
    "updateBeneficiary",
    "disableBeneficiary",
    "createPayout",
)


#: A fixture, and the creates of its destinations.
Vault = tuple[Account, list[Exchange]]

_VAULT = Key[Vault]("an account with secrets in it")


def _numbers(created: Iterable[Exchange]) -> list[tuple[str, str]]:
    """Field and value of each number that no answer may show in full."""
    sent = [(name, each.call.document.get(name)) for each in created for name in HIDDEN_FIELDS]
    # A number below 8 characters may occur by chance.
    return [(name, squeezed(value)) for name, value in sent if isinstance(value, str) and len(value) >= 8]


def new_vault(ctx: CheckContext) -> Vault:
    """A new account with a destination of each kind that the server accepts. Raises Inconclusive if it
    refuses the sample."""
    run, fixture = ctx.run, ctx.run.account(fresh=True)
    created = [fixture.destination]
    wallet = run.samples.wallet_destinations()[0]
    beside = {
        **fixture.bank_account(),
        "iban": samples.iban(),
        "wallet_address": wallet["wallet_address"],
    }
    # A server may mask only the numbers of the destination's type, or only addresses of one network.
    numbered = {**wallet, "iban": samples.iban()}
    other = {**numbered, "network": "solana_devnet", "wallet_address": samples.solana_address()}
    card = {**fixture.bank_account(), "type": "card", "account_number": samples.digits(16)}
    operation = "createPayoutDestination"
    rows = [bodies(fixture, operation, name) for name in ("an IBAN", "wallet")]
    for tries in (*rows, [other, numbered], [card], [beside]):
        for body in tries:
            attempt = fixture.call(operation, body)
            answer = ctx.send(attempt, "a destination whose number must stay hidden")
            if answer.succeeded:
                created.append(answer)
                break
    return fixture, created


@check("secrets.hidden")
def test_no_answer_shows_secrets(ctx: CheckContext) -> None:
    """In an account with destinations of each kind the operation is called validly, as an idempotent replay
    and with all sorts of defects, with the numbers in the bodies: no answer has a full number or a signing
    secret."""
    fixture, created = _vault(ctx)
    numbers = _numbers(created)
    if not numbers and not telling_secrets(ctx.target):
        raise Inconclusive(
            "the signing secrets are so short that they may stand in any text by chance",
            "Give the organizations secrets of 16 characters or more.",
        )
    for exchange in [
        *(created if ctx.operation.traits.creates == "payout_destination" else ()),
        *_answers(ctx, fixture, created),
    ]:
        what = f"{exchange.purpose}: an answer without secrets"
        ctx.expect("secrets.hidden", what, secret_in(exchange, ctx.target, numbers), exchange)


def _vault(ctx: CheckContext) -> Vault:
    operation = ctx.operation.id
    if TRAITS[operation].draws_on_funds:
        fixture = ctx.run.account("payouts")
        return fixture, [fixture.destination]
    if TRAITS[operation].disables:
        return new_vault(ctx)
    with contextlib.suppress(Inconclusive):
        return ctx.run.cache.get(_VAULT, lambda: new_vault(ctx))
    fixture = ctx.run.account()
    return fixture, [fixture.destination] if operation in _NEAR else []


def _answers(ctx: CheckContext, fixture: Account, created: Sequence[Exchange]) -> Iterator[Exchange]:
    operation = ctx.operation.id
    if TRAITS[operation].creates == "payout_destination":
        valid = created[-1].call
        for creation in created:
            kind = f"a {creation.call.document.get('type')} destination"
            yield ctx.send(creation.call, f"the key of {kind} again")
            if creation.call is not valid and creation.call.document.get("type") != "card":
                for what, defective in _wrong_fields(ctx, creation.call):
                    yield ctx.send(defective, f"{kind} with {what}")
    else:
        valid = fixture.call(operation)
        yield ctx.send(valid, "a valid request")
    for what, defective in _defects(ctx, valid):
        yield ctx.send(defective, what)
    if created and TRAITS[operation].creates == "payout_destination":
        what = "a nonce that was used before"
        yield ctx.send(valid.signed(nonce=created[-1].nonce), what)
        if ctx.target.secondary is not None:
            yield ctx.send(renewed(valid), "another organization's request", "secondary")
    if traits_of(ADDS_TO.get(operation)).creates == "payout_destination":
        yield ctx.send(valid.with_query({"page": 1, "size": 100}), "a list of 100")
        yield ctx.send(valid.with_query({"size": 0}), "a size of 0")


def _defects(ctx: CheckContext, valid: Call) -> Iterator[tuple[str, Call]]:
    """Requests with one defect each, whose error messages may quote the request."""
    operation = ctx.operation
    yield "a wrong signature", valid.signed(signature_form="other middle digit")
    parent = valid.path.split("/")[3]
    yield (
        "an unknown parent",
        renewed(valid).but(target=valid.target.replace(parent, unknown_like(parent), 1)),
    )
    if operation.id not in _NEAR:
        return
    yield "a header left out", valid.signed(omit=("X-Signature",))
    yield "a timestamp of an hour ago", valid.signed(timestamp_offset=-3600)
    if operation.is_post:
        yield "a key that is not a UUID", valid.but(idempotency_key="not-a-uuid")
    if operation.traits.creates == "payout_destination":
        yield "an unknown API key", valid.signed(api_key=unknown_like(ctx.target.primary.api_key))
        yield "an empty nonce", valid.signed(empty=("X-Nonce",))
        yield "no key", valid.but(idempotency_key=None)
        child = valid.path.split("/")[5]
        yield (
            "an unknown child",
            renewed(valid).but(target=valid.target.replace(child, unknown_like(child), 1)),
        )
    if operation.is_post and valid.body:
        yield (
            "the same key with another body",
            valid.with_field("label" if "label" in valid.document else "note", samples.marker()),
        )
        yield "the key again", valid
    if valid.body:
        yield "a body cut short", renewed(valid).but(body=valid.body[:-1])
        yield "a body in an array", renewed(valid).with_json([valid.document])
        yield from _wrong_fields(ctx, valid)
    elif operation.is_post:
        yield "the key again", valid


def _wrong_fields(ctx: CheckContext, valid: Call) -> Iterator[tuple[str, Call]]:
    """The request with one invalid field, or without a required one."""
    wrong: dict[str, Any] = {
        "country": "USA",
        "currency": "US",
        "note": 7,
        "label": ["x"],
        "account_type": "",
    }
    for name, value in wrong.items():
        if name in valid.document:
            yield f"a wrong {name}", renewed(valid).with_field(name, value)
    for name in ctx.operation.required_fields:
        yield f"a body without {name}", renewed(valid).without_field(name)
    if {"iban", "account_number"} <= valid.document.keys():
        for field in request_fields(ctx.operation.id):
            if not field.required and field.name not in wrong:
                yield f"{field.name} in an array", renewed(valid).with_field(field.name, ["x"])
