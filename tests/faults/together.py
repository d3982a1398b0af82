"""Servers that go wrong where two things come together: a header beside a wrong signature, a body of another
kind, an answer after a refusal, an element of one kind on a later page."""

from __future__ import annotations

import hashlib
import html
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context, Listing, Record
from conformance.reference.messages import Response
from conformance.reference.refusals import Refusal
from conformance.reference.store import Answer, Condition

from .catalogue import Faulty, fault, faults, refusal, refuse, seam
from .formats import document
from .replays import _document
from .signatures import also_signed

FILTERED = ("listPayoutDestinations", "listVirtualAccounts", "listWallets")

# --------------------------------------------------------------------------- signatures

faults["auth.signature"] |= {
    "A request that comes from within, as a header says, needs no signature of its own.": seam(
        "signatures_equal",
        lambda self, ctx, *_: self.usual() or ctx.header(self.value[0]) == self.value[1](ctx),
        each={
            "X-Forwarded-For": (b"x-forwarded-for", lambda ctx: "127.0.0.1"),
            "Authorization": (b"authorization", lambda ctx: f"Bearer {ctx.organization.api_key}"),
        },
    ),
}
faults["auth.signed-body"] |= {
    "A body that is not declared as JSON is no part of the signature.": also_signed(
        lambda self, ctx: (
            [self.string(ctx, body=b"")] if ctx.header(b"content-type") != "application/json" else []
        ),
    ),
}
faults["auth.body-as-sent"] |= {
    "Only so many bytes of a body are part of the signature.": seam(
        "signed_body", lambda self, ctx: self.usual()[: self.value], each=(4096, 65536)
    ),
}

# --------------------------------------------------------------------------- keys


@fault("idempotency.replay", operations=OPERATION_SETS["create"])
class ForgetsAfterRefusal(Faulty):
    """What follows a refused first use of a key is done, but not remembered."""

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        super().refused(ctx, refusal)
        if ctx.key is not None:
            self.__dict__.setdefault("failed", set()).add(ctx.key)

    def remember(self, ctx: Context, response: Response) -> None:
        if ctx.key not in self.__dict__.get("failed", ()):
            super().remember(ctx, response)


@fault("idempotency.conflict")
class AnyBodyAfterReplay(Faulty):
    """A key that was answered with its stored response once brings it for any body."""

    def replayed(self, ctx: Context, answer: Answer) -> Response | None:
        self.__dict__.setdefault("known", set()).add(ctx.key)
        return super().replayed(ctx, answer)

    def same_body(self, ctx: Context, answer: Answer) -> bool:
        return super().same_body(ctx, answer) or ctx.key in self.__dict__.get("known", ())


def _leaves(value: Any) -> list[str]:
    """The values within a JSON value, as texts."""
    if isinstance(value, dict):
        return [leaf for member in value.values() for leaf in _leaves(member)]
    return [str(value)]


faults["idempotency.conflict"] |= {
    "Two people whose names are made of the same words or letters count as the same.": seam(
        "fingerprint",
        lambda self, ctx: hashlib.sha256(self.value(_leaves(_document(ctx))).encode()).digest(),
        operations=("createBeneficiary",),
        each={"values in any order": lambda values: repr(sorted(values)), "joined": "".join},
    ),
}


@fault(
    "idempotency.replay-after-change",
    operations=("createPayoutDestination", "createPayout", "createPayin"),
)
class ForgetsTheBrief(Faulty):
    """A request without a text of the client's own is not remembered."""

    def remember(self, ctx: Context, response: Response) -> None:
        if {"label", "note", "description"} & ctx.body.keys():
            super().remember(ctx, response)


# --------------------------------------------------------------------------- elements of some kind

Kept = Callable[[Record], Any]


def _text(record: Record) -> str:
    return str(record.get("name") or record.get("label") or "")


_TEXTS: dict[str, Kept] = {
    "letters beyond ASCII": lambda record: not _text(record).isascii(),
    "an apostrophe": lambda record: "'" in _text(record),
}

