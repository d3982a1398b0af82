"""Servers whose work ends with their caller, or apart from the record of its key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.traits import TRAITS
from conformance.reference.context import Context
from conformance.reference.core_messages import Response

from .catalogue import Faulty, faults, refusal, refuse, seam, seams
from .rows import skipping, where

#: Seconds that the work takes in which a caller may hang up.
WORK = 0.04


def gone(_: Any, ctx: Context, *others: Any) -> bool:
    return ctx.request.method == "POST" and ctx.request.gone(WORK)


#: Seconds that each step of the work takes: before the effect, and between it and the record of its key.
STEP = 0.01


class Stepwise(Faulty):
    """Does nothing where its caller hangs up before the effect."""

    def act(self, ctx: Context) -> None:
        if ctx.request.gone(STEP):
            refuse(refusal("499 api_error cancelled"))
        super().act(ctx)


def _undone_between(self: Any, usual: Any, ctx: Context) -> None:
    """Takes back what was done where the caller hangs up behind it, but not the record of the key."""
    _undone(self, usual, ctx, lambda: bool(ctx.request.gone(STEP)))


def _half_done(self: Any, usual: Any, ctx: Context) -> None:
    """Ends between the effect on a balance or a pair and the resource, where the caller hangs up there."""
    usual()
    if ctx.record is not None and ctx.request.gone(STEP):
        ctx.store.change("DELETE FROM resources WHERE id = ?", ctx.record["id"])
        refuse(refusal("499 api_error cancelled"))


def _undone(self: Any, usual: Any, ctx: Context, test: Callable[[], bool] = lambda: True) -> None:
    """Takes back what was done where a test holds then, but not the record of the key."""
    accounts = {record["id"] for record in (ctx.account,) if record}
    balances = {account: ctx.store.balances(account) for account in accounts}
    before = dict(ctx.beneficiary or {})
    usual()
    if not test():
        return
    for account, each in balances.items():
        for balance in each:
            ctx.store.set_balance(account, balance)
    if before and self.operation == "disableBeneficiary":
        ctx.store.update(before)
    elif ctx.record is not None:
        ctx.store.change("DELETE FROM resources WHERE id = ?", ctx.record["id"])


def _redelivered(self: Any, usual: Any, ctx: Context) -> None:
    """A queue delivers work again whose first delivery nobody confirmed."""
    usual()
    usual()


def _counted_if_gone(self: Any, usual: Any, ctx: Context, response: Response) -> None:
    """Numbers the keys whose callers hang up within the last step."""
    usual()
    if ctx.request.gone(STEP):
        self.state[ctx.key] = len(self.state)


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
        lambda self, usual, ctx, response: usual(ctx, Response.of(int(self.value), {"error": {}})),
        each=("408", "499"),
    ),
    "A key stays under way for ever where its caller has hung up.": seams(
        {
            "remember": lambda self, usual, ctx, response: (
                self.state.update({ctx.key: True}) if gone(self, ctx) else usual()
            ),
            "stored_answer": lambda self, usual, ctx: (
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
        "on_broken_off", lambda *_: None, operations=_COUNTED
    ),
    "A caller hangs up between the work and the record of its key, which is lost.": skipping(
        "remember", lambda self, ctx, *_: ctx.request.gone(STEP), base=Stepwise, operations=_COUNTED
    ),
    "A caller hangs up behind the work, which is taken back, and the record of its key is not.": seam(
        "act",
        _undone_between,
        base=Stepwise,
        operations=[name for name in OPERATION_SETS["create"] if name != "createPayin"],
    ),
    "A caller hangs up between two effects, of which the first stays.": seam(
        "act", _half_done, base=Stepwise, operations=("createPayout", "createWallet")
    ),
    "A caller hangs up during the work, and its key stays under way for ever.": seams(
        {
            "remember": lambda self, usual, ctx, response: (
                self.state.update({ctx.key: True}) if ctx.request.gone(STEP) else usual()
            ),
            "stored_answer": lambda self, usual, ctx: (
                refuse(refusal("409 idempotency_error request_in_progress"))
                if ctx.key in self.state
                else usual()
            ),
        },
        base=Stepwise,
        operations=[name for name in OPERATION_SETS["create"] if name != "createPayin"],
    ),
    "A caller hangs up during the work, and every second such key is refused from then on.": seams(
        {
            "remember": _counted_if_gone,
            "stored_answer": lambda self, usual, ctx: (
                refuse(refusal("422 api_error inconsistent"))
                if self.state.get(ctx.key, 1) % 2 == 0
                else usual()
            ),
        },
        base=Stepwise,
        operations=[name for name in OPERATION_SETS["create"] if name != "createPayin"],
    ),
}
