"""Enumerations, country codes and currency codes (sections 4.2 to 4.7)."""

from __future__ import annotations

from conformance.contract.fields import request_fields
from conformance.contract.rules import RULES
from conformance.fixtures.bodies import Shapes, by_shape
from conformance.fixtures.corpora.fields import UNASSIGNED_CODES, WRONG_CODES, wrong_choices
from conformance.harness.check import check
from conformance.harness.context import Trial
from conformance.harness.invalid_bodies import UNTOUCHED, Bench


@check("fields.enum", UNTOUCHED, operations=RULES["fields.enum"].operations)
def test_value_outside_the_enumeration(trial: Trial) -> None:
    """A sound body with a value that an enumeration does not list, or that only begins or ends like a listed
    one, is refused."""
    listed = [field for field in request_fields(trial.operation.id) if field.choices]
    for shape, fields in by_shape(trial.operation.id, listed).items():
        with Bench(trial, shape) as bench:
            for field in fields:
                for value in wrong_choices(field):
                    bench.refused("fields.enum", bench.having(field.name, value), f'{field.name} "{value}"')


@check("fields.country-code", UNTOUCHED, operations=RULES["fields.country-code"].operations)
def test_malformed_country_code(trial: Trial) -> None:
    """A sound body whose country code is not two letters is refused, that of a wallet destination as well."""
    _refuse_codes(trial, "country", "fields.country-code")
    shapes = Shapes(trial.suite, trial.operation.id)
    if "wallet" in shapes.names and shapes.accepted("wallet"):
        with Bench(trial, "wallet") as bench:
            for value in WRONG_CODES["country"][:2]:
                body = bench.having("country", value)
                bench.refused("fields.country-code", body, f'country "{value}" of a wallet destination')


@check("fields.currency-code", UNTOUCHED, operations=RULES["fields.currency-code"].operations)
def test_malformed_currency_code(trial: Trial) -> None:
    """A sound body whose fiat currency code is not three letters is refused; those of wallets are no fiat."""
    _refuse_codes(trial, "currency", "fields.currency-code")


def _refuse_codes(trial: Trial, code: str, rule: str) -> None:
    with Bench(trial) as bench:
        for field in request_fields(trial.operation.id):
            if field.code == code:
                for value in WRONG_CODES[code]:
                    bench.refused(rule, bench.having(field.name, value), f'{field.name} "{value}"')


@check("fields.unassigned-code", UNTOUCHED, operations=RULES["fields.unassigned-code"].operations)
def test_unassigned_code(trial: Trial) -> None:
    """A sound body with the country code ZZ or the currency code ZZZ, which nothing has, is refused."""
    with Bench(trial) as bench:
        for field in request_fields(trial.operation.id):
            if field.code:
                value = UNASSIGNED_CODES[field.code]
                body = bench.having(field.name, value)
                bench.refused("fields.unassigned-code", body, f'{field.name} "{value}"')
