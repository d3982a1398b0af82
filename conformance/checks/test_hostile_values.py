"""Unusual values of every field of every body are never answered with 5xx (section 4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.checks.engine import Engine, hostile, table
from conformance.contract.fields import Field, request_fields
from conformance.contract.rules import OPERATION_SETS
from conformance.wire.messages import to_json
from conformance.world.bodies import SAMPLE
from conformance.world.case import Case
from conformance.world.shapes import accepted_body, accepts, shape_of

SURVIVES = "http.no-server-error"

#: A text longer than a VARCHAR(255) column.
LONG = "x" * 300


@table(SURVIVES, operations=OPERATION_SETS["body"], at=hostile)
def test_odd_values_of_every_field(at: Engine) -> Iterator[Case]:
    """Each field is empty, and optional ones null, one at a time in a valid body; texts without a maximum are
    longer than 255 characters. Each request is answered below 500."""
    for field in request_fields(at.operation):
        for kind, value in _odd_values(field, at.operation):
            body = to_json({**at.document(), field.name: value})
            yield at.case(SURVIVES, f"{field.name} as {kind}", body=body)
        if field.members or (field.kind == "text" and field.max_length is None):
            shape = shape_of(at.operation, field.name)
            known = shape != SAMPLE and accepts(at.ctx.run, at.operation, shape)
            valid = accepted_body(at.fixture, at.operation, shape) if known else at.document()
            long = dict.fromkeys(field.members, LONG) if field.members else LONG
            yield at.case(
                SURVIVES, f"{field.name} of {len(LONG)} letters", body=to_json({**valid, field.name: long})
            )


def _odd_values(field: Field, operation: str) -> Iterator[tuple[str, Any]]:
    yield "an empty text", ""
    if not field.required or operation == "updateBeneficiary":
        yield "null", None


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
