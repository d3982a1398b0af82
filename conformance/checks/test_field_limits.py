"""Maximum lengths (section 8): the maximum is accepted, one character more is refused."""

from __future__ import annotations

from typing import Any

from conformance.checks.check import check
from conformance.checks.check_context import CheckContext
from conformance.checks.defective_bodies import Cases, DefectiveBodies, Fields, field_table
from conformance.contract.fields import Field, request_fields
from conformance.judge.comparison import sent_document
from conformance.wire.messages import Call, Exchange
from conformance.world.account import call
from conformance.world.corpora.wrong_values import (
    FORMED,
    email,
    email_with_long_name,
    letters,
    longest,
    plain,
    too_long,
)
from conformance.world.run_context import refusal_of_valid
from conformance.world.shapes import by_shape

#: Length of a short text, in letters.
SHORT = 8

#: A letter outside the basic plane: one code point, two UTF-16 units, four bytes.
_ASTRAL = "\U0001d49c"


@field_table("fields.max-length", lambda field: field.max_length)
def test_longer_than_maximum(at: DefectiveBodies, fields: Fields, where: str) -> Cases:
    """A valid body in which a field is one character too long, in ASCII and in other letters, or far too long
    is refused, each field in turn; one character too long in each other kind of body as well."""
    for field in fields:
        how = f"of {{}} (at most {field.max_length})"
        yield from at.wrong("fields.max-length", field, where, too_long(field), how)


@check("fields.max-length-accepted", "fields.other-scripts")
def test_exactly_the_maximum(ctx: CheckContext) -> None:
    """A field of exactly its maximum length, of non-ASCII letters where it is free text, is accepted and
    returned whole. A server that refuses even a short text of such letters accepts the maximum in ASCII; one
    that keeps to RFC 5321, an e-mail address of 254 characters."""
    limited = [field for field in request_fields(ctx.operation.id) if field.max_length is not None]
    for shape, fields in by_shape(ctx.operation.id, limited).items():
        invalid = DefectiveBodies(ctx, shape)
        for field in fields:
            value = longest(field)
            if value is not None:
                _judge_longest(ctx, invalid, field, value)


def _judge_longest(ctx: CheckContext, invalid: DefectiveBodies, field: Field, value: str) -> None:
    rule, what = "fields.max-length-accepted", f"{field.name} of {len(value)} characters, its maximum,"
    if not value.isascii():
        what = f"{field.name} of {len(value)} non-ASCII letters, its maximum,"
    answer = ctx.send(_call(ctx, invalid, {field.name: value}), what)
    if answer.refused and field.name == "email":
        long_name = _call(ctx, invalid, {"email": email_with_long_name()})
        lenient = ctx.send(long_name, "email with 65 characters before the @")
        if not lenient.succeeded:
            value, what = email(254), "email of 254 characters, as long as RFC 5321 allows,"
            answer = ctx.send(_call(ctx, invalid, {"email": value}), what)
    if invalid.stop and not answer.succeeded:
        invalid.unclear(rule, what, answer)
        return
    if answer.refused and not answer.throttled:
        shorter = _call(ctx, invalid, {})
        if "amount" in answer.call.document:
            # The same amount, which a server may refuse as a duplicate.
            shorter = shorter.with_field("amount", answer.call.document["amount"])
        control = ctx.send(shorter, "the same body with a shorter value")
        if not control.succeeded:
            reason = f"{what} was refused, but so was a shorter one"
            ctx.unclear(rule, reason, answer, control, stop=refusal_of_valid(control))
            return
        if field.name in FORMED:
            return
        if not value.isascii() and not _takes_other_scripts(ctx, invalid, field):
            what = f"{field.name} of {len(value)} characters, its maximum,"
            answer = ctx.send(_call(ctx, invalid, {field.name: plain(field)}), what)
    elif answer.succeeded and not value.isascii():
        ctx.accepted("fields.other-scripts", what, answer)
    if ctx.accepted(rule, what, answer):
        got = _spoilt(answer, field.name)
        ctx.expect(rule, f"{what} to come back whole", got, answer)


def _takes_other_scripts(ctx: CheckContext, invalid: DefectiveBodies, field: Field) -> bool:
    """Judges a short text of non-ASCII letters; True if it was accepted, or the answer says nothing."""
    what = f"{field.name} of {SHORT} non-ASCII letters"
    answer = ctx.send(_call(ctx, invalid, {field.name: letters(SHORT)}), what)
    if not ctx.usable("fields.other-scripts", answer):
        return True
    return ctx.accepted("fields.other-scripts", what, answer)


def _spoilt(answer: Exchange, name: str) -> str:
    """Damage to a returned value, cut off or with letters replaced; create.echo judges other differences."""
    got, value = answer.get(name), str(sent_document(answer.call).get(name))
    if not isinstance(got, str) or not got or got == value:
        return ""
    if value.startswith(got.rstrip(".\u2026")):
        return f"the first {len(got)} characters"
    return "other letters" if len(got) == len(value) and ("?" in got or "\ufffd" in got) else ""


def _call(ctx: CheckContext, invalid: DefectiveBodies, changes: dict[str, Any]) -> Call:
    """Builds a valid call with some fields changed; each wallet in a new account."""
    if ctx.operation.traits.subset_of:
        return call(ctx.operation.id, invalid.ids, changes or invalid.valid())
    if ctx.operation.traits.unique_pair:
        fixture = ctx.account(fresh=True)
        return fixture.call("createWallet", {**fixture.body("createWallet"), **changes})
    return call(ctx.operation.id, invalid.ids, {**invalid.valid(), **changes})


@check("fields.max-length-astral")
def test_characters_outside_the_basic_plane(ctx: CheckContext) -> None:
    """Records whether a character outside the basic plane counts once or twice towards a maximum."""
    rule, limit = "fields.max-length-astral", 255
    invalid = DefectiveBodies(ctx)
    for count in (limit, limit // 2):
        what = f"{count} characters outside the basic plane, {limit} being the maximum"
        answer = ctx.send(_call(ctx, invalid, {"name": _ASTRAL * count}), what)
        ctx.record(rule, what, answer, "accepted" if answer.succeeded else "refused")
        if answer.succeeded:
            break
