"""Open choices about request fields, recorded and never judged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.checks.check import check
from conformance.checks.check_context import CheckContext
from conformance.checks.defective_bodies import DefectiveBodies
from conformance.checks.engine import table
from conformance.contract.fields import documented, request_fields
from conformance.contract.operations import response_schema
from conformance.world.account import call
from conformance.world.case import Case
from conformance.world.samples import marker
from conformance.world.shapes import SHAPES, accepted_body, accepts

#: A destination's response members -> the request fields that they show.
_SHOWN = {
    "account_number_last4": "account_number",
    "clabe_last4": "account_number",
    "iban_masked": "iban",
    "wallet_address_masked": "wallet_address",
}


@check("body.unknown-fields")
def test_unknown_field(ctx: CheckContext) -> None:
    """Records if a request with an unknown field is accepted."""
    valid = ctx.valid()
    answer = ctx.send(valid.with_field("conformance_unknown", "1"), "an unknown field")
    ctx.record(
        "body.unknown-fields", "an unknown field", answer, "ignored" if answer.succeeded else "refused"
    )


@table("fields.lenient-values", at=DefectiveBodies)
def test_lenient_values(at: DefectiveBodies) -> Iterator[Case]:
    """Records if lower-case codes, odd e-mail and phone numbers, empty strings and surrounding spaces are
    accepted."""
    for question, name, value in (
        ("a lower-case country code", "country_code", str(at.good("country_code")).lower()),
        ("an e-mail address without @", "email", f"{marker()}.example.com"),
        ("a phone number without country code", "phone", "2025550123"),
        ("a phone number of letters", "phone", "unknown"),
        ("an empty first_name", "first_name", ""),
        ("an empty title", "title", ""),
        ("spaces around first_name", "first_name", " Ada "),
        ("an upper-case beneficiary_type", "beneficiary_type", "INDIVIDUAL"),
    ):
        yield at.defective("fields.lenient-values", question, at.having(name, value))


@check("fields.null-optional")
def test_optional_field_null(ctx: CheckContext) -> None:
    """Records if null for an optional field empties it, is ignored or refused, where a response shows it
    as null."""
    invalid = DefectiveBodies(ctx)
    shown = response_schema("getBeneficiary")["properties"]
    for field in request_fields(ctx.operation.id):
        if not field.required and field.name != "company_name" and _nullable(shown[field.name]):
            body = {field.name: None}
            if ctx.operation.traits.creates == "beneficiary":
                body = {**invalid.valid(), **body}
            answer = ctx.send(call(ctx.operation.id, invalid.ids, body), f"{field.name} null")
            taken = "emptied" if answer.get(field.name) is None else "ignored"
            seen = taken if answer.succeeded else "refused"
            ctx.record("fields.null-optional", f"{field.name} null", answer, seen)


def _nullable(schema: Any) -> bool:
    return any(choice.get("type") == "null" for choice in schema.get("anyOf", ()))


@table("fields.address-members", at=DefectiveBodies)
def test_address_without_a_member(at: DefectiveBodies) -> Iterator[Case]:
    """Records the members of an address that may be missing."""
    whole = at.good("address")
    incomplete: dict[str, dict[str, Any]] = {
        name: {key: value for key, value in whole.items() if key != name} for name in whole
    }
    for missing, address in {**incomplete, "members": {}}.items():
        name = f"an address without {missing}"
        yield at.defective("fields.address-members", name, at.having("address", address))


@check("format.inapplicable-fields")
def test_destination_fields_that_do_not_apply(ctx: CheckContext) -> None:
    """Records if destination fields that were not sent are null, absent or filled in."""
    invalid = DefectiveBodies(ctx)
    required = response_schema(ctx.operation.id).get("required", ())
    for shape in SHAPES[ctx.operation.id]:
        if not accepts(ctx.run, ctx.operation.id, shape) or shape == "SWIFT code":
            continue
        body = accepted_body(invalid.fixture, ctx.operation.id, shape)
        answer = ctx.send(call(ctx.operation.id, invalid.ids, body), f"a destination, {shape}")
        if not answer.succeeded or not isinstance(answer.document, dict):
            continue
        sent = answer.call.document
        states: dict[str, list[str]] = {}
        for name in documented(ctx.operation.id):
            if name not in required and _SHOWN.get(name, name) not in sent:
                state = "filled in" if answer.get(name) is not None else "null"
                states.setdefault(state if name in answer.document else "absent", []).append(name)
        shown = "; ".join(f"{state}: {', '.join(names)}" for state, names in states.items())
        question = f"{shape}: what does not apply is"
        ctx.observe("format.inapplicable-fields", question, shown or "nothing", answer)
