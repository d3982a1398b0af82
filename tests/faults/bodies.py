"""Servers that accept bodies that are no objects; kinds of bodies that servers treat apart (section 4)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from conformance.contract.fields import Field
from conformance.reference.context import Context
from conformance.reference.seams.validation import FIELDS
from tests.specification import ADDRESS

from .catalogue import Call, Faulty, Row, faults, seam
from .rows import says, skipping

#: A test of a request, by a kind of its body as `says` reads it, or by a function.
Test = str | Callable[[Context], Any]

#: Operation -> tests of requests by kind. The resource is not stored yet.
Requests = dict[str, dict[str, Test]]

#: Returns fields of an operation.
Names = Callable[[str], Iterable[str]]


def asks(ctx: Context, test: Test) -> bool:
    """Returns True for a request of a kind."""
    return says(ctx.body, test) if isinstance(test, str) else bool(test(ctx))


def _bodies(*kinds: str) -> dict[str, Test]:
    return {kind: kind for kind in kinds}


def _named(ctx: Context, kind: str) -> Any:
    """Returns the beneficiary, or the destination, that a body names."""
    return ctx.store.get(kind, str(ctx.body.get(f"{kind}_id"))) or {}


_OF_A_BUSINESS: dict[str, Test] = {
    "of a business": lambda ctx: says(ctx.beneficiary or {}, "beneficiary_type=business")
}

#: Kinds of bodies, each perhaps with a schema of its own.
SHAPES: Requests = {
    "createBeneficiary": _bodies("beneficiary_type=individual", "beneficiary_type=business"),
    "updateBeneficiary": {
        "existing individual": lambda ctx: says(ctx.beneficiary or {}, "beneficiary_type=individual")
    },
    "createPayoutDestination": _bodies("type=wallet", "iban, no account_number"),
}

_BANK = ("account_number", "account_name", "routing_number", "account_type")

#: Fields that determine the kind, or may be meaningless in it.
_ASIDE = {
    "beneficiary_type=individual": ("beneficiary_type", "company_name"),
    "beneficiary_type=business": ("beneficiary_type", "company_name"),
    "existing individual": ("company_name",),
    "type=wallet": ("type", *_BANK, "iban", "swift_code", "network", "wallet_address"),
    "iban, no account_number": ("type", *_BANK, "network", "wallet_address"),
}

#: Kinds of payments.
MONEY: Requests = {
    "createPayout": {
        **_bodies("currency!=USD", "no note"),
        "to a wallet": lambda ctx: says(_named(ctx, "payout_destination"), "type=wallet"),
        "to a business": lambda ctx: says(_named(ctx, "beneficiary"), "beneficiary_type=business"),
    },
    "createPayin": _bodies("currency!=USD", "payment_method=card", "no description"),
}

#: Kinds of requests for other resources.
OTHERS: Requests = {
    "createBeneficiary": {
        **_bodies("beneficiary_type=business, country_code=GB"),
        "the first of its account": lambda ctx: ctx.store.count("beneficiary", ctx.params["account_id"]) == 0,
    },
    "createPayoutDestination": _OF_A_BUSINESS,
    "createVirtualAccount": _bodies("currency=GBP"),
    "createWallet": _bodies("network=ethereum"),
}

#: Kinds of requests that a server may validate apart, by a currency or a type.
APART: Requests = {
    **MONEY,
    "createBeneficiary": _bodies("country_code=GB"),
    "createPayoutDestination": {
        **_bodies("currency=GBP", "account_type=savings", "is_default=True"),
        **_OF_A_BUSINESS,
    },
    "createVirtualAccount": _bodies("currency!=EUR", "address"),
    "createWallet": _bodies("currency=USDT"),
}

#: Fields that determine the kind of a request, or are meaningful only in some kinds.
_TELLING = ("currency", "network", "payment_method", "company_name", "iban", "swift_code")


def fields(wanted: Callable[[Field], Any]) -> Names:
    return lambda operation: [field.name for field in FIELDS[operation] if wanted(field)]


def in_bodies(names: Names) -> Callable[[str], dict[str, tuple[str, Test]]]:
    """Combines fields with the kinds of bodies in which they are meaningful."""
    return lambda operation: {
        f"{name}, {kind}": (name, test)
        for kind, test in SHAPES.get(operation, {}).items()
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
        lambda self, ctx, field, *_: field.name == self.value[0] and asks(ctx, self.value[1]),
        each=each,
        **options,
    )


# ---------------------------------------------------------------------- bodies

#: Values used in place of a field that should be refused.
INSTEAD: dict[str, Any] = {
    "country_code": "US",
    "country": "US",
    "currency": "USD",
    "amount": "1.00",
    "email": "a@example.com",
    "phone": "+12025550123",
    "address": dict(zip(ADDRESS, ("1 Main Street", "New York", "NY", "10001", "US"), strict=True)),
    "network": "ethereum",
    "type": "bank_account",
    "beneficiary_type": "individual",
    "account_type": "checking",
    "is_default": False,
}


def instead(behaviour: Faulty, ctx: Context, name: str) -> Any:
    """Returns a valid value for a field, in place of the one sent."""
    if ctx.operation == "createWallet" and name == "currency":
        return "USDC"
    if ctx.operation == "createWallet" and name == "network":
        # A network that fits the currency, and of which the account has no wallet.
        taken = ctx.store.query(
            "SELECT currency, network FROM wallet_pairs WHERE account = ?", ctx.params["account_id"]
        )
        free = ("solana_devnet", "ethereum", "polygon")
        return next(
            (network for network in free if (ctx.body.get("currency"), network) not in taken), "ethereum"
        )
    if name in ("beneficiary_id", "payout_destination_id"):
        kind = name.removesuffix("_id")
        rows = ctx.store.query("SELECT id, parent FROM resources WHERE kind = ? ORDER BY seq DESC", kind)
        accounts = dict(ctx.store.query("SELECT id, parent FROM resources WHERE kind = 'beneficiary'"))
        for identifier, parent in rows:
            if ctx.params["account_id"] in (parent, accounts.get(parent)):
                return identifier
    return INSTEAD.get(name, "Made up")


def mending(test: Call, **options: Any) -> Row:
    """Makes a row that uses its own valid value for the field `value`, or `value[0]`, where a test holds."""

    def parse_body(self: Any, usual: Any, ctx: Context) -> dict[str, Any]:
        ctx.body = body = usual()
        name = self.value if isinstance(self.value, str) else self.value[0]
        if not test(self, ctx, body, name):
            return body
        body = {**body, name: instead(self, ctx, name)}
        named = ctx.operation == "createPayout" and name in ("beneficiary_id", "payout_destination_id")
        return {**body, **_payee(ctx, body)} if named else body

    return seam("parse_body", parse_body, **options)


def _payee(ctx: Context, body: dict[str, Any]) -> dict[str, Any]:
    """Returns a beneficiary and one of its destinations."""
    destination = ctx.store.get("payout_destination", str(body["payout_destination_id"]))
    return {} if destination is None else {"beneficiary_id": destination["parent"]}


def _completed(self: Any, usual: Any, ctx: Context) -> Any:
    """Completes to a valid body what `value` reads of a broken one, unless that is none."""
    if _is_object(ctx.request.body):
        return usual()
    try:
        read = self.value(ctx.request.body)
    except (ValueError, RecursionError, AttributeError, TypeError, LookupError):
        read = None
    if not isinstance(read, dict):
        return usual()
    ctx.body = read
    return {**valid(self, ctx), **read}


def _is_object(body: bytes) -> bool:
    def refuse(literal: str) -> None:
        raise ValueError(literal)

    try:
        return isinstance(json.loads(body.decode(), parse_constant=refuse), dict)
    except (ValueError, RecursionError):
        return False


def valid(behaviour: Faulty, ctx: Context) -> dict[str, Any]:
    """Returns a body with all required fields."""
    body = {
        field.name: instead(behaviour, ctx, field.name) for field in FIELDS[ctx.operation] if field.required
    }
    if ctx.operation == "createPayout":
        body |= _payee(ctx, body)
    return body


def _of_type(kind: str) -> Callable[[bytes], dict[str, Any] | None]:
    """Returns what reads an empty object in a JSON value of a type."""
    return lambda body: {} if is_of_type(json.loads(body), kind) else None


def _mended(pattern: str, by: str) -> Callable[[bytes], Any]:
    """Returns what reads the JSON that results when what matches a pattern is replaced."""
    return lambda body: json.loads(re.sub(pattern, by, body.decode()))


faults["body.malformed"] |= {
    "A body that is not a JSON object in UTF-8 is accepted.": seam(
        "parse_body",
        _completed,
        each={
            "empty body": lambda body: {} if not body.strip() else None,
            "null": lambda body: json.loads(body) or {},
            **{kind: _of_type(kind) for kind in ("array", "string", "number", "boolean")},
            "array of one object": lambda body: json.loads(body)[0],
            "invalid UTF-8": lambda body: json.loads(body.decode("utf-8", "replace")),
            "text behind": lambda body: json.JSONDecoder().raw_decode(body.decode().lstrip("\ufeff \n\t\r"))[
                0
            ],
            "comma behind": _mended(r",\s*}", "}"),
            "single quotes": _mended("'", '"'),
            "unclosed": _mended("$", "}"),
            "anything": lambda body: {},
            "UTF-16": lambda body: json.loads(body.decode("utf-16")),
            "NaN": json.loads,
            "comments": _mended(r"/\*.*?\*/", ""),
            "raw control characters": lambda body: json.loads(body, strict=False),
            "numbers that begin with a zero": _mended(":0+([1-9])", r":\1"),
            "names without quotes": _mended(r"([{,])(\w+):", r'\1"\2":'),
        },
    )
}


# ---------------------------------------------------------------------- types


def required(operation: str) -> list[str]:
    """Returns the required fields of a create."""
    return [field.name for field in FIELDS[operation.replace("update", "create")] if field.required]


TYPES: dict[str, type | tuple[type, ...]] = {
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "string": str,
}


def types(names: Callable[[str], list[str]], kinds: tuple[str, ...]) -> Callable[[str], Any]:
    """Combines fields with the types that they do not have."""
    right = {"address": "object", "is_default": "boolean"}
    return lambda operation: {
        f"{name} {kind}": (name, kind)
        for name in names(operation)
        for kind in kinds
        if kind != right.get(name, "string")
    }


def is_of_type(value: Any, kind: str) -> bool:
    return isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
