"""Isolation (section 5.5): an answer shows nothing of another customer, account or organization than its path
names, whatever else the request asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from conformance.contract.fields import HOLDING, NAMING
from conformance.contract.operations import match, response_problems
from conformance.contract.traits import traits_of
from conformance.judge.comparison import same_account, sent_document, show
from conformance.wire.messages import Call, Exchange

#: What is expected of every answer.
NOTHING_OF_OTHERS = "nothing of another customer, account or organization than the path names"


class Owner(NamedTuple):
    """The organization that created a resource, the customer or account that its path named, and the number
    of the exchange."""

    organization: str
    parent: str
    exchange: int


class Isolation:
    """The owners of the resources that a run has created."""

    def __init__(self) -> None:
        #: Id -> its owner; None of an id that two have.
        self._owners: dict[str, Owner | None] = {}
        #: Organization and idempotency key -> the target that it was first sent to.
        self._targets: dict[tuple[str, str], str] = {}

    def foreign(self, exchange: Exchange) -> tuple[str, int]:
        """Describes what a 2xx answer shows of another owner, "" without, and the number of the exchange that
        created it, 0 if unknown. A key that was used on another path may bring the answer from there, which
        is open (section 4.0)."""
        call = exchange.call
        key = (exchange.organization, (call.idempotency_key or "").lower())
        elsewhere = key[1] and self._targets.setdefault(key, call.target) != call.target
        route = match(exchange.method, call.path)
        if route is None or elsewhere:
            return "", 0
        ids = route[1]
        for place, name, value in _named(exchange.document):
            whose = self._another(name, value, exchange.organization, ids)
            if whose and not _asked(call, value) and not _malformed(exchange, f"{place}/{name}"):
                owner = self._owners.get(value)
                return f"{name} {show(value)}, of another {whose}", owner.exchange if owner else 0
        self._remember(exchange, ids)
        return "", 0

    def _another(self, name: str, value: str, organization: str, ids: Mapping[str, str]) -> str:
        """The kind of another owner that a member names: "customer", "account", "organization"; or ""."""
        if name in ids and name != "id" and value != ids[name] and not same_account(value, ids[name]):
            return name.removesuffix("_id")
        owner = self._owners.get(value)
        if owner is None:
            return ""
        if owner.organization != organization:
            return "organization"
        top = "account" if "account_id" in ids else "customer"
        return "" if owner.parent in ids.values() else top

    def _remember(self, exchange: Exchange, ids: Mapping[str, str]) -> None:
        identifier = exchange.get("id")
        if not traits_of(exchange.operation).creates or not isinstance(identifier, str):
            return
        parent = ids.get("account_id") or ids.get("customer_id") or ""
        owner = Owner(exchange.organization, parent, exchange.number)
        first = self._owners.setdefault(identifier, owner)
        if first is not None and first[:2] != owner[:2]:
            self._owners[identifier] = None


def _asked(call: Call, value: str) -> bool:
    """True if a request names a value in its target or its body."""
    return value in unquote(call.target) or value in str(sent_document(call))


def _malformed(exchange: Exchange, pointer: str) -> bool:
    """True if a member of an answer breaks the form of ids, which does not say whose it is; never in the
    answer to a request that is of no operation."""
    problems = response_problems(exchange.operation, exchange.document) if exchange.operation else []
    return any(each.pointer == pointer for each in problems)


def _named(document: Any) -> Iterator[tuple[str, str, str]]:
    """Yields the members of an answer that name a resource: JSON pointer of their object, name and value."""
    parts = [("", document)] if isinstance(document, dict) else []
    for holding in HOLDING if parts else ():
        if isinstance(items := document.get(holding), list):
            parts += [(f"/{holding}/{at}", item) for at, item in enumerate(items) if isinstance(item, dict)]
    for place, part in parts:
        for name in NAMING:
            if name in part and isinstance(value := part[name], str) and value:
                yield place, name, value
