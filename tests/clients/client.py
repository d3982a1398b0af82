"""A correct in-process client; faulty clients override one of its decisions."""

from __future__ import annotations

import json
import secrets
import uuid
from collections.abc import Iterator
from typing import Any

from conformance.clients.provocations import Provocations
from conformance.clients.sandbox import Sandbox
from conformance.contract import signing
from conformance.contract.fields import request_fields
from conformance.contract.operations import match
from conformance.reference.core_messages import Request, Response
from conformance.reference.seed import Seeded, seed, target_tables
from conformance.reference.store import Store
from conformance.target.file import build
from conformance.world.samples import text

BENEFICIARY = {
    "first_name": "Ada",
    "last_name": "Byron",
    "display_name": "Ada Byron",
    "email": "ada@example.com",
    "phone": "+12025550123",
    "country_code": "US",
    "address": {
        "address_line": "1 Main St",
        "city": "Boston",
        "region": "MA",
        "postal_code": "02101",
        "country": "US",
    },
}
DESTINATION = {
    "country": "US",
    "type": "bank_account",
    "currency": "USD",
    "account_number": "12345678901",
    "account_name": "Ada Byron",
    "routing_number": "021000021",
    "account_type": "checking",
}
BUSINESS = {"beneficiary_type": "business", "company_name": "Analytical Engines"}
#: A destination.
WALLET = {
    "country": "US",
    "type": "wallet",
    "currency": "USDC",
    "network": "ethereum",
    "wallet_address": "0x" + "12ab" * 10,
}
WALLETS = [
    {"currency": currency, "network": "solana_devnet", "label": "coins"} for currency in ("USDC", "USDT")
]


class Refused(Exception):
    """Raised when the server refuses a request."""


class Clock:
    """A clock in microseconds that only the client advances."""

    def __init__(self) -> None:
        self.now = 1_900_000_000_000_000

    def __call__(self) -> int:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += int(seconds * 1_000_000)


