"""Servers that create a resource with other values than those sent."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

from conformance.contract.fields import Field
from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context
from conformance.reference.seams.resources import KINDS
from tests.specification import ADDRESS, ANSWERS, RESOURCES

from .catalogue import Faulty, Row, fault, faults, hook, seam
from .kept_texts import rows_of_creates
from .kinds import OTHERS
from .races import NotAtomic, pause
from .resources import Shows, echoed, free_texts, other, showing


@fault("create.echo", seam="shown", base=Shows, operations=("createBeneficiary",), each=ADDRESS)
def _(self: Any, ctx: Context, document: dict[str, Any]) -> Any:
    """This member of the address is not what was sent."""
    address = dict(document["address"])
    address[self.value] = other("country" if self.value == "country" else "", address.get(self.value, ""))
    return {**document, "address": address}


def _droppable(operation: str) -> list[str]:
    nullable = {"title", "middle_name", "company_name", "tax_id", "note", "label", "network"}
    kind = KINDS[operation]
    return [
        name
        for name in echoed(operation)
        if name in nullable
        and not (
            (name == "label" and kind != "payout_destination") or (name == "network" and kind == "wallet")
        )
    ]


class Keeps(Faulty):
    """Stores the fields that `kept` returns."""

    def kept(self, fields: dict[str, Any]) -> dict[str, Any]:
        return fields

    def kept_fields(self, ctx: Context) -> dict[str, Any]:
        fields = super().kept_fields(ctx)
        return self.kept(fields) if self.here(ctx) else fields


keeping = hook(Keeps, "kept")


#: Kind -> change of each text that is sent.
TEXTS: dict[str, Callable[[str], str]] = {
    "question marks": lambda text: text.encode("ascii", "replace").decode(),
    "mojibake": lambda text: text.encode("utf-8").decode("latin-1"),
    "capitals": lambda text: text.upper(),
    "small letters": lambda text: text.lower(),
}


@fault(
    "create.echo",
    seam="kept",
    base=Keeps,
    operations=[operation for operation in OPERATION_SETS["create"] if free_texts(operation)],
    each=[*TEXTS],
)
def _(self: Any, fields: dict[str, Any]) -> Any:
    """Free texts are kept in another form."""
    free = free_texts(self.operation)
    return {name: TEXTS[self.value](value) if name in free else value for name, value in fields.items()}


def changed_address(
    fields: dict[str, Any], change: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    return {**fields, "address": {**fields["address"], **change(fields["address"])}}


def escaped(address: dict[str, Any], member: str) -> dict[str, Any]:
    """Escapes the apostrophes in a member of an address as in HTML."""
    return {member: address.get(member, "").replace("'", "&#39;")}


#: Kind -> change of a beneficiary's fields.
CONFUSIONS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "country_code is that of the address": lambda fields: {
        **fields,
        "country_code": fields["address"]["country"],
    },
    "the address is in the country of payouts": lambda fields: changed_address(
        fields, lambda address: {"country": fields["country_code"]}
    ),
    "country_code is told from the telephone number": lambda fields: {
        **fields,
        "country_code": "US" if fields["phone"].startswith("+1") else fields["country_code"],
    },
    "city and region are swapped": lambda fields: changed_address(
        fields, lambda address: {"city": address["region"], "region": address["city"]}
    ),
    "the postal code is a number": lambda fields: changed_address(
        fields, lambda address: {"postal_code": address["postal_code"].lstrip("0")}
    ),
    "the address is in ASCII": lambda fields: changed_address(
        fields,
        lambda address: {name: value.encode("ascii", "ignore").decode() for name, value in address.items()},
    ),
    "a name that says null is none": lambda fields: {
        name: None if value == "Null" else value for name, value in fields.items()
    },
    "display_name is made of the names": lambda fields: {
        **fields,
        "display_name": f"{fields['first_name']} {fields['last_name']}",
    },
}


def _told_from(name: str, known: Mapping[str, str], other: str) -> Callable[[Any, dict[str, Any]], Any]:
    """Stores a value that depends on another field, if that has one of the known values."""
    return lambda self, fields: {**fields, name: known.get(str(fields.get(other)), fields.get(name))}


def _default_of_payee(ctx: Context) -> Any:
    """Returns the default destination of the payout's beneficiary, or the one sent if there is none."""
    made = ctx.store.select("payout_destination", str(ctx.values["beneficiary_id"]))
    default = [each["id"] for each in made if each.get("is_default")]
    return default[0] if default else ctx.values["payout_destination_id"]


