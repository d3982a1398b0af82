"""Accounts that checks have created and left empty, for those that need one of their own, those in which
checks have left wallets only, for those to which wallets do not matter, and those in which lanes work, for
where the server refuses another one."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Iterable, Sequence

from conformance.contract.operations import request_problems
from conformance.contract.traits import TRAITS
from conformance.wire.messages import Auth, Exchange
from conformance.world.created_resources import CreatedResources
from conformance.world.purposes import Purpose

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
        #: The exchanges that created accounts to which more purposes may come, each with its user, a lane or
        #: all of them, and its purposes.
        self._used: list[tuple[Exchange, object, set[Purpose]]] = []
        self._sharing = threading.Lock()

    def known(self, organization: str, path: str) -> set[str]:
        """Returns the ids of a customer's accounts that are in use, or were left."""
        return {own for own, each in self._known.copy().items() if _place(each) == (organization, path)}

    def occupy(self, exchange: Exchange, purpose: Purpose | None = None, user: object = None) -> None:
        """Notes that a check works in an account: one with a purpose is never left."""
        self._known[own := str(exchange.get("id"))] = exchange
        if purpose is not None:
            self._shared.add(own)
            if purpose.beside_wallets and not purpose.sibling:
                self._used.append((exchange, user, {purpose}))

    def share(
        self, places: Sequence[Place], purpose: Purpose | None, user: object, *, beside_wallets: bool
    ) -> Exchange | None:
        """Returns the exchange that created an account of these places, as `take` does, to which one more
        purpose comes: one of the same user. A check to which wallets matter, or a purpose that needs an
        account beside those of others, gets one that can be spared, and then nobody else: where nobody makes
        wallets, or looks for them, one of any user. None without such an account."""
        usual = purpose is not None and purpose.beside_wallets and beside_wallets and not purpose.sibling
        if beside_wallets if purpose is None else purpose.common and not purpose.beside_wallets:
            # Nothing else may be there.
            return None
        with self._sharing:
            for number, (opened, of, purposes) in enumerate(self._used):
                fits = of is user if beside_wallets else not self._holds_wallets(opened)
                if _place(opened) in places and fits and (usual or all(each.spare for each in purposes)):
                    if purpose is not None and usual:
                        purposes.add(purpose)
                    else:
                        del self._used[number]
                    return opened
        return None

    def _holds_wallets(self, opened: Exchange) -> bool:
        return bool(self._created.within.get(str(opened.get("id")), set()) & _UNIQUE)

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
