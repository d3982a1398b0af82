"""Servers that accept bodies that are no objects; kinds of bodies that servers treat apart (section 4)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from conformance.contract.fields import Field
from conformance.reference.context import Context
from conformance.reference.seams.validation import FIELDS

from .catalogue import Faulty, Row, faults, hook, seam
from .crashes import BODY_OPERATIONS
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


def _named_payee(ctx: Context) -> Any:
    return ctx.store.get("beneficiary", str(ctx.body.get("beneficiary_id"))) or {}


def _of_a_business(ctx: Context) -> bool:
    return (ctx.beneficiary or {}).get("beneficiary_type") == "business"


#: Kinds of bodies, each perhaps with a schema of its own.
SHAPES: Requests = {
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
        "to a business": lambda ctx: _named_payee(ctx).get("beneficiary_type") == "business",
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
        lambda self, ctx, field, *_: field.name == self.value[0] and self.value[1](ctx),
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
    "address": {
        "address_line": "1 Main Street",
        "city": "New York",
        "region": "NY",
        "postal_code": "10001",
        "country": "US",
    },
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


class Mends(Faulty):
    """Uses its own valid value for the field `self.value[0]` where it `mends` the one sent."""

    def mends(self, ctx: Context, body: dict[str, Any], name: str) -> bool:
        return False

    def parse_body(self, ctx: Context) -> dict[str, Any]:
        body = super().parse_body(ctx)
        name = self.value if isinstance(self.value, str) else self.value[0]
        ctx.body = body
        if self.here(ctx) and self.mends(ctx, body, name):
            body = {**body, name: instead(self, ctx, name)}
            if ctx.operation == "createPayout" and name in ("beneficiary_id", "payout_destination_id"):
                body = {**body, **_payee(ctx, body)}
        return body


mending = hook(Mends, "mends")


def _payee(ctx: Context, body: dict[str, Any]) -> dict[str, Any]:
    """Returns a beneficiary and one of its destinations."""
    destination = ctx.store.get("payout_destination", str(body["payout_destination_id"]))
    return {} if destination is None else {"beneficiary_id": destination["parent"]}


def _lenient(text: str) -> dict[str, Any]:
    """Returns the JSON object at the start of a text, or what can be parsed of it."""
    document, _ = json.JSONDecoder().raw_decode(text.lstrip("\ufeff \n\t\r"))
    return dict(document)


class TakesBodies(Faulty):
    """Accepts a broken body by completing what `reads` returns to a valid one."""

    def reads(self, ctx: Context, body: bytes) -> dict[str, Any] | None:
        return None

    def parse_body(self, ctx: Context) -> dict[str, Any]:
        if self.here(ctx):
            try:
                read = self.reads(ctx, ctx.request.body)
            except (ValueError, RecursionError, AttributeError, TypeError):
                read = None
            if read is not None:
                ctx.body = read
                return {**valid(self, ctx), **read}
        return super().parse_body(ctx)


reading = hook(TakesBodies, "reads")


def valid(behaviour: Faulty, ctx: Context) -> dict[str, Any]:
    """Returns a body with all required fields."""
    body = {
        field.name: instead(behaviour, ctx, field.name) for field in FIELDS[ctx.operation] if field.required
    }
    if ctx.operation == "createPayout":
        body |= _payee(ctx, body)
    return body


def _refuse(literal: str) -> None:
    raise ValueError(literal)


def mended(mend: Callable[[str], str]) -> Callable[[bytes], dict[str, Any] | None]:
    """Returns what reads the object in a body after mending it; None for a body that was valid before."""

    def read(body: bytes) -> dict[str, Any] | None:
        text = body.decode("utf-8")
        try:
            json.loads(text, parse_constant=_refuse)
            return None
        except ValueError:
            document = json.loads(mend(text))
            return document if isinstance(document, dict) else None

    return read


def where_read(test: Callable[[Any], object]) -> Callable[[bytes], dict[str, Any] | None]:
    """Returns what reads an empty object in a body for which a test of its value holds."""
    return lambda body: {} if test(json.loads(body)) else None


def _first(body: bytes) -> dict[str, Any] | None:
    """Returns the only object of an array."""
    document = json.loads(body)
    return document[0] if isinstance(document, list) and document and isinstance(document[0], dict) else None


def _replaced(body: bytes) -> dict[str, Any] | None:
    """Returns the object of a body in invalid UTF-8."""
    text = body.decode("utf-8", "replace")
    return None if text.encode() == body else dict(json.loads(text))


def _anything(body: bytes) -> dict[str, Any] | None:
    try:
        json.loads(body)
    except ValueError:
        return {}
    return None


#: Kind -> what is parsed of a body that should be refused.
BODIES: dict[str, Callable[[bytes], dict[str, Any] | None]] = {
    "empty body": lambda body: {} if not body.strip() else None,
    "null": where_read(lambda document: document is None),
    "array": where_read(lambda document: isinstance(document, list)),
    "array of one object": _first,
    "string": where_read(lambda document: isinstance(document, str)),
    "number": where_read(lambda document: type(document) in (int, float)),
    "true": where_read(lambda document: document is True),
    "invalid UTF-8": _replaced,
    "text behind": mended(lambda text: json.dumps(_lenient(text))),
    "comma behind": mended(lambda text: re.sub(r",\s*}", "}", text)),
    "single quotes": mended(lambda text: text.replace("'", '"')),
    "unclosed": mended(lambda text: text + "}"),
    "anything": _anything,
}

#: Kind -> result of parsing a body that is not JSON.
PARSERS: dict[str, Callable[[bytes], Any]] = {
    "UTF-16": lambda body: json.loads(body.decode("utf-16") if body[:1] in b"\xff\xfe" else body),
    "NaN": json.loads,
    "comments": lambda body: json.loads(re.sub(rb"/\*.*?\*/", b"", body)),
    "raw control characters": lambda body: json.loads(body, strict=False),
    "numbers that begin with a zero": lambda body: json.loads(re.sub(rb":0+([1-9])", rb":\1", body)),
    "names without quotes": lambda body: json.loads(re.sub(rb"([{,])(\w+):", rb'\1"\2":', body)),
}


def _parsed(self: Any, ctx: Context) -> Any:
    try:
        document = self.value(ctx.request.body)
    except (ValueError, RecursionError):
        document = None
    return document if isinstance(document, dict) else self.usual()


faults["body.malformed"] |= {
    "A body that is not a JSON object in UTF-8 is accepted.": reading(
        lambda self, ctx, body: self.value(body), each=BODIES
    ),
    "The parser takes more than JSON.": seam("parse_body", _parsed, operations=BODY_OPERATIONS, each=PARSERS),
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
