"""Enumerations, country codes and currency codes (sections 4.2 to 4.7)."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.contract.fields import Field, request_fields
from conformance.contract.rules import RULES
from conformance.harness.check import check
from conformance.harness.context import CheckContext
from conformance.harness.invalid_bodies import InvalidBodies, elsewhere
from conformance.harness.side_effects import UNTOUCHED
from conformance.judge.forms import UNASSIGNED_CODES
from conformance.world.bodies import by_shape
from conformance.world.corpora.fields import wrong_choices
from conformance.world.corpora.texts import WRONG_CODES
from conformance.world.corpora.value import values


@check("fields.enum", UNTOUCHED, operations=RULES["fields.enum"].operations)
def test_value_outside_the_enumeration(ctx: CheckContext) -> None:
    """A valid body with a value that an enumeration does not list, or that only begins or ends like a listed
    one, is refused."""
    listed = [field for field in request_fields(ctx.operation.id) if field.choices]
    for shape, fields in by_shape(ctx.operation.id, listed).items():
        with InvalidBodies(ctx, shape) as invalid:
            for field in fields:
                for value in wrong_choices(field):
                    invalid.refused(
                        "fields.enum", invalid.having(field.name, value), f'{field.name} "{value}"'
                    )
    if ctx.operation.traits.creates:
        return  # there the enumerated fields say of which kind a body is
    for invalid, where, fields in elsewhere(ctx, listed):
        for field in fields:
            value = next(wrong_choices(field))
            what = f'{field.name} "{value}" in {where}'
            invalid.refused("fields.enum", invalid.having(field.name, value), what)


@check("fields.country-code", UNTOUCHED, operations=RULES["fields.country-code"].operations)
def test_malformed_country_code(ctx: CheckContext) -> None:
    """A valid body of any kind whose country code is not two letters is refused."""
    _refuse_codes(ctx, "country", "fields.country-code")


@check("fields.currency-code", UNTOUCHED, operations=RULES["fields.currency-code"].operations)
def test_malformed_currency_code(ctx: CheckContext) -> None:
    """A valid body whose fiat currency code is not three letters is refused; those of wallets are no fiat."""
    _refuse_codes(ctx, "currency", "fields.currency-code")


def _refuse_codes(ctx: CheckContext, code: str, rule: str) -> None:
    with InvalidBodies(ctx) as invalid:
        for field in request_fields(ctx.operation.id):
            if field.code == code:
                for value in values(WRONG_CODES[code]):
                    invalid.refused(rule, invalid.having(field.name, value), f'{field.name} "{value}"')
    for invalid, where, fields in _codes_elsewhere(ctx, code):
        for field in fields:
            for value in values(WRONG_CODES[code])[:2]:
                what = f'{field.name} "{value}" in {where}'
                invalid.refused(rule, invalid.having(field.name, value), what)


def _codes_elsewhere(ctx: CheckContext, *codes: str) -> Iterator[tuple[InvalidBodies, str, list[Field]]]:
    """The other kinds of body with their fields of such codes; currencies of wallets are no fiat."""
    for invalid, where, fields in elsewhere(ctx, request_fields(ctx.operation.id)):
        fiat = invalid.shape != "wallet"
        coded = [field for field in fields if field.code in codes and (field.code != "currency" or fiat)]
        yield invalid, where, coded


@check("fields.unassigned-code", UNTOUCHED, operations=RULES["fields.unassigned-code"].operations)
def test_unassigned_code(ctx: CheckContext) -> None:
    """A valid body with the country code ZZ or the currency code ZZZ, which nothing has, is refused."""
    with InvalidBodies(ctx) as invalid:
        for field in request_fields(ctx.operation.id):
            if field.code:
                value = UNASSIGNED_CODES[field.code]
                body = invalid.having(field.name, value)
                invalid.refused("fields.unassigned-code", body, f'{field.name} "{value}"')
    for invalid, where, fields in _codes_elsewhere(ctx, *UNASSIGNED_CODES):
        for field in fields:
            value = UNASSIGNED_CODES[str(field.code)]
            what = f'{field.name} "{value}" in {where}'
            invalid.refused("fields.unassigned-code", invalid.having(field.name, value), what)


@check("fields.currency-kind", UNTOUCHED, operations=RULES["fields.currency-kind"].operations)
def test_currency_of_the_other_kind(ctx: CheckContext) -> None:
    """A virtual account in a cryptocurrency is refused, and so is a wallet in a fiat currency."""
    crypto = ctx.operation.id == "createVirtualAccount"
    with InvalidBodies(ctx) as invalid:
        for code in ("BTC", "USDC") if crypto else ("USD", "EUR"):
            body = invalid.having("currency", code)
            invalid.refused(
                "fields.currency-kind", body, f"currency {code}, which is {'crypto' if crypto else 'fiat'}"
            )