def _kept_texts(fault: Any, fields: dict[str, Any]) -> dict[str, Any]:
    texts = free_texts(fault.operation)
    return {name: fault.value(value) if name in texts else value for name, value in fields.items()}


#: Kind -> change of each stored text.
KEPT_TEXTS: dict[str, Callable[[str], str]] = {
    "markup escaped": lambda text: text.replace("&", "&amp;").replace("<", "&lt;").replace("'", "&#39;"),
    "markup stripped": lambda text: re.sub("<[^>]*>?", "", text),
    "quotes doubled": lambda text: text.replace("'", "''"),
    "quotes escaped": lambda text: text.replace("'", "\\'").replace('"', '\\"'),
    "backslashes doubled": lambda text: text.replace("\\", "\\\\"),
    "backslashes stripped": lambda text: text.replace("\\", ""),
    "inner spaces joined": lambda text: re.sub(" +", "", text),
    "two spaces are one": lambda text: text.replace("  ", " "),
    "percent decoded": lambda text: text.replace("%", ""),
    "escapes of URLs decoded": unquote,
    "plus signs as spaces": lambda text: text.replace("+", " "),
}


def _kept_field(name: str) -> Callable[[Any, Context, Field, Any], Any]:
    """Stores one field's texts as changed by `self.value`."""

    def kept_value(self: Any, ctx: Context, field: Field, value: Any) -> Any:
        return self.value(value) if field.name == name and isinstance(value, str) else self.usual()

    return kept_value


_PEOPLE = ("createBeneficiary", "updateBeneficiary")


#: Kind -> change of a note.
NOTES: dict[str, Callable[[str], str]] = {
    "a tab is a space": lambda note: note.replace("\t", " "),
    "lines are joined": lambda note: note.replace("\n", " "),
    "lines end as on Windows": lambda note: note.replace("\n", "\r\n"),
    "lines end as on Unix": lambda note: note.replace("\r\n", "\n"),
    "the first line only": lambda note: note.partition("\n")[0],
}

#: Kind -> change of a phone number.
PHONES: dict[str, Callable[[str], str]] = {
    "without spaces": lambda phone: phone.replace(" ", ""),
    "without hyphens": lambda phone: phone.replace("-", ""),
    "without brackets": lambda phone: re.sub("[()]", "", phone),
}


def rows_of_texts(operations: tuple[str, ...]) -> dict[str, Row]:
    return {
        "The lines and columns of a note are lost.": seam(
            "kept_value", _kept_field("note"), operations=operations, each=NOTES
        ),
        "A telephone number is kept in another form than people wrote it.": seam(
            "kept_value",
            _kept_field("phone"),
            operations=[operation for operation in operations if operation in _PEOPLE],
            each=PHONES,
        ),
    }


def _text(operation: str) -> str:
    return "display_name" if operation == "createBeneficiary" else "label"