#: List -> the elements that only some have, by kind.
ELEMENTS: dict[str, dict[str, Kept]] = {
    "listAccounts": {**_TEXTS, "a long name": lambda record: len(_text(record)) > 200},
    "listPayoutDestinations": {
        **_TEXTS,
        "no label": lambda record: not record.get("label"),
        "an IBAN alone": lambda record: "account_number" not in record and "iban" in record,
    },
    "listVirtualAccounts": {**_TEXTS, "an address": lambda record: record.get("address")},
    "listWallets": dict(_TEXTS),
}


@fault("list.complete", each=ELEMENTS.__getitem__)
class HidesSome(Faulty):
    """Elements of some kind are not listed."""

    def fetch(self, ctx: Context, listing: Listing, *, limit: int = -1, offset: int = 0) -> list[Record]:
        records = [record for record in super().fetch(ctx, listing) if not self.value(record)]
        return records[offset:][: limit if limit >= 0 else None]

    def count(self, ctx: Context, listing: Listing) -> int:
        return len(self.fetch(ctx, listing))


@fault("list.complete", operations=("listPayoutDestinations",))
class HidesThoseOfDisabled(Faulty):
    """The destinations of a disabled beneficiary are not listed."""

    def count(self, ctx: Context, listing: Listing) -> int:
        disabled = (ctx.beneficiary or {})["status"] == "disabled"
        return 0 if disabled else super().count(ctx, listing)


faults["beneficiary.destinations"] |= {
    "Destinations of some kind are not among those of their beneficiary.": seam(
        "destinations",
        lambda self, ctx, record: [
            shown
            for shown, kept in zip(
                self.usual(), ctx.store.select("payout_destination", record["id"]), strict=True
            )
            if not self.value(kept)
        ],
        each=ELEMENTS["listPayoutDestinations"],
    ),
}


class Items(Faulty):
    """Shows elements otherwise, by `shown`."""

    def shown(self, ctx: Context, item: dict[str, Any], record: Record) -> Mapping[str, Any]:
        return item

    def item(self, ctx: Context, kind: str, record: Record) -> Mapping[str, Any]:
        item = dict(super().item(ctx, kind, record))
        return self.shown(ctx, item, record) if self.here(ctx) else item


def _rewritten(self: Any, ctx: Context, item: dict[str, Any], record: Record) -> dict[str, Any]:
    name = "name" if "name" in item else "label"
    return {**item, name: self.value(item[name])} if isinstance(item[name], str) else item


faults["list.complete"] |= {
    "The text of an element is shown in another form in the list.": seam(
        "shown",
        _rewritten,
        base=Items,
        each={
            "question marks": lambda text: text.encode("ascii", "replace").decode(),
            "escaped for HTML": html.escape,
            "cut at 100": lambda text: text[:100],
        },
    ),
    "From the second page on created is a second later.": seam(
        "shown",
        lambda self, ctx, item, record: (
            {**item, "created": self.timestamp_text(ctx, record["created"] + 1_000_000)}
            if ctx.listing.page > 1
            else item
        ),
        base=Items,
    ),
    "With a filter the elements have no text of their own.": seam(
        "shown",
        lambda self, ctx, item, record: (
            {**item, "label": item["label"] and "Filtered"} if ctx.listing.conditions else item
        ),
        base=Items,
        operations=FILTERED,
    ),
    "A destination in the list has a member of the beneficiary, or of all.": seam(
        "shown",
        lambda self, ctx, item, record: {**item, self.value[0]: self.value[1](ctx)},
        base=Items,
        operations=("listPayoutDestinations",),
        each={
            "country": ("country", lambda ctx: ctx.beneficiary["country_code"]),
            "currency": ("currency", lambda ctx: "USD"),
        },
    ),
}

# --------------------------------------------------------------------------- filters


