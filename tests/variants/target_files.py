"""Changes of the target file for some variants."""

from __future__ import annotations

from collections.abc import Callable

from .surroundings import PAYEE
from .variant import Tables


def payins_off(tables: Tables) -> Tables:
    return {**tables, "features": {"payins": False}}


def payouts_off(tables: Tables) -> Tables:
    return {**tables, "features": {"payins": True, "payouts": False}}


def within_ten_seconds(tables: Tables) -> Tables:
    return {**tables, "limits": {"shows_within": 10}}


def payee(tables: Tables) -> Tables:
    return {**tables, "primary": {**tables["primary"], **PAYEE}}


def style(style: str) -> Callable[[Tables], Tables]:
    return lambda tables: {**tables, "lists": {"array_style": style}}


def british(tables: Tables) -> Tables:
    """For a server that works only in Britain."""
    return {
        **tables,
        "samples": {
            "beneficiary": {"country_code": "GB"},
            "payout_destination": {
                "bank_account": {"country": "GB", "currency": "GBP", "account_number": "31926819"},
                "wallet": {"country": "GB", "currency": "GBP"},
            },
            "payout": {"amount": "25.00", "currency": "GBP"},
            "virtual_account": {"currency": "GBP"},
            "wallet": {"pairs": [["BTC", "bitcoin"], ["ETH", "ethereum"], ["USDC", "polygon"]]},
            "payin": {"currency": "GBP", "payment_method": "bank_transfer"},
        },
    }
