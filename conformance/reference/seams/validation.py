"""Validation of request bodies: sections 4.1 to 4.7 and 8 of the specification."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Context as DecimalContext
from decimal import Decimal
from typing import Any

from conformance.contract import json_text
from conformance.contract.field_rules import FIELD_RULES, Member
from conformance.contract.fields import Field, request_fields
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import ALL_RULES
from conformance.contract.traits import TRAITS
from conformance.reference.codes import COUNTRIES, CURRENCIES, WALLET_NETWORKS
from conformance.reference.context import Context, Record
from conformance.reference.refusals import Refusal
from conformance.reference.seams.base import Base

_AMOUNT = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_COUNTRY = re.compile(r"[A-Z]{2}")
_CURRENCY = re.compile(r"[A-Z]{3}")

#: operationId -> the fields of its body, none required in an update; only operations with a body.
FIELDS: dict[str, tuple[Field, ...]] = {
    name: tuple(
        replace(field, required=field.required and not TRAITS[name].subset_of)
        for field in request_fields(name)
    )
    for name, operation in OPERATIONS.items()
    if operation.request_schema is not None
}

#: Beneficiary fields that an update may set to null.
_NULLABLE = frozenset(
    field.name for field in FIELDS["createBeneficiary"] if not field.required and field.kind == "text"
)

#: Kind of field -> Python type of its JSON value; str for others.
TYPES: dict[str, type] = {"boolean": bool, "object": dict}

#: Rules of fields that this server judges by seams of its own: so two readings of the specification meet.
_OWN = """required required-null type optional-type max-length enum address address-types country-code
    currency-code unassigned-code currency-kind amount payin-amount-positive company-name network"""

#: The others.
OTHER_RULES = [row for row in FIELD_RULES if row.examples and row.rule.partition(".")[2] not in _OWN.split()]

#: Precision for exact sums and differences of accepted amounts.
EXACT = DecimalContext(prec=400)


def decimal_of(value: Any) -> Decimal | None:
    """The finite number of an amount; None if it is none."""
    try:
        number = EXACT.create_decimal(value if isinstance(value, (str, int)) else str(value))
    except (ArithmeticError, TypeError, ValueError):
        return None
    return number if number.is_finite() else None


class Validation(Base):
    """The seams of request bodies. Each check returns if it finds no error, else raises Refusal.

    A check overridden to find no error accepts the value unchanged.
    """

    #: Maximum length of an amount. Open (fields.amount-odd).
    amount_length = 100

    def validate(self, ctx: Context) -> None:
        """Stage: validates the body, or parses the query of a list."""
        if ctx.operation in FIELDS:
            self.check_content_type(ctx)
            ctx.body = self.parse_body(ctx)
            for field in self.fields(ctx):
                self.check_field(ctx, field)
            self.check_together(ctx)
        else:
            self.read_query(ctx)

    def read_query(self, ctx: Context) -> None:
        """Parses the query of a list; see Lists."""

    def check_content_type(self, ctx: Context) -> None:
        """Accepts any Content-Type, which is open (body.content-type), with parameters
        (http.charset-parameter)."""

    # ------------------------------------------------------------------ the body as JSON

    def parse_body(self, ctx: Context) -> dict[str, Any]:
        """The body as a JSON object: body.malformed."""
        try:
            document = self.parse_json(ctx, self.decode_body(ctx))
        except ValueError:
            raise Refusal("malformed_body") from None
        if not isinstance(document, dict):
            return self.on_other_body_type(ctx, document)
        return document

    def decode_body(self, ctx: Context) -> str:
        """The body as text; raises UnicodeDecodeError, a ValueError: body.malformed."""
        return ctx.request.body.decode("utf-8")

    def parse_json(self, ctx: Context, text: str) -> Any:
        """Parses JSON; raises ValueError: body.malformed. Of duplicate keys the last counts (open:
        body.legal-oddities)."""
        return json_text.load(text, parse_constant=self.on_constant)

    def on_constant(self, literal: str) -> Any:
        """Refuses NaN, Infinity and -Infinity, which are not JSON: body.malformed."""
        raise ValueError(literal)

    def on_other_body_type(self, ctx: Context, document: Any) -> dict[str, Any]:
        """Refuses JSON that is not an object: body.malformed."""
        raise Refusal("body_not_object")

    # ------------------------------------------------------------------ any field

    def fields(self, ctx: Context) -> Sequence[Field]:
        """The fields of the operation; others are ignored (open, but for create.server-owned,
        beneficiary.update-server-owned)."""
        return FIELDS[ctx.operation]

    def check_field(self, ctx: Context, field: Field) -> None:
        """Validates a field and stores its value in the context."""
        if field.name not in ctx.body:
            return self.check_present(ctx, field)
        value = ctx.body[field.name]
        if value is None:
            self.check_null(ctx, field)
        else:
            self.check_type(ctx, field, value)
            if isinstance(value, TYPES.get(field.kind, str)):
                if isinstance(value, str):
                    self.check_characters(ctx, field, value)
                    self.check_length(ctx, field, value)
                self.check_value(ctx, field, value)
                self.check_rules(ctx, field, value)
        ctx.values[field.name] = self.kept_value(ctx, field, value)

    def kept_value(self, ctx: Context, field: Field, value: Any) -> Any:
        """The part of a valid value to store, create.echo: all but unknown members of an address (open)."""
        if field.members and isinstance(value, dict):
            return {name: value[name] for name in field.members if name in value}
        return value

    def invalid(self, ctx: Context, field: Field, code: str, problem: str) -> Refusal:
        """The refusal of a field; its message names the field but does not contain the value."""
        return Refusal("invalid_field", f"{field.name} {problem}.", field.name, code)

    def check_present(self, ctx: Context, field: Field) -> None:
        """A required field is present: fields.required."""
        if field.required:
            raise self.invalid(ctx, field, "missing_field", "is required")

    def check_null(self, ctx: Context, field: Field) -> None:
        """A required field is not null: fields.required-null; for optional ones it is open:
        here null means absent, and clears a field on update if it is nullable."""
        if field.required or (ctx.operation == "updateBeneficiary" and field.name not in _NULLABLE):
            raise self.invalid(ctx, field, "null_field", "may not be null")

    def check_type(self, ctx: Context, field: Field, value: Any) -> None:
        """The value has the field's JSON type: fields.type, fields.optional-type, fields.address."""
        expected = TYPES.get(field.kind, str)
        if not isinstance(value, expected):
            name = {str: "a string", bool: "true or false", dict: "an object"}[expected]
            raise self.invalid(ctx, field, "wrong_type", f"must be {name}")

    def check_characters(self, ctx: Context, field: Field, value: str) -> None:
        """The text may be in any script (fields.other-scripts); an unpaired surrogate, which UTF-8 cannot
        encode, is refused (open: body.legal-oddities)."""
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise self.invalid(ctx, field, "invalid_characters", "holds an unpaired surrogate")

    def check_length(self, ctx: Context, field: Field, value: str) -> None:
        """The value is not longer than its maximum: fields.max-length, fields.max-length-accepted."""
        if field.max_length is not None and self.length(ctx, value) > field.max_length:
            raise self.invalid(ctx, field, "too_long", f"is longer than {field.max_length} characters")

    def length(self, ctx: Context, value: str) -> int:
        """The length in characters, not bytes: fields.max-length-accepted. Outside the basic plane it is open
        (fields.max-length-astral): here in code points."""
        return len(value)

    def check_value(self, ctx: Context, field: Field, value: Any) -> None:
        """Validates the value by the field's kind; values within all stated limits pass:
        fields.accepts-valid."""
        match field.kind:
            case "enum":
                self.check_enum(ctx, field, value)
            case "country":
                self.check_country(ctx, field, value)
            case "currency" if ctx.operation == "createPayoutDestination":
                self.check_destination_currency(ctx, field, value)
            case "currency":
                self.check_currency(ctx, field, value)
            case "amount":
                self.check_amount(ctx, field, value)
            case "object":
                self.check_address(ctx, field, value)

    def check_rules(self, ctx: Context, field: Field, value: Any) -> None:
        """Validates the value by the rules of fields that this server has no seam of its own for."""
        for row in OTHER_RULES:
            member = Member(ctx.operation, field, ctx.body, value)
            if ctx.operation in ALL_RULES[row.rule].operations and row.broken_by(member):
                self.check_rule(ctx, field, row.rule)

    def check_rule(self, ctx: Context, field: Field, rule: str) -> None:
        """Refuses a value that a rule of fields excludes: that rule."""
        raise self.invalid(ctx, field, "not_allowed", "has a value that is not allowed")

    # ------------------------------------------------------------------ kinds of values

    def check_enum(self, ctx: Context, field: Field, value: str) -> None:
        """The value is in the enumeration: fields.enum."""
        if value not in field.choices:
            raise self.invalid(ctx, field, "not_allowed", "must be one of " + ", ".join(field.choices))

    def check_country(self, ctx: Context, field: Field, value: str) -> None:
        """A country code is two letters: fields.country-code; lower case is open."""
        if not _COUNTRY.fullmatch(value):
            raise self.invalid(ctx, field, "invalid_country", "must be a country code of two capital letters")
        self.check_assigned(ctx, field, value, COUNTRIES)

    def check_currency(self, ctx: Context, field: Field, value: str) -> None:
        """A fiat currency code is three letters: fields.currency-code, fields.currency-kind."""
        if not _CURRENCY.fullmatch(value):
            raise self.invalid(
                ctx, field, "invalid_currency", "must be a currency code of three capital letters"
            )
        self.check_assigned(ctx, field, value, CURRENCIES)

    def check_assigned(self, ctx: Context, field: Field, value: str, assigned: frozenset[str]) -> None:
        """A well-formed code is assigned: fields.unassigned-code."""
        if value not in assigned:
            raise self.invalid(ctx, field, "unknown_code", "is a code that is not assigned")

    def check_destination_currency(self, ctx: Context, field: Field, value: str) -> None:
        """A currency is fiat, but wallet destinations also accept crypto codes: fields.currency-code."""
        if ctx.body.get("type") != "wallet" or value not in WALLET_NETWORKS:
            self.check_currency(ctx, field, value)

    def check_amount(self, ctx: Context, field: Field, value: str) -> None:
        """An amount is a plain decimal above zero: fields.amount, fields.payin-amount-positive; other
        notations are open (fields.amount-odd)."""
        if len(value) > self.amount_length or not _AMOUNT.fullmatch(value):
            raise self.invalid(ctx, field, "invalid_amount", "must be a plain decimal number")
        if not value.strip("0."):
            raise self.invalid(ctx, field, "invalid_amount", "must be positive")

    def check_address(self, ctx: Context, field: Field, value: dict[str, Any]) -> None:
        """The members of an address are strings: fields.address-types. Which are required is open:
        here all, if the address is."""
        # Also in an update, which may omit the address itself.
        needed = any(own.name == field.name and own.required for own in request_fields(ctx.operation))
        for name in field.members:
            member = Field(f"{field.name}.{name}", required=needed)
            if name not in value:
                self.check_present(ctx, member)
            elif value[name] is None and not member.required:
                continue
            else:
                self.check_type(ctx, member, value[name])
                if isinstance(value[name], str):
                    self.check_characters(ctx, member, value[name])

    # ------------------------------------------------------------------ fields together

    def check_together(self, ctx: Context) -> None:
        """Validates combinations of fields, independent of stored state."""
        match ctx.operation:
            case "createBeneficiary":
                self.check_company_name(ctx, ctx.values)
            case "createPayoutDestination":
                self.check_network(ctx)
                self.check_destination_details(ctx)
            case "createWallet":
                self.check_wallet_pair(ctx)

    def check_company_name(self, ctx: Context, fields: Record) -> None:
        """A business has a company name: fields.company-name, beneficiary.update-company-name."""
        if fields.get("beneficiary_type") == "business" and fields.get("company_name") is None:
            raise self.invalid(ctx, Field("company_name"), "missing_field", "is required for a business")

    def check_network(self, ctx: Context) -> None:
        """A wallet destination has a network: fields.network."""
        if ctx.values.get("type") == "wallet" and ctx.values.get("network") is None:
            raise self.invalid(ctx, Field("network"), "missing_field", "is required for a wallet")

    def check_destination_details(self, ctx: Context) -> None:
        """Requires no bank, wallet or card details; open (section 2.10, destination.card)."""

    def check_wallet_pair(self, ctx: Context) -> None:
        """The network carries the currency (section 2.7; the list is open)."""
        if ctx.values.get("network") not in WALLET_NETWORKS.get(str(ctx.values.get("currency")), ()):
            raise self.invalid(ctx, Field("network"), "unsupported_pair", "does not carry this currency")

    # ------------------------------------------------------------------ fields against what is stored

    def check_state(self, ctx: Context) -> None:
        """Stage: validates fields against stored state."""
        match ctx.operation:
            case "updateBeneficiary":
                self.check_company_name(ctx, {**(ctx.beneficiary or {}), **ctx.values})
            case "createPayout":
                self.check_payout_references(ctx)
                self.check_funds(ctx)

    def check_payout_references(self, ctx: Context) -> None:
        """The beneficiary is under the account, the destination under the beneficiary:
        tenancy.payout-references, tenancy.payout-references-status, tenancy.payout-destination-owner."""
        assert ctx.account is not None
        beneficiary = self.find(ctx, "beneficiary", str(ctx.values.get("beneficiary_id")))
        if beneficiary is None or beneficiary["parent"] != ctx.account["id"]:
            self.on_payout_beneficiary(ctx, beneficiary)
        else:
            self.check_beneficiary_usable(ctx, beneficiary)
        destination = self.find(ctx, "payout_destination", str(ctx.values.get("payout_destination_id")))
        owner = self.find(ctx, "beneficiary", destination["parent"]) if destination else None
        if owner is None or owner["parent"] != ctx.account["id"]:
            self.on_payout_destination(ctx, destination)
        elif beneficiary is not None and owner["id"] != beneficiary["id"]:
            self.on_payout_destination_owner(ctx, destination)

    def on_payout_beneficiary(self, ctx: Context, beneficiary: Record | None) -> None:
        """Refuses a beneficiary that is missing or under another account: tenancy.payout-references."""
        raise Refusal("payout_beneficiary")

    def on_payout_destination(self, ctx: Context, destination: Record | None) -> None:
        """Refuses a destination that is missing or under another account: tenancy.payout-references."""
        raise Refusal("payout_destination")

    def on_payout_destination_owner(self, ctx: Context, destination: Record | None) -> None:
        """Refuses a destination of another beneficiary of the account: tenancy.payout-destination-owner."""
        raise Refusal("payout_destination_owner")

    def check_beneficiary_usable(self, ctx: Context, beneficiary: Record) -> None:
        """Accepts a payout to a disabled beneficiary, which is open (payout.disabled-beneficiary)."""

    def check_funds(self, ctx: Context) -> None:
        """Requires sufficient funds, which is open (payout.insufficient-funds), if the account has a balance
        in the payout's currency."""
        assert ctx.account is not None
        amount = decimal_of(ctx.values.get("amount"))
        for balance in ctx.store.balances(ctx.account["id"]):
            same = balance.currency == ctx.values.get("currency")
            if same and amount is not None and amount > Decimal(balance.available):
                raise Refusal("insufficient_funds")
