"""Seeds a server with two organizations: keys, customers and a funded account, and their target file."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, dataclass
from typing import Any

from conformance.reference.app import Clock, Server, system_clock
from conformance.reference.behaviour import Behaviour
from conformance.reference.seams.base import PREFIXES
from conformance.reference.store import Balance, OrganizationRow, Store

#: Currencies of the funded account, and the balance of each, above any valid payout.
FUNDED_CURRENCIES = ("BRL", "CAD", "CHF", "COP", "EUR", "GBP", "JPY", "MXN", "USD")
FUNDS = "1" + "0" * 24 + ".00"

#: Currency of the funded account that holds nothing.
EMPTY_CURRENCY = "SEK"

_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Tenant:
    """One seeded organization."""

    api_key: str
    secret: str
    customer_id: str
    other_customer_id: str
    funded_account_id: str


@dataclass(frozen=True, slots=True)
class Seeded:
    """Ids and credentials of the seeded resources, as in the target file."""

    primary: Tenant
    secondary: Tenant


def seed(store: Store, seed: int | None = None, clock: Clock = system_clock) -> Seeded:
    """Creates two organizations in an empty store, reproducibly by `seed`; a seeded store stays as it is."""
    with store.transaction():
        known = store.seeded
        if known is not None:
            tables = json.loads(known)
            return Seeded(*(Tenant(**tables[name]) for name in ("primary", "secondary")))
        source = random.Random(seed) if seed is not None else random.SystemRandom()
        now = clock()
        seeded = Seeded(_tenant(store, source, now), _tenant(store, source, now))
        store.seeded = json.dumps(asdict(seeded))
    return seeded


def _word(source: random.Random, length: int = 24) -> str:
    return "".join(source.choices(_BASE36, k=length))


def _tenant(store: Store, source: random.Random, now: int) -> Tenant:
    organization = OrganizationRow(
        "org_" + _word(source), "key_" + _word(source), "secret_" + _word(source, 40)
    )
    store.add_organization(organization)

    def add(kind: str, parent: str, **fields: Any) -> str:
        identifier = PREFIXES[kind] + _word(source)
        store.insert(
            kind,
            {
                "id": identifier,
                "organization": organization.id,
                "parent": parent,
                "created": now,
                "updated": now,
                "status": "active",
                **fields,
            },
        )
        return identifier

    customer = add("customer", organization.id)
    other_customer = add("customer", organization.id)
    account = add("account", customer, name="Funded account")
    for currency in FUNDED_CURRENCIES:
        store.set_balance(account, Balance(currency, "fiat", FUNDS, "0.00", "0.00", now))
    store.set_balance(account, Balance(EMPTY_CURRENCY, "fiat", "0.00", "0.00", "0.00", now))
    return Tenant(organization.api_key, organization.secret, customer, other_customer, account)


def target_tables(seeded: Seeded, base_url: str) -> dict[str, Any]:
    """The tables of the target file for a server at `base_url`."""
    secondary = asdict(seeded.secondary)
    return {
        "base_url": base_url,
        "primary": asdict(seeded.primary),
        "secondary": {name: secondary[name] for name in ("api_key", "secret", "customer_id")},
        "features": {"payins": True},
    }


def target_text(seeded: Seeded, base_url: str) -> str:
    """The target file for a server at `base_url`, as TOML."""
    lines = []
    for name, value in target_tables(seeded, base_url).items():
        if isinstance(value, dict):
            lines += ["", f"[{name}]", *(f"{key} = {json.dumps(item)}" for key, item in value.items())]
        else:
            lines.append(f"{name} = {json.dumps(value)}")
    return "\n".join(lines) + "\n"


def new_server(
    behaviour: Behaviour | None = None,
    clock: Clock = system_clock,
    *,
    prefix: str = "",
    number: int | None = None,
) -> tuple[Server, Seeded]:
    """A server with a new in-memory store, and its resources, seeded by `number`."""
    store = Store()
    return Server(store, behaviour, clock, prefix=prefix), seed(store, number, clock)
