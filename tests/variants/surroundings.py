"""Proxies in front of a conforming server, and resources that exist before a run."""

from __future__ import annotations

import itertools
import json
import threading

import httpx

from conformance.reference.app import system_clock
from conformance.reference.seed import Seeded
from conformance.reference.store import Store


class Between(httpx.BaseTransport):
    """Proxy that forwards requests; subclasses answer some of them."""

    def __init__(self, inner: httpx.BaseTransport) -> None:
        self.inner = inner

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self.inner.handle_request(request)


class Counting(Between):
    """Proxy that treats some requests by their number, from 1."""

    def __init__(self, inner: httpx.BaseTransport) -> None:
        super().__init__(inner)
        self._numbers = itertools.count(1)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self.treat(request, next(self._numbers)) or self.inner.handle_request(request)

    def treat(self, request: httpx.Request, number: int) -> httpx.Response | None:
        """Returns the answer to a request; None lets the server answer, as this one does."""
        return None


def _error(status: int, type: str, code: str, **headers: str) -> httpx.Response:
    body = json.dumps({"error": {"type": type, "code": code, "message": "Try again."}})
    return httpx.Response(
        status, headers={"Content-Type": "application/json", **headers}, content=body.encode()
    )


class RateLimited(Counting):
    """Refuses every ninth request for its rate, and is unavailable now and then, with Retry-After."""

    def treat(self, request: httpx.Request, number: int) -> httpx.Response | None:
        if number % 9 == 0:
            return _error(429, "rate_limit_error", "too_many_requests", **{"Retry-After": "0"})
        busy = {"Retry-After": "0", "Content-Type": "text/html"}
        return None if number % 31 else httpx.Response(503, headers=busy, content=b"<h1>busy</h1>")


class GivesUp(Counting):
    """A gateway that does not wait for every 23rd answer, and says with Retry-After that the server is
    unavailable, which has performed the request."""

    def treat(self, request: httpx.Request, number: int) -> httpx.Response | None:
        if number % 23:
            return None
        self.inner.handle_request(request)
        return _error(503, "api_error", "unavailable", **{"Retry-After": "0"})


class OneAtATime(Between):
    """Refuses a second request with the same idempotency key while the first is in progress, and all but one
    of several concurrent creates of wallets."""

    def __init__(self, inner: httpx.BaseTransport) -> None:
        super().__init__(inner)
        #: Paths and keys in progress.
        self._busy: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if "idempotency-key" not in request.headers:
            return super().handle_request(request)
        key = request.url.path, request.headers["idempotency-key"]
        with self._lock:
            if key in self._busy:
                return _error(409, "idempotency_error", "idempotency_key_in_use")
            self._busy.add(key)
        try:
            return super().handle_request(request)
        finally:
            with self._lock:
                self._busy.discard(key)


class NoPayins(Between):
    """Does not implement payins."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/payins"):
            return _error(501, "server_error", "not_implemented")
        return super().handle_request(request)


class PlainNotFound(Between):
    """Answers undocumented paths and methods with a plain web server's page."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        if response.status_code == 405 or b"unknown_path" in response.read():
            return httpx.Response(404, headers={"Content-Type": "text/html"}, content=b"<h1>Not Found</h1>")
        return response


class MethodsNotImplemented(Between):
    """Answers methods that no resource has with 501 (RFC 9110, 15.6.2)."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.method not in ("GET", "POST", "PATCH"):
            return _error(501, "server_error", "not_implemented")
        return super().handle_request(request)


class Folded(Between):
    """Sends header names in lower case, and Content-Type with redundant parameters."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        kind = response.headers.get("content-type")
        if kind:
            response.headers["content-type"] = f"{kind} ; charset=utf-8; profile=x"
        return response


# ---------------------------------------------------------------------- initial resources

#: Age of the initial resources, in microseconds.
DAY = 86_400_000_000


def aged(store: Store, seeded: Seeded) -> None:
    """Makes the initial resources of a server a day old."""
    with store.transaction():
        for (kind,) in store.query("SELECT DISTINCT kind FROM resources"):
            for record in store.select(kind, None):
                instants = {name: record[name] - DAY for name in ("created", "updated")}
                store.update({**record, **instants})
                store.change(
                    "UPDATE resources SET created = ? WHERE id = ?", instants["created"], record["id"]
                )


#: More accounts than a check reads to the end.
CROWD = 25_000


def _crowd(store: Store, customer: str, organization: str) -> None:
    """Creates CROWD accounts of a customer."""
    instant = system_clock() - 10**12
    with store.transaction():
        for number in range(CROWD):
            store.insert(
                "account",
                {
                    "id": f"acc_crowd{number:024d}",
                    "organization": organization,
                    "parent": customer,
                    "created": instant + number * 1000,
                    "updated": instant + number * 1000,
                    "status": "active",
                    "name": f"One of many {number}",
                },
            )


def crowded_customer(store: Store, seeded: Seeded) -> None:
    _crowd(store, seeded.primary.customer_id, _organization(store, seeded))


def crowded_neighbour(store: Store, seeded: Seeded) -> None:
    _crowd(store, seeded.primary.other_customer_id, _organization(store, seeded))


def _organization(store: Store, seeded: Seeded) -> str:
    organization = store.organization(seeded.primary.api_key)
    assert organization is not None
    return organization.id


#: The manually verified payee of the funded account.
PAYEE = {"beneficiary_id": "bene_verifiedbyhand", "payout_destination_id": "dest_verifiedbyhand"}


def vetted_payee(store: Store, seeded: Seeded) -> None:
    """Creates a verified beneficiary with a bank account in the funded account."""
    instant = system_clock() - 10**12
    common = {
        "organization": _organization(store, seeded),
        "created": instant,
        "updated": instant,
        "status": "active",
    }
    with store.transaction():
        store.insert(
            "beneficiary",
            {
                **common,
                "id": PAYEE["beneficiary_id"],
                "parent": seeded.primary.funded_account_id,
                "beneficiary_type": "individual",
                "first_name": "Ada",
                "last_name": "Verified",
                "country_code": "DE",
                "verified": True,
            },
        )
        store.insert(
            "payout_destination",
            {
                **common,
                "id": PAYEE["payout_destination_id"],
                "parent": PAYEE["beneficiary_id"],
                "is_default": True,
                "country": "DE",
                "type": "bank_account",
                "currency": "EUR",
                "label": "verified by hand",
                "account_name": "Ada Verified",
                "iban": "DE89370400440532013000",
                "payout_method": "sepa",
            },
        )
