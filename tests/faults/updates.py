"""Servers where a PATCH changes other fields than those sent, or breaks other rules (section 4.2.4)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from conformance.contract.fields import request_fields
from conformance.reference.context import Context, Record
from tests.specification import ADDRESS

from .beneficiaries import (
    BENEFICIARIES,
    KeepsOneDocument,
    elsewhere,
    fields_of_beneficiary,
    held,
    kept_by_each,
    neighbours,
)
from .catalogue import Call, Row, faults, of, seam, seams
from .rows import (
    adding,
    after,
    always,
    before,
    document,
    lacking,
    other,
    refusing,
    says,
    show,
    skipping,
    stale,
    store,
    succeeded,
    third,
    where,
)
from .tenancy import AsksForFunds

#: Fields of a beneficiary that may be null.
_OPTIONAL = [
    field.name for field in request_fields("updateBeneficiary") if not (field.required or field.choices)
]


def _but(*names: str) -> list[str]:
    """Returns the fields that a PATCH may contain, but some."""
    return [field for field in fields_of_beneficiary() if field not in names]


def _holds(ctx: Context, record: Record, member: str, value: Any) -> bool:
    """Returns True if a beneficiary has a destination with this value of a member."""
    return value in [each.get(member) for each in held(ctx, record)]


#: Kind of beneficiary, by its destinations -> its test.
HOLDERS: dict[str, Call] = {
    "of one that has a default destination": lambda self, ctx, record, *_: _holds(
        ctx, record, "is_default", True
    ),
    "of one that has a wallet": lambda self, ctx, record, *_: _holds(ctx, record, "type", "wallet"),
}

#: Kind of PATCH, or of beneficiary -> its test, which may name a field.
WHERE: dict[str, Call] = {
    "always": always,
    "alone": lambda self, ctx, record, field: [*ctx.values] == [field],
    "among several": lambda self, ctx, *_: len(ctx.values) > 1,
    "where it was null": lambda self, ctx, record, field: record.get(field) is None,
    **BENEFICIARIES,
    **HOLDERS,
}


def patching(members: Call | Mapping[str, Any], fields: Mapping[str, str | Iterable[str]]) -> Row:
    """Makes a row of servers where a PATCH gives members other values: of a kind -> of these fields."""
    more = members if callable(members) else lambda *_: members
    return adding(
        "patched",
        lambda self, ctx, record: more(self, ctx, record, self.value[0]),
        lambda self, ctx, record: WHERE[self.value[1]](self, ctx, record, self.value[0]),
        each={
            f"{field}, {kind}": (field, kind)
            for kind, names in fields.items()
            for field in (names.split() if isinstance(names, str) else names)
        },
        by_field=True,
    )


def _alike(fold: Callable[[str], Any], old: Any, new: Any) -> bool:
    """Returns True for two texts that are one to a server which compares them in another form."""
    return isinstance(old, str) and isinstance(new, str) and fold(old) == fold(new)


#: Forms of display_name, made of other members.
DISPLAY_NAMES = (
    "{first_name} {last_name}",
    "{last_name}, {first_name}",
    "{last_name} {first_name}",
    "{first_name} {middle_name} {last_name}",
    "{title} {first_name} {last_name}",
)


def _made_of(form: str, record: Mapping[str, Any]) -> str:
    """Returns the text that a form makes of a beneficiary's members."""
    return form.format_map({name: record.get(name) for name in fields_of_beneficiary()})


