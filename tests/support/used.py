"""A system that earlier runs and other users have filled: its store, and the orders of its lists."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from conformance.reference.app import system_clock
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Listing, Record
from conformance.reference.seams.resources import RECORD_KINDS
from conformance.reference.seed import Seeded
from conformance.reference.store import Store

#: Microseconds between two resources, so that the oldest of 100,000 is some months old.
_APART = 120_000_000

#: Position in ids from which on the hidden order compares them.
_HIDDEN = 20


class ById(Behaviour):
    """Sorts lists by ids, which are random: a new element may stand anywhere."""

    column = "id"

    def fetch(self, ctx: Context, listing: Listing, *, limit: int = -1, offset: int = 0) -> list[Record]:
        kind, parent = RECORD_KINDS[ctx.operation], self.list_parent(ctx)
        if listing.conditions:
            tail = 0 if self.column == "id" else _HIDDEN - 1
            records = sorted(super().fetch(ctx, listing), key=lambda record: str(record["id"])[tail:])
            return records[offset : offset + limit if limit >= 0 else None]
        order = f"ORDER BY {self.column} LIMIT ? OFFSET ?"
        sql = f"SELECT document FROM resources WHERE kind = ? AND parent = ? {order}"
        return [json.loads(row[0]) for row in ctx.store.query(sql, kind, parent, limit, offset)]


class Hidden(ById):
    """Sorts lists by what no member shows in order."""

    column = f"substr(id, {_HIDDEN})"


class NewestFirst(Behaviour):
    """Sorts lists by creation, the newest first."""

    newest_first = True


#: Name -> behaviour of a server whose lists have that order.
ORDERS: dict[str, type[Behaviour]] = {
    "oldest": Behaviour,
    "newest": NewestFirst,
    "id": ById,
    "hidden": Hidden,
}


def fill(store: Store, seeded: Seeded, number: int) -> None:
    """Adds `number` accounts to each customer, and to the funded account as many beneficiaries, destinations
    of one of them, payouts, virtual accounts and wallets, older than a day."""
    source, now = random.Random(number), system_clock()
    primary, secondary = seeded.primary, seeded.secondary
    owner = {key: str(store.organization(key).id) for key in (primary.api_key, secondary.api_key)}  # type: ignore[union-attr]

    def rows(prefix: str, tenant: str, parent: str, fields: dict[str, Any]) -> Iterator[Record]:
        for index in range(number):
            identifier = f"{prefix}{source.getrandbits(120):030x}"
            created = now - _APART * (number - index) - 86_400_000_000
            record = {
                "id": identifier,
                "organization": owner[tenant],
                "parent": parent,
                "created": created,
                "updated": created,
                "status": "active",
                **{name: value(index) if callable(value) else value for name, value in fields.items()},
            }
            yield record

    def add(kind: str, prefix: str, tenant: str, parent: str, **fields: Any) -> str:
        """Adds resources; returns the id of the last."""
        record: Record = {}
        for record in rows(prefix, tenant, parent, fields):
            store.insert(kind, record)
        return str(record.get("id", ""))

    with store.transaction():
        for name, each in (("by_id", ById), ("hidden", Hidden)):
            store.change(f"CREATE INDEX {name} ON resources (kind, parent, {each.column})")
        for tenant, customers in (
            (primary.api_key, (primary.customer_id, primary.other_customer_id)),
            (secondary.api_key, (secondary.customer_id,)),
        ):
            for customer in customers:
                add("account", "acc_", tenant, customer, name=lambda index: f"Account of a night {index}")
        account, key = primary.funded_account_id, primary.api_key
        payee = add("beneficiary", "bene_", key, account, **_BENEFICIARY)
        if not payee:
            return
        destination = add("payout_destination", "dest_", key, payee, **_DESTINATION)
        names = {"beneficiary_id": payee, "payout_destination_id": destination}
        add("payout", "po_", key, account, **names, **_PAYOUT)
        add("virtual_account", "va_", key, account, currency="EUR", label="A night's", reference="R")
        add(
            "wallet",
            "wal_",
            key,
            account,
            currency=lambda index: f"OLD{index}",
            network="ethereum",
            label="A night's",
            addresses=[{"address": "0x0", "tag": None}],
        )


_BENEFICIARY = {
    "beneficiary_type": "individual",
    "first_name": "Ada",
    "last_name": "Night",
    "display_name": "Ada Night",
    "email": "ada@example.org",
    "phone": "+4930123456",
    "country_code": "DE",
    "address": {},
    "verified": False,
}
_DESTINATION = {
    "country": "DE",
    "type": "bank_account",
    "currency": "EUR",
    "iban": "DE89370400440532013000",
    "is_default": False,
    "payout_method": "sepa",
}
_PAYOUT: dict[str, Any] = {"amount": "1.00", "currency": "EUR", "amount_in_usd": "1.00"}
