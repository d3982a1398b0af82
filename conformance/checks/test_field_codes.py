"""Enumerations, country codes and currency codes (sections 4.2 to 4.7)."""

from __future__ import annotations

from conformance.checks.cases import fields as cases
from conformance.checks.check import check
from conformance.checks.check_context import CheckContext
from conformance.checks.defective_bodies import DefectiveBodies, FieldTable, elsewhere, in_each_shape
from conformance.checks.side_effects import UNTOUCHED
from conformance.contract.fields import request_fields
from conformance.judge.field_values import UNASSIGNED_CODES
from conformance.world.shapes import by_shape


@check("fields.enum", UNTOUCHED)
def test_value_outside_the_enumeration(ctx: CheckContext) -> None:
    """A valid body with a value that an enumeration does not list, or that only begins or ends like a listed
    one, is refused."""
    listed = [field for field in request_fields(ctx.operation.id) if field.choices]
    # On a create the enumerated fields say of which kind a body is.
    others = [] if ctx.operation.traits.creates else listed
    in_each_shape(ctx, cases.choices, by_shape(ctx.operation.id, listed), others)


@check("fields.country-code", UNTOUCHED)
def test_malformed_country_code(ctx: CheckContext) -> None:
    """A valid body of any kind whose country code is not two letters is refused."""
    _refuse_codes(ctx, cases.codes, "country")


@check("fields.currency-code", UNTOUCHED)
def test_malformed_currency_code(ctx: CheckContext) -> None:
    """A valid body whose fiat currency code is not three letters is refused; those of wallets are no fiat."""
    _refuse_codes(ctx, cases.codes, "currency")


@check("fields.unassigned-code", UNTOUCHED)
def test_unassigned_code(ctx: CheckContext) -> None:
    """A valid body with the country code ZZ or the currency code ZZZ, which nothing has, is refused."""
    _refuse_codes(ctx, cases.unassigned_codes, *UNASSIGNED_CODES)


def _refuse_codes(ctx: CheckContext, table: FieldTable, *codes: str) -> None:
    """Runs a table on the fields of such codes, in the sample and in the other kinds of body; currencies of
    wallets are no fiat."""
    coded = [field for field in request_fields(ctx.operation.id) if field.code in codes]
    with DefectiveBodies(ctx) as engine:
        engine.run(table, coded, "")
    for engine, where, fields in elsewhere(ctx, coded):
        fiat = engine.shape != "wallet"
        engine.run(table, [field for field in fields if field.code != "currency" or fiat], where)


@check("fields.currency-kind", UNTOUCHED)
def test_currency_of_the_other_kind(ctx: CheckContext) -> None:
    """A virtual account, a bank account and a payin in a cryptocurrency are refused, and so is a wallet in a
    fiat currency."""
    with DefectiveBodies(ctx) as engine:
        if engine.valid().get("type") == "wallet":
            ctx.not_exercised("fields.currency-kind", "the server accepts no bank account")
            return
        engine.run(cases.currencies_of_another_kind)
