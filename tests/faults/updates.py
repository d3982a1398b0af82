"""Servers where a PATCH changes other fields than those sent (section 4.2.4)."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from typing import Any

from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal
from tests.specification import ADDRESS

from .beneficiaries import KeepsOneDocument, KeptByEach, fields_of_beneficiary, paid
from .catalogue import Faulty, fault, faults, refuse, seam
from .crashes import succeeded, third
from .creation import KEPT_TEXTS, changed_address, escaped, rows_of_texts
from .kept_texts import rows_of_updates
from .resources import free_texts, other


@fault("beneficiary.update")
class SavesTheOldBeneficiary(KeepsOneDocument):
    """A new destination saves its beneficiary as it was when it was read."""

    def slow(self, ctx: Context) -> bool:
        return not self.here(ctx)

    def create_destination(self, ctx: Context) -> None:
        super().create_destination(ctx)
        ctx.store.update(self.parent(ctx))


@fault("beneficiary.update")
class SavesEveryField(KeepsOneDocument):
    """A PATCH saves all fields as they were when it read the beneficiary, as object mappers do."""


@fault("beneficiary.update", seam="update_beneficiary", each=fields_of_beneficiary)
def _(self: Any, ctx: Context) -> None:
    """A PATCH answers this field changed, but a later read shows the old value."""
    assert ctx.beneficiary is not None
    old = ctx.beneficiary
    self.usual()
    assert ctx.record is not None
    ctx.store.update({**ctx.record, self.value: old.get(self.value)})


@fault("beneficiary.update", seam="update_beneficiary", each=fields_of_beneficiary)
def _(self: Any, ctx: Context) -> None:
    """A PATCH stores this field, but its answer shows the old value."""
    old = ctx.beneficiary or {}
    self.usual()
    ctx.record = {**(ctx.record or {}), self.value: old.get(self.value)}


@fault("beneficiary.update", seam="patched", each=KEPT_TEXTS)
def _(self: Any, ctx: Context, record: Record) -> Any:
    """Some characters of free texts that a PATCH names are kept as others, or not at all."""
    texts = free_texts("createBeneficiary")
    changed = {name: value for name, value in ctx.values.items() if name in texts and value}
    return {
        **self.usual(),
        **{name: self.value(value) for name, value in changed.items()},
    }


@fault(
    "beneficiary.update",
    seam="update_beneficiary",
    each=("note", "email", "first_name", "address", "beneficiary_type"),
)
def _(self: Any, ctx: Context) -> None:
    """A PATCH of this field changes it in all beneficiaries of the account."""
    self.usual()
    if self.value in ctx.values:
        for other in ctx.store.select("beneficiary", str(ctx.params["account_id"])):
            ctx.store.update({**other, self.value: ctx.values[self.value]})


@fault("beneficiary.update", "beneficiary.disable")
class ReadsStayAsTheyWere(Faulty):
    """What was read once is read the same ever after, whatever is changed."""

    everywhere = True

    def finish(self, ctx: Context, response: Response) -> Response:
        response = super().finish(ctx, response)
        if ctx.operation != "getBeneficiary" or not succeeded(response):
            return response
        kept = self.state.setdefault("kept", {}).setdefault(ctx.path, response.document)
        return response.with_document(kept)


@fault("beneficiary.update", seam="patched")
def _(self: Any, ctx: Context, record: Record) -> Any:
    """A PATCH changes the beneficiaries of other accounts as well."""
    for other_one in ctx.store.select("beneficiary", None):
        if other_one["parent"] != record["parent"]:
            ctx.store.update({**other_one, **ctx.values})
    return self.usual()


@fault("beneficiary.update")
class LosesTheNext(Faulty):
    """The PATCH after a refused one is lost."""

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        if refusal.kind == "invalid_field" and ctx.beneficiary is not None:
            self.state.setdefault("failed", set()).add(ctx.beneficiary["id"])

    def patched(self, ctx: Context, record: Record) -> Record:
        failed = self.state.setdefault("failed", set())
        if record["id"] in failed:
            failed.discard(record["id"])
            return record
        return super().patched(ctx, record)


@fault("beneficiary.update")
class KeptByWorkers(KeptByEach):
    """Each of two processes keeps the beneficiary that it has read first."""


@fault("beneficiary.update")
class KeptByThree(KeptByEach):
    """Each of three processes keeps the beneficiary that it has read first."""

    processes = 3


@fault("beneficiary.update", each={"its answer shows": True, "nothing shows": False})
class LosesThoseOfDisabled(Faulty):
    """A PATCH of a disabled beneficiary is accepted and lost."""

    def update_beneficiary(self, ctx: Context) -> None:
        before = ctx.beneficiary or {}
        if before["status"] != "disabled":
            super().update_beneficiary(ctx)
        else:
            ctx.record = self.patched(ctx, before) if self.value else before


def _spaceless(self: Any, ctx: Context, record: Record) -> Record:
    address = ctx.values.get("address") or {}
    made: Record = self.usual()
    return (
        {**made, "address": {**made["address"], self.value: address[self.value].replace(" ", "")}}
        if (address)
        else made
    )


@fault("beneficiary.update", seam="update_beneficiary", each=("title", "middle_name", "tax_id", "note"))
def _(self: Any, ctx: Context) -> None:
    """A PATCH of null answers null, and a later read shows the value that was there."""
    before = (ctx.beneficiary or {}).get(self.value)
    self.usual()
    if ctx.values.get(self.value, before) is None:
        ctx.store.update({**(ctx.record or {}), self.value: before})


def _alike(fold: Callable[[str], str], old: Any, new: Any) -> bool:
    """Returns True for two texts that are one to a server which compares them in another form."""
    return isinstance(old, str) and isinstance(new, str) and fold(old) == fold(new)


faults["beneficiary.update"] |= {
    "A PATCH does not change this field.": seam(
        "patched",
        lambda self, ctx, record: {**self.usual(), self.value: record.get(self.value)},
        each=fields_of_beneficiary,
    ),
    "A PATCH empties this optional field where it does not name it.": seam(
        "patched",
        lambda self, ctx, *_: {**self.usual(), self.value: ctx.values.get(self.value)},
        each=("title", "middle_name", "company_name", "tax_id", "note"),
    ),
    "A PATCH changes this field where it does not name it.": seam(
        "patched",
        lambda self, ctx, record: {
            **self.usual(),
            self.value: ctx.values.get(self.value, other(self.value, record.get(self.value) or "individual")),
        },
        each=[
            name
            for name in fields_of_beneficiary()
            if name not in ("title", "middle_name", "company_name", "tax_id", "note")
        ],
    ),
    "A PATCH changes a member that only the server may set.": seam(
        "patched",
        lambda self, ctx, *_: {
            **self.usual(),
            self.value: {"created": ctx.now, "status": "inactive", "verified": True}[self.value],
        },
        each=("created", "status", "verified"),
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
    "A PATCH escapes the apostrophes in this member of an address.": seam(
        "patched",
        lambda self, ctx, record: changed_address(
            self.usual(), lambda address: escaped(address, self.value) if "address" in ctx.values else {}
        ),
        each=("address_line", "city"),
    ),
    "A note that a PATCH names is cut.": seam(
        "patched",
        lambda self, ctx, record: {
            name: value[: self.value] if name == "note" and value else value
            for name, value in self.usual().items()
        },
        each=(255, 512, 1000, 4000, 10_000),
    ),
    "A PATCH keeps some characters of this field as others, or not at all.": seam(
        "patched",
        lambda self, ctx, record: {
            name: self.value[1](value) if name == self.value[0] and name in ctx.values and value else value
            for name, value in self.usual().items()
        },
        each={
            "first_name, ASCII only": ("first_name", lambda text: text.encode("ascii", "ignore").decode()),
            "last_name, ASCII only": ("last_name", lambda text: text.encode("ascii", "ignore").decode()),
            "last_name, quotes doubled": ("last_name", KEPT_TEXTS["quotes doubled"]),
            "last_name, in capitals": ("last_name", str.title),
            "first_name, quotes escaped": ("first_name", KEPT_TEXTS["quotes escaped"]),
            "company_name, markup escaped": ("company_name", KEPT_TEXTS["markup escaped"]),
            "company_name, markup stripped": ("company_name", KEPT_TEXTS["markup stripped"]),
            "company_name, quotes doubled": ("company_name", KEPT_TEXTS["quotes doubled"]),
            "display_name, quotes doubled": ("display_name", KEPT_TEXTS["quotes doubled"]),
            "display_name, backslashes stripped": ("display_name", KEPT_TEXTS["backslashes stripped"]),
        },
    ),
    "A PATCH of this field alone empties company_name.": seam(
        "patched",
        lambda self, ctx, *_: {
            **self.usual(),
            **({"company_name": None} if [*ctx.values] == [self.value] else {}),
        },
        each=("title", "first_name", "email", "phone", "address", "tax_id", "country_code", "note"),
    ),
    "A PATCH of this field alone leaves it as it was.": seam(
        "patched",
        lambda self, ctx, record: (
            {**self.usual(), self.value: record.get(self.value)}
            if [*ctx.values] == [self.value]
            else self.usual()
        ),
        each=[name for name in fields_of_beneficiary() if name != "beneficiary_type"],
    ),
    "A PATCH of a disabled beneficiary leaves this field as it was.": seam(
        "patched",
        lambda self, ctx, record: (
            {**self.usual(), self.value: record.get(self.value)}
            if record["status"] == "disabled"
            else self.usual()
        ),
        each=("title", "first_name", "email", "phone", "address", "tax_id", "note"),
    ),
    "A PATCH of several fields leaves this one as it was.": seam(
        "patched",
        lambda self, ctx, record: (
            {**self.usual(), self.value: record.get(self.value)} if len(ctx.values) > 1 else self.usual()
        ),
        each=("title", "middle_name", "display_name", "phone", "tax_id", "country_code", "note"),
    ),
    "A PATCH makes a disabled beneficiary active.": seam(
        "patched", lambda self, ctx, record: {**self.usual(), "status": "active"}
    ),
    "A PATCH of a business is refused.": seam(
        "patched",
        lambda self, ctx, record: (
            refuse(Refusal("invalid_field")) if record["beneficiary_type"] == "business" else self.usual()
        ),
    ),
    **rows_of_texts(("updateBeneficiary",)),
    "Each third PATCH answers another name.": third(
        lambda self, ctx, document: {**document, "display_name": other("", document["display_name"])}
    ),
    "A business that becomes an individual loses its company_name.": seam(
        "patched",
        lambda self, ctx, record: (
            {**self.usual(), "company_name": None}
            if ctx.values.get("beneficiary_type") == "individual"
            else self.usual()
        ),
    ),
    "A PATCH of company_name makes a business of an individual.": seam(
        "patched",
        lambda self, ctx, record: (
            {**self.usual(), "beneficiary_type": "business"}
            if ctx.values.get("company_name")
            else self.usual()
        ),
    ),
    "A PATCH keeps a member of an address without its spaces.": seam(
        "patched", _spaceless, each=("address_line", "city", "region", "postal_code")
    ),
    "A PATCH of a beneficiary that has destinations is refused.": seam(
        "patched",
        lambda self, ctx, record: (
            refuse(Refusal("invalid_field"))
            if ctx.store.select("payout_destination", record["id"])
            else self.usual()
        ),
    ),
    "A PATCH does not change the names of a beneficiary that has destinations.": seam(
        "patched",
        lambda self, ctx, record: (
            {**self.usual(), "last_name": record["last_name"]}
            if ctx.store.select("payout_destination", record["id"])
            else self.usual()
        ),
    ),
    "A PATCH of a beneficiary that was paid is refused.": seam(
        "patched",
        lambda self, ctx, record: refuse(Refusal("invalid_field")) if paid(ctx, record) else self.usual(),
    ),
    "A PATCH does not change a field that was null.": seam(
        "patched",
        lambda self, ctx, record: (
            {**self.usual(), self.value: None} if record.get(self.value) is None else self.usual()
        ),
        each=("title", "middle_name", "tax_id", "note"),
    ),
    "A PATCH of first_name and last_name makes a display_name of them.": seam(
        "patched",
        lambda self, ctx, record: (
            {**self.usual(), "display_name": f"{ctx.values['first_name']} {ctx.values['last_name']}"}
            if {"first_name", "last_name"} <= ctx.values.keys() and "display_name" not in ctx.values
            else self.usual()
        ),
    ),
    "A PATCH of several fields makes an individual of a business.": seam(
        "patched",
        lambda self, ctx, record: {
            **self.usual(),
            **({"beneficiary_type": "individual"} if len(ctx.values) > 2 else {}),
            **ctx.values,
        },
    ),
    "A PATCH of the address, or of middle_name, keeps ASCII only.": seam(
        "kept_value",
        lambda self, ctx, field, value: (
            json.loads(json.dumps(value, ensure_ascii=False).encode("ascii", "ignore"))
            if field.name == self.value and value
            else self.usual()
        ),
        each=("address", "middle_name"),
    ),
    "A PATCH keeps a tax id in a form of the server's own.": seam(
        "kept_value",
        lambda self, ctx, field, value: (
            self.value(value) if field.name == "tax_id" and value else self.usual()
        ),
        each={
            "digits alone": lambda text: "".join(filter(str.isdigit, text)),
            "capitals": str.upper,
            "no hyphens": lambda text: text.replace("-", ""),
        },
    ),
    "A PATCH cuts a member of the address, as bank forms have it.": seam(
        "kept_value",
        lambda self, ctx, field, value: (
            {**value, self.value[0]: value[self.value[0]][: self.value[1]]}
            if field.name == "address"
            else self.usual()
        ),
        each={
            "address_line 35": ("address_line", 35),
            "address_line 100": ("address_line", 100),
            "city 30": ("city", 30),
        },
    ),
    "A PATCH of a business does not change this field.": seam(
        "patched",
        lambda self, ctx, record: (
            {**self.usual(), self.value: record.get(self.value)}
            if record["beneficiary_type"] == "business"
            else self.usual()
        ),
        each=("first_name", "last_name", "display_name", "email", "phone", "address", "tax_id", "note"),
    ),
    "A PATCH of a text is lost that changes no more than this.": seam(
        "patched",
        lambda self, ctx, record: {
            **self.usual(),
            **{
                name: record[name]
                for name in ctx.values
                if _alike(self.value, record.get(name), ctx.values[name])
            },
        },
        each={
            "letter case": str.casefold,
            "accents": lambda text: unicodedata.normalize("NFD", text).encode("ascii", "ignore"),
            "signs": lambda text: "".join(filter(str.isalnum, text)),
            "what follows the first 20 characters": lambda text: text[:20],
        },
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
    "A PATCH that makes a business must name company_name, though there is one.": seam(
        "patched",
        lambda self, ctx, record: (
            refuse(Refusal("invalid_field"))
            if ctx.values.get("beneficiary_type") == "business" and "company_name" not in ctx.values
            else self.usual()
        ),
    ),
    **rows_of_updates(),
}
