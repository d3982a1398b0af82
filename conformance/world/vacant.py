"""Accounts that checks have created and left empty, for those that need one of their own."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from conformance.contract.operations import request_problems
from conformance.wire.messages import Auth, Exchange
from conformance.world.created_resources import CreatedResources

CREATE = "createAccount"


class VacantAccounts:
    """The exchanges that created accounts in which nothing is, by organization and path of the create, which
    names the customer. Each account is left once, and taken once."""

    def __init__(self, created: CreatedResources) -> None:
        self._created = created
        self._left: dict[tuple[str, str], deque[Exchange]] = {}
        #: Ids of accounts that are in use, or were left, with the organization and path of their create.
        self._known: dict[str, tuple[str, str]] = {}

    def known(self, organization: str, path: str) -> set[str]:
        """Returns the ids of a customer's accounts that are in use, or were left."""
        return {own for own, place in self._known.copy().items() if place == (organization, path)}

    def occupy(self, exchange: Exchange) -> None:
        """Notes that a check works in the account that an exchange created."""
        self._known[str(exchange.get("id"))] = exchange.organization, exchange.call.path

    def leave(self, exchanges: Iterable[Exchange]) -> None:
        """Adds the accounts that exchanges of a check, which has ended, have created in the usual way, if no
        resource was created in them."""
        for exchange in exchanges:
            identifier = exchange.get("id") if exchange.operation == CREATE and exchange.succeeded else None
            usual = exchange.call.auth == Auth() and not list(request_problems(CREATE, exchange.call.body))
            if not isinstance(identifier, str) or not usual or identifier in self._known:
                continue
            place = self._known[identifier] = exchange.organization, exchange.call.path
            if identifier not in self._created.parents:
                self._left.setdefault(place, deque()).append(exchange)

    def take(self, organization: str, path: str) -> Exchange | None:
        """Returns the exchange that created an account of a customer, if one is left."""
        left = self._left.get((organization, path))
        try:
            return left.popleft() if left else None
        except IndexError:
            return None
