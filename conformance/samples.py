"""Sound request bodies for every operation, with the target file's samples laid over.

A body carries every documented member that any server must accept in its place, all five
members of an address, and a random marker in its names, so that what a request created can be
told from everything else on a live server.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from conformance.target import Target

DEFAULT_WALLET_PAIRS = (("USDC", "solana_devnet"), ("USDT", "solana_devnet"))

#: Fiat currencies tried, in this order, where a check needs one that differs from the sample's.
OTHER_CURRENCIES = ("USD", "EUR", "GBP")


def marker() -> str:
    """A random word that no other request carries."""
    return "cf" + secrets.token_hex(6)


def digits(count: int) -> str:
    """A random decimal number of `count` digits that does not start with 0."""
    return str(secrets.choice("123456789")) + "".join(secrets.choice("0123456789") for _ in range(count - 1))


def iban() -> str:
    """A random German IBAN with valid check digits (ISO 13616)."""
    account = "37040044" + digits(10)
    check = 98 - int(account + "131400") % 97  # DE is 1314 in the check's alphabet
    return f"DE{check:02d}{account}"


class Samples:
    """The sound bodies for one target; every call makes new ones."""

    def __init__(self, target: Target) -> None:
        self._over = target.samples

    def _laid_over(self, kind: str, body: dict[str, Any]) -> dict[str, Any]:
        over: Mapping[str, Any] = self._over.get(kind, {})
        return {**body, **{key: value for key, value in over.items() if key != "pairs"}}

    def over(self, kind: str) -> Mapping[str, Any]:
        """What the target file lays over a kind of sample."""
        return self._over.get(kind, {})

    @property
    def wallet_pairs(self) -> list[tuple[str, str]]:
        """The (currency, network) pairs that wallets may be created with."""
        pairs = self._over.get("wallet", {}).get("pairs")
        return [(pair[0], pair[1]) for pair in pairs] if pairs else list(DEFAULT_WALLET_PAIRS)

    def account(self) -> dict[str, Any]:
        return self._laid_over("account", {"name": f"Conformance {marker()}"})

    def beneficiary(self) -> dict[str, Any]:
        word = marker()
        return self._laid_over(
            "beneficiary",
            {
                "title": "Ms",
                "first_name": "Ada",
                "middle_name": "King",
                "last_name": "Lovelace",
                "display_name": f"Ada Lovelace {word}",
                "email": f"ada.{word}@example.com",
                "phone": "+12025550123",
                "address": address("region"),
                "tax_id": "123456789",
                "country_code": "US",
                "note": f"conformance {word}",
            },
        )

    def bank_accounts(self) -> list[dict[str, Any]]:
        """Bank destinations, the likeliest first: which fields a server wants is not shown (section 2.10)."""
        kind = "payout_destination.bank_account"
        bare = {"type": "bank_account", "label": f"conformance {marker()}"}
        american = {
            **bare,
            "country": "US",
            "currency": "USD",
            "account_number": digits(10),
            "account_name": "Ada Lovelace",
            "routing_number": "021000021",
            "account_type": "checking",
        }
        european = {
            **bare,
            "country": "DE",
            "currency": "EUR",
            "account_name": "Ada Lovelace",
            "iban": iban(),
            "swift_code": "DEUTDEFF",
        }
        bodies = [self._laid_over(kind, american), self._laid_over(kind, european)]
        if self._over.get(kind):
            bodies.insert(1, self._laid_over(kind, {"country": "US", "currency": "USD", **bare}))
        return bodies

    def wallet_destinations(self) -> list[dict[str, Any]]:
        """Wallet destinations; section 4.3 wants an ISO 4217 currency, which no crypto code is, so USD comes last."""
        body = self._laid_over(
            "payout_destination.wallet",
            {
                "country": "US",
                "type": "wallet",
                "currency": "USDC",
                "network": "ethereum",
                "wallet_address": "0x" + secrets.token_hex(20),
                "label": f"conformance {marker()}",
            },
        )
        return [body] if body["currency"] == "USD" else [body, {**body, "currency": "USD"}]

    def payout(self, beneficiary_id: str, destination_id: str, currency: str) -> dict[str, Any]:
        return self._laid_over(
            "payout",
            {
                "beneficiary_id": beneficiary_id,
                "payout_destination_id": destination_id,
                "amount": "1.00",
                "currency": currency,
                "note": f"conformance {marker()}",
            },
        )

    def virtual_account(self) -> dict[str, Any]:
        return self._laid_over("virtual_account", {"currency": "EUR", "label": f"conformance {marker()}"})

    def wallet(self, index: int = 0) -> dict[str, Any]:
        """A wallet of the pair with that index."""
        currency, network = self.wallet_pairs[index]
        return self._laid_over("wallet", {"label": f"conformance {marker()}"}) | {
            "currency": currency,
            "network": network,
        }

    def payin(self) -> dict[str, Any]:
        return self._laid_over(
            "payin",
            {
                "amount": "10.00",
                "currency": "USD",
                "payment_method": "bank_transfer",
                "description": f"conformance {marker()}",
            },
        )


def address(region: str) -> dict[str, str]:
    """An address with all five members; virtual accounts call the fourth `state`, beneficiaries `region`."""
    return {
        "address_line": "1 Main Street",
        "city": "New York",
        region: "NY",
        "postal_code": "10001",
        "country": "US",
    }
