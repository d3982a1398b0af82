"""Unusual values of every field of every body are never answered with 5xx (section 4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.checks.engine import Engine
from conformance.checks.tables import hostile, table
from conformance.contract.fields import FREE_TEXT, Field, request_fields
from conformance.contract.rules import OPERATION_SETS
from conformance.contract.traits import TRAITS
from conformance.wire.messages import to_json
from conformance.world import samples
from conformance.world.bodies import SAMPLE
from conformance.world.case import Case
from conformance.world.shapes import accepted_body, accepts, shape_of

SURVIVES = "http.no-server-error"

#: A text longer than a VARCHAR(255) column.
LONG = "x" * 300

#: Texts that encodings and databases lack characters of, by what is in them.
_SIGNS = {"NUL": "con\x00formance", "signs": "\u00e9\U0001f600'%\\<{\n"}


@table(SURVIVES, operations=OPERATION_SETS["body"], at=hostile)
def test_odd_values_of_every_field(at: Engine) -> Iterator[Case]:
    """Each field is empty, what may be left out null, and so are the members of addresses, one at a time in a
    valid body; texts without a maximum are longer than 255 characters, those with a form have signs in them,
    and codes and amounts a line feed behind them. Each request is answered below 500."""
    for field in request_fields(at.operation):
        for kind, value in _odd_values(field, at.operation):
            body = to_json({**at.document(), field.name: value})
            yield at.case(SURVIVES, f"{field.name} as {kind}", body=body)
        if _is_of_signs(field, at.operation):
            # The end of a pattern may match before it: formats judge what is shown then.
            good = at.fixture.body(TRAITS[at.operation].subset_of or at.operation)[field.name]
            body = to_json({**at.document(), field.name: f"{good}\n"})
            yield at.case(SURVIVES, f"{field.name} with a line feed behind it", body=body)
        for kind, value in _odd_texts(field, at.operation):
            shape = shape_of(at.operation, field.name)
            known = shape != SAMPLE and accepts(at.ctx.run, at.operation, shape)
            valid = accepted_body(at.fixture, at.operation, shape) if known else at.document()
            yield at.case(SURVIVES, f"{field.name} {kind}", body=to_json({**valid, field.name: value}))


def _is_of_signs(field: Field, operation: str) -> bool:
    """Returns True for amounts and for codes of ISO standards."""
    return field.kind == "amount" or bool(field.code and not TRAITS[operation].unique_pair)


def _odd_values(field: Field, operation: str) -> Iterator[tuple[str, Any]]:
    # test_amount_that_is_no_positive_decimal sends an empty amount.
    if not field.members and field.kind != "amount":
        yield "an empty text", ""
    elif field.members:
        yield "an object of nulls", dict.fromkeys(field.members)
        yield "an empty object", {}
    if field.name == "account_number":
        # Masks of the last four digits take slices.
        yield "a number of three digits", "123"
    # fields.required-null sends the required fields of creates so.
    if TRAITS[operation].subset_of or not field.required:
        yield "null", None


def _odd_texts(field: Field, operation: str) -> Iterator[tuple[str, Any]]:
    """Yields long texts of what has no maximum, and texts with signs of what has a form: of free texts and of
    codes, other checks send them."""
    if field.members:
        yield f"of {len(LONG)} letters", dict.fromkeys(field.members, LONG)
    elif field.kind == "text" and field.max_length is None:
        yield f"of {len(LONG)} letters", LONG
    formed = field.kind in ("text", "enum") and field.name not in FREE_TEXT
    if field.members or formed or (field.code and TRAITS[operation].unique_pair):
        for what, text in _SIGNS.items():
            good = samples.address("state" if "state" in field.members else "region")
            yield f"with {what}", {**good, "country": text} if field.members else text


@table(SURVIVES, operations=OPERATION_SETS["body"], at=hostile)
def test_odd_values_of_all_fields(at: Engine) -> Iterator[Case]:
    """All fields at once are an empty text, null, a number, true, an array or an object; each request is
    answered below 500."""
    names = [field.name for field in request_fields(at.operation)]
    wrong: dict[str, Any] = {
        "an empty text": "",
        "null": None,
        "a number": 12345,
        "true": True,
        "an array": [],
        "an object": {},
    }
    for kind, value in wrong.items():
        body = to_json({**at.document(), **dict.fromkeys(names, value)})
        yield at.case(SURVIVES, f"every field as {kind}", body=body)
