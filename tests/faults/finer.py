"""Servers that are right with plain values, and wrong with those that people and other programs send."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from conformance.reference.context import Context
from conformance.reference.fields import Field
from conformance.reference.refusals import Refusal
from conformance.reference.store import Condition

from .catalogue import faults, refuse, seam
from .lists import envelope

# --------------------------------------------------------------------------- texts

#: Kind -> what becomes of a telephone number.
PHONES: dict[str, Callable[[str], str]] = {
    "without spaces": lambda phone: phone.replace(" ", ""),
    "without hyphens": lambda phone: phone.replace("-", ""),
    "without brackets": lambda phone: re.sub("[()]", "", phone),
}

#: Kind -> what becomes of a note.
NOTES: dict[str, Callable[[str], str]] = {
    "a tab is a space": lambda note: note.replace("\t", " "),
    "lines are joined": lambda note: note.replace("\n", " "),
    "lines end as on Windows": lambda note: note.replace("\n", "\r\n"),
    "the first line only": lambda note: note.partition("\n")[0],
}


def _kept(name: str) -> Callable[[Any, Context, Field, Any], Any]:
    """Keeps what `self.value` makes of the texts of one field."""

    def kept_value(self: Any, ctx: Context, field: Field, value: Any) -> Any:
        return self.value(value) if field.name == name and isinstance(value, str) else self.usual()

    return kept_value


_PEOPLE = ("createBeneficiary", "updateBeneficiary")

for rule, operations in (
    ("create.echo", ("createBeneficiary", "createPayout")),
    ("beneficiary.update", ("updateBeneficiary",)),
):
    faults[rule] |= {
        "The lines and columns of a note are lost.": seam(
            "kept_value", _kept("note"), operations=operations, each=NOTES
        ),
        "A telephone number is kept in another form than people wrote it.": seam(
            "kept_value",
            _kept("phone"),
            operations=[operation for operation in operations if operation in _PEOPLE],
            each=PHONES,
        ),
    }


def _cut(self: Any, ctx: Context, field: Field, value: Any) -> Any:
    name, length = self.value
    kept = self.usual()
    if field.name == "address" and isinstance(kept, dict) and isinstance(kept.get(name), str):
        return {**kept, name: kept[name][:length]}
    return kept


faults["create.echo"] |= {
    "A member of the address is cut, as bank forms have it.": seam(
        "kept_value",
        _cut,
        operations=("createBeneficiary",),
        each={
            "address_line 35": ("address_line", 35),
            "address_line 100": ("address_line", 100),
            "city 30": ("city", 30),
        },
    ),
}

# --------------------------------------------------------------------------- payouts

#: Kind -> the payouts that nobody need approve.
UNAPPROVED: dict[str, Callable[[Decimal], bool]] = {
    "below one": lambda amount: amount < 1,
    "ten and more": lambda amount: amount >= 10,
    "of cents": lambda amount: amount % 1 != 0,
    "of a whole number": lambda amount: amount % 1 == 0,
}


def _approved(self: Any, ctx: Context) -> dict[str, Any]:
    state: dict[str, Any] = self.usual()
    return {**state, "status": "pending"} if self.value(Decimal(str(ctx.values["amount"]))) else state


faults["create.initial-state"] |= {
    "A payout of some amounts is approved as soon as it is made.": seam(
        "initial_state", _approved, operations=("createPayout",), each=UNAPPROVED
    ),
}

faults["idempotency.other-organization"] |= {
    "A key is one for all organizations and accounts.": seam("answer_scope", lambda self, ctx: ctx.operation),
}

faults["destination.last4"] |= {
    "account_number_last4 of a CLABE is not its last four digits.": seam(
        "account_number_last4",
        lambda self, ctx, record: (
            str(record["account_number"])[self.value]
            if len(str(record.get("account_number") or "")) == 18
            else self.usual()
        ),
        each={"the first": slice(0, 4), "without the control digit": slice(-5, -1)},
    ),
}

faults["wallet.duplicate"] |= {
    "A wallet of the same currency is refused on another network.": seam(
        "claim_wallet_pair",
        lambda self, ctx: ctx.store.claim_wallet_pair(
            self.parent(ctx)["id"], str(ctx.values["currency"]), ""
        ),
    ),
}

faults["read.equals-create"] |= {
    "A virtual account of some currency cannot be read.": seam(
        "success_document",
        lambda self, ctx: (
            refuse(Refusal("missing_child")) if ctx.record["currency"] == self.value else self.usual()
        ),
        operations=("getVirtualAccount",),
        each=("USD", "EUR"),
    ),
}

# --------------------------------------------------------------------------- lists


def _in_milliseconds(self: Any, ctx: Context, query: Any) -> Condition | None:
    read: Condition | None = self.usual()
    if read is None:
        return None
    steps = read.value // 1000 if self.value == "cut" else -(-read.value // 1000)
    return read._replace(value=steps * 1000)


for rule, name in (("list.start-date", "start_date"), ("list.end-date", "end_date")):
    faults[rule] |= {
        f"{name} is read in whole milliseconds, though created shows microseconds.": seam(
            f"{name}_condition", _in_milliseconds, each=("cut", "rounded up")
        ),
    }
    faults[rule] |= {
        f"{name} is a microsecond off.": seam(
            f"{name}_condition",
            lambda self, ctx, query: (
                None if (read := self.usual()) is None else read._replace(value=read.value + self.value)
            ),
            each={"earlier": -1, "later": 1},
        ),
    }


def _past(document: dict[str, Any]) -> bool:
    return not document["items"] and bool(document["total"])


faults["list.pages"] |= {
    "A page past the last says nothing of the pages there are.": envelope(
        lambda self, ctx, document: {**document, **self.value} if _past(document) else document,
        each={
            "pages 0": {"pages": 0},
            "total and pages 0": {"total": 0, "pages": 0},
            "total 0": {"total": 0},
        },
    ),
}
faults["list.echo"] |= {
    "A page past the last says another page or size.": envelope(
        lambda self, ctx, document: {**document, **self.value(document)} if _past(document) else document,
        each={
            "the first page": lambda document: {"page": 1},
            "the last page": lambda document: {"page": document["pages"]},
            "size 0": lambda document: {"size": 0},
        },
    ),
}
