"""What an answer shows of the server's state, so that two looks at it can be compared.

Each reader gives None where the answer does not show what is looked for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from decimal import Context, Decimal, InvalidOperation
from typing import Any

from conformance.contract.fields import documented
from conformance.wire.messages import Exchange

#: Operation -> members of a balance, and whether money that it moves makes them less (-1) or more (+1).
MOVES: Mapping[str, Mapping[str, int]] = {
    "createPayout": {"available_balance": -1, "pending_payout": 1},
    "createPayin": {"available_balance": 1, "pending_payin": 1, "total_balance": 1},
}

#: No amount is rounded.
_EXACT = Context(prec=500)


def total(exchange: Exchange) -> int | None:
    """How many elements a list has."""
    value = exchange.get("total")
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def ids(exchange: Exchange) -> frozenset[str] | None:
    """The ids on one page of a list."""
    items = exchange.get("items")
    if not isinstance(items, list):
        return None
    return frozenset(str(one.get("id")) for one in items if isinstance(one, dict))


def members(exchange: Exchange) -> dict[str, Any] | None:
    """The documented members of a beneficiary."""
    document = exchange.document
    if not isinstance(document, dict):
        return None
    return {name: document.get(name) for name in documented("getBeneficiary")}


def balances(exchange: Exchange) -> dict[str, Any] | None:
    """The balances of an account by currency."""
    shown = exchange.get("balances")
    if not isinstance(shown, list):
        return None
    return {str(one.get("currency")): one for one in shown if isinstance(one, dict)}


def moved(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    operation: str,
    unit: Decimal | None = None,
) -> str:
    """Which balances changed as they do when an operation moves money; of those, the multiples of `unit`.

    Other changes are none of the operation's: earlier ones are being carried out all the time.
    """
    shown = []
    for currency, balance in after.items():
        for member, direction in MOVES[operation].items():
            was, now = before.get(currency, {}).get(member, "0"), balance.get(member, "0")
            with contextlib.suppress(InvalidOperation, TypeError, ValueError):
                change = _EXACT.multiply(_EXACT.subtract(Decimal(now), Decimal(was)), Decimal(direction))
                if change > 0 and (unit is None or _EXACT.remainder(change, unit) == 0):
                    shown.append(f"{member} {was} {currency} is now {now}")
    return "; ".join(shown)
