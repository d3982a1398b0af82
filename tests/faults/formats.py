"""Servers whose answers lack members, or have wrong types, ids and constants (section 2).

The tables are transcribed from the specification, not read from spec/schemas, so a gap in a schema shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from conformance.contract.fields import Field
from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context
from conformance.reference.seams.lists import ITEM_FIELDS
from conformance.reference.seams.validation import FIELDS
from tests.specification import ADDRESS, ANSWERS, BALANCE, RESOURCES, limits

from .catalogue import Faulty, fault, faults, of, seam
from .places import EMBEDDING, Balances, Document, balance, document, embedded, lacking


def references(operation: str) -> list[str]:
    """Returns the references to other resources whose id prefix is documented."""
    return [name for name, field in RESOURCES[ANSWERS[operation]].items() if field.prefix and name != "id"]


def enumerations(operation: str) -> list[str]:
    """Returns the members with documented values."""
    return [name for name, field in RESOURCES[ANSWERS[operation]].items() if field.values]


def members(operation: str) -> list[str]:
    """Returns the members of the operation's answer, or of its list items."""
    kind = ANSWERS[operation]
    return list(ITEM_FIELDS[kind]) if operation.startswith("list") else list(RESOURCES[kind])


class Sets(Document):
    """Replaces the member `self.value[0]`, unless it is null, by `self.value[1]` of it."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        name, change = self.value
        return {**document, name: change(document[name])} if document.get(name) is not None else document


class SetsAlways(Document):
    """Sets the member `self.value[0]` to `self.value[1]`."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        name, value = self.value
        return {**document, name: value}


def _never_null(operation: str) -> list[str]:
    fields = RESOURCES[ANSWERS[operation]]
    return [name for name, field in fields.items() if not (field.nullable or field.sometimes)]


def _plain(operation: str) -> list[str]:
    """Returns the members whose type is not covered by another rule."""
    special = {"id", "object", "status", "account_id", "bank_details", "addresses"}
    special |= {*references(operation), *enumerations(operation)}
    fields = RESOURCES[ANSWERS[operation]].values()
    return [
        field.name for field in fields if field.name not in special and field.type not in ("time", "money")
    ]


#: A value of each wrong type.
TYPED = {"number": 12345, "object": {"value": "x"}, "array": ["x"], "text": "text"}


def _types(operation: str) -> dict[str, tuple[str, Any]]:
    fields = RESOURCES[ANSWERS[operation]]
    return {
        f"{name} {how}": (name, value)
        for name in _plain(operation)
        for how, value in TYPED.items()
        if how != {"string": "text"}.get(fields[name].type, fields[name].type)
    }


def _not_null(operation: str) -> dict[str, tuple[str, Any]]:
    return {name: (name, None) for name in _plain(operation) if name in _never_null(operation)}


#: Member -> texts in a wrong format. Only bank accounts have fiat currencies.
FORMS = {
    "country_code": ("USA", "U", "840", "United States"),
    "country": ("USA", "U", "840", "United States"),
    "currency": ("DOLLAR", "US", "U5D", "840"),
    "account_number_last4": ("12345", "****6789"),
    "clabe_last4": ("12345", "****6789"),
}


def _forms(operation: str) -> dict[str, tuple[str, str]]:
    kind = ANSWERS[operation]
    names = [name for name in FORMS if name in RESOURCES[kind] and (name, kind) != ("currency", "wallet")]
    return {f"{name} {form or 'empty'}": (name, form) for name in names for form in FORMS[name]}


@fault(
    "format.fields",
    seam="changed",
    base=Document,
    operations=[operation for operation in OPERATION_SETS["resource"] if _forms(operation)],
    each=_forms,
)
def _(self: Any, ctx: Context, document: dict[str, Any]) -> Any:
    """A country or currency code or the last four digits of a number are of another form."""
    name, form = self.value
    is_crypto = name == "currency" and document.get("type", "bank_account") != "bank_account"
    return document if is_crypto else {**document, name: form}


def _coded(operation: str) -> list[str]:
    """Returns the fields with a code of an ISO standard."""
    return [field.name for field in FIELDS.get(operation, ()) if field.code and operation != "createWallet"]


class EndsBeforeLineFeed(Faulty):
    """A pattern for this field ends at a dollar sign: it matches before a line feed as well."""

    def check_value(self, ctx: Context, field: Field, value: Any) -> None:
        super().check_value(ctx, field, value.removesuffix("\n") if field.name == self.value else value)


faults["format.fields"] |= {
    "A code may have a line feed behind it, which is shown.": of(EndsBeforeLineFeed, each=_coded),
    "A documented member is missing.": document(lacking, each=_never_null),
    "A documented member is of another type.": of(SetsAlways, each=_types),
    "A documented member that is never null is null.": of(SetsAlways, each=_not_null),
    "A PATCH of null in a field that is never null is kept.": seam(
        "check_null",
        lambda self, ctx, field: None if field.name == self.value else self.usual(),
        operations=("updateBeneficiary",),
        each=[field.name for field in FIELDS["createBeneficiary"] if field.required],
    ),
    "A member is longer than its maximum.": of(
        SetsAlways,
        operations=[operation for operation in OPERATION_SETS["resource"] if limits(ANSWERS[operation])],
        each=lambda operation: {
            name: (name, "x" * (maximum + 1)) for name, maximum in limits(ANSWERS[operation]).items()
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
        each=ADDRESS,
    ),
    "A documented member of an embedded payout destination is missing.": embedded(
        lacking,
        operations=EMBEDDING,
        each=("id", "object", "country", "type", "currency", "status", "is_default", "created"),
    ),
    "payout_destinations holds ids instead of objects.": seam(
        "destinations",
        lambda self, *_: [destination["id"] for destination in self.usual()],
        operations=EMBEDDING,
    ),
}


@fault(
    "format.fields",
    seam="changed",
    base=Balances,
    operations=("getAccountBalances",),
    each=[
        f"{name} {how}"
        for name in BALANCE
        for how in ("missing", "null")
        if how == "missing" or name in ("currency", "currency_type")
    ],
)
def _(self: Any, ctx: Context, element: dict[str, Any]) -> Any:
    """A member of a balance is missing or null."""
    name, how = self.value.split()
    return (
        {**element, name: None}
        if how == "null"
        else {key: value for key, value in element.items() if key != name}
    )


@fault(
    "format.object",
    seam="changed",
    base=Document,
    each=lambda operation: (
        [] if operation == "listAccounts" else ["other", "capital", "plural", "null", "number"]
    ),
)
def _(self: Any, ctx: Context, document: dict[str, Any]) -> Any:
    """object is not the constant of the type."""
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

#: Kind -> change of an id.
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
    shown = members(operation)
    ways = dict(IDS) if RESOURCES[ANSWERS[operation]]["id"].prefix == "acc_" else {**IDS, **PREFIXED}
    kinds = {f"id {how}": ("id", way) for how, way in ways.items()}
    for name in references(operation):
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
    )
}


@fault(
    "format.id-unique",
    seam="changed",
    base=Document,
    each=("always one", "by second request", "by third request"),
)
def _(self: Any, ctx: Context, document: dict[str, Any]) -> Any:
    """Two resources have one id."""
    known = self.state.setdefault("ids", [])
    known.append(document["id"])
    at = {
        "always one": 0,
        "by second request": (len(known) - 1) // 2 * 2,
        "by third request": (len(known) - 1) // 3 * 3,
    }[self.value]
    return {**document, "id": known[at]}
