"""Kinds of bodies that a server may validate with separate schemas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.contract.fields import Field
from conformance.reference.context import Context
from conformance.reference.seams.validation import FIELDS


def _type_of(ctx: Context) -> str:
    return str((ctx.beneficiary or {}).get("beneficiary_type"))


#: Kind of body -> operations that accept it, and predicate.
KINDS: dict[str, tuple[tuple[str, ...], Callable[[Context, dict[str, Any]], bool]]] = {
    "individual": (("createBeneficiary",), lambda _, body: body.get("beneficiary_type") == "individual"),
    "business": (("createBeneficiary",), lambda _, body: body.get("beneficiary_type") == "business"),
    "existing individual": (("updateBeneficiary",), lambda ctx, _: _type_of(ctx) == "individual"),
    "wallet": (("createPayoutDestination",), lambda _, body: body.get("type") == "wallet"),
    "IBAN alone": (
        ("createPayoutDestination",),
        lambda _, body: "iban" in body and "account_number" not in body,
    ),
}

_BANK = ("account_number", "account_name", "routing_number", "account_type")

#: Fields that determine the kind, or may be meaningless in it.
_ASIDE = {
    "individual": ("beneficiary_type", "company_name"),
    "business": ("beneficiary_type", "company_name"),
    "existing individual": ("company_name",),
    "wallet": ("type", *_BANK, "iban", "swift_code", "network", "wallet_address"),
    "IBAN alone": ("type", *_BANK, "network", "wallet_address"),
}


def each_field(wanted: Callable[[str], list[str]]) -> Callable[[str], dict[str, tuple[str, str]]]:
    """Combines the kinds of an operation with the wanted fields that are meaningful in them; the field comes
    first."""
    return lambda operation: {
        f"{name}, {kind}": (name, kind)
        for kind, (operations, _) in KINDS.items()
        if operation in operations
        for name in wanted(operation)
        if name not in _ASIDE[kind]
    }


def each_field_like(wanted: Callable[[Field], bool]) -> Callable[[str], dict[str, tuple[str, str]]]:
    return each_field(lambda operation: [field.name for field in FIELDS[operation] if wanted(field)])


def is_in_kind(self: Any, ctx: Context, body: dict[str, Any], name: str) -> bool:
    """Returns True for the fault's field in a body of its kind."""
    return bool(name == self.value[0] and KINDS[self.value[1]][1](ctx, body))


def unless_in_kind(self: Any, ctx: Context, field: Field, *_: Any) -> None:
    """Skips the validation of one field in one kind of body."""
    if not is_in_kind(self, ctx, ctx.body, field.name):
        self.usual()


CREATES = ("createBeneficiary", "createPayoutDestination")

ALL = ("createBeneficiary", "updateBeneficiary", "createPayoutDestination")

PEOPLE = ("createBeneficiary", "updateBeneficiary")


def other_type(body: dict[str, Any], name: str) -> bool:
    return isinstance(body.get(name), (int, list)) and not isinstance(body.get(name), bool)


Requests = dict[str, Callable[[Context], bool]]


def _paid_to(ctx: Context) -> Any:
    return ctx.store.get("payout_destination", str(ctx.body.get("payout_destination_id"))) or {}


def _payee(ctx: Context) -> Any:
    return ctx.store.get("beneficiary", str(ctx.body.get("beneficiary_id"))) or {}


#: Operation -> kind of request -> predicate. The resource is not stored yet.
MONEY: dict[str, Requests] = {
    "createPayout": {
        "another currency": lambda ctx: ctx.body.get("currency") != "USD",
        "to a wallet": lambda ctx: _paid_to(ctx).get("type") == "wallet",
        "to a business": lambda ctx: _payee(ctx).get("beneficiary_type") == "business",
        "without a note": lambda ctx: "note" not in ctx.body,
    },
    "createPayin": {
        "another currency": lambda ctx: ctx.body.get("currency") != "USD",
        "by card": lambda ctx: ctx.body.get("payment_method") == "card",
        "without a description": lambda ctx: "description" not in ctx.body,
    },
}


#: The same for other resources.
OTHERS: dict[str, Requests] = {
    "createBeneficiary": {
        "a British business": lambda ctx: (
            ctx.body.get("beneficiary_type") == "business" and ctx.body.get("country_code") == "GB"
        ),
        "the first of its account": lambda ctx: ctx.store.count("beneficiary", ctx.params["account_id"]) == 0,
    },
    "createPayoutDestination": {
        "of a business": lambda ctx: (ctx.beneficiary or {}).get("beneficiary_type") == "business"
    },
    "createVirtualAccount": {"in pounds": lambda ctx: ctx.body.get("currency") == "GBP"},
    "createWallet": {"on ethereum": lambda ctx: ctx.body.get("network") == "ethereum"},
}


def _is(name: str, value: Any) -> Callable[[Context], bool]:
    return lambda ctx: ctx.body.get(name) == value


#: Operation -> kinds of requests that a server may validate separately.
CHECKED_APART: dict[str, Requests] = {
    **MONEY,
    "createBeneficiary": {"British": _is("country_code", "GB")},
    "createPayoutDestination": {
        "in pounds": _is("currency", "GBP"),
        "a savings account": _is("account_type", "savings"),
        "the default": _is("is_default", True),
        "of a business": lambda ctx: (ctx.beneficiary or {}).get("beneficiary_type") == "business",
    },
    "createVirtualAccount": {
        "another currency": lambda ctx: ctx.body.get("currency") != "EUR",
        "with an address": lambda ctx: "address" in ctx.body,
    },
    "createWallet": {"another currency": _is("currency", "USDT")},
}


#: Fields that determine the kind of a request, or are meaningful only in some kinds.
_TELLING = ("currency", "network", "payment_method", "company_name", "iban", "swift_code")


def each_apart(wanted: Callable[[Field], bool]) -> Callable[[str], dict[str, tuple[str, Any]]]:
    """Combines the wanted fields with each kind of request that is validated separately."""
    return lambda operation: {
        f"{field.name}, {kind}": (field.name, is_of_it)
        for field in FIELDS[operation]
        if wanted(field) and field.name not in _TELLING and not field.name.endswith("_id")
        for kind, is_of_it in CHECKED_APART.get(operation, {}).items()
        if field.name not in kind
    }


def unless_apart(self: Any, ctx: Context, field: Field, *_: Any) -> None:
    """Skips the validation of one field in one kind of request."""
    if field.name != self.value[0] or not self.value[1](ctx):
        self.usual()
