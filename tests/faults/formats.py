"""Servers whose answers lack members, or have other types, ids and constants: section 2.

The tables here are written from the specification's own, not from spec/schemas, so that a gap in a schema
shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context, Record
from conformance.reference.seams.lists import ITEM_FIELDS
from conformance.reference.seams.resources import KINDS

from .catalogue import Faulty, fault, faults, hook, of, seam
from .resources import MEMBERS as SHOWN

#: Kind of resource -> all documented members.
MEMBERS = {kind: ("id", "object", *names) for kind, names in SHOWN.items()}
MEMBERS["account_balances"] = ("id", "object", "balances")

#: Members of a payout destination that may be null or absent, as they do not always apply.
INAPPLICABLE = (
    "account_number_last4",
    "routing_number",
    "account_type",
    "clabe_last4",
    "iban_masked",
    "swift_code",
    "wallet_address_masked",
    "network",
    "label",
)

NULLABLE: dict[str, tuple[str, ...]] = {
    "beneficiary": ("title", "middle_name", "company_name", "tax_id", "note"),
    "payout_destination": ("label",),
    "payout": (
        "provider",
        "provider_reference_id",
        "submitted_at",
        "completed_at",
        "failed_at",
        "failed_reason",
        "note",
    ),
}

TIMESTAMPS = {
    "account": ("created", "updated"),
    "beneficiary": ("created", "updated"),
    "payout_destination": ("created", "updated"),
    "payout": ("initiated_at", "created", "updated"),
    "virtual_account": ("created", "updated"),
    "wallet": ("created", "updated"),
    "payin": ("created",),
    "account_balances": (),
}

REFERENCES = {
    "account": {"customer_id": "cus_"},
    "beneficiary": {},
    "payout_destination": {"beneficiary_id": "bene_"},
    "payout": {"beneficiary_id": "bene_", "payout_destination_id": "dest_"},
    "virtual_account": {},
    "wallet": {},
    "payin": {},
    "account_balances": {},
}

ENUMERATIONS = {
    "account": ("status",),
    "beneficiary": ("beneficiary_type", "status"),
    "payout_destination": ("type", "status", "account_type"),
    "payout": ("status",),
    "virtual_account": ("status",),
    "wallet": ("status",),
    "payin": ("status",),
    "account_balances": (),
}

#: Kind of resource -> members with a maximum length.
LENGTHS = {
    "account": {"name": 255},
    "virtual_account": {"label": 255},
    "wallet": {"label": 255},
    "payout": {"note": 500},
    "payout_destination": {"swift_code": 11},
    "payin": {},
    "account_balances": {},
    "beneficiary": {
        "title": 20,
        "first_name": 100,
        "middle_name": 100,
        "last_name": 100,
        "display_name": 255,
        "company_name": 255,
        "email": 255,
        "phone": 50,
        "tax_id": 50,
    },
}

PREFIX = {
    "account": "acc_",
    "beneficiary": "bene_",
    "payout_destination": "dest_",
    "payout": "po_",
    "virtual_account": "va_",
    "wallet": "wal_",
    "payin": "pin_",
    "account_balances": "acc_",
}

BALANCE = (
    "currency",
    "currency_type",
    "available_balance",
    "pending_payout",
    "pending_payin",
    "total_balance",
    "updated_at",
)
MONEY = BALANCE[2:6]


def resource_of(operation: str) -> str:
    """The kind of resource that the operation answers."""
    return "account_balances" if operation == "getAccountBalances" else KINDS[operation]


def members(operation: str) -> tuple[str, ...]:
    """The members that the operation's answer, or an item of it, carries."""
    kind = resource_of(operation)
    return ITEM_FIELDS[kind] if operation.startswith("list") else MEMBERS[kind]


class Document(Faulty):
    """Changes the resources of an answer, or the items of a list, by `changed`."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        raise NotImplementedError

    def applies(self, document: Mapping[str, Any]) -> bool:
        """Whether a resource is one of those that change."""
        return True

    def shape(self, ctx: Context, kind: str, document: dict[str, Any]) -> Mapping[str, Any]:
        document = dict(super().shape(ctx, kind, document))
        if self.here(ctx) and kind == resource_of(self.operation) and self.applies(document):
            return self.changed(ctx, document)
        return document


document = hook(Document, "changed")


class Embedded(Document):
    """Changes the payout destinations that a beneficiary's answer holds."""

    def shape(self, ctx: Context, kind: str, document: dict[str, Any]) -> Mapping[str, Any]:
        if self.here(ctx) and kind == "payout_destination":
            return self.changed(ctx, dict(document))
        return document


embedded = hook(Embedded, "changed")


EMBEDDING = ("getBeneficiary", "updateBeneficiary", "disableBeneficiary")