faults["beneficiary.update"] |= {
    "A new destination saves its beneficiary as it was when it was read.": after(
        "create_destination", lambda self, ctx: ctx.store.update(self.parent(ctx)), base=KeepsOneDocument
    ),
    "A PATCH saves all fields as they were when it read the beneficiary.": of(KeepsOneDocument),
    "Each process keeps the beneficiary it has read first.": kept_by_each(each={"two": 2, "three": 3}),
    "A PATCH of null answers null, and a later read shows the value that was there.": after(
        "update_beneficiary",
        lambda self, ctx: store(ctx, {self.value: ctx.beneficiary.get(self.value)}),
        lambda self, ctx: ctx.values.get(self.value, "not named") is None,
        each=_OPTIONAL,
    ),
    "A PATCH of null empties a text that cannot be null.": seam(
        "parse_body",
        lambda self, usual, ctx: {
            name: "" if name == self.value and value is None else value for name, value in usual().items()
        },
        each=("first_name", "last_name", "display_name"),
    ),
    "A PATCH leaves a field as it was.": patching(
        lambda self, ctx, record, field: {field: record.get(field)},
        {
            "alone": _but("beneficiary_type"),
            "where it was null": _OPTIONAL,
            "among several": fields_of_beneficiary(),
            # No check names the others in a PATCH of one.
            "of a disabled one": _but("beneficiary_type"),
            "of a business": _but("country_code"),
            "of one that has destinations": fields_of_beneficiary(),
            "of one that has a default destination": ["phone", "country_code"],
            "of one that has a wallet": ["email", "country_code"],
        },
    ),
    "A PATCH of last_name is lost once the beneficiary was paid, for which the payer needs funds.": adding(
        "patched",
        lambda self, ctx, record: {"last_name": record["last_name"]},
        BENEFICIARIES["of one that was paid"],
        base=AsksForFunds,
    ),
    "A PATCH of this field empties company_name.": patching(
        {"company_name": None},
        {"alone": _but("company_name")},
    ),
    "A PATCH of a disabled beneficiary empties or resets what it does not name.": adding(
        "patched",
        lambda self, ctx, *_: self.value,
        lambda self, ctx, record: (
            record["status"] == "disabled" and not self.value.keys() & ctx.values.keys()
        ),
        each={
            "company_name": {"company_name": None},
            "first_name": {"first_name": "Deleted"},
            "email": {"email": "deleted@example.com"},
            "tax_id": {"tax_id": None},
            "country_code": {"country_code": "AQ"},
            "beneficiary_type": {"beneficiary_type": "business", "company_name": "Deleted"},
        },
    ),
    "A PATCH changes what it does not name.": adding(
        "patched",
        None,
        each={
            "a disabled one is active": lambda *_: {"status": "active"},
            "an individual loses its company_name": lambda self, ctx, *_: (
                {"company_name": None} if says(ctx.values, "beneficiary_type=individual") else {}
            ),
            "company_name makes a business": lambda self, ctx, *_: (
                {"beneficiary_type": "business"} if says(ctx.values, "company_name") else {}
            ),
            "first_name and last_name make a display_name": lambda self, ctx, *_: (
                {"display_name": f"{ctx.values['first_name']} {ctx.values['last_name']}"}
                if says(ctx.values, "first_name, last_name, no display_name")
                else {}
            ),
            "several fields make an individual": lambda self, ctx, *_: (
                {"beneficiary_type": "individual", **ctx.values} if len(ctx.values) > 2 else {}
            ),
            "created": lambda self, ctx, *_: {"created": ctx.now},
            "status": lambda *_: {"status": "inactive"},
            "verified": lambda *_: {"verified": True},
        },
    ),
    "A PATCH of a name changes the display_name that was made of the names.": adding(
        "patched",
        lambda self, ctx, record: {"display_name": _made_of(self.value, {**record, **ctx.values})},
        lambda self, ctx, record: (
            "display_name" not in ctx.values and record["display_name"] == _made_of(self.value, record)
        ),
        each=DISPLAY_NAMES,
    ),
    "A PATCH of display_name changes the names that it was made of.": adding(
        "patched",
        lambda self, ctx, *_: dict(
            zip(("first_name", "last_name"), ctx.values["display_name"].rsplit(" ", 1), strict=False)
        ),
        lambda self, ctx, record: (
            [*ctx.values] == ["display_name"]
            and record["display_name"] == f"{record['first_name']} {record['last_name']}"
        ),
    ),
    "A PATCH of a field changes this one where it was equal.": adding(
        "patched",
        lambda self, ctx, *_: {self.value[1]: ctx.values[self.value[0]]},
        lambda self, ctx, record: (
            [*ctx.values] == [self.value[0]]
            and record.get(self.value[0]) == record.get(self.value[1]) is not None
        ),
        each={
            f"{changed}, {also}": (changed, also)
            for changed, also in (
                ("display_name", "company_name"),
                ("company_name", "display_name"),
                ("display_name", "note"),
                ("note", "display_name"),
                ("first_name", "middle_name"),
                ("middle_name", "first_name"),
                ("email", "note"),
                ("phone", "note"),
                ("tax_id", "note"),
            )
        },
    ),
    "A PATCH of country_code moves the address there where it was in that country.": adding(
        "patched",
        lambda self, ctx, record: {"address": {**record["address"], "country": ctx.values["country_code"]}},
        lambda self, ctx, record: (
            [*ctx.values] == ["country_code"] and record["address"]["country"] == record["country_code"]
        ),
    ),
    "A PATCH is refused of a beneficiary of some kind.": refusing(
        "patched",
        "invalid_field",
        None,
        each={
            **{kind: BENEFICIARIES[kind] for kind in [*BENEFICIARIES][1:]},
            **HOLDERS,
            "of one that becomes a business and has a company_name": lambda self, ctx, *_: says(
                ctx.values, "beneficiary_type=business, no company_name"
            ),
        },
    ),
    "Of the fields that a PATCH names only the first one changes.": seam(
        "patched",
        lambda self, usual, ctx, record: {
            **record,
            **dict(list(ctx.values.items())[:1]),
            "updated": self.touched(ctx, record),
        },
    ),
    "A PATCH of an address is lost that changes this member only.": seam(
        "patched",
        lambda self, usual, ctx, record: (
            {**patched, "address": record["address"]}
            if lacking((patched := usual())["address"], self.value) == lacking(record["address"], self.value)
            else patched
        ),
        each=ADDRESS,
    ),
    "A PATCH of a text is lost that changes no more than this.": adding(
        "patched",
        lambda self, ctx, record: {
            name: record[name]
            for name, text in ctx.values.items()
            if _alike(self.value, record.get(name), text)
        },
        each={
            "letter case": str.casefold,
            "accents": lambda text: unicodedata.normalize("NFD", text).encode("ascii", "ignore"),
            "signs": lambda text: "".join(filter(str.isalnum, text)),
            "what follows the first 20 characters": lambda text: text[:20],
        },
    ),
    "Each third PATCH answers another name.": third(
        lambda self, ctx, shown: {**shown, "display_name": other("", shown["display_name"])}
    ),
    "A PATCH of this field changes it in all beneficiaries of the account.": after(
        "update_beneficiary",
        lambda self, ctx: store(ctx, {self.value: ctx.values[self.value]}, neighbours(ctx)),
        lambda self, ctx: self.value in ctx.values,
        each=fields_of_beneficiary(),
    ),
    "A PATCH changes the beneficiaries of other accounts as well.": before(
        "patched", lambda self, ctx, record: store(ctx, ctx.values, elsewhere(ctx, record))
    ),
    "The PATCH after a refused one is lost.": seams(
        {
            "refused": lambda self, usual, ctx, refusal: self.state.update(
                {ctx.params["beneficiary_id"]: True} if refusal.kind == "invalid_field" else {}
            ),
            "patched": lambda self, usual, ctx, record: (
                record if self.state.pop(record["id"], False) else usual()
            ),
        }
    ),
    "A PATCH of a disabled beneficiary is accepted and lost.": where(
        "update_beneficiary",
        lambda self, ctx: ctx.beneficiary["status"] == "disabled",
        lambda self, usual, ctx: setattr(
            ctx, "record", self.patched(ctx, ctx.beneficiary) if self.value else ctx.beneficiary
        ),
        each={"its answer shows": True, "nothing shows": False},
    ),
}


