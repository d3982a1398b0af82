"""Servers where a PATCH changes other fields than those sent, or breaks other rules (section 4.2.4)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal
from tests.specification import ADDRESS

from .beneficiaries import KeepsOneDocument, KeptByEach, fields_of_beneficiary, paid
from .catalogue import Faulty, fault, faults, refusal, refuse, seam
from .creation import changed_address
from .places import document, other, succeeded, third
from .texts import rows_of_losses, rows_of_updates


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
    old = ctx.beneficiary or {}
    self.usual()
    ctx.store.update({**(ctx.record or {}), self.value: old.get(self.value)})


@fault("beneficiary.update", seam="update_beneficiary", each=fields_of_beneficiary)
def _(self: Any, ctx: Context) -> None:
    """A PATCH stores this field, but its answer shows the old value."""
    old = ctx.beneficiary or {}
    self.usual()
    ctx.record = {**(ctx.record or {}), self.value: old.get(self.value)}


Test = Callable[[Context, Record], Any]

_OPTIONAL = ("title", "middle_name", "company_name", "tax_id", "note")


def _has_destinations(ctx: Context, record: Record) -> bool:
    return bool(ctx.store.select("payout_destination", record["id"]))


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


def _left(self: Any, ctx: Context, record: Record) -> Record:
    name, test = self.value
    return {**self.usual(), **({name: record.get(name)} if test(ctx, record) else {})}


def _alone(name: str) -> Test:
    return lambda ctx, record: [*ctx.values] == [name]


def _was_null(name: str) -> Test:
    return lambda ctx, record: record.get(name) is None


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
    "one that was paid": paid,
    "one that becomes a business and has a company_name": lambda ctx, record: (
        ctx.values.get("beneficiary_type") == "business" and "company_name" not in ctx.values
    ),
}


def _alike(fold: Callable[[str], Any], old: Any, new: Any) -> bool:
    """Returns True for two texts that are one to a server which compares them in another form."""
    return isinstance(old, str) and isinstance(new, str) and fold(old) == fold(new)


faults["beneficiary.update"] |= {
    **rows_of_updates(),
    "A PATCH leaves a field as it was.": seam(
        "patched",
        _left,
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
    "A PATCH changes what it does not name.": seam(
        "patched", lambda self, ctx, record: {**self.usual(), **self.value(ctx, record)}, each=MORE
    ),
    "A PATCH is refused of a beneficiary of some kind.": seam(
        "patched",
        lambda self, ctx, record: (
            refuse(Refusal("invalid_field")) if self.value(ctx, record) else self.usual()
        ),
        each=REFUSED,
    ),
    "A PATCH empties this optional field where it does not name it.": seam(
        "patched",
        lambda self, ctx, *_: {**self.usual(), self.value: ctx.values.get(self.value)},
        each=_OPTIONAL,
    ),
    "A PATCH changes this field where it does not name it.": seam(
        "patched",
        lambda self, ctx, record: {
            **self.usual(),
            self.value: ctx.values.get(self.value, other(self.value, record.get(self.value) or "individual")),
        },
        each=[name for name in fields_of_beneficiary() if name not in _OPTIONAL],
    ),
    "A PATCH of this field alone empties company_name.": seam(
        "patched",
        lambda self, ctx, *_: {
            **self.usual(),
            **({"company_name": None} if [*ctx.values] == [self.value] else {}),
        },
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
    "Each third PATCH answers another name.": third(
        lambda self, ctx, document: {**document, "display_name": other("", document["display_name"])}
    ),
}

faults["beneficiary.update-text-exact"] |= rows_of_losses()


@fault(
    "beneficiary.update",
    seam="update_beneficiary",
    each=("note", "email", "first_name", "address", "beneficiary_type"),
)
def _(self: Any, ctx: Context) -> None:
    """A PATCH of this field changes it in all beneficiaries of the account."""
    self.usual()
    if self.value in ctx.values:
        for each in ctx.store.select("beneficiary", str(ctx.params["account_id"])):
            ctx.store.update({**each, self.value: ctx.values[self.value]})


@fault("beneficiary.update", "beneficiary.disable")
class ReadsStayAsTheyWere(Faulty):
    """What was read once is read the same ever after, whatever is changed."""

    everywhere = True

    def finish(self, ctx: Context, response: Response) -> Response:
        response = super().finish(ctx, response)
        if ctx.operation != "getBeneficiary" or not succeeded(response):
            return response
        return response.with_document(self.state.setdefault(ctx.path, response.document))


@fault("beneficiary.update", seam="patched")
def _(self: Any, ctx: Context, record: Record) -> Any:
    """A PATCH changes the beneficiaries of other accounts as well."""
    for each in ctx.store.select("beneficiary", None):
        if each["parent"] != record["parent"]:
            ctx.store.update({**each, **ctx.values})
    return self.usual()


@fault("beneficiary.update")
class LosesTheNext(Faulty):
    """The PATCH after a refused one is lost."""

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        if refusal.kind == "invalid_field" and ctx.beneficiary is not None:
            self.state[ctx.beneficiary["id"]] = True

    def patched(self, ctx: Context, record: Record) -> Record:
        return record if self.state.pop(record["id"], False) else super().patched(ctx, record)


@fault("beneficiary.update")
class KeptByWorkers(KeptByEach):
    """Each of two processes keeps the beneficiary that it has read first."""


@fault("beneficiary.update")
class KeptByThree(KeptByEach):
    """Each of three processes keeps the beneficiary that it has read first."""

    processes = 3


@fault(
    "beneficiary.update", seam="update_beneficiary", each={"its answer shows": True, "nothing shows": False}
)
def _(self: Any, ctx: Context) -> None:
    """A PATCH of a disabled beneficiary is accepted and lost."""
    before = ctx.beneficiary or {}
    if before["status"] != "disabled":
        self.usual()
    else:
        ctx.record = self.patched(ctx, before) if self.value else before


@fault("beneficiary.update", seam="update_beneficiary", each=("title", "middle_name", "tax_id", "note"))
def _(self: Any, ctx: Context) -> None:
    """A PATCH of null answers null, and a later read shows the value that was there."""
    before = (ctx.beneficiary or {}).get(self.value)
    self.usual()
    if ctx.values.get(self.value, before) is None:
        ctx.store.update({**(ctx.record or {}), self.value: before})


# ---------------------------------------------------------------------- other rules of updates

faults["beneficiary.update-empty"] |= {
    "A PATCH with an empty object is refused.": seam(
        "update_beneficiary",
        lambda self, ctx: refuse(Refusal("invalid_field")) if not ctx.values else self.usual(),
    )
}


@fault(
    "beneficiary.update-empty",
    seam="update_beneficiary",
    each=("title", "note", "status", "address", "first_name"),
)
def _(self: Any, ctx: Context) -> None:
    """A PATCH with an empty object changes this member."""
    self.usual()
    if not ctx.values:
        record = ctx.record or {}
        changed = None if self.value in ("title", "note") else other(self.value, record[self.value])
        ctx.record = {**record, self.value: changed}
        ctx.store.update(ctx.record)


@fault("beneficiary.update-empty", seam="update_beneficiary")
def _(self: Any, ctx: Context) -> None:
    """A PATCH with an empty object is answered as it should, and stored with another note."""
    self.usual()
    if not ctx.values:
        ctx.store.update({**(ctx.record or {}), "note": "emptied"})


@fault("beneficiary.update-server-owned", seam="update_beneficiary", each=("status", "verified"))
def _(self: Any, ctx: Context) -> None:
    """A PATCH takes a member that only the server may set, which only a later read shows."""
    self.usual()
    if self.value in ctx.body:
        ctx.store.update({**(ctx.record or {}), self.value: ctx.body[self.value]})


faults["beneficiary.update-server-owned"] |= {
    "A PATCH takes a member that only the server may set.": document(
        lambda self, ctx, document: {**document, self.value: ctx.body.get(self.value, document[self.value])},
        each=("status", "verified", "id", "created", "account_id", "payout_destinations"),
    ),
    "A PATCH that names members of the server is answered with a redirection.": seam(
        "check_state",
        lambda self, ctx: (
            refuse(refusal(303, "moved", "moved")) if {"id", "created"} & ctx.body.keys() else self.usual()
        ),
    ),
    "updated is what a PATCH names.": document(
        lambda self, ctx, shown: {**shown, "updated": ctx.body.get("updated", shown["updated"])}
    ),
}

faults["beneficiary.update-company-name"] |= {
    "A PATCH may leave a business without company_name.": seam("check_state", lambda self, ctx: None),
    "A PATCH that makes a business need only name company_name, if with null.": seam(
        "check_company_name", lambda self, ctx, fields: None if len(ctx.body) > 1 else self.usual()
    ),
}


faults["beneficiary.update-moves-updated"] |= {
    "A PATCH leaves updated as it was.": seam(
        "patched", lambda self, ctx, record: {**self.usual(), "updated": record["updated"]}
    ),
    "A PATCH moves updated back to before the create.": seam(
        "patched", lambda self, ctx, record: {**self.usual(), "updated": record["created"] - 60_000_000}
    ),
    "A PATCH of this field alone leaves updated as it was.": seam(
        "patched",
        lambda self, ctx, record: {
            **self.usual(),
            **({"updated": record["updated"]} if [*ctx.values] == [self.value] else {}),
        },
        each=("phone", "address", "country_code", "note"),
    ),
    "Only the first change of a beneficiary moves updated.": seam(
        "touched",
        lambda self, ctx, record: (
            self.usual() if (record["updated"] == record["created"]) else int(record["updated"])
        ),
    ),
}