class Rig:
    """An in-process sandbox with its clock and organizations."""

    url = ""

    def __init__(self, *provoked: str, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self.store = Store()
        self.seeded: Seeded = seed(self.store, 7, self.clock)
        tables = target_tables(self.seeded, "http://127.0.0.1:8000")
        self.provocations = Provocations(set(provoked), retry_after=3)
        target = build(tables, "the sandbox")
        self.sandbox = Sandbox(self.store, target, self.provocations, self.clock)

    def handle(self, request: Request) -> Response:
        """Answers and judges a request."""
        response = self.sandbox.handle(request)
        assert response.after is not None
        response.after()
        return response

    def broken(self) -> dict[str, set[str]]:
        """Returns the broken rules with their operations."""
        found: dict[str, set[str]] = {}
        for cell in self.sandbox.judge.ledger().cells:
            if cell.verdict.is_violation:
                found.setdefault(cell.rule, set()).add(cell.operation)
        return found


class Client:
    """Signs requests, repeats unanswered ones with the same key and bytes, waits, and reads lists to their
    end."""

    attempts = 4
    rounds = 5

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.tenant = rig.seeded.primary
        #: Number of elements of each list.
        self.listed: list[int] = []

    # ------------------------------------------------------------------ decisions

    def timestamp(self) -> str:
        return str(self.rig.clock.now // 1_000_000)

    def nonce(self) -> str:
        return secrets.token_hex(16)

    def key(self, method: str) -> str | None:
        return str(uuid.uuid4()) if method == "POST" else None

    def encoded(self, document: Any) -> bytes:
        return b"" if document is None else json.dumps(document).encode()

    def changed(self, request: Request) -> Request:
        """Final change of each request."""
        return request

    def waits(self, response: Response) -> None:
        seconds = next((int(value) for name, value in response.headers if name == b"retry-after"), 1)
        self.rig.clock.wait(seconds)

    def pages(self, path: str, size: int) -> Iterator[Any]:
        page, pages = 1, 1
        while page <= pages:
            answer = self.call("GET", f"{path}?page={page}&size={size}")
            yield from answer["items"]
            page, pages = page + 1, answer["pages"]

    # ------------------------------------------------------------------ requests

    def send(self, request: Request) -> Response:
        """Returns the answer, which may be marked as not delivered."""
        return self.rig.handle(request)

    def request(self, method: str, target: str, body: bytes, key: str | None) -> Request:
        timestamp, nonce = self.timestamp(), self.nonce()
        string = signing.signature_string(method, target.encode(), timestamp, nonce, body)
        headers = {
            signing.API_KEY: self.tenant.api_key,
            signing.TIMESTAMP: timestamp,
            signing.NONCE: nonce,
            signing.SIGNATURE: signing.signature(self.tenant.secret, string),
        }
        if body:
            headers["Content-Type"] = "application/json"
        if key is not None:
            headers["Idempotency-Key"] = key
        return Request(method, target.encode(), [(n.encode(), v.encode()) for n, v in headers.items()], body)

    def call(self, method: str, target: str, document: Any = None) -> Any:
        """Returns the answer; repeats the request until there is one. A body has all free texts."""
        found = match(method, target.partition("?")[0])
        if document is not None and found is not None:
            fields = [field for field in request_fields(found[0].id) if field.plain and not field.shape]
            document = {**{field.name: text(field) for field in fields}, **document}
        body, key = self.encoded(document), self.key(method)
        for _ in range(self.attempts):
            self.rig.clock.wait(0.5)
            response = self.send(self.changed(self.request(method, target, body, key)))
            if not response.delivered:
                continue
            if response.status in (429, 503):
                self.waits(response)
                continue
            if not 200 <= response.status < 300:
                raise Refused(f"{response.status} {response.body!r}")
            return response.document
        raise Refused("no answer")

    def work(self) -> None:
        """Uses every operation, most of them often enough for every provocation."""
        accounts = f"/v1/customers/{self.tenant.customer_id}/accounts"
        for number in range(5):
            account = self.call("POST", accounts, {"name": f"Account {number}"})
        self.listed.append(len(list(self.pages(accounts, 2))))
        funded = self.tenant.funded_account_id
        for number in range(self.rounds):
            self.call("GET", f"{accounts}/{account['id']}/balances")
            company = BUSINESS if number == self.rounds - 1 else {}
            beneficiary = self.call("POST", f"/v1/accounts/{funded}/beneficiaries", BENEFICIARY | company)
            path = f"/v1/accounts/{funded}/beneficiaries/{beneficiary['id']}"
            self.call("PATCH", path, {"note": f"note {number}"})
            self.call("GET", path)
            destination = self.call("POST", f"{path}/payout-destinations", DESTINATION)
            if company:
                self.call("POST", f"{path}/payout-destinations", WALLET)
            list(self.pages(f"{path}/payout-destinations", 10))
            self.call("GET", f"{path}/payout-destinations?start_date=2026-01-01T00:00:00Z")
            payout = {
                "beneficiary_id": beneficiary["id"],
                "payout_destination_id": destination["id"],
                "amount": "12.50",
                "currency": "USD",
            }
            self.call("POST", f"/v1/accounts/{funded}/payouts", payout)
            self.call("POST", f"{path}/disable")
            virtual = {"currency": "EUR", "label": f"label {number}"}
            made = self.call("POST", f"/v1/accounts/{funded}/virtual-accounts", virtual)
            self.call("GET", f"/v1/accounts/{funded}/virtual-accounts/{made['id']}")
            payin = {"amount": "1.00", "currency": "EUR", "payment_method": "card"}
            self.call("POST", f"/v1/accounts/{funded}/payins", payin)
        self.listed.append(len(list(self.pages(f"/v1/accounts/{funded}/virtual-accounts", 2))))
        for wallet in WALLETS:
            self.call("POST", f"/v1/accounts/{funded}/wallets", wallet)
        self.listed.append(len(list(self.pages(f"/v1/accounts/{funded}/wallets", 1))))
