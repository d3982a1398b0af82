"""Limits of request fields are those of the specification, and values that fill them are well-formed."""

from __future__ import annotations

import pytest

from conformance.contract.fields import request_fields
from conformance.contract.operations import OPERATIONS
from conformance.world.corpora import wrong_values as corpus

FIELDS = [(operation, field) for operation in OPERATIONS for field in request_fields(operation)]


def test_an_update_keeps_what_a_create_requires() -> None:
    required = {field.name: field.required for field in request_fields("updateBeneficiary")}
    assert required["email"] and not required["title"]


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