class Balances(Faulty):
    """Changes the elements of balances by `changed`, and shows one where there is none."""

    def changed(self, ctx: Context, element: dict[str, Any]) -> Any:
        raise NotImplementedError

    def balances(self, ctx: Context, record: Record) -> list[Any]:
        made = super().balances(ctx, record)
        return [self.changed(ctx, dict(element)) for element in made] if self.here(ctx) else made


balance = hook(Balances, "changed")


class Sets(Document):
    """Sets the member `self.value[0]` to what `self.value[1]` makes of it, where it is not null."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        name, change = self.value
        return {**document, name: change(document[name])} if document.get(name) is not None else document


class SetsAlways(Document):
    """Sets the member `self.value[0]` to `self.value[1]`."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        name, value = self.value
        return {**document, name: value}


def each_of(table: Mapping[str, Any], ways: Mapping[str, Any]) -> Callable[[str], dict[str, Any]]:
    """Every member of a table that the operation shows, in every one of some ways."""
    return lambda operation: {
        f"{name} {how}": (name, way)
        for name in table[resource_of(operation)]
        if name in members(operation)
        for how, way in ways.items()
    }


# --------------------------------------------------------------------------- format.fields


def _needed(operation: str) -> list[str]:
    kind = resource_of(operation)
    absent = {*INAPPLICABLE} if kind == "payout_destination" else set(NULLABLE.get(kind, ()))
    return [name for name in MEMBERS[kind] if name not in absent]


def _plain(operation: str) -> list[str]:
    """The members of whose type no rule of their own speaks."""
    kind = resource_of(operation)
    special = {
        "id",
        "object",
        "status",
        *TIMESTAMPS[kind],
        *REFERENCES[kind],
        *ENUMERATIONS[kind],
        "amount",
        "amount_in_usd",
        "bank_details",
        "addresses",
        "customer_id",
        "account_id",
        "submitted_at",
        "completed_at",
        "failed_at",
    }
    return [name for name in MEMBERS[kind] if name not in special]


def _types(operation: str) -> dict[str, tuple[str, Any]]:
    kinds: dict[str, tuple[str, Any]] = {}
    for name in _plain(operation):
        for how, value in (("number", 12345), ("object", {"value": "x"}), ("array", ["x"]), ("text", "text")):
            wanted = {
                "balances": "array",
                "payout_destinations": "array",
                "address": "object",
                "verified": "boolean",
                "is_default": "boolean",
            }.get(name, "text")
            if how != wanted and (how, name) not in (("array", "balances"), ("array", "payout_destinations")):
                kinds[f"{name} {how}"] = (name, value)
    return kinds


def _not_null(operation: str) -> dict[str, tuple[str, Any]]:
    nullable = NULLABLE.get(resource_of(operation), ())
    optional = INAPPLICABLE if resource_of(operation) == "payout_destination" else ()
    return {name: (name, None) for name in _plain(operation) if name not in (*nullable, *optional)}


#: Member -> texts that are of another form than the member's. Only bank accounts have to have a fiat currency.
FORMS = {
    "country_code": ("USA", "U", "840", "United States"),
    "country": ("USA", "U", "840", "United States"),
    "currency": ("DOLLAR", "US", "U5D", "840"),
    "account_number_last4": ("12345", "****6789"),
    "clabe_last4": ("12345", "****6789"),
}


def _forms(operation: str) -> dict[str, tuple[str, str]]:
    kind = resource_of(operation)
    names = [name for name in FORMS if name in MEMBERS[kind] and (name, kind) != ("currency", "wallet")]
    return {f"{name} {form or 'empty'}": (name, form) for name in names for form in FORMS[name]}


