"""Servers whose database compares, keeps or counts otherwise than their author thought."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context, Listing, Record
from conformance.reference.refusals import Refusal
from conformance.reference.seams.resources import KINDS
from conformance.reference.store import Condition

from .catalogue import Faulty, Row, fault, faults, seam
from .lists import LONG_LISTS
from .resources import free_texts, keeping

# --------------------------------------------------------------------------- what is kept of a text

#: Kind -> what is made of each text that is kept.
TEXTS: dict[str, Callable[[str], str]] = {
    "markup escaped": lambda text: text.replace("&", "&amp;").replace("<", "&lt;").replace("'", "&#39;"),
    "markup stripped": lambda text: re.sub("<[^>]*>?", "", text),
    "quotes doubled": lambda text: text.replace("'", "''"),
    "quotes escaped": lambda text: text.replace("'", "\\'").replace('"', '\\"'),
    "backslashes doubled": lambda text: text.replace("\\", "\\\\"),
    "backslashes stripped": lambda text: text.replace("\\", ""),
    "inner spaces joined": lambda text: re.sub(" +", "", text),
    "percent decoded": lambda text: text.replace("%", ""),
}


def _kept(fault: Any, fields: dict[str, Any]) -> dict[str, Any]:
    texts = free_texts(fault.operation)
    return {name: fault.value(value) if name in texts else value for name, value in fields.items()}


faults["create.echo"] |= {
    "Some characters of free texts are kept as others, or not at all.": keeping(
        _kept,
        operations=[operation for operation in OPERATION_SETS["create"] if free_texts(operation)],
        each=TEXTS,
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
        },
    ),
}

faults["create.text-exact"] |= {
    "An address is kept in its normal form.": keeping(
        lambda self, fields: {
            name: self.value[1](value) if name == self.value[0] else value for name, value in fields.items()
        },
        operations=("createBeneficiary",),
        each={
            "e-mail in lower case": ("email", str.lower),
            "telephone number of E.164": ("phone", lambda text: "+" + re.sub(r"\D", "", text)),
        },
    ),
}


@fault("beneficiary.update", each=TEXTS)
class PatchKeepsOtherTexts(Faulty):
    """Some characters of free texts that a PATCH names are kept as others, or not at all."""

    def patched(self, ctx: Context, record: Record) -> Record:
        texts = free_texts("createBeneficiary")
        changed = {name: value for name, value in ctx.values.items() if name in texts and value}
        return {
            **super().patched(ctx, record),
            **{name: self.value(value) for name, value in changed.items()},
        }


# --------------------------------------------------------------------------- filters


def _matching(ctx: Context, pattern: str) -> Condition:
    """The elements whose currency matches a pattern of SQL."""
    rows = ctx.store.query("SELECT DISTINCT currency FROM resources WHERE currency LIKE ?", pattern)
    return Condition("currency", "IN", [row[0] for row in rows])


def _liking(pattern: str) -> Row:
    """A currency filter that puts what was sent into a pattern."""
    return seam(
        "currency_condition",
        lambda self, ctx, query: (
            _matching(ctx, pattern.format(query["currency"][0])) if "currency" in query else None
        ),
    )


faults["list.currency-filter"] |= {
    "The currency filter takes wildcards of SQL.": _liking("{}"),
    "The currency filter takes the beginning of a code for the code.": _liking("{}%"),
}

# --------------------------------------------------------------------------- statements without their WHERE


@fault("beneficiary.update", each=("note", "email", "first_name", "address"))
class PatchesAll(Faulty):
    """A PATCH of this field changes it in all beneficiaries of the account."""

    def update_beneficiary(self, ctx: Context) -> None:
        super().update_beneficiary(ctx)
        if self.value in ctx.values:
            for other in ctx.store.select("beneficiary", str(ctx.params["account_id"])):
                ctx.store.update({**other, self.value: ctx.values[self.value]})


@fault("beneficiary.disable")
class DisablesAll(Faulty):
    """Disabling a beneficiary disables all of the account."""

    def disable_beneficiary(self, ctx: Context) -> None:
        super().disable_beneficiary(ctx)
        for other in ctx.store.select("beneficiary", str(ctx.params["account_id"])):
            ctx.store.update({**other, "status": "disabled"})


# --------------------------------------------------------------------------- counts and limits


# Of a customer's accounts, which others make more, a total that is behind for a few looks is no mistake.
@fault("list.complete", operations=[name for name in LONG_LISTS if name != "listAccounts"])
class TotalOfTheFirstLook(Faulty):
    """total is counted once, and again only after ten more requests."""

    def count(self, ctx: Context, listing: Listing) -> int:
        known = self.__dict__.setdefault("known", {})
        key = (self.list_parent(ctx), repr(listing.conditions))
        total, times = known.get(key, (super().count(ctx, listing), 0))
        known[key] = (total, times + 1)
        if times >= 10:
            del known[key]
        return int(total)


@fault("list.walk", operations=LONG_LISTS, each=(50, 25, 11))
class HoldsAtMost(Faulty):
    """A page holds no more than so many elements, although a larger size is echoed."""

    def page_of(self, ctx: Context, listing: Listing) -> list[Record]:
        return super().page_of(ctx, listing)[: self.value]


@fault("list.complete", operations=LONG_LISTS)
class HidesTheNewest(Faulty):
    """The newest element is not listed until another one is created."""

    def list_records(self, ctx: Context) -> None:
        super().list_records(ctx)
        listing = ctx.listing
        newest = ctx.store.select(KINDS[ctx.operation], self.list_parent(ctx), newest_first=True, limit=1)
        if listing is not None and newest and len(listing.records) > 1:
            listing.records = [record for record in listing.records if record["id"] != newest[0]["id"]]
            listing.total -= 1


# --------------------------------------------------------------------------- refusals that leave something


@fault("refusal.changes-nothing", operations=("createWallet",))
class TakesThePairFirst(Faulty):
    """The pair of a wallet is taken before other fields are checked, and left so when these are refused."""

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        pair = [ctx.body.get(name) for name in ("currency", "network")]
        if refusal.kind == "invalid_field" and ctx.account is not None and all(map(_is_text, pair)):
            ctx.store.claim_wallet_pair(ctx.account["id"], *map(str, pair))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)
