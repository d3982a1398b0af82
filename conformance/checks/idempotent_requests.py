"""Accepted requests with an Idempotency-Key, and what may follow: replays, changes and other bodies."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from conformance.checks.check_context import CheckContext
from conformance.checks.engine import Engine
from conformance.checks.side_effects import judge_pair
from conformance.contract.fields import request_fields
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS, traits_of
from conformance.judge.findings import Inconclusive
from conformance.judge.outcomes import difference
from conformance.wire.forms import decimal, new_key
from conformance.wire.messages import Auth, Call, Exchange
from conformance.world import samples
from conformance.world.account import AccountFixture, Restyle, call, identifier
from conformance.world.bodies import BODIES, bodies
from conformance.world.case import Case
from conformance.world.corpora.kept_texts import PRECISE
from conformance.world.samples import FREE, LETTER, LINES, SIGNS, Body, other_end, other_value
from conformance.world.shapes import accepted_body, accepts
from conformance.world.text_turns import filled


def place(ctx: CheckContext) -> AccountFixture:
    """Returns an account where a valid call can succeed once more, after any number of refused ones."""
    return ctx.account(fresh=TRAITS[ctx.operation.id].once)


def own_place(ctx: CheckContext, restyle: Restyle | None = None) -> AccountFixture:
    """Returns a fixture with resources of its own, in a shared account where that masks no effect."""
    operation, run = ctx.operation.id, ctx.run
    account = None
    if TRAITS[operation].draws_on_funds:
        account = run.account("payouts").account_id
    elif TRAITS[operation].creates != "account" and not TRAITS[operation].unique_pair:
        account = run.account().account_id
    return AccountFixture(run, account_id=account, restyle=restyle)


class IdempotentRequest:
    """A valid POST that was accepted: `exchange` is its answer, `call` has its key and body.

    The body is the sample and the fixture a new one unless given; a `spaced` body begins with white space.
    `made` is an exchange sent before. Raises Inconclusive when the server refuses the request."""

    def __init__(
        self,
        ctx: CheckContext,
        fixture: AccountFixture | None = None,
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


#: Error type and code of a used key with another body.
CONFLICT = ("idempotency_error", "idempotency_key_conflict")


def invalid_keys(at: Engine, body: bytes | None) -> Iterator[Case]:
    """Yields requests with this body and keys that are not a UUID."""
    key = new_key()
    for name, wrong in (
        ("the key 123", "123"),
        ("a UUID without its last character", key[:-1]),
        ("a UUID with one character more", key + "0"),
        ("a UUID with one character before it", "0" + key),
        ("a UUID whose last letter is g", key[:-1] + "g"),
        ("36 hexadecimal digits without hyphens", key.replace("-", "") + "0123"),
        ("a UUID with a hyphen behind its first digit", f"{key[0]}-{key[1:]}"),
        ("a UUID whose hyphens stand elsewhere", f"{key[:8]}{key[9:11]}-{key[11:]}"),
        ("a UUID in parentheses", f"({key})"),
        # Some APIs accept such keys, which sort by time.
        ("a ULID", f"01{decimal(24)}"),
        ("36 letters z in the place of the digits", "".join("-" if sign == "-" else "z" for sign in key)),
    ):
        yield at.case("idempotency.key-invalid", name, key=wrong, body=body)


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


def _patch(fixture: AccountFixture) -> Call:
    word = samples.marker()
    return fixture.call("updateBeneficiary", {"note": f"changed {word}", "first_name": f"Grace {word}"})


# ---------------------------------------------------------------------- other bodies


def other_values(original: IdempotentRequest, but: Collection[str]) -> Iterator[tuple[str, Body]]:
    """Yields bodies that differ from the original's in the value of one field, except `but`, each with the
    difference in words. They are as valid as can be known."""
    body = original.call.document
    for name, value in body.items():
        if name in but:
            continue
        if isinstance(value, dict):
            for member, inner in value.items():
                if isinstance(inner, str):
                    changed = {**value, member: other_value(member, inner) or other_end(inner)}
                    yield f"another {member} in {name}", {**body, name: changed}
        elif isinstance(value, str) and (other := _other(name, value, original)) not in (None, value):
            yield f"another {name}", {**body, name: other}


def other_forms(original: IdempotentRequest) -> Iterator[tuple[str, Body]]:
    """Yields valid bodies with a field more or less than the original's, or with texts rearranged or
    respelled, each with the difference in words."""
    operation, body = original.operation, original.call.document
    for name in reversed(body):
        if name not in OPERATIONS[operation].required_fields and name in FREE:
            yield f"without {name}", {key: value for key, value in body.items() if key != name}
            break
    if TRAITS[operation].creates == "virtual_account":
        yield "with an address", {**body, "address": samples.address("state")}
    elif TRAITS[operation].creates == "payout_destination":
        yield "with is_default true", {**body, "is_default": True}
    yield from _rearranged(body)
    for name, value in body.items():
        if isinstance(value, str) and LETTER in value:
            yield f"another Cyrillic letter in {name}", {**body, name: value.replace(LETTER, "\u0448")}
    # Changed values come last: on one resource, the last effect shows.
    text = next((name for name in FREE if isinstance(body.get(name), str)), None)
    words = next((name for name in FREE if " " in str(body.get(name)).strip()), None)
    if words is not None:
        yield f"{words} without its spaces", {**body, words: body[words].replace(" ", "")}
    if text is not None:
        upper = re.sub("[0-9A-Za-z]+", lambda word: word[0].upper(), body[text])
        if upper != body[text]:
            yield f"{text} in upper case", {**body, text: upper}
        pair = re.search(r"([0-9])(?!\1)[0-9]", body[text]) or re.search(r"(.)(?!\1).", body[text])
        if pair is not None:
            swapped = body[text][: pair.start()] + pair[0][::-1] + body[text][pair.end() :]
            yield f"two characters of {text} swapped", {**body, text: swapped}


def equivalent_bodies(operation: str, body: Body) -> Iterator[tuple[str, Body]]:
    """Yields bodies that differ from a valid one but mean the same to a server that compares parsed values,
    each with the difference in words."""
    yield "with an unknown member", {**body, "conformance": samples.marker()}
    for name, default in _DEFAULTS.get(operation, {}).items():
        if name not in body:
            yield f"with {name}, written out with its default", {**body, name: default}
    for field in request_fields(operation):
        if not field.required and field.name not in body and field.name not in _DEFAULTS.get(operation, {}):
            yield f"with {field.name} null instead of left out", {**body, field.name: None}
            break
    if "." in str(body.get("amount")):
        yield "with a zero more in its amount", {**body, "amount": f"{body['amount']}0"}
        yield "with its amount as a number", {**body, "amount": float(body["amount"])}
    text = next((name for name in FREE if isinstance(body.get(name), str)), None)
    if text is not None:
        yield f"with a space behind its {text}", {**body, text: f"{body[text]} "}


def with_a_numeral(body: Body) -> Body:
    """The first free text of a body, as digits that end in two zeros."""
    name = next((name for name in FREE if isinstance(body.get(name), str)), None)
    return {} if name is None else {name: f"{samples.digits(6)}00"}


def other_numerals(body: Body) -> Iterator[tuple[str, Body]]:
    """Yields bodies whose digits are another text of the same number, which is equal in loose comparisons."""
    for name, text in body.items():
        if name in FREE and isinstance(text, str) and re.fullmatch("[0-9]{6}00", text):
            for other in (f"{text[:-2]}e2", f"{text}.0", f"0{text}"):
                yield f"{name} {other} in the place of {text}", {**body, name: other}


#: Spaces before the first member of a body, few enough for front ends.
_SPACES = 3000


def padded(body: bytes) -> bytes:
    """Inserts white space before the first member of a JSON object."""
    return body[:1] + b" " * _SPACES + body[1:]


def unlike_bodies(body: Body, text: str) -> Iterator[tuple[str, Body]]:
    """Yields bodies that differ from a valid one in the end or the name of a text: equal to a server that
    compares only the first bytes, or values without names."""
    if isinstance(body.get(text), str):
        yield f"a used key, but another {text} behind much white space", {**body, text: other_end(body[text])}
        yield (
            f"a used key, but its {text} under another name",
            {f"conformance_{name}" if name == text else name: value for name, value in body.items()},
        )


#: Operation -> the stated defaults of its fields (sections 4.2 and 4.3).
_DEFAULTS: dict[str, Body] = {
    "createBeneficiary": {"beneficiary_type": "individual"},
    "createPayoutDestination": {"is_default": False},
}


def _rearranged(body: Body) -> Iterator[tuple[str, Body]]:
    """Yields bodies with texts exchanged, or split at another letter: equal where values are compared without
    names, or concatenated."""
    first, middle, last = (body.get(name) for name in ("first_name", "middle_name", "last_name"))
    if isinstance(first, str) and isinstance(last, str) and first != last:
        yield "first_name and last_name exchanged", {**body, "first_name": last, "last_name": first}
        joined = {"first_name": first + last[0], "last_name": last[1:]}
        yield "a letter of last_name moved to first_name", {**body, **joined}
    if isinstance(first, str) and isinstance(middle, str) and len(middle) > 1:
        joined = {"first_name": first + middle[0], "middle_name": middle[1:]}
        yield "a letter of middle_name moved to first_name", {**body, **joined}


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


def _other(name: str, value: str, original: IdempotentRequest) -> str | None:
    """Returns another value of a field, as valid as can be known; None without one."""
    if name in FREE:
        return other_end(value)
    if traits_of(original.operation).unique_pair:
        if name not in ("currency", "network"):
            return None
        configured = [pair[name == "network"] for pair in original.ctx.run.samples.wallet_pairs]
        others = [*configured, "USDT", "USDC"] if name == "currency" else [*configured, "ethereum", "polygon"]
        return next(other for other in others if other != value)
    if name in ("beneficiary_id", "payout_destination_id"):
        # Another fixture in the same account has another beneficiary.
        other = AccountFixture(original.ctx.run, account_id=original.fixture.account_id)
        with contextlib.suppress(Inconclusive):
            if name == "beneficiary_id":
                return other.beneficiary_id
            second = original.fixture.call("createPayoutDestination")
            made = original.ctx.send(second, "a second destination to name")
            return identifier(made) if made.succeeded else None
        return None
    return other_value(name, value)
