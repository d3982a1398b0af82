"""Values of fields that differ from given ones, and are as valid."""

from __future__ import annotations

import re
from collections.abc import Mapping

from conformance.contract.fields import PLAIN_TEXT, request_fields
from conformance.contract.operations import OPERATIONS
from conformance.world.samples import iban

_OF_CODES: Mapping[str, tuple[str, ...]] = {"country": ("CA", "FR"), "currency": ("USD", "EUR")}

#: Valid values of fields whose syntax leaves no room for a changed character: of those that list values, or
#: hold a code, and of others.
ALTERNATIVES: Mapping[str, tuple[str, ...]] = {
    field.name: field.choices or _OF_CODES[field.code]
    for operation in OPERATIONS
    for field in request_fields(operation)
    if field.choices or field.code
} | {
    "title": ("Mr", "Ms"),
    "routing_number": ("026009593", "021000021"),
    "swift_code": ("COBADEFF", "DEUTDEFF"),
    "payment_method": ("card", "bank_transfer"),
    "type": ("wallet", "bank_account"),
    "network": ("polygon", "ethereum"),
}


def other_value(name: str, value: str) -> str | None:
    """Another valid value of a field; None when none is known."""
    if name in ALTERNATIVES:
        return next(alternative for alternative in ALTERNATIVES[name] if alternative != value)
    if name == "email":
        local, at, domain = value.partition("@")
        return other_end(local) + at + domain
    if name == "iban":
        return iban(value[-4:])
    if name in ("account_number", "wallet_address"):
        # What a mask shows of it stays: a server may compare no more.
        middle = max(1, len(value) // 2)
        return other_end(value[:middle]) + value[middle:]
    if name in (*PLAIN_TEXT, "account_name", "phone", "tax_id", "amount"):
        return other_end(value)
    return None


def other_last(name: str, value: str) -> str:
    """Another valid number of an account, an IBAN or an address, which differs at its end only."""
    if name == "iban" and re.fullmatch("[0-9]{4}", end := value[-4:]):
        # The check digits stay right.
        return f"{value[:-4]}{int(end) + (97 if int(end) < 9900 else -97):04d}"
    return other_end(value)


def other_end(text: str) -> str:
    """Replaces the last character by one of its kind: letter, digit or sign."""
    if not text:
        return "x"
    first, second = ("1", "2") if text[-1].isdigit() else ("x", "y") if text[-1].isalpha() else (".", ",")
    return text[:-1] + (first if text[-1] != first else second)
