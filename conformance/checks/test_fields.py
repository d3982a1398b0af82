"""Required fields, JSON types and fields that others call for (sections 4.1 to 4.7)."""

from __future__ import annotations

from conformance.checks.cases import fields as cases
from conformance.checks.check import check
from conformance.checks.check_context import CheckContext
from conformance.checks.defective_bodies import DefectiveBodies, in_each_body, in_each_shape
from conformance.checks.side_effects import UNTOUCHED
from conformance.contract.fields import Field, request_field, request_fields
from conformance.world.bodies import bodies
from conformance.world.shapes import by_shape

#: Optional fields that another field's value may call for, with a valid value.
_CALLED_FOR = {"company_name": "Analytical Engines", "network": "ethereum"}


def _required(ctx: CheckContext) -> list[Field]:
    return [field for field in request_fields(ctx.operation.id) if field.required]


@check("fields.required", UNTOUCHED)
def test_required_field_missing(ctx: CheckContext) -> None:
    """A valid body without one required field is refused: each field in turn, in each kind of body that the
    server accepts, then all of them at once; afterwards nothing has been created."""
    in_each_body(ctx, cases.required, _required(ctx))


@check("fields.required-null", UNTOUCHED)
def test_required_field_null(ctx: CheckContext) -> None:
    """A valid body whose required field is null is refused, each field in turn, in each kind of body that the
    server accepts."""
    in_each_body(ctx, cases.required_null, _required(ctx))


@check("fields.type", UNTOUCHED)
def test_required_field_of_another_type(ctx: CheckContext) -> None:
    """A valid body in which a required field holds a number, a boolean, an array or an object instead of a
    string (or anything but an object instead of an address) is refused, on update as well, and a number in
    each other kind of body that the server accepts."""
    in_each_body(ctx, cases.types, _required(ctx))


@check("fields.address", UNTOUCHED)
def test_address_that_is_no_object(ctx: CheckContext) -> None:
    """A valid body whose address is a string, a number, a boolean or an array is refused."""
    in_each_body(ctx, cases.addresses, [request_field(ctx.operation.id, "address")])


@check("fields.address-types", UNTOUCHED)
def test_address_with_a_member_of_another_type(ctx: CheckContext) -> None:
    """A valid body whose address has a number in place of one of its texts, or an object, is refused."""
    in_each_body(ctx, cases.address_members, [request_field(ctx.operation.id, "address")])


@check("fields.optional-type", UNTOUCHED)
def test_optional_field_of_another_type(ctx: CheckContext) -> None:
    """A valid body in which an optional field holds an array or an object instead of a string or a boolean
    (or a string or an array instead of an address) is refused, in a body where the field is shown or means
    something."""
    optional = [field for field in request_fields(ctx.operation.id) if not field.required]
    shapes = by_shape(ctx.operation.id, optional)
    if not ctx.operation.traits.subset_of:
        # Where nothing calls for them a server may ignore them; one that shows them does not.
        called_for = [field for field in optional if field.name in _CALLED_FOR]
        shapes["sample"] += [field for field in called_for if _shown(ctx, field.name)]
    in_each_shape(ctx, cases.optional_types, shapes, optional)


def _shown(ctx: CheckContext, name: str) -> bool:
    """True if a valid body with an optional field that nothing calls for creates something that shows it."""
    engine, value = DefectiveBodies(ctx), _CALLED_FOR[name]
    answer = engine.send_body(engine.having(name, value), f"a valid body with {name}")
    return answer.succeeded and answer.get(name) == value


@check("fields.company-name", UNTOUCHED)
def test_business_without_company_name(ctx: CheckContext) -> None:
    """A business beneficiary is refused without its company_name, and with null for it."""
    with DefectiveBodies(ctx, "business") as engine:
        engine.run(cases.company_names)


@check("fields.network", UNTOUCHED)
def test_wallet_destination_without_network(ctx: CheckContext) -> None:
    """A wallet destination is refused without its network, and with null for it."""
    with DefectiveBodies(ctx, "wallet") as engine:
        accepted = engine.valid()
        engine.run(cases.networks)
        for body in bodies(engine.fixture, ctx.operation.id, "wallet"):
            if body["currency"] != accepted["currency"]:
                # The server may take no wallet of this currency at all, so that only acceptance tells.
                del body["network"]
                name = f"a wallet destination in {body['currency']} without network"
                case = engine.defective("fields.network", name, body)
                answer = engine.send(engine.call(case), name)
                if answer.succeeded:
                    engine.judge(case, answer)


@check("http.validation-status")
def test_status_of_a_field_failure(ctx: CheckContext) -> None:
    """Records the status of a missing required field (on update, one of the wrong type)."""
    engine = DefectiveBodies(ctx)
    engine.must_accept()
    fields = request_fields(ctx.operation.id)
    required = next(field for field in fields if field.required and field.type == "string")
    if ctx.operation.traits.subset_of:
        question, body = "a field of the wrong type", {required.name: [engine.good(required.name)]}
    else:
        question, body = "a missing required field", engine.without(required.name)
    answer = engine.send_body(body, question)
    if ctx.usable("http.validation-status", answer):
        ctx.observe("http.validation-status", question, answer.described(), answer)
