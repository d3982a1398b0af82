"""Titles of the specification's sections."""

from __future__ import annotations

TITLES = {
    "2": "Resources and their fields",
    "2.1": "Account",
    "2.2": "Account balances",
    "2.3": "Beneficiary",
    "2.4": "Payout destination",
    "2.5": "Payout",
    "2.6": "Virtual account",
    "2.7": "Wallet",
    "2.8": "Payin",
    "2.10": "Gaps in resources",
    "3": "States and transitions",
    "4": "Endpoints",
    "4.0": "Idempotency",
    "4.1": "Accounts and balances",
    "4.2": "Beneficiaries",
    "4.3": "Payout destinations",
    "4.4": "Payouts",
    "4.5": "Virtual accounts",
    "4.6": "Wallets",
    "4.7": "Payins",
    "4.8": "Gaps in endpoints",
    "5": "Authentication",
    "5.1": "Credentials",
    "5.2": "Required headers",
    "5.3": "Signature string",
    "5.4": "Server checks",
    "5.5": "Tenant scoping",
    "7": "Errors",
    "8": "Limits",
}


def title(section: str) -> str:
    """The title of a section, or of the nearest section around it."""
    while section and section not in TITLES:
        section = section.rpartition(".")[0]
    return TITLES.get(section, "")


def order(section: str) -> tuple[int, ...]:
    """Sorts sections as the specification has them."""
    return tuple(int(part) for part in section.split("."))


def heading(section: str) -> str:
    """The section that a report files a rule under: two numbers at most (5.4.3 is a point of 5.4)."""
    return ".".join(section.split(".")[:2])
