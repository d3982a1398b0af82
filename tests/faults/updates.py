"""Servers where a PATCH changes other fields than those sent, or breaks other rules (section 4.2.4)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal
from tests.specification import ADDRESS

from .beneficiaries import KeepsOneDocument, KeptByEach, elsewhere, fields_of_beneficiary, neighbours
from .catalogue import Faulty, fault, faults, of, seam
from .creation import changed_address
from .resources import paid
from .rows import (
    adding,
    after,
    before,
    document,
    other,
    refusing,
    show,
    skipping,
    store,
    succeeded,
    third,
    where,
)

Test = Callable[[Context, Record], Any]

_OPTIONAL = ("title", "middle_name", "company_name", "tax_id", "note")


def _has_destinations(ctx: Context, record: Record) -> bool:
    return bool(ctx.store.select("payout_destination", record["id"]))


def _alone(name: str) -> Test:
    return lambda ctx, record: [*ctx.values] == [name]


def _was_null(name: str) -> Test:
    return lambda ctx, record: record.get(name) is None


#: Kind of PATCH, and of beneficiary -> fields that it leaves as they were.
LEFT: dict[str, tuple[Test, tuple[str, ...]]] = {
    "always": (lambda ctx, record: True, tuple(fields_of_beneficiary())),
    "of several": (
        lambda ctx, record: len(ctx.values) > 1,
        ("title", "middle_name", "display_name", "phone", "tax_id", "country_code", "note"),
    ),
    "of a disabled one": (
        lambda ctx, record: record["status"] == "disabled",
        ("title", "first_name", "email", "phone", "address", "tax_id", "note"),
    ),
    "of a business": (
        lambda ctx, record: record["beneficiary_type"] == "business",
        ("first_name", "last_name", "display_name", "email", "phone", "address", "tax_id", "note"),
    ),
    "of one that has destinations": (_has_destinations, ("last_name",)),
}

#: Kind -> what a PATCH changes beside the fields that it names.
MORE: dict[str, Callable[[Context, Record], dict[str, Any]]] = {
    "a disabled one is active": lambda ctx, record: {"status": "active"},
    "an individual loses its company_name": lambda ctx, record: (
        {"company_name": None} if ctx.values.get("beneficiary_type") == "individual" else {}
    ),
    "company_name makes a business": lambda ctx, record: (
        {"beneficiary_type": "business"} if ctx.values.get("company_name") else {}
    ),
    "first_name and last_name make a display_name": lambda ctx, record: (
        {"display_name": f"{ctx.values['first_name']} {ctx.values['last_name']}"}
        if {"first_name", "last_name"} <= ctx.values.keys() and "display_name" not in ctx.values
        else {}
    ),
    "several fields make an individual": lambda ctx, record: (
        {"beneficiary_type": "individual", **ctx.values} if len(ctx.values) > 2 else {}
    ),
    "created": lambda ctx, record: {"created": ctx.now},
    "status": lambda ctx, record: {"status": "inactive"},
    "verified": lambda ctx, record: {"verified": True},
}

#: Kind of PATCH, and of beneficiary, that is refused.
REFUSED: dict[str, Test] = {
    "a business": lambda ctx, record: record["beneficiary_type"] == "business",
    "one that has destinations": _has_destinations,
    "one that was paid": lambda ctx, record: paid(ctx, "beneficiary_id", record),
    "one that becomes a business and has a company_name": lambda ctx, record: (
        ctx.values.get("beneficiary_type") == "business" and "company_name" not in ctx.values
    ),
}


def _alike(fold: Callable[[str], Any], old: Any, new: Any) -> bool:
    """Returns True for two texts that are one to a server which compares them in another form."""
    return isinstance(old, str) and isinstance(new, str) and fold(old) == fold(new)


def _old(self: Any, ctx: Context) -> dict[str, Any]:
    """Returns the member that `value` names as it was before the PATCH."""
    return {self.value: (ctx.beneficiary or {}).get(self.value)}


def _spread(self: Any, ctx: Context) -> None:
    """Changes the field that `value` names in all beneficiaries of the account."""
    if self.value in ctx.values:
        store(ctx, {self.value: ctx.values[self.value]}, neighbours(ctx))


def _lost_of_disabled(self: Any, ctx: Context) -> None:
    before = ctx.beneficiary or {}
    ctx.record = self.patched(ctx, before) if self.value else before


faults["beneficiary.update"] |= {
    "A new destination saves its beneficiary as it was when it was read.": after(
        "create_destination", lambda self, ctx: ctx.store.update(self.parent(ctx)), base=KeepsOneDocument
    ),
    "A PATCH saves all fields as they were when it read the beneficiary, as object mappers do.": of(
        KeepsOneDocument
    ),
    "Each of several processes keeps the beneficiary that it has read first.": of(
        KeptByEach, each={"two": 2, "three": 3}
    ),
    "A PATCH answers this field changed, but a later read shows the old value.": after(
        "update_beneficiary", lambda self, ctx: store(ctx, _old(self, ctx)), each=fields_of_beneficiary
    ),
    "A PATCH stores this field, but its answer shows the old value.": after(
        "update_beneficiary", lambda self, ctx: show(ctx, _old(self, ctx)), each=fields_of_beneficiary
    ),
    "A PATCH of null answers null, and a later read shows the value that was there.": after(
        "update_beneficiary",
        lambda self, ctx: (
            store(ctx, _old(self, ctx)) if ctx.values.get(self.value, "not named") is None else None
        ),
        each=("title", "middle_name", "tax_id", "note"),
    ),
    "A PATCH leaves a field as it was.": adding(
        "patched",
        lambda self, ctx, record: {self.value[0]: record.get(self.value[0])},
        lambda self, ctx, record: self.value[1](ctx, record),
        each={
            **{f"{name}, {kind}": (name, test) for kind, (test, names) in LEFT.items() for name in names},
            **{
                f"{name}, alone": (name, _alone(name))
                for name in fields_of_beneficiary()
                if name != "beneficiary_type"
            },
            **{
                f"{name}, where it was null": (name, _was_null(name))
                for name in ("title", "middle_name", "tax_id", "note")
            },
        },
    ),
    "A PATCH changes what it does not name.": adding(
        "patched", lambda self, ctx, record: self.value(ctx, record), each=MORE
    ),
    "A PATCH is refused of a beneficiary of some kind.": refusing(
        "patched", "invalid_field", lambda self, ctx, record: self.value(ctx, record), each=REFUSED
    ),
    "A PATCH empties this optional field where it does not name it.": adding(
        "patched", lambda self, ctx, *_: {self.value: ctx.values.get(self.value)}, each=_OPTIONAL
    ),
    "A PATCH changes this field where it does not name it.": adding(
        "patched",
        lambda self, ctx, record: {self.value: other(self.value, record.get(self.value) or "individual")},
        lambda self, ctx, record: self.value not in ctx.values,
        each=[name for name in fields_of_beneficiary() if name not in _OPTIONAL],
    ),
    "A PATCH of this field alone empties company_name.": adding(
        "patched",
        {"company_name": None},
        lambda self, ctx, *_: [*ctx.values] == [self.value],
        each=("title", "first_name", "email", "phone", "address", "tax_id", "country_code", "note"),
    ),
    "Of the fields that a PATCH names only the first one changes.": seam(
        "patched",
        lambda self, ctx, record: {
            **record,
            **dict(list(ctx.values.items())[:1]),
            "updated": self.touched(ctx, record),
        },
    ),
    "A PATCH of the address leaves this member as it was.": seam(
        "patched",
        lambda self, ctx, record: changed_address(
            self.usual(), lambda address: {self.value: record["address"].get(self.value)}
        ),
        each=ADDRESS,
    ),
    "A PATCH of an address is lost that changes this member only.": seam(
        "patched",
        lambda self, ctx, record: changed_address(
            self.usual(),
            lambda address: (
                record["address"] if address == {**record["address"], self.value: address[self.value]} else {}
            ),
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
        "update_beneficiary", _spread, each=("note", "email", "first_name", "address", "beneficiary_type")
    ),
    "A PATCH changes the beneficiaries of other accounts as well.": before(
        "patched", lambda self, ctx, record: store(ctx, ctx.values, elsewhere(ctx, record))
    ),
    "A PATCH of a disabled beneficiary is accepted and lost.": where(
        "update_beneficiary",
        lambda self, ctx: ctx.beneficiary["status"] == "disabled",
        _lost_of_disabled,
        each={"its answer shows": True, "nothing shows": False},
    ),
}


@fault("beneficiary.update", "beneficiary.disable")
class ReadsStayAsTheyWere(Faulty):
    """What was read once is read the same ever after, whatever is changed."""

    everywhere = True

    def finish(self, ctx: Context, response: Response) -> Response:
        response = super().finish(ctx, response)
        if ctx.operation != "getBeneficiary" or not succeeded(response):
            return response
        return response.with_document(self.state.setdefault(ctx.path, response.document))


@fault("beneficiary.update")
class LosesTheNext(Faulty):
    """The PATCH after a refused one is lost."""

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        if refusal.kind == "invalid_field" and ctx.beneficiary is not None:
            self.state[ctx.beneficiary["id"]] = True

    def patched(self, ctx: Context, record: Record) -> Record:
        return record if self.state.pop(record["id"], False) else super().patched(ctx, record)


# ---------------------------------------------------------------------- other rules of updates


def _of_empty(self: Any, ctx: Context) -> None:
    """Changes the member that `value` names by an empty PATCH."""
    if not ctx.values:
        name, record = self.value, ctx.record or {}
        show(ctx, {name: None if name in ("title", "note") else other(name, record[name])})
        store(ctx, {})


faults["beneficiary.update-empty"] |= {
    "A PATCH with an empty object is refused.": refusing(
        "update_beneficiary", "invalid_field", lambda self, ctx: not ctx.values
    ),
    "A PATCH with an empty object changes this member.": after(
        "update_beneficiary", _of_empty, each=("title", "note", "status", "address", "first_name")
    ),
    "A PATCH with an empty object is answered as it should, and stored with another note.": after(
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
        each=("status", "verified", "id", "created", "account_id", "payout_destinations"),
    ),
    "A PATCH that names members of the server is answered with a redirection.": refusing(
        "check_state", (303, "moved", "moved"), lambda self, ctx: {"id", "created"} & ctx.body.keys()
    ),
    "updated is what a PATCH names.": document.sets(
        lambda self, ctx, shown: {"updated": ctx.body.get("updated", shown["updated"])}
    ),
}

faults["beneficiary.update-company-name"] |= {
    "A PATCH may leave a business without company_name.": skipping("check_state"),
    "A PATCH that makes a business need only name company_name, if with null.": skipping(
        "check_company_name", lambda self, ctx, fields: len(ctx.body) > 1
    ),
}


faults["beneficiary.update-moves-updated"] |= {
    "A PATCH leaves updated as it was.": adding(
        "patched", lambda self, ctx, record: {"updated": record["updated"]}
    ),
    "A PATCH moves updated back to before the create.": adding(
        "patched", lambda self, ctx, record: {"updated": record["created"] - 60_000_000}
    ),
    "A PATCH of this field alone leaves updated as it was.": adding(
        "patched",
        lambda self, ctx, record: {"updated": record["updated"]},
        lambda self, ctx, record: [*ctx.values] == [self.value],
        each=("phone", "address", "country_code", "note"),
    ),
    "Only the first change of a beneficiary moves updated.": where(
        "touched",
        lambda self, ctx, record: record["updated"] != record["created"],
        lambda self, ctx, record: int(record["updated"]),
    ),
}
