"""Open choices about request fields, which are recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.checks.beneficiaries import Beneficiary
from conformance.checks.check import check
from conformance.checks.check_context import CheckContext
from conformance.checks.defective_bodies import DefectiveBodies
from conformance.checks.engine import table
from conformance.checks.members import judge_members, look_for
from conformance.contract.fields import request_fields
from conformance.contract.operations import response_schema
from conformance.contract.schemas import nullable
from conformance.judge.comparison import document
from conformance.wire.messages import Exchange
from conformance.world.account import call
from conformance.world.case import Case
from conformance.world.samples import marker


@check("body.unknown-fields")
def test_unknown_field(ctx: CheckContext) -> None:
    """Records whether a request with an unknown field is accepted."""
    valid = ctx.valid()
    answer = ctx.send(valid.with_field("conformance_unknown", "1"), "an unknown field")
    ctx.record(
        "body.unknown-fields", "an unknown field", answer, "ignored" if answer.succeeded else "refused"
    )


@table("fields.lenient-values", at=DefectiveBodies)
def test_lenient_values(at: DefectiveBodies) -> Iterator[Case]:
    """Records whether lower-case codes, odd e-mail addresses and phone numbers, empty strings, outer spaces
    and an upper-case choice are accepted."""
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


@check("fields.null-optional", "beneficiary.update")
def test_optional_field_null(ctx: CheckContext) -> None:
    """Records whether null empties an optional field that responses show as null, is ignored or is refused; a
    beneficiary that is read after updates shows what these have answered."""
    invalid = DefectiveBodies(ctx)
    update, answered = ctx.operation.traits.subset_of, dict[str, Exchange]()
    ids = Beneficiary(ctx, ctx.account()).ids if update else invalid.ids
    shown = response_schema("getBeneficiary")["properties"]
    for field in request_fields(ctx.operation.id):
        if not field.required and field.name != "company_name" and nullable(shown[field.name]):
            body = {field.name: None}
            if ctx.operation.traits.creates == "beneficiary":
                body = {**invalid.valid(), **body}
            answer = ctx.send(call(ctx.operation.id, ids, body), f"{field.name} null")
            taken = "emptied" if answer.get(field.name) is None else "ignored"
            seen = taken if answer.succeeded else "refused"
            ctx.record("fields.null-optional", f"{field.name} null", answer, seen)
            if answer.succeeded and field.name in document(answer):
                answered[field.name] = answer
    if answered and update:
        what = "a read after updates with null"
        expected = {name: answer.get(name) for name, answer in answered.items()}
        later = look_for(ctx, call("getBeneficiary", ids), what, expected)
        for name, answer in answered.items() if later.succeeded else ():
            judge_members(ctx, "beneficiary.update", later, {name: expected[name]}, what, shown_by=answer)


@table("fields.address-members", at=DefectiveBodies)
def test_address_without_a_member(at: DefectiveBodies) -> Iterator[Case]:
    """Records which members of an address may be left out."""
    whole = at.good("address")
    incomplete: dict[str, dict[str, Any]] = {
        name: {key: value for key, value in whole.items() if key != name} for name in whole
    }
    for missing, address in {**incomplete, "members": {}}.items():
        name = f"an address without {missing}"
        yield at.defective("fields.address-members", name, at.having("address", address))
