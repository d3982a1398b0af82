"""Required fields, JSON types and fields that others require (sections 4.1 to 4.7).

Servers may validate each kind of body by a schema of its own: in others than the sample (`where`) one wrong
value for a field is enough."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from conformance.checks.check import check
from conformance.checks.check_context import CheckContext
from conformance.checks.defective_bodies import (
    Cases,
    DefectiveBodies,
    Fields,
    field_table,
    in_each_shape,
    within,
)
from conformance.checks.side_effects import UNTOUCHED
from conformance.checks.tables import table
from conformance.contract.fields import request_fields
from conformance.contract.rules import RULES
from conformance.world import samples
from conformance.world.bodies import bodies
from conformance.world.case import Case
from conformance.world.corpora.wrong_values import wrong_optional_types, wrong_types
from conformance.world.shapes import by_shape

#: Fields that another field's value may require, each with a valid value.
_CALLED_FOR = {"company_name": "Analytical Engines", "network": "ethereum"}

#: Value of a field that a valid body lacks, to make one of another type from.
_STANDING_IN = "1"


@field_table("fields.required", lambda field: field.required)
def test_required_field_missing(at: DefectiveBodies, fields: Fields, where: str) -> Cases:
    """A valid body without one required field is refused, each field in turn, in each kind of body that the
    server accepts, and so is an empty object, also with all texts in the query; nothing is created."""
    rule = "fields.required"
    for field in fields:
        name = f"{where or 'a body'} without {field.name}"
        yield at.defective(rule, name, at.without(field.name))
    if not where:
        # Some frameworks read query and body as one.
        texts = [(key, value) for key, value in at.valid().items() if isinstance(value, str)]
        yield at.case(
            rule, "an empty object, with its texts in the query", body=b"{}", query=urlencode(texts)
        )
    names = {field.name for field in fields}
    if not where and (at.valid().keys() != names or len(names) > 1):
        yield at.defective(rule, "an empty object", {})


@field_table("fields.required-null", lambda field: field.required)
def test_required_field_null(at: DefectiveBodies, fields: Fields, where: str) -> Cases:
    """A valid body with null for a required field is refused, each in turn, in each kind of body accepted."""
    for field in fields:
        yield from at.wrong("fields.required-null", field, where, [("null", None)], "{}")


@field_table("fields.type", lambda field: field.required)
def test_required_field_of_another_type(at: DefectiveBodies, fields: Fields, where: str) -> Cases:
    """A valid body in which a required field has a number, a boolean, an array or an object for a string (or
    anything but an object for an address) is refused, on update as well; in each other kind of body that the
    server accepts, a number."""
    for field in fields:
        kinds = [("a number", 1)] if where else wrong_types(field, at.good(field.name))
        yield from at.wrong("fields.type", field, where, kinds)


@field_table("fields.address", lambda field: field.name == "address")
def test_address_that_is_no_object(at: DefectiveBodies, fields: Fields, where: str) -> Cases:
    """A valid body whose address is a string, a number, a boolean or an array is refused."""
    for field in fields:
        yield from at.wrong("fields.address", field, where, wrong_types(field, at.good(field.name)))


@field_table("fields.address-types", lambda field: field.name == "address")
def test_address_with_a_member_of_another_type(at: DefectiveBodies, fields: Fields, where: str) -> Cases:
    """A valid body whose address has a number, a boolean, an array or an object for one of its texts is
    refused. A number stands for each text of the sample, the other types for some, in turn."""
    rule = "fields.address-types"
    turn = RULES[rule].operations.index(at.operation)
    turns = range(3 * turn, 3 * turn + 3)
    for field in fields:
        good = at.good(field.name) or samples.address("state")
        kinds: list[tuple[str, str, Any]] = [(member, "a number", 5) for member in field.members]
        if where:
            turns, kinds = range(9 + 2 * turn, 10 + 2 * turn), []
        for number in turns:
            member = field.members[number % len(field.members)]
            others = (("true", True), ("an array", [good[member]]), ("an object", {"value": good[member]}))
            kinds.append((member, *others[number % len(others)]))
        for member, kind, value in kinds:
            name = f"address with {member} as {kind}{within(where)}"
            yield at.defective(rule, name, at.having(field.name, {**good, member: value}))


def _optional_types(at: DefectiveBodies, fields: Fields, where: str) -> Cases:
    """Yields optional fields of another JSON type."""
    for field in fields:
        kinds = wrong_optional_types(field, at.good(field.name, _STANDING_IN))
        yield from at.wrong("fields.optional-type", field, where, kinds)


@check("fields.optional-type", UNTOUCHED)
def test_optional_field_of_another_type(ctx: CheckContext) -> None:
    """A valid body in which an optional field has an array, an object, a number or a boolean for a string (or
    a text for a boolean or an address) is refused, in a body where the field applies or is shown."""
    optional = [field for field in request_fields(ctx.operation.id) if not field.required]
    shapes = by_shape(ctx.operation.id, optional)
    if not ctx.operation.traits.subset_of:
        # A server may ignore fields that nothing requires, unless it shows them.
        called_for = [field for field in optional if field.name in _CALLED_FOR]
        shapes["sample"] += [field for field in called_for if _shown(ctx, field.name)]
    in_each_shape(ctx, _optional_types, shapes, optional)


def _shown(ctx: CheckContext, name: str) -> bool:
    """True if a resource created with an optional field that nothing requires shows it."""
    engine, value = DefectiveBodies(ctx), _CALLED_FOR[name]
    answer = engine.send_body(engine.having(name, value), f"a valid body with {name}")
    return answer.succeeded and answer.get(name) == value


@table("fields.company-name", UNTOUCHED, at=lambda ctx: DefectiveBodies(ctx, "business"))
def test_business_without_company_name(at: DefectiveBodies) -> Iterator[Case]:
    """A business beneficiary without company_name, or with null for it, is refused."""
    rule, field = "fields.company-name", "company_name"
    yield at.defective(rule, "a business without company_name", at.without(field))
    yield at.defective(rule, "a business whose company_name is null", at.having(field, None))


@table("fields.network", UNTOUCHED, at=lambda ctx: DefectiveBodies(ctx, "wallet"))
def test_wallet_destination_without_network(at: DefectiveBodies) -> Iterator[Case]:
    """A wallet destination without network, in several currencies, or with null for it, is refused."""
    rule, field = "fields.network", "network"
    yield at.defective(rule, "a wallet destination without network", at.without(field))
    yield at.defective(rule, "a wallet destination whose network is null", at.having(field, None))
    # A server that accepts no other currency refuses these as well.
    for body in bodies(at.fixture, at.operation, "wallet"):
        if (currency := body["currency"]) != at.valid()["currency"]:
            name = f"a wallet destination in {currency} without network"
            yield at.defective(rule, name, {key: value for key, value in body.items() if key != field})


@check("http.validation-status")
def test_status_of_a_field_failure(ctx: CheckContext) -> None:
    """Records the status for a missing required field or, on update, for one of the wrong type."""
    engine = DefectiveBodies(ctx)
    engine.must_accept()
    fields = request_fields(ctx.operation.id)
    required = next(field for field in fields if field.required and field.type == "string")
    if ctx.operation.traits.subset_of:
        question, body = "a field of the wrong type", {required.name: [engine.good(required.name)]}
    else:
        question, body = "a missing required field", engine.without(required.name)
    answer = engine.send_body(body, question)
    ctx.record("http.validation-status", question, answer)
