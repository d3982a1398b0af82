"""Idempotency-Keys that are accepted (section 4.0): UUIDs, compared as a whole, and no others."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable

from conformance.checks.auth_probes import AuthProbes, be_patient, earliest, later
from conformance.checks.check import Check, Steps, check
from conformance.checks.engine import Engine
from conformance.checks.idempotent_requests import (
    CONFLICT,
    IdempotentRequest,
    own_place,
    refused_for_key,
    with_letters,
)
from conformance.checks.side_effects import UNTOUCHED
from conformance.contract.rules import RULES
from conformance.contract.signing import NAME_CASES
from conformance.wire.forms import decimal, new_key, other_digit
from conformance.wire.messages import Call, Exchange
from conformance.world.other_values import other_end

RULE = "idempotency.key-accepted"


@check("idempotency.key-required", "idempotency.payout-key-required", UNTOUCHED)
def test_missing_key(at: Check) -> None:
    """A POST without Idempotency-Key is refused and has no effect; with a key it is accepted."""
    fixture = at.account(fresh=at.operation.traits.once)
    engine, valid = Engine(at, lambda: fixture), fixture.call(at.operation.id)
    # Neither header replaces Idempotency-Key.
    headers = (("X-Idempotency-Key", new_key()), ("X-Request-Id", new_key()))
    rule, name = "idempotency.key-required", "a POST without Idempotency-Key"
    case = engine.case(rule, name, key=None, headers=headers, body=valid.body)
    (answer,) = engine.batch([case], [engine])
    if "idempotency.payout-key-required" in at.rules:
        at.refused("idempotency.payout-key-required", answer)
    if answer.refused:
        at.accept(valid, "the same request with a key")


@check("idempotency.key-invalid", UNTOUCHED)
def test_invalid_key(at: Check) -> None:
    """A key that is not a UUID is refused with invalid_idempotency_key and has no effect; with a UUID the
    request is accepted."""
    fixture = at.account(fresh=at.operation.traits.once)
    engine, valid, key = Engine(at, lambda: fixture), fixture.call(at.operation.id), new_key()
    group = engine.turn((9, 14, 19))
    forms = (
        ("the key 123", "123"),
        ("a UUID without its last character", key[:-1]),
        ("a UUID with one character more", key + "0"),
        ("a UUID with one character before it", "0" + key),
        ("a UUID with one digit more in a group between", f"{key[:group]}0{key[group:]}"),
        ("a UUID with one group more", f"{key[:group]}0000-{key[group:]}"),
        ("a UUID whose last letter is g", key[:-1] + "g"),
        ("36 hexadecimal digits without hyphens", key.replace("-", "") + "0123"),
        ("a UUID with a hyphen behind its first digit", f"{key[0]}-{key[1:]}"),
        ("a UUID whose hyphens stand elsewhere", f"{key[:8]}{key[9:11]}-{key[11:]}"),
        ("a UUID in parentheses", f"({key})"),
        # What becomes of a header that comes twice.
        ("two UUIDs with a comma between them", f"{key}, {new_key()}"),
        # Some APIs accept such keys, which sort by time.
        ("a ULID", f"01{decimal(24)}"),
        ("36 letters z in the place of the digits", "".join("-" if sign == "-" else "z" for sign in key)),
    )
    rule = "idempotency.key-invalid"
    cases = [engine.case(rule, name, key=wrong, body=valid.body) for name, wrong in forms]
    engine.batch(cases, [engine], what="requests with an invalid Idempotency-Key")
    at.accept(valid, "the same request with a UUID as key")


@check("idempotency.key-accepted", "idempotency.key-other-uuids")
def test_valid_keys(at: Check) -> None:
    """Version 4 UUIDs in lower case are accepted as keys, in any letter case of the header's name (RFC 9110,
    5.1); so are other versions and upper case."""
    usual = {
        f"a version 4 UUID of variant {digit}": functools.partial(new_key, variant=digit) for digit in "89ab"
    }
    # A fixed variant makes runs comparable.
    others: dict[str, Callable[[], str]] = {
        f"a version {each} UUID": functools.partial(new_key, version=each, variant="a") for each in (1, 5, 7)
    }
    others["a version 4 UUID in upper case"] = lambda: with_letters("a").upper()
    cases = dict(zip(usual, NAME_CASES, strict=False))
    for what, make in (usual | others).items():

        def keyed(call: Call, what: str = what, make: Callable[[], str] = make) -> Exchange:
            return at.send(call.but(idempotency_key=make()).signed(name_case=cases.get(what, "")), what)

        rule = RULE if what in usual else "idempotency.key-other-uuids"
        at.accepted_as(rule, keyed, decisive=refused_for_key)


@check("idempotency.key-forms")
def test_key_forms(at: Check) -> None:
    """Records whether other text forms of a UUID, and an empty header, are accepted as Idempotency-Key."""
    forms = {
        "a UUID without hyphens": new_key().replace("-", ""),
        "a UUID in braces": f"{{{new_key()}}}",
        "a UUID as URN": f"urn:uuid:{new_key()}",
        "an empty Idempotency-Key": "",
    }
    for what, key in forms.items():
        at.record("idempotency.key-forms", at.send(at.valid().but(idempotency_key=key), what))


@check("idempotency.key-case")
def test_key_in_the_other_case(at: Check) -> None:
    """Records whether a used key in upper case is the same key (an idempotent replay) or another one."""
    rule, key = "idempotency.key-case", with_letters()
    first = at.accept(at.valid().but(idempotency_key=key), "the first use of an idempotency key")
    answer = at.send(first.call.but(idempotency_key=key.upper()), "the same key in upper case")
    same = answer.succeeded and answer.get("id") == first.get("id")
    choice = "the same key" if same else "another key" if answer.succeeded else ""
    at.record(rule, answer, choice=choice)


@check("idempotency.key-elsewhere")
def test_key_on_get_and_patch(at: Check) -> None:
    """Records whether an Idempotency-Key on GET or PATCH is accepted, once and repeated."""
    rule, key = "idempotency.key-elsewhere", new_key()
    for which in ("an Idempotency-Key", "the same Idempotency-Key again"):
        at.record(rule, at.send(at.valid().but(idempotency_key=key), f"{which} on {at.operation.method}"))


@check(RULE, operations=RULES["idempotency.conflict"].operations)
def test_resembling_keys(at: Check) -> None:
    """Keys that differ from a used one in the last, the first or the seventeenth character are accepted with
    other bodies."""
    used: IdempotentRequest | None = None
    for position, named in ((-1, "last"), (0, "first"), (16, "seventeenth")):
        what = f"a key that differs from a used one in its {named} character"
        if used is None or at.operation.traits.unique_pair:
            # Samples may have two pairs only, so each wallet key gets another account.
            used = IdempotentRequest(at)
        keys = [str(used.call.idempotency_key)]

        def resembling(
            call: Call, what: str = what, keys: list[str] = keys, position: int = position
        ) -> Exchange:
            # A server may remember that it refused a key.
            key = keys.pop() if keys else str(IdempotentRequest(at).call.idempotency_key)
            return at.send(call.but(idempotency_key=other_digit(key, position)), what)

        at.accepted_as(RULE, resembling, used.another(), decisive=refused_for_key)


# ---------------------------------------------------------------------- many keys later


#: Later keys after which the first must still be remembered: the specification sets no limit.
MANY_KEYS = 21

#: Age in seconds for which deep runs wait.
_MINUTES = 290


@check("idempotency.replay", "idempotency.conflict", last=True)
def test_keys_stay_used(at: Check) -> None:
    """The first valid request of the run to the operation, replayed at the end, after 21 other keys or more,
    returns the original response; its key with another body is refused."""
    rule, first = "idempotency.replay", earliest(at, math.inf) or AuthProbes(at).first
    if not first.succeeded:
        at.not_exercised(rule, f"the first request was answered {first.described()}")
        return
    _use_keys(at, first)
    be_patient(at, lambda: own_place(at).call(at.operation.id), "a valid request with one key more")
    what = f"the key of the first request with another body, {_judge_old(at, first)}"
    if "idempotency.conflict" in at.rules:
        text = at.operation.traits.free_text
        # Of the same length, which may be the maximum.
        other = first.call.with_field(text, other_end(first.call.document.get(text) or ""))
        at.refused("idempotency.conflict", at.send(other, what), 0, *CONFLICT, first)


@check("idempotency.replay", waits=True, deep=True)
def test_keys_stay_used_for_minutes(at: Check) -> Steps[None]:
    """A valid request, replayed after almost 300 seconds: the original response."""
    first = AuthProbes(at).first
    yield max(0.0, first.started + _MINUTES - time.time())
    _judge_old(at, first)


def _judge_old(at: Check, first: Exchange) -> str:
    """Judges the replay of an old request, and says how old it was; returns that."""
    rule, age, when = "idempotency.replay", time.time() - first.started, later(at, first)
    if at.same(rule, first, at.send(first.call, f"the first request again, with its key, {when}")):
        at.reached(rule, age, f"keys were remembered {when}; conformance load asks for older ones")
    return when


def _use_keys(at: Check, since: Exchange) -> None:
    """Sends valid requests until MANY_KEYS other keys were accepted since, in any lane; a full run needs
    none."""
    answers = [
        exchange
        for accepted in at.lane.common.accepted
        for exchange in list(accepted)
        if exchange.operation == since.operation
        and exchange.organization == since.organization
        and exchange.started > since.started
    ]
    used = {exchange.call.idempotency_key for exchange in answers} - {since.call.idempotency_key}
    for _ in range(MANY_KEYS - len(used)):
        if not at.send(own_place(at).call(at.operation.id), "a valid request with one key more").succeeded:
            break
