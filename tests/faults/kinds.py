"""Kinds of requests that a server may treat apart, as with separate schemas."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from conformance.contract.fields import Field
from conformance.reference.context import Context
from conformance.reference.seams.validation import FIELDS

from .catalogue import Row
from .rows import skipping

Test = Callable[[Context], Any]

#: Operation -> kind of request -> predicate. The resource is not stored yet.
Requests = dict[str, dict[str, Test]]

#: Returns fields of an operation.
Names = Callable[[str], Iterable[str]]


def _is(name: str, value: Any) -> Test:
    return lambda ctx: ctx.body.get(name) == value


def _paid_to(ctx: Context) -> Any:
    return ctx.store.get("payout_destination", str(ctx.body.get("payout_destination_id"))) or {}


def _payee(ctx: Context) -> Any:
    return ctx.store.get("beneficiary", str(ctx.body.get("beneficiary_id"))) or {}


def _of_a_business(ctx: Context) -> bool:
    return (ctx.beneficiary or {}).get("beneficiary_type") == "business"


#: Kinds of bodies, each perhaps with a schema of its own.
BODIES: Requests = {
    "createBeneficiary": {
        "individual": _is("beneficiary_type", "individual"),
        "business": _is("beneficiary_type", "business"),
    },
    "updateBeneficiary": {
        "existing individual": lambda ctx: (ctx.beneficiary or {}).get("beneficiary_type") == "individual"
    },
    "createPayoutDestination": {
        "wallet": _is("type", "wallet"),
        "IBAN alone": lambda ctx: "iban" in ctx.body and "account_number" not in ctx.body,
    },
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

#: Kinds of payments.
MONEY: Requests = {
    "createPayout": {
        "another currency": lambda ctx: ctx.body.get("currency") != "USD",
        "to a wallet": lambda ctx: _paid_to(ctx).get("type") == "wallet",
        "to a business": lambda ctx: _payee(ctx).get("beneficiary_type") == "business",
        "without a note": lambda ctx: "note" not in ctx.body,
    },
    "createPayin": {
        "another currency": lambda ctx: ctx.body.get("currency") != "USD",
        "by card": _is("payment_method", "card"),
        "without a description": lambda ctx: "description" not in ctx.body,
    },
}

#: Kinds of requests for other resources.
OTHERS: Requests = {
    "createBeneficiary": {
        "a British business": lambda ctx: (
            ctx.body.get("beneficiary_type") == "business" and ctx.body.get("country_code") == "GB"
        ),
        "the first of its account": lambda ctx: ctx.store.count("beneficiary", ctx.params["account_id"]) == 0,
    },
    "createPayoutDestination": {"of a business": _of_a_business},
    "createVirtualAccount": {"in pounds": _is("currency", "GBP")},
    "createWallet": {"on ethereum": _is("network", "ethereum")},
}

#: Kinds of requests that a server may validate apart, by a currency or a type.
APART: Requests = {
    **MONEY,
    "createBeneficiary": {"British": _is("country_code", "GB")},
    "createPayoutDestination": {
        "in pounds": _is("currency", "GBP"),
        "a savings account": _is("account_type", "savings"),
        "the default": _is("is_default", True),
        "of a business": _of_a_business,
    },
    "createVirtualAccount": {
        "another currency": lambda ctx: ctx.body.get("currency") != "EUR",
        "with an address": lambda ctx: "address" in ctx.body,
    },
    "createWallet": {"another currency": _is("currency", "USDT")},
}

#: Fields that determine the kind of a request, or are meaningful only in some kinds.
_TELLING = ("currency", "network", "payment_method", "company_name", "iban", "swift_code")


def fields(wanted: Callable[[Field], Any]) -> Names:
    return lambda operation: [field.name for field in FIELDS[operation] if wanted(field)]


def in_bodies(names: Names) -> Callable[[str], dict[str, tuple[str, Test]]]:
    """Combines fields with the kinds of bodies in which they are meaningful."""
    return lambda operation: {
        f"{name}, {kind}": (name, test)
        for kind, test in BODIES.get(operation, {}).items()
        for name in names(operation)
        if name not in _ASIDE[kind]
    }


def apart(names: Names) -> Callable[[str], dict[str, tuple[str, Test]]]:
    """Combines fields with the kinds of requests that are validated apart."""
    return lambda operation: {
        f"{name}, {kind}": (name, test)
        for name in names(operation)
        if name not in _TELLING and not name.endswith("_id")
        for kind, test in APART.get(operation, {}).items()
        if name not in kind
    }


def everywhere(names: Names) -> Callable[[str], dict[str, tuple[str, Test]]]:
    """Combines fields with both."""
    return lambda operation: in_bodies(names)(operation) | apart(names)(operation)


def unchecked(name: str, each: Callable[[str], dict[str, tuple[str, Test]]], **options: Any) -> Row:
    """Makes a row that skips a check of one field in one kind of request."""
    return skipping(
        name,
        lambda self, ctx, field, *_: field.name == self.value[0] and self.value[1](ctx),
        each=each,
        **options,
    )