def _crossed(conditions: Iterable[Condition]) -> dict[str, Any]:
    """The two dates of a query, by their operators, if the later one comes first."""
    dates = {condition.operator: condition.value for condition in conditions if condition.column == "created"}
    return dates if len(dates) == 2 and dates[">="] > dates["<"] else {}


def _period(self: Any, ctx: Context, query: Any) -> list[Condition]:
    conditions = self.usual()
    dates = _crossed(conditions)
    if not dates:
        return list(conditions)
    others = [condition for condition in conditions if condition.column != "created"]
    return [*others, *self.value(dates)]


faults["list.filters-combine"] |= {
    "A period that ends before it begins is read as another one.": seam(
        "conditions",
        _period,
        each={
            "the other way round": lambda dates: [
                Condition("created", ">=", dates["<"]),
                Condition("created", "<", dates[">="]),
            ],
            "any time": lambda dates: [],
            "from its end": lambda dates: [Condition("created", ">=", dates["<"])],
        },
    ),
}
faults["list.date-offset"] |= {
    "Of the offset of a date only the hours are read.": seam(
        "date",
        lambda self, ctx, query, name: (
            self.usual()
            if not (text := (query.get(name) or [""])[0]).endswith(":30")
            else self.usual() + (1800 if text[-6] == "+" else -1800) * 1_000_000
        ),
    ),
}

# --------------------------------------------------------------------------- answers

faults["format.nullable"] |= {
    "What a business has no value of is missing.": document(
        lambda self, ctx, shown: (
            {name: value for name, value in shown.items() if name != self.value or value is not None}
            if shown["beneficiary_type"] == "business"
            else shown
        ),
        operations=("createBeneficiary", "getBeneficiary"),
        each=("title", "middle_name"),
    ),
}


def _quoting(kind: str) -> Callable[..., Any]:
    """Refuses a request with its body in the message."""
    return lambda self, ctx, *_: refuse(Refusal(kind, f"Refused: {ctx.request.body.decode()}"))


faults["secrets.hidden"] |= {
    "The refusal of a request for an unknown beneficiary repeats the body.": seam(
        "on_missing_child", _quoting("missing_child"), operations=("createPayoutDestination",)
    ),
    "The refusal of a request without a key repeats the body.": seam(
        "on_missing_key", _quoting("missing_idempotency_key"), operations=("createPayoutDestination",)
    ),
}
faults["secrets.hidden"] |= {
    "A beneficiary shows the full numbers of destinations of some kind.": seam(
        "payout_destination_fields",
        lambda self, ctx, record: {
            **self.usual(),
            **({name: record.get(name) for name in ("account_number", "iban")} if self.value(record) else {}),
        },
        operations=("getBeneficiary", "updateBeneficiary", "disableBeneficiary"),
        each={
            kind: ELEMENTS["listPayoutDestinations"][kind]
            for kind in ("letters beyond ASCII", "no label", "an IBAN alone")
        },
    ),
}


# --------------------------------------------------------------------------- wallets that are paid to


def _paid_to_wallet(ctx: Context) -> bool:
    paid = ctx.store.get("payout_destination", str(ctx.values["payout_destination_id"])) or {}
    return paid.get("type") == "wallet"


faults["http.no-server-error"] |= {
    "A payout to a wallet is answered with 500.": seam(
        "check_funds",
        lambda self, ctx: (
            refuse(refusal(500, "server_error", "internal_error")) if _paid_to_wallet(ctx) else self.usual()
        ),
        operations=("createPayout",),
    ),
}
faults["create.initial-state"] |= {
    "A payout to a wallet is processed as soon as it is made.": seam(
        "initial_state",
        lambda self, ctx: {**self.usual(), **({"status": "processing"} if _paid_to_wallet(ctx) else {})},
        operations=("createPayout",),
    ),
}
faults["beneficiary.update-company-name"] |= {
    "A PATCH that makes a business need only name company_name, if with null.": seam(
        "check_company_name", lambda self, ctx, fields: None if len(ctx.body) > 1 else self.usual()
    ),
}
