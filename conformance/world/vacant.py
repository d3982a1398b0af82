"""Accounts that checks have created and left empty, for those that need one of their own, and those in which
checks have left wallets only, for those to which wallets do not matter."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterable, Sequence

from conformance.contract.operations import request_problems
from conformance.contract.traits import TRAITS
from conformance.wire.messages import Auth, Exchange
from conformance.world.created_resources import CreatedResources

CREATE = "createAccount"

#: Creates of what an account takes one of each kind: where one is, most other checks can work all the same.
_UNIQUE = {operation for operation, traits in TRAITS.items() if traits.unique_pair}

#: Organization, and path of creates of accounts, which names the customer.
Place = tuple[str, str]

#: Accounts by the place of their create.
Places = dict[Place, deque[Exchange]]


class VacantAccounts:
    """The exchanges that created accounts in which nothing is, or wallets only. Each account is left once,
    and taken once."""

    def __init__(self, created: CreatedResources) -> None:
        self._created = created
        self._left: Places = {}
        self._with_wallets: Places = {}
        #: Ids of those that are not left, or not again: several checks work in them, or may.
        self._shared: set[str] = set()
        #: Id -> the exchange that created an account which is in use, or was left.
        self._known: dict[str, Exchange] = {}

    def known(self, organization: str, path: str) -> set[str]:
        """Returns the ids of a customer's accounts that are in use, or were left."""
        return {own for own, each in self._known.copy().items() if _place(each) == (organization, path)}

    def occupy(self, exchange: Exchange, *, shared: bool = False) -> None:
        """Notes that a check works in the account that an exchange created: a `shared` one is never left."""
        self._known[own := str(exchange.get("id"))] = exchange
        if shared:
            self._shared.add(own)

    def leave(self, exchanges: Iterable[Exchange]) -> None:
        """Adds the accounts that exchanges of a check, which has ended, have created in the usual way, if no
        resource was created in them, and those in which they have created wallets, if nothing else was."""
        for exchange in exchanges:
            if exchange.operation in _UNIQUE and exchange.succeeded:
                self._leave_with_wallets(exchange.call.ids.get("account_id", ""))
                continue
            identifier = exchange.get("id") if exchange.operation == CREATE and exchange.succeeded else None
            if not isinstance(identifier, str) or identifier in self._known:
                continue
            if exchange.call.auth != Auth() or request_problems(CREATE, exchange.call.body):
                continue
            self.occupy(exchange)
            if identifier not in self._created.within:
                self._left.setdefault(_place(exchange), deque()).append(exchange)

    def _leave_with_wallets(self, identifier: str) -> None:
        opened = self._known.get(identifier)
        if (
            opened is None
            or identifier in self._shared
            or not self._created.within.get(identifier, set()) <= _UNIQUE
        ):
            return
        # Others that create further wallets there do not leave it again, beside whoever takes it.
        self._shared.add(identifier)
        self._with_wallets.setdefault(_place(opened), deque()).append(opened)

    def take(self, places: Sequence[Place], *, beside_wallets: bool) -> Exchange | None:
        """Returns the exchange that created an account in which nothing is, or wallets only if it may be
        `beside_wallets`, which then comes first; of these places the first before others, if one is left."""
        while beside_wallets and (left := _first(self._with_wallets, places)) is not None:
            if self._created.within.get(str(left.get("id")), set()) <= _UNIQUE:
                return left
        return _first(self._left, places)


def _place(exchange: Exchange) -> Place:
    return exchange.organization, exchange.call.path


def _first(left: Places, places: Iterable[Place]) -> Exchange | None:
    for place in places:
        with contextlib.suppress(KeyError, IndexError):
            return left[place].popleft()
    return None
