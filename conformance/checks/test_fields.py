"""Required fields, JSON types and fields that others call for (sections 4.1 to 4.7)."""

from __future__ import annotations

from conformance.contract.fields import request_field, request_fields
from conformance.contract.rules import RULES
from conformance.harness.check import check
from conformance.harness.context import CheckContext
from conformance.harness.invalid_bodies import InvalidBodies, elsewhere
from conformance.harness.side_effects import UNTOUCHED
from conformance.world.bodies import AcceptedBodies, by_shape
from conformance.world.corpora.fields import wrong_optional_types, wrong_types

#: Optional fields that another field's value may call for, with a valid value.
_CALLED_FOR = {"company_name": "Analytical Engines", "network": "ethereum"}

#: Where a value of another type is put that a valid body leaves out.
_STANDING_IN = "1"


@check("fields.required", UNTOUCHED, operations=RULES["fields.required"].operations)
def test_required_field_missing(ctx: CheckContext) -> None:
    """A valid body without one required field is refused: each field in turn, in each kind of body that the
    server accepts, then all of them at once; afterwards nothing has been created."""
    rule = "fields.required"
    names = ctx.operation.required_fields
    with InvalidBodies(ctx) as invalid:
        for name in names:
            invalid.refused(rule, invalid.without(name), f"a body without {name}")
        if invalid.valid().keys() != set(names) or len(names) > 1:
            invalid.refused(rule, {}, "an empty object")
    required = [field for field in request_fields(ctx.operation.id) if field.required]
    for invalid, where, fields in elsewhere(ctx, required):
        for field in fields:
            what = f"{where} without {field.name}"
            invalid.refused(rule, invalid.without(field.name), what)


@check("fields.required-null", UNTOUCHED, operations=RULES["fields.required-null"].operations)
def test_required_field_null(ctx: CheckContext) -> None:
    """A valid body whose required field is null is refused, each field in turn, in each kind of body that the
    server accepts."""
    rule = "fields.required-null"
    with InvalidBodies(ctx) as invalid:
        for name in ctx.operation.required_fields:
            invalid.refused(rule, invalid.having(name, None), f"{name} null")
    required = [field for field in request_fields(ctx.operation.id) if field.required]
    for invalid, where, fields in elsewhere(ctx, required):
        for field in fields:
            what = f"{field.name} null in {where}"
            invalid.refused(rule, invalid.having(field.name, None), what)


@check("fields.type", UNTOUCHED, operations=RULES["fields.type"].operations)
def test_required_field_of_another_type(ctx: CheckContext) -> None:
    """A valid body in which a required field holds a number, a boolean, an array or an object instead of a
    string (or anything but an object instead of an address) is refused, on update as well, and a number in
    each other kind of body that the server accepts."""
    rule, fields = "fields.type", [field for field in request_fields(ctx.operation.id) if field.required]
    with InvalidBodies(ctx) as invalid:
        for field in fields:
            for kind, value in wrong_types(field, invalid.good(field.name)):
                invalid.refused(rule, invalid.having(field.name, value), f"{field.name} as {kind}")
    for invalid, where, others in elsewhere(ctx, fields):
        for field in others:
            what = f"{field.name} as a number in {where}"
            invalid.refused(rule, invalid.having(field.name, 1), what)


@check("fields.address", UNTOUCHED, operations=RULES["fields.address"].operations)
def test_address_that_is_no_object(ctx: CheckContext) -> None:
    """A valid body whose address is a string, a number, a boolean or an array is refused."""
    field = request_field(ctx.operation.id, "address")
    with InvalidBodies(ctx) as invalid:
        for kind, value in wrong_types(field, invalid.good("address")):
            invalid.refused("fields.address", invalid.having("address", value), f"address as {kind}")
    for invalid, where, _ in elsewhere(ctx, [field]):
        body = invalid.having("address", "1 Main Street")
        invalid.refused("fields.address", body, f"address as a string in {where}")