@fault(
    "format.fields",
    operations=[operation for operation in OPERATION_SETS["resource"] if _forms(operation)],
    each=_forms,
)
class OfOtherForm(Document):
    """A country or currency code or the last four digits of a number are of another form."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        name, form = self.value
        is_crypto = name == "currency" and document.get("type", "bank_account") != "bank_account"
        return document if is_crypto else {**document, name: form}


faults["format.fields"] |= {
    "A documented member is missing.": document(
        lambda self, ctx, document: {name: value for name, value in document.items() if name != self.value},
        each=_needed,
    ),
    "A documented member is of another type.": of(SetsAlways, each=_types),
    "A documented member that is never null is null.": of(SetsAlways, each=_not_null),
    "A member is longer than its maximum.": of(
        SetsAlways,
        operations=[operation for operation in OPERATION_SETS["resource"] if LENGTHS[resource_of(operation)]],
        each=lambda operation: {
            name: (name, "x" * (maximum + 1)) for name, maximum in LENGTHS[resource_of(operation)].items()
        },
    ),
    "The currency of a fiat balance is no code of three letters.": balance(
        lambda self, ctx, element: {**element, "currency": self.value},
        operations=("getAccountBalances",),
        each=FORMS["currency"],
    ),
    "A code or the last four digits in an embedded payout destination are of another form.": embedded(
        lambda self, ctx, document: (
            document
            if (self.value == "currency" and document.get("type", "bank_account") != "bank_account")
            else {**document, self.value: FORMS[self.value][0]}
        ),
        operations=EMBEDDING,
        each=("country", "currency", "account_number_last4"),
    ),
    "A member of the address is a number.": document(
        lambda self, ctx, document: {**document, "address": {**document["address"], self.value: 12345}},
        operations=("createBeneficiary", "getBeneficiary", "updateBeneficiary", "disableBeneficiary"),
        each=("address_line", "city", "region", "postal_code", "country"),
    ),
    "A documented member of an embedded payout destination is missing.": embedded(
        lambda self, ctx, document: {name: value for name, value in document.items() if name != self.value},
        operations=EMBEDDING,
        each=("id", "object", "country", "type", "currency", "status", "is_default", "created"),
    ),
    "payout_destinations holds ids instead of objects.": seam(
        "destinations", lambda self, *_: [one["id"] for one in self.usual()], operations=EMBEDDING
    ),
}


@fault(
    "format.fields",
    operations=("getAccountBalances",),
    each=[
        f"{name} {how}"
        for name in BALANCE
        for how in ("missing", "null")
        if how == "missing" or name in ("currency", "currency_type")
    ],
)
class BalanceLacks(Balances):
    """A member of a balance is missing or null."""

    def changed(self, ctx: Context, element: dict[str, Any]) -> Any:
        name, how = self.value.split()
        return (
            {**element, name: None}
            if how == "null"
            else {key: value for key, value in element.items() if key != name}
        )


# --------------------------------------------------------------------------- ids and constants


@fault(
    "format.object",
    each=lambda operation: (
        [] if operation == "listAccounts" else ["other", "capital", "plural", "null", "number"]
    ),
)
class OtherObject(Document):
    """object is not the constant of the type."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        name = document["object"]
        return {
            **document,
            "object": {
                "other": "resource",
                "capital": name.capitalize(),
                "plural": f"{name}s",
                "null": None,
                "number": 1,
            }[self.value],
        }


faults["format.object"] |= {
    "object of an account in a list is not the constant.": document(
        lambda self, ctx, document: {
            **document,
            "object": "customer_account" if self.value == "other" else None,
        },
        operations=("listAccounts",),
        each=("other", "null"),
    ),
    "object of an embedded payout destination is not the constant.": embedded(
        lambda self, ctx, document: {**document, "object": "destination"}, operations=EMBEDDING
    ),
}


#: Kind -> what becomes of an identifier.
IDS: dict[str, Callable[[str], Any]] = {
    "number": lambda identifier: 12345,
    "null": lambda identifier: None,
    "empty": lambda identifier: "",
}
PREFIXED: dict[str, Callable[[str], Any]] = {
    "without prefix": lambda identifier: identifier.partition("_")[2],
    "other prefix": lambda identifier: f"res_{identifier}",
    "capital": lambda identifier: identifier.upper(),
    "hyphen": lambda identifier: identifier.replace("_", "-"),
    "prefix only": lambda identifier: identifier.partition("_")[0] + "_",
}


def _ids(operation: str) -> dict[str, tuple[str, Any]]:
    kind, shown = resource_of(operation), members(operation)
    ways = dict(IDS) if PREFIX[kind] == "acc_" else {**IDS, **PREFIXED}
    kinds = {f"id {how}": ("id", way) for how, way in ways.items()}
    for name in REFERENCES[kind]:
        if name in shown:
            kinds |= {f"{name} {how}": (name, way) for how, way in {**IDS, **PREFIXED}.items()}
    if "account_id" in shown:
        kinds |= {f"account_id {how}": ("account_id", way) for how, way in IDS.items()}
    return kinds


faults["format.id"] |= {
    "An identifier is no string with the prefix of its type.": of(Sets, each=_ids),
    "The id of an embedded payout destination is no string with the prefix of its type.": embedded(
        lambda self, ctx, document: {**document, "id": self.value(document["id"])},
        operations=EMBEDDING,
        each={"number": IDS["number"], "without prefix": PREFIXED["without prefix"]},
    ),
}


faults["format.account-id"] |= {
    "An account id does not start with acc_ or acct_.": document(
        lambda self, ctx, document: {**document, "id": self.value(document["id"])},
        each={name: PREFIXED[name] for name in ("without prefix", "other prefix", "capital", "hyphen")},
    ),
}


@fault("format.id-unique", each=("always one", "by second request", "by name"))
class SameIds(Document):
    """Two resources have one id."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        known = self.__dict__.setdefault("ids", [])
        known.append(document["id"])
        at = {
            "always one": 0,
            "by second request": (len(known) - 1) // 2 * 2,
            "by name": -2 if len(known) > 1 else 0,
        }[self.value]
        return {**document, "id": known[at]}
