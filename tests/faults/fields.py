"""Servers that break a rule of bodies and fields: sections 4 and 8 of the specification."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from conformance.reference.context import Context
from conformance.reference.fields import FIELDS, Field
from conformance.reference.refusals import Refusal

from .catalogue import Faulty, fault

ADDRESS = {"address_line": "1 Main Street", "city": "New York", "region": "NY", "postal_code": "10001", "country": "US"}

#: What a server takes for a field when it should refuse what was sent.
INSTEAD: dict[str, Any] = {
    "country_code": "US", "country": "US", "currency": "USD", "amount": "1.00", "email": "a@example.com",
    "phone": "+12025550123", "address": ADDRESS, "network": "ethereum", "type": "bank_account",
    "beneficiary_type": "individual", "account_type": "checking", "is_default": False,
}


def instead(behaviour: Faulty, ctx: Context, name: str) -> Any:
    """A sound value for a field, made up by the server."""
    if ctx.operation == "createWallet" and name == "currency":
        return "USDC"
    if ctx.operation == "createWallet" and name == "network":
        # One that goes with the currency and that no wallet of the account has.
        taken = ctx.store.query("SELECT currency, network FROM wallet_pairs WHERE account = ?", ctx.params["account_id"])
        free = ("solana_devnet", "ethereum", "polygon")
        return next((one for one in free if (ctx.body.get("currency"), one) not in taken), "ethereum")
    if name in ("beneficiary_id", "payout_destination_id"):
        kind = name.removesuffix("_id")
        rows = ctx.store.query("SELECT id, parent FROM resources WHERE kind = ? ORDER BY seq DESC", kind)
        accounts = dict(ctx.store.query("SELECT id, parent FROM resources WHERE kind = 'beneficiary'"))
        for identifier, parent in rows:
            if ctx.params["account_id"] in (parent, accounts.get(parent)):
                return identifier
    return INSTEAD.get(name, "Made up")


class Mends(Faulty):
    """Takes a sound value of its own for one field, `self.value[0]`, where it `mends` what was sent."""

    def mends(self, ctx: Context, body: dict[str, Any], name: str) -> bool:
        raise NotImplementedError

    def parse_body(self, ctx: Context) -> dict[str, Any]:
        body = super().parse_body(ctx)
        name = self.value if isinstance(self.value, str) else self.value[0]
        if self.here(ctx) and self.mends(ctx, body, name):
            ctx.body = body
            body = {**body, name: instead(self, ctx, name)}
            if ctx.operation == "createPayout" and name in ("beneficiary_id", "payout_destination_id"):
                body = {**body, **_payee(ctx, body)}
        return body


def _payee(ctx: Context, body: dict[str, Any]) -> dict[str, Any]:
    """A beneficiary and a destination that go together."""
    destination = ctx.store.get("payout_destination", str(body["payout_destination_id"]))
    return {} if destination is None else {"beneficiary_id": destination["parent"]}


# --------------------------------------------------------------------------- bodies


def _lenient(text: str) -> dict[str, Any]:
    """The object that a text begins with, or the object with what can be read of it."""
    document, _ = json.JSONDecoder().raw_decode(text.lstrip("\ufeff \n\t\r"))
    return dict(document)


class TakesBodies(Faulty):
    """Takes the sound body of its own making for what `reads` makes of a broken one."""

    def reads(self, ctx: Context, body: bytes) -> dict[str, Any] | None:
        raise NotImplementedError

    def parse_body(self, ctx: Context) -> dict[str, Any]:
        if self.here(ctx):
            try:
                read = self.reads(ctx, ctx.request.body)
            except (ValueError, RecursionError, AttributeError, TypeError):
                read = None
            if read is not None:
                ctx.body = read
                return {**sound(self, ctx), **read}
        return super().parse_body(ctx)


def sound(behaviour: Faulty, ctx: Context) -> dict[str, Any]:
    """A body with all required fields."""
    body = {field.name: instead(behaviour, ctx, field.name) for field in FIELDS[ctx.operation] if field.required}
    if ctx.operation == "createPayout":
        body |= _payee(ctx, body)
    return body


def _object(body: bytes, mend: Callable[[str], str]) -> dict[str, Any] | None:
    """What a body holds once it is mended, unless it was sound before."""
    text = body.decode("utf-8")
    try:
        json.loads(text, parse_constant=_refuse)
        return None
    except ValueError:
        document = json.loads(mend(text))
        return document if isinstance(document, dict) else None


def _refuse(literal: str) -> None:
    raise ValueError(literal)


#: Kind -> what is read of a body that should be refused.
BODIES: dict[str, Callable[[bytes], dict[str, Any] | None]] = {
    "empty body": lambda body: {} if not body.strip() else None,
    "null": lambda body: {} if body.strip() == b"null" else None,
    "array": lambda body: {} if isinstance(json.loads(body), list) else None,
    "array of one object": lambda body: _only(json.loads(body)),
    "string": lambda body: {} if isinstance(json.loads(body), str) else None,
    "number": lambda body: {} if re.fullmatch(rb"-?[0-9.]+", body.strip()) else None,
    "true": lambda body: {} if json.loads(body) is True else None,
    "invalid UTF-8": lambda body: _invalid(body),
    "text behind": lambda body: _object(body, lambda text: json.dumps(_lenient(text))),
    "comma behind": lambda body: _object(body, lambda text: re.sub(r",\s*}", "}", text)),
    "single quotes": lambda body: _object(body, lambda text: text.replace("'", '"')),
    "unclosed": lambda body: _object(body, lambda text: text + "}"),
    "anything": lambda body: _anything(body),
}


def _only(document: Any) -> dict[str, Any] | None:
    return document[0] if isinstance(document, list) and document and isinstance(document[0], dict) else None


def _invalid(body: bytes) -> dict[str, Any] | None:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return dict(json.loads(body.decode("utf-8", "replace")))
    return None


def _anything(body: bytes) -> dict[str, Any] | None:
    try:
        json.loads(body)
    except ValueError:
        return {}
    return None


@fault("body.malformed", each=BODIES)
class ReadsMalformed(TakesBodies):
    """A body that is no JSON object in UTF-8 is accepted."""

    def reads(self, ctx: Context, body: bytes) -> dict[str, Any] | None:
        return self.value(body)  # type: ignore[no-any-return]


# --------------------------------------------------------------------------- presence and type


def required(operation: str) -> list[str]:
    """The fields that a create demands."""
    return [field.name for field in FIELDS[operation.replace("update", "create")] if field.required]


def optional(operation: str) -> list[str]:
    """The other fields."""
    return [field.name for field in FIELDS[operation] if field.name not in required(operation)]


@fault("fields.required", each=required)
class FillsIn(Mends):
    """A missing required field is filled in."""

    def mends(self, ctx: Context, body: dict[str, Any], name: str) -> bool:
        return name not in body


@fault("fields.required", each=lambda operation: [name for name in required(operation) if name not in (
    "beneficiary_id", "payout_destination_id", "network") and (operation, name) != ("createWallet", "currency")])
class LeavesEmpty(Faulty):
    """A missing required field is left empty."""

    def check_present(self, ctx: Context, field: Field) -> None:
        if field.name != self.value:
            super().check_present(ctx, field)


@fault("fields.required-null", each=required)
class FillsInNull(Mends):
    """A required field that is null is filled in."""

    def mends(self, ctx: Context, body: dict[str, Any], name: str) -> bool:
        return name in body and body[name] is None


TYPES: dict[str, type | tuple[type, ...]] = {
    "number": (int, float), "boolean": bool, "array": list, "object": dict, "string": str,
}


def _types(names: Callable[[str], list[str]], kinds: tuple[str, ...]) -> Callable[[str], Any]:
    def each(operation: str) -> dict[str, tuple[str, str]]:
        return {f"{name} {kind}": (name, kind) for name in names(operation) for kind in kinds if kind != _type(name)}
    return each


def _type(name: str) -> str:
    return {"address": "object", "is_default": "boolean"}.get(name, "string")


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _typed(operation: str) -> list[str]:
    # Of these other rules speak: fields.address and fields.amount.
    return [name for name in required(operation) if name not in ("address", "amount")]


@fault("fields.type", each=_types(_typed, tuple(TYPES)))
class TakesOtherTypes(Mends):
    """A required field of this wrong type is accepted."""

    def mends(self, ctx: Context, body: dict[str, Any], name: str) -> bool:
        return name in body and _is(body[name], self.value[1])


@fault("fields.optional-type", each=_types(optional, ("array", "object")))
class DropsOtherTypes(Faulty):
    """An optional field of this wrong type is left out."""

    def parse_body(self, ctx: Context) -> dict[str, Any]:
        body, (name, kind) = super().parse_body(ctx), self.value
        return {key: value for key, value in body.items() if key != name or not _is(value, kind)}


@fault("fields.address", each=_types(lambda operation: ["address"], ("string", "number", "boolean", "array")))
class TakesOtherAddresses(Mends):
    """An address that is no object is accepted."""

    def mends(self, ctx: Context, body: dict[str, Any], name: str) -> bool:
        return name in body and _is(body[name], self.value[1])


# --------------------------------------------------------------------------- lengths


def limited(operation: str) -> list[str]:
    """The fields with a maximum length."""
    return [field.name for field in FIELDS[operation] if field.max_length is not None]


class Lengths(Faulty):
    """Lets a value of the field `self.value` pass or not by `fits`."""

    def fits(self, field: Field, value: str, maximum: int) -> bool:
        raise NotImplementedError

    def check_length(self, ctx: Context, field: Field, value: str) -> None:
        if not self.here(ctx) or field.name != self.value or field.max_length is None:
            super().check_length(ctx, field, value)
        elif not self.fits(field, value, field.max_length):
            raise self.invalid(ctx, field, "too_long", "is too long")


@fault("fields.max-length", each=limited)
class Unlimited(Lengths):
    """A field has no maximum length."""

    def fits(self, field: Field, value: str, maximum: int) -> bool:
        return True


@fault("fields.max-length", each=limited)
class OneMore(Lengths):
    """A value one character longer than the maximum is accepted."""

    def fits(self, field: Field, value: str, maximum: int) -> bool:
        return len(value) <= maximum + 1


@fault("fields.max-length", each=limited)
class OnlyJustOver(Lengths):
    """A value up to twice as long as the maximum is refused, a longer one accepted."""

    def fits(self, field: Field, value: str, maximum: int) -> bool:
        return len(value) <= maximum or len(value) > 2 * maximum


@fault("fields.max-length", each=limited)
class CutsOff(Faulty):
    """A value that is too long is cut off."""

    def parse_body(self, ctx: Context) -> dict[str, Any]:
        body = super().parse_body(ctx)
        maximum = next(field.max_length for field in FIELDS[ctx.operation] if field.name == self.value)
        if isinstance(body.get(self.value), str):
            body[self.value] = body[self.value][:maximum]
        return body


#: Fields of a syntax, in which nobody can write letters of more than one byte.
SYNTACTIC = ("email", "phone", "iban", "swift_code", "tax_id")


@fault("fields.max-length", each=lambda operation: [name for name in limited(operation) if name not in SYNTACTIC])
class CountsAscii(Lengths):
    """Only ASCII characters count towards the maximum."""

    def fits(self, field: Field, value: str, maximum: int) -> bool:
        return sum(character.isascii() for character in value) <= maximum


def fillable(operation: str) -> list[str]:
    """The fields of which a value of exactly the maximum length is sure to be sound."""
    return [name for name in limited(operation) if name not in ("email", "phone", "iban", "swift_code")]


@fault("fields.max-length-accepted", each=fillable)
class OneLess(Lengths):
    """A value of exactly the maximum length is refused."""

    def fits(self, field: Field, value: str, maximum: int) -> bool:
        return len(value) < maximum


@fault("fields.max-length-accepted", each=lambda operation: [
    f"{name} {encoding}" for name in fillable(operation) if name not in SYNTACTIC for encoding in ("utf-8", "escaped")])
class CountsBytes(Faulty):
    """The maximum is one of bytes, in UTF-8 or in escapes."""

    def length(self, ctx: Context, value: str) -> int:
        return len(value.encode("unicode_escape" if self.value.endswith("escaped") else "utf-8"))

    def check_length(self, ctx: Context, field: Field, value: str) -> None:
        if field.name == self.value.split()[0]:
            super().check_length(ctx, field, value)
        elif field.max_length is not None and len(value) > field.max_length:
            raise self.invalid(ctx, field, "too_long", "is too long")


# --------------------------------------------------------------------------- kinds of values


def of_kind(*kinds: str) -> Callable[[str], list[str]]:
    """The fields of some kinds."""
    return lambda operation: [field.name for field in FIELDS[operation] if field.kind in kinds]


@fault("fields.enum", each=of_kind("enum"))
class AnyChoice(Faulty):
    """A value outside the enumeration is accepted."""

    def check_enum(self, ctx: Context, field: Field, value: str) -> None:
        if field.name == self.value and value not in field.choices:
            ctx.body[field.name] = field.choices[0]
        else:
            super().check_enum(ctx, field, value)

    def kept_value(self, ctx: Context, field: Field, value: Any) -> Any:
        return ctx.body[field.name]


@fault("fields.enum", each=of_kind("enum"))
class ResemblingChoice(Faulty):
    """A value that begins with a listed one is accepted."""

    def check_enum(self, ctx: Context, field: Field, value: str) -> None:
        if field.name != self.value or not value.startswith(field.choices):
            super().check_enum(ctx, field, value)


class Codes(Faulty):
    """Lets a code of the field `self.value[0]` pass if it matches the pattern `self.value[1]`."""

    def passes(self, field: Field, value: str) -> bool:
        """Whether a value is let through."""
        return bool(field.name == self.value[0] and re.fullmatch(self.value[1], value))

    def check_country(self, ctx: Context, field: Field, value: str) -> None:
        if not (self.here(ctx) and self.passes(field, value)):
            super().check_country(ctx, field, value)

    def check_currency(self, ctx: Context, field: Field, value: str) -> None:
        if not (self.here(ctx) and self.passes(field, value)):
            super().check_currency(ctx, field, value)


def _codes(kinds: tuple[str, ...], **patterns: str) -> Callable[[str], Any]:
    return lambda operation: {
        f"{name} {label.replace('_', ' ')}": (name, pattern)
        for name in of_kind(*kinds)(operation) for label, pattern in patterns.items()}


@fault("fields.country-code", each=_codes(
    ("country",), anything=r".+", three_letters=r"[A-Z]{3}", one_letter=r"[A-Z]",
    two_characters=r"[A-Z0-9]{2}", two_digits=r"[0-9]{2}"))
class LenientCountries(Codes):
    """A country code that is not two letters is accepted."""


@fault("fields.currency-code", each=_codes(
    ("currency", "destination_currency"), anything=r".+", two_letters=r"[A-Z]{2}", four_letters=r"[A-Z]{4}",
    three_characters=r"[A-Z0-9]{3}", three_digits=r"[0-9]{3}"))
class LenientCurrencies(Codes):
    """A currency code that is not three letters is accepted."""


@fault("fields.unassigned-code", each=_codes(
    ("country", "currency", "destination_currency"), any=r"[A-Z]{2,3}", letters_z=r"Z{2,3}"))
class UnassignedCodes(Codes):
    """A code of the right form that is not assigned is accepted."""


@fault("fields.company-name", each=("missing", "null"))
class NamelessBusiness(Faulty):
    """A business needs no company name."""

    def check_company_name(self, ctx: Context, fields: dict[str, Any]) -> None:
        if ("company_name" in ctx.body) != (self.value == "null"):
            super().check_company_name(ctx, fields)


@fault("fields.network", each=("missing", "null"))
class WalletAnywhere(Faulty):
    """A wallet destination needs no network."""

    def check_network(self, ctx: Context) -> None:
        if ("network" in ctx.body) != (self.value == "null"):
            super().check_network(ctx)


#: Kind -> whether an amount is accepted that should not be.
AMOUNTS: dict[str, Callable[[Any], bool]] = {
    "zero": lambda value: value == "0", "zero with decimals": lambda value: bool(re.fullmatch(r"0\.0+", str(value))),
    "negative": lambda value: isinstance(value, str) and bool(re.fullmatch(r"-[1-9]\d*(\.\d+)?", value)),
    "just negative": lambda value: isinstance(value, str) and bool(re.fullmatch(r"-0\.\d+", value)),
    "words": lambda value: isinstance(value, str) and bool(re.fullmatch("[a-z]+", value)),
    "empty": lambda value: value == "", "NaN": lambda value: value == "NaN",
    "infinity": lambda value: value in ("Infinity", "-Infinity"),
    "letters behind": lambda value: isinstance(value, str) and bool(re.fullmatch(r"[0-9.]+[a-zA-Z]+", value)),
    "comma": lambda value: isinstance(value, str) and bool(re.fullmatch("[0-9]+,[0-9]+", value)),
    "two points": lambda value: isinstance(value, str) and value.count(".") > 1,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number with decimals": lambda value: isinstance(value, float),
    "any number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "hexadecimal": lambda value: isinstance(value, str) and value.startswith("0x"),
}


@fault("fields.amount", each=AMOUNTS)
class TakesAmount(Faulty):
    """An amount that is no positive decimal in a string is accepted."""

    def parse_body(self, ctx: Context) -> dict[str, Any]:
        body = super().parse_body(ctx)
        if "amount" in body and self.value(body["amount"]):
            body["amount"] = "1.00"
        return body


# --------------------------------------------------------------------------- sound requests

#: Optional fields of which nothing open depends: not bank details, nor what only some shapes have.
FREE = {
    "createBeneficiary": ("beneficiary_type", "title", "middle_name", "tax_id", "note"),
    "createPayoutDestination": ("label", "is_default"), "createVirtualAccount": ("address",), "createPayin": ("description",),
}


class Refuses(Faulty):
    """Refuses sound bodies by `refuses`."""

    def refuses(self, body: dict[str, Any]) -> bool:
        raise NotImplementedError

    def parse_body(self, ctx: Context) -> dict[str, Any]:
        body = super().parse_body(ctx)
        if self.here(ctx) and self.refuses(body):
            raise Refusal("invalid_field")
        return body


@fault("fields.accepts-valid", operations=tuple(FREE), each=lambda operation: FREE[operation])
class Demands(Refuses):
    """A request without this optional field is refused."""

    def refuses(self, body: dict[str, Any]) -> bool:
        return self.value not in body


@fault("fields.accepts-valid", operations=tuple(FREE), each=lambda operation: FREE[operation])
class Declines(Refuses):
    """A request with this optional field is refused."""

    def refuses(self, body: dict[str, Any]) -> bool:
        return body.get(self.value) is not None


@fault("fields.accepts-valid", operations=("updateBeneficiary",), each=lambda operation: [field.name for field in FIELDS[operation]])
class DeclinesAlone(Refuses):
    """A PATCH of this field is refused."""

    def refuses(self, body: dict[str, Any]) -> bool:
        return self.value in body


@fault("fields.accepts-valid", operations=("updateBeneficiary",), each=("required fields", "two fields", "one field"))
class DeclinesSubsets(Refuses):
    """A PATCH must name all fields that a create demands, or more than one field, or one only."""

    def refuses(self, body: dict[str, Any]) -> bool:
        if self.value == "required fields":
            return not {*required("createBeneficiary")} <= {*body}
        return len(body) == 1 if self.value == "two fields" else len(body) > 1


@fault("fields.accepts-valid", operations=("createBeneficiary", "updateBeneficiary", "createPayoutDestination"), each=lambda operation: {
    f"{name} {value}": (name, value) for name, value in (
        [("is_default", True), ("is_default", False)] if operation == "createPayoutDestination"
        else [("beneficiary_type", "individual"), ("beneficiary_type", "business")])})
class DeclinesChoice(Refuses):
    """A listed value is refused."""

    def refuses(self, body: dict[str, Any]) -> bool:
        name, value = self.value
        return body.get(name) == value


@fault("fields.accepts-valid", operations=("createAccount", "createVirtualAccount", "createWallet"), each=("spaces", "digits", "ten letters"))
class DeclinesNames(Refuses):
    """A name or label with spaces, with digits, or of more than ten letters is refused."""

    def refuses(self, body: dict[str, Any]) -> bool:
        text = str(body.get("name", body.get("label", "")))
        return {"spaces": " " in text, "digits": any(map(str.isdigit, text)), "ten letters": len(text) > 10}[self.value]
