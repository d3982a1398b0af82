"""Changes of the balances of an account, as wrong servers and other clients make them."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from conformance.reference.context import Context
from conformance.reference.seams.validation import EXACT


def change_balances(
    ctx: Context, account: str, test: Callable[[str], bool] = bool, **amounts: Decimal
) -> None:
    """Adds amounts to members of the balances of an account, such as `available`; of all, or of those whose
    currency passes the test."""
    for balance in ctx.store.balances(account):
        if test(balance.currency):
            sums: dict[str, Any] = {
                name: format(EXACT.add(Decimal(getattr(balance, name)), more), "f")
                for name, more in amounts.items()
            }
            ctx.store.set_balance(account, balance._replace(**sums))
