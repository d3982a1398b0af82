"""Servers whose work ends with their caller, or apart from the record of its key."""

from __future__ import annotations

from typing import Any

from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.traits import TRAITS
from conformance.reference.context import Context
from conformance.reference.core_messages import Response

from .catalogue import faults, refusal, refuse, seam, seams
from .rows import skipping, where

#: Seconds that the work takes in which a caller may hang up.
WORK = 0.04


def gone(ctx: Context) -> bool:
    return ctx.request.method == "POST" and ctx.request.gone(WORK)


def _undone(self: Any, ctx: Context) -> None:
    """Takes back what was done, but not the record of the key."""
    accounts = {record["id"] for record in (ctx.account,) if record}
    balances = {account: ctx.store.balances(account) for account in accounts}
    before = dict(ctx.beneficiary or {})
    self.usual()
    for account, each in balances.items():
        for balance in each:
            ctx.store.set_balance(account, balance)
    if before and self.operation == "disableBeneficiary":
        ctx.store.update(before)
    elif ctx.record is not None:
        ctx.store.change("DELETE FROM resources WHERE id = ?", ctx.record["id"])


def _redelivered(self: Any, ctx: Context) -> None:
    """A queue delivers work again whose first delivery nobody confirmed."""
    self.usual()
    self.usual()


#: Creates whose effect a list, or money, shows.
_COUNTED = [
    name for name in OPERATION_SETS["create"] if TRAITS[name].listed_by or TRAITS[name].draws_on_funds
]

faults["idempotency.hang-up"] |= {
    "The key of a request whose caller has hung up is not recorded.": skipping(
        "remember",
        gone,
        operations=_COUNTED,
    ),
    "Work is cancelled with its caller, and the record of its key is not.": where(
        "act",
        gone,
        _undone,
        operations=[name for name in OPERATION_SETS["post"] if not TRAITS[name].moves_money],
    ),
    "The answer that is recorded for a caller that has hung up is an error.": where(
        "remember",
        gone,
        lambda self, ctx, response: self.usual(ctx, Response.of(int(self.value), {"error": {}})),
        each=("408", "499"),
    ),
    "A key stays under way for ever where its caller has hung up.": seams(
        {
            "remember": lambda self, ctx, response, usual: (
                self.state.update({ctx.key: True}) if gone(ctx) else usual()
            ),
            "stored_answer": lambda self, ctx, usual: (
                refuse(refusal("409 idempotency_error request_in_progress"))
                if ctx.key in self.state
                else usual()
            ),
        }
    ),
    "Work is done again where its caller has hung up.": where(
        "act", gone, _redelivered, operations=[name for name in _COUNTED if name != "createWallet"]
    ),
    "What came of a body that broke off is taken for the whole.": seam(
        "on_broken_off", lambda: None, operations=_COUNTED
    ),
}