faults["create.echo"] |= {
    "This member of the answer is not what was sent.": showing(
        lambda self, ctx, document: (
            document
            if self.value not in ctx.body
            else {**document, self.value: other(self.value, document[self.value])}
        ),
        each=lambda operation: [
            name
            for name in echoed(operation)
            if name not in ("beneficiary_id", "payout_destination_id", "amount")
        ],
    ),
    "This parent's id in the answer is another one.": showing(
        lambda self, ctx, document: {
            **document,
            self.value: document[self.value][:-1] + ("0" if document[self.value][-1] != "0" else "1"),
        },
        each=lambda operation: [
            name
            for name, field in RESOURCES[ANSWERS[operation]].items()
            if name == "account_id" or (field.prefix and name != "id")
        ],
    ),
    "The account's id is shown without its prefix.": showing(
        lambda self, ctx, document: {**document, "account_id": document["account_id"].partition("_")[2]},
        operations=[name for name in OPERATION_SETS["create"] if "account_id" in RESOURCES[ANSWERS[name]]],
    ),
    "This member of a large payment's answer is another one.": showing(
        lambda self, ctx, document: (
            {**document, self.value: other(self.value, document[self.value])}
            if Decimal(document["amount"]) > 1000
            else document
        ),
        operations=("createPayout", "createPayin"),
        each=lambda operation: [
            "account_id",
            "currency",
            *(["beneficiary_id", "payout_destination_id"] if operation == "createPayout" else []),
        ],
    ),
    "A payment in yen is shown as one in dollars.": showing(
        lambda self, ctx, document: (
            {**document, "currency": "USD"} if document["currency"] == "JPY" else document
        ),
        operations=("createPayout", "createPayin"),
    ),
    "This optional field is not kept.": keeping(
        lambda self, fields: {name: value for name, value in fields.items() if name != self.value},
        operations=("createBeneficiary", "createPayoutDestination", "createPayout"),
        each=_droppable,
    ),
    "This member of the address is empty.": showing(
        lambda self, ctx, document: {**document, "address": {**document["address"], self.value: ""}},
        operations=("createBeneficiary",),
        each=ADDRESS,
    ),
    "A field of a beneficiary is taken for another one, or for something else.": keeping(
        lambda self, fields: self.value(fields), operations=("createBeneficiary",), each=CONFUSIONS
    ),
    "The words of this member of an address begin with capitals.": keeping(
        lambda self, fields: {
            **fields,
            "address": {**fields["address"], self.value: fields["address"][self.value].title()},
        },
        operations=("createBeneficiary",),
        each=("address_line", "city", "region"),
    ),
    "The apostrophes in this member of an address are escaped.": keeping(
        lambda self, fields: changed_address(fields, lambda address: escaped(address, self.value)),
        operations=("createBeneficiary",),
        each=("address_line", "city"),
    ),
    "A text without a maximum length is cut.": keeping(
        lambda self, fields: {
            name: value[: self.value] if name in ("note", "label") and isinstance(value, str) else value
            for name, value in fields.items()
        },
        operations=("createBeneficiary", "createPayoutDestination"),
        each=(255, 512, 1000, 4000, 10_000),
    ),
    "The currency of a destination is told from its country.": keeping(
        _told_from("currency", {"US": "USD", "DE": "EUR", "GB": "GBP", "MX": "MXN"}, "country"),
        operations=("createPayoutDestination",),
    ),
    "The country of a destination is told from its currency.": keeping(
        _told_from("country", {"USD": "US", "EUR": "DE", "GBP": "GB", "MXN": "MX"}, "currency"),
        operations=("createPayoutDestination",),
    ),
    "The country of a wallet destination is that of its beneficiary.": seam(
        "kept_fields",
        lambda self, ctx: {
            **self.usual(),
            **({"country": ctx.beneficiary["country_code"]} if ctx.values["type"] == "wallet" else {}),
        },
        operations=("createPayoutDestination",),
    ),
    "A bank account with an IBAN is never the default.": keeping(
        lambda self, fields: {**fields, **({"is_default": False} if "iban" in fields else {})},
        operations=("createPayoutDestination",),
    ),
    "A SWIFT code without an IBAN is not kept.": keeping(
        lambda self, fields: {
            name: value for name, value in fields.items() if name != "swift_code" or "iban" in fields
        },
        operations=("createPayoutDestination",),
    ),
    "All wallets are on one network.": keeping(
        lambda self, fields: {**fields, "network": "solana_devnet"}, operations=("createWallet",)
    ),
    "A virtual account with an address is in the currency of that country.": keeping(
        lambda self, fields: {**fields, **({"currency": self.value} if fields.get("address") else {})},
        operations=("createVirtualAccount",),
        each=("EUR", "USD"),
    ),
    "The currency of a payin is told from its method.": keeping(
        _told_from("currency", {"card": "USD", "crypto": "EUR"}, "payment_method"),
        operations=("createPayin",),
    ),
    "A payout is booked to the beneficiary's default destination, if there is one.": seam(
        "kept_fields",
        lambda self, ctx: {**self.usual(), "payout_destination_id": _default_of_payee(ctx)},
        operations=("createPayout",),
    ),
    "A payout is booked to the beneficiary that was made last.": seam(
        "kept_fields",
        lambda self, ctx: {
            **self.usual(),
            "beneficiary_id": ctx.store.select("beneficiary", ctx.account["id"])[-1]["id"],
        },
        operations=("createPayout",),
    ),
    "An account shows the first customer of its organization.": seam(
        "members",
        lambda self, ctx, kind, record: {
            **self.usual(),
            "customer_id": ctx.store.select("customer", ctx.organization.id)[0]["id"],
        },
        operations=("createAccount",),
    ),
    "Some characters of free texts are kept as others, or not at all.": keeping(
        _kept_texts,
        operations=[operation for operation in OPERATION_SETS["create"] if free_texts(operation)],
        each=KEPT_TEXTS,
    ),
    "Some characters of a company's name are kept as others, or not at all.": seam(
        "kept_value", _kept_field("company_name"), operations=("createBeneficiary",), each=KEPT_TEXTS
    ),
    "A text of some syntax is kept in a form of the server's own.": keeping(
        lambda self, fields: {
            name: self.value[1](value) if name == self.value[0] else value for name, value in fields.items()
        },
        operations=("createBeneficiary",),
        each={
            "e-mail without its dots": ("email", lambda text: text.replace(".", "", 1)),
            "phone of digits alone": ("phone", lambda text: re.sub(r"\D", "", text)),
            "tax id of digits alone": ("tax_id", lambda text: re.sub(r"\D", "", text)),
            "name with a capital": ("last_name", str.capitalize),
            "tax id as a number": ("tax_id", lambda text: text.lstrip("0") if text.isdigit() else text),
            "last name as no value": ("last_name", lambda text: "" if text.lower() == "null" else text),
            "tax id in capitals": ("tax_id", str.upper),
            "tax id without hyphens": ("tax_id", lambda text: text.replace("-", "")),
            "title without its dot": ("title", lambda text: text.rstrip(".")),
        },
    ),
    **rows_of_texts(("createBeneficiary", "createPayout")),
    "Whoever has a company_name is a business.": showing(
        lambda self, ctx, document: (
            {**document, "beneficiary_type": "business"} if document["company_name"] else document
        ),
        operations=("createBeneficiary",),
    ),
    "company_name of an individual is left out.": showing(
        lambda self, ctx, document: (
            {**document, "company_name": None} if document["beneficiary_type"] == "individual" else document
        ),
        operations=("createBeneficiary",),
    ),
    "A text is not what was sent in one kind of request.": seam(
        "kept_fields",
        lambda self, ctx: (
            {**self.usual(), (name := _text(ctx.operation)): other(name, ctx.values.get(name))}
            if self.value(ctx)
            else self.usual()
        ),
        operations=OTHERS,
        each=OTHERS.__getitem__,
    ),
    **rows_of_creates(),
}


@fault("create.echo", seam="kept_fields", base=NotAtomic, operations=("createPayout",))
def _(self: Any, ctx: Context) -> Any:
    """Of simultaneous payouts all are made with the fields of the last one."""
    self.state["asked"] = self.usual()
    pause()
    return dict(self.state["asked"])
