"""The values that spoil or just fill request fields are what they claim to be."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest

from conformance.contract import fields
from conformance.contract.fields import request_field, request_fields
from conformance.contract.operations import OPERATIONS, request_problems
from conformance.judge.forms import UNASSIGNED_CODES
from conformance.wire.messages import to_json
from conformance.world.corpora import amounts, texts
from conformance.world.corpora import fields as corpus
from conformance.world.corpora.value import values

FIELDS = [(operation, field) for operation in OPERATIONS for field in request_fields(operation)]
LIMITED = [(operation, field) for operation, field in FIELDS if field.max_length is not None]


def named(cases: list[tuple[str, fields.Field]]) -> list[str]:
    return [f"{operation}-{field.name}" for operation, field in cases]


def problems(operation: str, name: str, value: object) -> list[str]:
    """What openapi.yaml finds wrong with one field of an otherwise empty body."""
    found = request_problems(operation, to_json({name: value}), "")
    return [pointer for pointer in found if pointer.startswith(f"/{name}")]


def test_limits_are_those_of_the_specification() -> None:
    limits = {(operation, field.name): field.max_length for operation, field in LIMITED}
    assert limits["createAccount", "name"] == limits["createWallet", "label"] == 255
    assert limits["createBeneficiary", "title"] == limits["updateBeneficiary", "title"] == 20
    assert limits["createPayoutDestination", "iban"] == 34
    assert limits["createPayoutDestination", "swift_code"] == 11
    assert limits["createPayout", "note"] == 500


def test_an_update_keeps_what_a_create_requires() -> None:
    assert request_field("updateBeneficiary", "email").required
    assert not request_field("updateBeneficiary", "title").required
    with pytest.raises(KeyError, match="no field iban"):
        request_field("createPayout", "iban")


@pytest.mark.parametrize(("operation", "field"), LIMITED, ids=named(LIMITED))
def test_too_long_values_are_too_long(operation: str, field: fields.Field) -> None:
    assert field.max_length is not None
    lengths = [len(value) for _, value in corpus.too_long(field)]
    assert min(lengths) == field.max_length + 1
    assert max(lengths) == field.max_length + 1000
    for kind, value in corpus.too_long(field):
        assert problems(operation, field.name, value), kind
        assert kind.startswith(str(len(value)))
        assert value.isascii() is ("non-ASCII" not in kind)


@pytest.mark.parametrize(("operation", "field"), LIMITED, ids=named(LIMITED))
def test_longest_values_just_fit(operation: str, field: fields.Field) -> None:
    value = corpus.longest(field)
    if value is None:
        assert field.name in ("phone", "iban", "swift_code")
    else:
        assert len(value) == field.max_length
        assert not problems(operation, field.name, value)
        assert value.isascii() is (field.name in corpus.SYNTACTIC)
        assert all(ord(character) < 0x10000 for character in value)


@pytest.mark.parametrize("count", [80, 143, 144, 145, 254, 255, 256, 1255])
def test_emails_keep_the_limits_of_their_parts(count: int) -> None:
    address = corpus.email(count)
    local, _, domain = address.partition("@")
    assert len(address) == count
    assert len(local) == 64
    assert all(1 <= len(label) <= 63 for label in domain.split("."))


def test_an_email_with_a_long_name_breaks_one_limit_only() -> None:
    local, _, domain = corpus.email_with_long_name().partition("@")
    assert len(local) == 65
    assert domain == "example.com"


def test_long_ibans_have_valid_check_digits() -> None:
    iban = corpus.iban(35)
    digits = "".join(str(int(character, 36)) for character in iban[4:] + iban[:4])
    assert len(iban) == 35
    assert int(digits) % 97 == 1


@pytest.mark.parametrize(("operation", "field"), FIELDS, ids=named(FIELDS))
def test_wrong_types_are_wrong(operation: str, field: fields.Field) -> None:
    good = {"a": "b"} if field.type == "object" else "USD"
    for make in (corpus.wrong_types, corpus.wrong_optional_types):
        for kind, value in make(field, good):
            if field.type != "boolean" or not isinstance(value, bool):
                assert problems(operation, field.name, value), kind


def test_wrong_choices_are_not_listed() -> None:
    for operation, field in FIELDS:
        if field.choices:
            wrong = list(corpus.wrong_choices(field))
            assert len(wrong) == len(set(wrong)) >= 4
            assert all(problems(operation, field.name, value) for value in wrong)


def test_wrong_codes_have_no_right_form_and_unassigned_ones_have() -> None:
    forms = {"country": "[A-Za-z]{2}", "currency": "[A-Za-z]{3}"}
    for code, form in forms.items():
        assert not [value for value in values(texts.WRONG_CODES[code]) if re.fullmatch(form, value)]
        assert re.fullmatch(form, UNASSIGNED_CODES[code])


def test_amounts_are_what_they_are_called() -> None:
    plain = re.compile("[0-9]+([.][0-9]+)?")
    for value in values((*amounts.REFUSED, *amounts.REFUSED_TOO)):
        assert not (isinstance(value, str) and plain.fullmatch(value) and Decimal(value) > 0), value
    assert all(plain.fullmatch(value) and Decimal(value) > 0 for value in values(amounts.EXACT))
