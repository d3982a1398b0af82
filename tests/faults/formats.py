"""Servers whose answers lack members, or have wrong types, ids and constants (section 2).

The tables are transcribed from the specification, not read from spec/schemas, so a gap in a schema shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from conformance.contract.fields import Field
from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context
from conformance.reference.seams.lists import ITEM_FIELDS
from conformance.reference.seams.validation import FIELDS
from tests.specification import ADDRESS, ANSWERS, BALANCE, RESOURCES, limits

from .catalogue import Faulty, Row, faults, of, seam
from .rows import EMBEDDING, Place, balance, document, embedded, lacking, skipping


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


Names = Callable[[str], Iterable[str]]

#: A change of a member's value.
Change = Callable[[Any], Any]


def each_of(names: Names | Iterable[str], ways: Mapping[str, Any]) -> Callable[[str], dict[str, Any]]:
    """Combines members that an operation shows with each of the ways."""
    return lambda operation: {
        f"{name} {how}": (name, way)
        for name in (names(operation) if callable(names) else names)
        for how, way in ways.items()
    }


def changing(each: Any, place: Place = document, **options: Any) -> Row:
    """Makes a row that replaces the member `value[0]`, unless it is null, by `value[1]` of it."""
    return place.sets(
        lambda self, ctx, shown: {self.value[0]: self.value[1](shown[self.value[0]])},
        lambda self, ctx, shown: shown.get(self.value[0]) is not None,
        each=each,
        **options,
    )


def setting(each: Any, place: Place = document, **options: Any) -> Row:
    """Makes a row that sets the member `value[0]` to `value[1]`."""
    return place.sets(lambda self, *_: {self.value[0]: self.value[1]}, each=each, **options)


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


def in_form(each: Any, place: Place, **options: Any) -> Row:
    """Makes a row that shows a code or the last digits of a number in another form, but those of a crypto
    currency."""
    return place.sets(
        lambda self, *_: {self.value[0]: self.value[1]},
        lambda self, ctx, shown: (
            self.value[0] != "currency" or shown.get("type", "bank_account") == "bank_account"
        ),
        each=each,
        **options,
    )


class EndsBeforeLineFeed(Faulty):
    """A pattern for this field ends at a dollar sign: it matches before a line feed as well."""

    def check_value(self, ctx: Context, field: Field, value: Any) -> None:
        super().check_value(ctx, field, value.removesuffix("\n") if field.name == self.value else value)


faults["format.fields"] |= {
    "A country or currency code or the last four digits of a number are of another form.": in_form(
        _forms, document, operations=OPERATION_SETS["resource"]
    ),
    "A code or the last four digits in an embedded payout destination are of another form.": in_form(
        {name: (name, FORMS[name][0]) for name in ("country", "currency", "account_number_last4")},
        embedded,
        operations=EMBEDDING,
    ),
    "The currency of a fiat balance is no code of three letters.": setting(
        {form: ("currency", form) for form in FORMS["currency"]}, balance, operations=("getAccountBalances",)
    ),
    "A code may have a line feed behind it, which is shown.": of(
        EndsBeforeLineFeed,
        each=lambda operation: [
            field.name for field in FIELDS.get(operation, ()) if field.code and operation != "createWallet"
        ],
    ),
    "A documented member is missing.": document(lacking, each=_never_null),
    "A documented member of an embedded payout destination is missing.": embedded(
        lacking,
        operations=EMBEDDING,
        each=("id", "object", "country", "type", "currency", "status", "is_default", "created"),
    ),
    "A member of a balance is missing.": balance(lacking, operations=("getAccountBalances",), each=BALANCE),
    "A member of a balance is null.": setting(
        {name: (name, None) for name in ("currency", "currency_type")},
        balance,
        operations=("getAccountBalances",),
    ),
    "A documented member is of another type.": setting(_types),
    "A documented member that is never null is null.": setting(_not_null),
    "A member is longer than its maximum.": setting(
        lambda operation: {
            name: (name, "x" * (maximum + 1)) for name, maximum in limits(ANSWERS[operation]).items()
        },
        operations=OPERATION_SETS["resource"],
    ),
    "A PATCH of null in a field that is never null is kept.": skipping(
        "check_null",
        lambda self, ctx, field: field.name == self.value,
        operations=("updateBeneficiary",),
        each=[field.name for field in FIELDS["createBeneficiary"] if field.required],
    ),
    "A member of the address is a number.": document.sets(
        lambda self, ctx, shown: {"address": {**shown["address"], self.value: 12345}},
        operations=("createBeneficiary", "getBeneficiary", "updateBeneficiary", "disableBeneficiary"),
        each=ADDRESS,
    ),
    "payout_destinations holds ids instead of objects.": seam(
        "destinations",
        lambda self, *_: [destination["id"] for destination in self.usual()],
        operations=EMBEDDING,
    ),
}


# ---------------------------------------------------------------------- object and ids

#: Kind -> change of the constant of a type.
OBJECTS: dict[str, Change] = {
    "other": lambda name: "resource",
    "capital": str.capitalize,
    "plural": lambda name: f"{name}s",
    "null": lambda name: None,
    "number": lambda name: 1,
}

faults["format.object"] |= {
    "object is not the constant of the type.": document.sets(
        lambda self, ctx, shown: {"object": self.value(shown["object"])},
        each=lambda operation: {} if operation == "listAccounts" else OBJECTS,
    ),
    "object of an account in a list is not the constant.": document.sets(
        lambda self, *_: self.value,
        operations=("listAccounts",),
        each={"other": {"object": "customer_account"}, "null": {"object": None}},
    ),
    "object of an embedded payout destination is not the constant.": embedded.sets(
        {"object": "destination"}, operations=EMBEDDING
    ),
}

#: Kind -> change of an id.
IDS: dict[str, Change] = {
    "number": lambda identifier: 12345,
    "null": lambda identifier: None,
    "empty": lambda identifier: "",
}

PREFIXED: dict[str, Change] = {
    "without prefix": lambda identifier: identifier.partition("_")[2],
    "other prefix": lambda identifier: f"res_{identifier}",
    "capital": lambda identifier: identifier.upper(),
    "hyphen": lambda identifier: identifier.replace("_", "-"),
    "prefix only": lambda identifier: identifier.partition("_")[0] + "_",
}


def _ids(operation: str) -> dict[str, tuple[str, Any]]:
    shown = members(operation)
    free = {"account_id"} | ({"id"} if RESOURCES[ANSWERS[operation]]["id"].prefix == "acc_" else set())
    return {
        f"{name} {how}": (name, way)
        for name in ("id", *references(operation), "account_id")
        if name in shown
        for how, way in (IDS if name in free else {**IDS, **PREFIXED}).items()
    }


def _ids_again(self: Any, ctx: Context, shown: dict[str, Any]) -> dict[str, Any]:
    """Returns an id that was shown before; `value` says how often one comes."""
    known = self.state.setdefault("ids", [])
    known.append(shown["id"])
    return {"id": known[(len(known) - 1) // self.value * self.value if self.value else 0]}


faults["format.id"] |= {
    "An identifier is no string with the prefix of its type.": changing(_ids),
    "The id of an embedded payout destination is no string with the prefix of its type.": changing(
        {
            "number": ("id", IDS["number"]),
            "without prefix": ("id", PREFIXED["without prefix"]),
        },
        embedded,
        operations=EMBEDDING,
    ),
}

faults["format.account-id"] |= {
    "An account id does not start with acc_ or acct_.": changing(
        {name: ("id", PREFIXED[name]) for name in ("without prefix", "other prefix", "capital", "hyphen")}
    )
}

faults["format.id-unique"] |= {
    "Two resources have one id.": document.sets(
        _ids_again, each={"always one": 0, "by second request": 2, "by third request": 3}
    )
}
