"""Odd values of every field of every body are never answered with 5xx (section 4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.contract.fields import Field, request_fields
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS
from conformance.harness.check import check
from conformance.harness.context import CheckContext
from conformance.judge.expectations import Answered
from conformance.world.account import AccountFixture

RULE = "http.no-server-error"

_BODIES = tuple(operation.id for operation in OPERATIONS.values() if operation.request_schema is not None)


def odd_values(field: Field, operation: str) -> Iterator[tuple[str, Any]]:
    """Values that no other check sends in a field, each with its name for a sentence."""
    yield "an empty text", ""
    if not field.required or TRAITS[operation].subset_of:
        yield "null", None
    if not field.required:
        yield "a number", 12345
        if field.type != "boolean":
            yield "true", True


@check(RULE, operations=_BODIES)
def test_odd_values_of_every_field(ctx: CheckContext) -> None:
    """Every field is sent as an empty text, and optional ones as null and in types that the checks of types
    leave out, one at a time in a valid body; whatever the answer is, it comes, with a status below 500."""
    fixture = ctx.account("hostile", fresh=ctx.operation.traits.once)
    valid = fixture.body(ctx.operation.id)
    for field in request_fields(ctx.operation.id):
        for named, value in odd_values(field, ctx.operation.id):
            what = f"{field.name} as {named}"
            if ctx.wanted(what):
                _survived(ctx, fixture, {**valid, field.name: value}, what)


#: Values for all fields at once, by their names in a sentence.
_FOR_ALL: dict[str, Any] = {
    "an empty text": "",
    "null": None,
    "a number": 12345,
    "true": True,
    "an array": [],
    "an object": {},
}


@check(RULE, operations=_BODIES)
def test_odd_values_of_all_fields(ctx: CheckContext) -> None:
    """Every field is an empty text, null, a number, true, an array and an object, all of them at once;
    whatever the answer is, it comes, with a status below 500."""
    fixture = ctx.account("hostile", fresh=ctx.operation.traits.once)
    valid = fixture.body(ctx.operation.id)
    names = [field.name for field in request_fields(ctx.operation.id)]
    for named, value in _FOR_ALL.items():
        what = f"every field as {named}"
        if ctx.wanted(what):
            _survived(ctx, fixture, {**valid, **dict.fromkeys(names, value)}, what)


def _survived(ctx: CheckContext, fixture: AccountFixture, body: dict[str, Any], what: str) -> None:
    answer = ctx.send(fixture.call(ctx.operation.id, body), what)
    ctx.judge(RULE, Answered(what, also=[501] * ctx.operation.traits.under_development), answer)
