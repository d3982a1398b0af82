"""Enumerations, country codes and currency codes (sections 4.2 to 4.7)."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checks.defective_bodies import Cases, DefectiveBodies, Fields, field_table
from conformance.checks.side_effects import UNTOUCHED
from conformance.checks.tables import table
from conformance.contract.traits import TRAITS
from conformance.judge.field_values import UNASSIGNED_CODES
from conformance.judge.oracle.body_rules import OTHER_CURRENCIES
from conformance.world.case import Case
from conformance.world.corpora import shown, values
from conformance.world.corpora.texts import WRONG_CODES
from conformance.world.corpora.wrong_values import wrong_choices


# On a create, enumerated fields decide the shape of the body.
@field_table("fields.enum", lambda field: field.choices, lambda ctx: not ctx.operation.traits.creates)
def test_value_outside_the_enumeration(at: DefectiveBodies, fields: Fields, where: str) -> Cases:
    """A valid body with a value that an enumeration does not list, some with the beginning or the end of a
    listed one, is refused."""
    for field in fields:
        wrong = ((value, value) for value in wrong_choices(field))
        yield from at.wrong("fields.enum", field, where, wrong, '"{}"')


def _of_fiat(at: DefectiveBodies, fields: Fields) -> Fields:
    """Returns the fields with codes of ISO standards: wallets have no fiat currency."""
    return [field for field in fields if field.code != "currency" or at.shape != "wallet"]


def _codes(at: DefectiveBodies, fields: Fields, where: str) -> Cases:
    """Yields country codes that are not two letters, and currency codes that are not three."""
    for field in _of_fiat(at, fields):
        wrong = ((shown(value), value) for value in values(WRONG_CODES[field.code]))
        yield from at.wrong(f"fields.{field.code}-code", field, where, wrong, '"{}"', elsewhere=2)


@field_table("fields.country-code", lambda field: field.code == "country")
def test_malformed_country_code(at: DefectiveBodies, fields: Fields, where: str) -> Cases:
    """A valid body of any kind whose country code is not two letters is refused."""
    return _codes(at, fields, where)


@field_table("fields.currency-code", lambda field: field.code == "currency")
def test_malformed_currency_code(at: DefectiveBodies, fields: Fields, where: str) -> Cases:
    """A valid body whose fiat currency code is not three letters is refused; wallets have none."""
    return _codes(at, fields, where)


@field_table("fields.unassigned-code", lambda field: field.code in UNASSIGNED_CODES)
def test_unassigned_code(at: DefectiveBodies, fields: Fields, where: str) -> Cases:
    """A valid body with the country code ZZ or the currency code ZZZ, which are not assigned, is refused."""
    for field in _of_fiat(at, fields):
        value = UNASSIGNED_CODES[field.code]
        yield from at.wrong("fields.unassigned-code", field, where, [(value, value)], '"{}"')


@table("fields.currency-kind", UNTOUCHED, at=DefectiveBodies)
def test_currency_of_the_other_kind(at: DefectiveBodies) -> Iterator[Case]:
    """A virtual account, a bank account or a payin in a cryptocurrency is refused, and so is a wallet in a
    fiat currency."""
    rule, kind = "fields.currency-kind", "fiat" if TRAITS[at.operation].unique_pair else "crypto"
    if at.valid().get("type") == "wallet":
        at.ctx.not_exercised(rule, "the server accepts no bank account")
        return
    for code in OTHER_CURRENCIES[at.operation]:
        yield at.defective(rule, f"currency {code}, which is {kind}", at.having("currency", code))
