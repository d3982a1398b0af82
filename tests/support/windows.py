"""Servers that read, wait for some milliseconds, and then write what they have read: mistakes of races."""

from __future__ import annotations

import contextlib
import time
from decimal import Decimal
from typing import Any

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.reference.seams.resources import RECORD_KINDS
from conformance.reference.seams.validation import EXACT
from conformance.reference.store import Answer, OrganizationRow
from tests.support.overrides import nonce_claimed


class Window(Behaviour):
    """Decides and writes outside of one transaction, with a window of so many milliseconds in between."""

    def __init__(self, milliseconds: float = 1) -> None:
        super().__init__()
        self._seconds = milliseconds / 1000

    def transaction(self, ctx: Context) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext()

    def wait(self) -> None:
        """Lets the window pass."""
        time.sleep(self._seconds)


class NonceWindow(Window):
    """Looks a nonce up, and records it later."""

    def claim_nonce(self, ctx: Context, nonce: str) -> bool:
        if nonce_claimed(ctx.store, self.nonce_scope(ctx), nonce, ctx.now):
            return False
        self.wait()
        super().claim_nonce(ctx, nonce)
        return True


class KeyWindow(Window):
    """Looks an idempotency key up, and stores the answer later."""

    def stored_answer(self, ctx: Context) -> Answer | None:
        answer = super().stored_answer(ctx)
        if answer is None:
            self.wait()
        return answer


class PairWindow(Window):
    """Looks the pair of a wallet up, and takes it later."""

    def claim_wallet_pair(self, ctx: Context) -> bool:
        pair = self.parent(ctx)["id"], str(ctx.values["currency"]), str(ctx.values["network"])
        sql = "SELECT 1 FROM wallet_pairs WHERE (account, currency, network) = (?, ?, ?)"
        if ctx.store.query(sql, *pair):
            return False
        self.wait()
        super().claim_wallet_pair(ctx)
        return True


class DefaultWindow(Window):
    """Selects the default of a beneficiary, and clears it later."""

    def clear_default(self, ctx: Context) -> None:
        others = ctx.store.select("payout_destination", self.parent(ctx)["id"])
        self.wait()
        for other in others:
            if other.get("is_default"):
                ctx.store.update({**other, "is_default": False, "updated": self.touched(ctx, other)})


class PatchWindow(Window):
    """Writes a beneficiary whole as it was read, with the changes of one request."""

    def write_beneficiary(self, ctx: Context, record: Record) -> None:
        self.wait()
        super().write_beneficiary(ctx, record)


class BalanceWindow(Window):
    """Writes a balance as it was read, less the amount of one payout."""

    def reserve_funds(self, ctx: Context) -> None:
        account, amount = self.parent(ctx)["id"], Decimal(str(ctx.values["amount"]))
        balances = ctx.store.balances(account)
        self.wait()
        for balance in balances:
            if balance.currency == ctx.values.get("currency"):
                left = EXACT.subtract(Decimal(balance.available), amount)
                pending = EXACT.add(Decimal(balance.pending_payout), amount)
                changed = balance._replace(
                    available=format(left, "f"),
                    pending_payout=format(pending, "f"),
                    updated=self.instant(ctx),
                )
                ctx.store.set_balance(account, changed)


class NewestWindow(Window):
    """Answers a create with the newest of its list."""

    def create(self, ctx: Context) -> None:
        super().create(ctx)
        self.wait()
        (ctx.record,) = ctx.store.select(
            RECORD_KINDS[ctx.operation], self.parent(ctx)["id"], newest_first=True, limit=1
        )


class ListWindow(Window):
    """Writes a list as it was read, with one element more."""

    def create(self, ctx: Context) -> None:
        kind, parent = RECORD_KINDS[ctx.operation], self.parent(ctx)["id"]
        others = {each["id"] for each in ctx.store.select(kind, parent)}
        self.wait()
        for each in ctx.store.select(kind, parent):
            if each["id"] not in others:
                ctx.store.change("DELETE FROM resources WHERE id = ?", each["id"])
        super().create(ctx)


class ReadWindow(Window):
    """Keeps what a read is answered with in a variable of the process, and answers it later."""

    last: Record | None = None

    def act(self, ctx: Context) -> None:
        super().act(ctx)
        if ctx.operation in ("getBeneficiary", "getVirtualAccount", "getAccountBalances"):
            self.last = ctx.record
            self.wait()
            ctx.record = self.last


class TenantWindow(Window):
    """Keeps the organization of a request in a variable of the process, and reads it later."""

    last: OrganizationRow | None = None

    def authenticate(self, ctx: Context) -> None:
        super().authenticate(ctx)
        self.last = ctx.organization
        self.wait()
        ctx.organization = self.last