@check("fields.optional-type", UNTOUCHED, operations=RULES["fields.optional-type"].operations)
def test_optional_field_of_another_type(ctx: CheckContext) -> None:
    """A valid body in which an optional field holds an array or an object instead of a string or a boolean
    (or a string or an array instead of an address) is refused, in a body where the field is shown or means
    something."""
    optional = [field for field in request_fields(ctx.operation.id) if not field.required]
    shapes = by_shape(ctx.operation.id, optional)
    if ctx.operation.id != "updateBeneficiary":
        # Where nothing calls for them a server may ignore them; one that shows them does not.
        called_for = [field for field in optional if field.name in _CALLED_FOR]
        shapes["sample"] += [field for field in called_for if _shown(ctx, field.name)]
    for shape, fields in shapes.items():
        with InvalidBodies(ctx, shape) as invalid:
            for field in fields:
                for kind, value in wrong_optional_types(field, invalid.good(field.name, _STANDING_IN)):
                    body = invalid.having(field.name, value)
                    invalid.refused("fields.optional-type", body, f"{field.name} as {kind}")
    for invalid, where, fields in elsewhere(ctx, optional):
        for field in fields:
            kind, value = next(wrong_optional_types(field, invalid.good(field.name, _STANDING_IN)))
            what = f"{field.name} as {kind} in {where}"
            invalid.refused("fields.optional-type", invalid.having(field.name, value), what)


def _shown(ctx: CheckContext, name: str) -> bool:
    """Whether a valid body with an optional field that nothing calls for creates something that shows it."""
    invalid, value = InvalidBodies(ctx), _CALLED_FOR[name]
    answer = invalid.send(invalid.having(name, value), f"a valid body with {name}")
    return answer.succeeded and answer.get(name) == value


@check("fields.company-name", UNTOUCHED, operations=RULES["fields.company-name"].operations)
def test_business_without_company_name(ctx: CheckContext) -> None:
    """A business beneficiary is refused without its company_name, and with null for it."""
    rule, name = "fields.company-name", "company_name"
    with InvalidBodies(ctx, "business") as invalid:
        invalid.refused(rule, invalid.without(name), "a business without company_name")
        invalid.refused(rule, invalid.having(name, None), "a business whose company_name is null")


@check("fields.network", UNTOUCHED, operations=RULES["fields.network"].operations)
def test_wallet_destination_without_network(ctx: CheckContext) -> None:
    """A wallet destination is refused without its network, and with null for it."""
    rule, name = "fields.network", "network"
    with InvalidBodies(ctx, "wallet") as invalid:
        accepted = invalid.valid()
        invalid.refused(rule, invalid.without(name), "a wallet destination without network")
        invalid.refused(rule, invalid.having(name, None), "a wallet destination whose network is null")
        for body in AcceptedBodies(ctx.run, ctx.operation.id).bodies("wallet", invalid.fixture):
            if body["currency"] != accepted["currency"]:
                # The server may take no wallet of this currency at all, so that only acceptance tells.
                del body[name]
                answer = invalid.send(body, f"a wallet destination in {body['currency']} without network")
                if answer.succeeded:
                    ctx.refused(rule, answer, answer.purpose)


@check("http.validation-status")
def test_status_of_a_field_failure(ctx: CheckContext) -> None:
    """How a missing required field (on update, one of the wrong type) is refused is recorded."""
    invalid = InvalidBodies(ctx)
    invalid.must_accept()
    fields = request_fields(ctx.operation.id)
    required = next(field for field in fields if field.required and field.type == "string")
    if ctx.operation.id == "updateBeneficiary":
        question, body = "a field of the wrong type", {required.name: [invalid.good(required.name)]}
    else:
        question, body = "a missing required field", invalid.without(required.name)
    answer = invalid.send(body, question)
    if ctx.usable("http.validation-status", answer):
        ctx.observe("http.validation-status", question, answer.described(), answer)