for rule in ("beneficiary.update", "beneficiary.disable"):
    faults[rule] |= {
        "What was read once is read the same ever after, whatever is changed.": stale(
            "finish",
            lambda self, ctx, *_: ctx.path,
            lambda self, ctx, response: ctx.operation == "getBeneficiary" and succeeded(response),
            everywhere=True,
        )
    }

# ---------------------------------------------------------------------- other rules of updates


faults["beneficiary.update-empty"] |= {
    "An empty PATCH is refused.": refusing(
        "update_beneficiary", "invalid_field", lambda self, ctx: not ctx.values
    ),
    "An empty PATCH changes this member.": after(
        "update_beneficiary",
        lambda self, ctx: (
            show(
                ctx,
                {
                    self.value: None
                    if self.value in ("title", "note")
                    else other(self.value, ctx.record[self.value])
                },
            ),
            store(ctx, {}),
        ),
        lambda self, ctx: not ctx.values,
        each=("title", "note", "status", "address", "first_name"),
    ),
    "An empty PATCH is answered as it should, and stored with another note.": after(
        "update_beneficiary", lambda self, ctx: None if ctx.values else store(ctx, {"note": "emptied"})
    ),
}

faults["beneficiary.update-server-owned"] |= {
    "A PATCH takes a member that only the server may set, which only a later read shows.": after(
        "update_beneficiary",
        lambda self, ctx: store(ctx, {name: ctx.body[name] for name in [self.value] if name in ctx.body}),
        each=("status", "verified"),
    ),
    "A PATCH takes a member that only the server may set.": document.sets(
        lambda self, ctx, shown: {self.value: ctx.body.get(self.value, shown[self.value])},
        each=["status", "verified", "id", "created", "updated", "account_id", "payout_destinations"],
    ),
    "A PATCH that names members of the server is answered with a redirection.": refusing(
        "check_state", "303 moved moved", lambda self, ctx: {"id", "created"} & ctx.body.keys()
    ),
}

faults["beneficiary.update-company-name"] |= {
    "A PATCH may leave a business without company_name.": skipping("check_state"),
    "A PATCH that makes a business need only name company_name, if with null.": skipping(
        "check_company_name", lambda self, ctx, *_: len(ctx.body) > 1
    ),
}


faults["beneficiary.update-moves-updated"] |= {
    "A PATCH leaves updated as it was.": patching(
        lambda self, ctx, record, *_: {"updated": record["updated"]},
        {"always": ["any field"], "alone": fields_of_beneficiary()},
    ),
    "A PATCH moves updated back to before the create.": adding(
        "patched", lambda self, ctx, record: {"updated": record["created"] - 60_000_000}
    ),
    "Only the first change of a beneficiary moves updated.": where(
        "touched",
        lambda self, ctx, record: record["updated"] != record["created"],
        lambda self, usual, ctx, record: int(record["updated"]),
    ),
}
