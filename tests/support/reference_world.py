"""A reference server in the test's own process, and a caller who has made one of everything there."""

from __future__ import annotations

import uuid
from typing import Any

from conformance.contract.operations import error_problems, response_problems, undocumented_fields
from conformance.reference import routes
from conformance.reference.behaviour import Behaviour
from conformance.reference.seed import Tenant, new_server
from conformance.reference.serving.in_process import InProcessTransport
from conformance.target.file import Organization
from conformance.wire.client import Client
from conformance.wire.messages import Call, Exchange, to_json

ADDRESS = {
    "address_line": "1 Main Street",
    "city": "New York",
    "region": "NY",
    "postal_code": "10001",
    "country": "US",
}
BODIES: dict[str, dict[str, Any]] = {
    "createAccount": {"name": "Savings"},
    "createBeneficiary": {
        "first_name": "Ada",
        "last_name": "Lovelace",
        "display_name": "Ada L",
        "email": "ada@example.com",
        "phone": "+12025550123",
        "address": ADDRESS,
        "country_code": "US",
        "note": "first",
    },
    "updateBeneficiary": {"note": "changed"},
    "createPayoutDestination": {
        "country": "US",
        "type": "bank_account",
        "currency": "USD",
        "account_number": "12345678901234",
        "account_name": "Ada",
        "routing_number": "021000021",
        "account_type": "checking",
        "label": "main",
        "iban": "DE89370400440532013000",
        "wallet_address": "0x00112233445566778899aabbccddeeff00112233",
    },
    "createPayout": {"amount": "1.50", "currency": "USD"},
    "createVirtualAccount": {"currency": "EUR", "label": "Euro"},
    "createWallet": {"currency": "USDC", "network": "solana_devnet", "label": "Coins"},
    "createPayin": {"amount": "10", "currency": "USD", "payment_method": "card"},
}


class Clock:
    """A clock that stands still until it is moved; in microseconds."""

    def __init__(self) -> None:
        self.now = 1_800_000_000_000_000

    def __call__(self) -> int:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += int(seconds * 1_000_000)


class World:
    """A server in this process, and what a caller has made there."""

    def __init__(self, behaviour: Behaviour | None = None) -> None:
        self.conforming = behaviour is None
        self.clock = Clock()
        self.server, self.seeded = new_server(behaviour, self.clock, number=1)
        transport = InProcessTransport(self.server)
        self.clients = {
            name: _client(name, getattr(self.seeded, name), transport) for name in ("primary", "secondary")
        }
        for client in self.clients.values():
            client.clock.now = lambda: self.clock.now // 1_000_000  # type: ignore[method-assign]
        self.ids = {"customer_id": self.seeded.primary.customer_id}
        self.ids["account_id"] = self.make("createAccount")["id"]
        self.ids["beneficiary_id"] = self.make("createBeneficiary")["id"]
        self.ids["payout_destination_id"] = self.make("createPayoutDestination")["id"]
        self.ids["virtual_account_id"] = self.make("createVirtualAccount")["id"]

    def call(self, operation: str, body: Any = ..., **ids: str) -> Call:
        method, path = routes.ROUTES[operation]
        named = {**self.ids, **ids}
        if operation == "getAccountBalances" and "account_id" not in ids:
            named["account_id"] = self.seeded.primary.funded_account_id
        if body is ...:
            body = BODIES.get(operation)
        if operation == "createPayout" and isinstance(body, dict):
            body = {
                "beneficiary_id": named["beneficiary_id"],
                "payout_destination_id": named["payout_destination_id"],
                **body,
            }
        return Call(
            operation,
            method,
            path.format(**named),
            None if body is None else to_json(body),
            str(uuid.uuid4()) if method == "POST" else None,
        )

    def send(self, call: Call, who: str = "primary") -> Exchange:
        """The exchange of a call; without a behaviour of its own, the server's answer must conform."""
        exchange = self.clients[who].send(call)
        assert exchange.status is not None and exchange.status < 500, (call, exchange.response_body)
        if self.conforming and call.operation:
            problems: list[object] = [*error_problems(exchange.document)]
            if exchange.succeeded:
                problems = [*response_problems(call.operation, exchange.document)]
                problems += undocumented_fields(call.operation, exchange.document)
            assert not problems, (call, exchange.document)
        return exchange

    def make(self, operation: str, body: Any = ..., **ids: str) -> Any:
        exchange = self.send(self.call(operation, body, **ids))
        assert exchange.succeeded, exchange.described()
        return exchange.document


def _client(name: str, tenant: Tenant, transport: InProcessTransport) -> Client:
    organization = Organization(name, tenant.api_key, tenant.secret, tenant.customer_id)
    return Client("http://reference.test", organization, transport)


def refusal(exchange: Exchange) -> tuple[int | None, str]:
    """Status and error code of an answer."""
    return exchange.status, exchange.error_code
