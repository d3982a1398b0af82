"""Race conditions: servers that check first and act later."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

from conformance.checks.test_races import KEYS
from conformance.contract.rules import RULES
from conformance.reference.context import Context
from conformance.reference.core_messages import Response
from conformance.reference.seams.resources import KINDS
from conformance.reference.store import Answer

from .again import do_again
from .catalogue import Faulty, fault, faults, refusal, refuse, seam

#: Seconds between check and action: long enough for all other requests of a race to pass the check.
PAUSE = 0.02


def pause(times: float = 1) -> None:
    """Waits in real time, even under a fake clock."""
    threading.Event().wait(PAUSE * times)


class NotAtomic(Faulty):
    """Performs the checks and effects of a request outside one transaction."""

    def transaction(self, ctx: Context) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext() if self.here(ctx) else super().transaction(ctx)


@fault("auth.nonce-race")
class ChecksThenRecords(NotAtomic):
    """A nonce is looked up first and recorded later."""

    def claim_nonce(self, ctx: Context, nonce: str) -> bool:
        if ctx.store.nonce_claimed(self.nonce_scope(ctx), nonce, ctx.now):
            return False
        pause()
        ctx.store.claim_nonce(self.nonce_scope(ctx), nonce, ctx.now, self.nonce_expiry(ctx))
        return True


@fault("auth.nonce-race")
class TwoMayPass(Faulty):
    """Of several simultaneous requests with one nonce two pass."""

    def transaction(self, ctx: Context) -> contextlib.AbstractContextManager[Any]:
        return _Counted(self, super().transaction(ctx))

    def claim_nonce(self, ctx: Context, nonce: str) -> bool:
        claimed = super().claim_nonce(ctx, nonce)
        second = (
            not claimed
            and self.state.get("waiting", 0) > 2
            and nonce not in self.state.setdefault("given", set())
        )
        if second:
            self.state["given"].add(nonce)
        return claimed or second


class _Counted:
    """Counts the requests that wait for a transaction."""

    def __init__(self, owner: Any, inner: contextlib.AbstractContextManager[Any]) -> None:
        self.owner, self.inner = owner, inner

    def __enter__(self) -> None:
        self.owner.state["waiting"] = self.owner.state.get("waiting", 0) + 1
        # Long enough for another request of the race to be answered meanwhile, even on a busy machine.
        pause(3)
        self.inner.__enter__()

    def __exit__(self, *details: Any) -> None:
        self.owner.state["waiting"] -= 1
        self.inner.__exit__(*details)


class LooksThenActs(NotAtomic):
    """Looks an idempotency key up before the transaction, and stores the answer after it."""

    def stored_answer(self, ctx: Context) -> Answer | None:
        answer = super().stored_answer(ctx)
        if self.here(ctx) and answer is None:
            pause()
        return answer


@fault("idempotency.race")
class PerformsAll(LooksThenActs):
    """Simultaneous requests with one key are all performed."""

    def claim_wallet_pair(self, ctx: Context) -> bool:
        super().claim_wallet_pair(ctx)
        return True


@fault("idempotency.race", seam="act", base=LooksThenActs)
def _(self: Any, ctx: Context) -> None:
    """Simultaneous requests with one key are performed once, but each is answered otherwise."""
    with self.state.setdefault("lock", threading.Lock()):
        made = self.state.setdefault("made", {})
        known = made.get((self.answer_scope(ctx), ctx.key))
        if known is None:
            self.usual()
            made[self.answer_scope(ctx), ctx.key] = ctx.record
        else:
            ctx.record = {
                **known,
                "id": self.new_id(ctx, KINDS[ctx.operation]),
                "updated": known["updated"] + 1,
            }


@fault("idempotency.race", operations=RULES["idempotency.conflict"].operations)
class PerformsEachBody(Faulty):
    """Of simultaneous requests with one key each body is performed once: unique is a key with its body."""

    def transaction(self, ctx: Context) -> contextlib.AbstractContextManager[Any]:
        return _Counted(self, super().transaction(ctx))

    def on_other_body(self, ctx: Context, answer: Answer) -> Response | None:
        known = self.state.setdefault("known", {}).get((ctx.key, self.fingerprint(ctx)))
        if known is None and self.state.get("waiting", 0) > 1:
            ctx.notes["another"] = True
            return None
        return known or super().on_other_body(ctx, answer)

    def remember(self, ctx: Context, response: Response) -> None:
        super().remember(ctx, response)
        if ctx.notes.get("another"):
            self.state["known"][ctx.key, self.fingerprint(ctx)] = response


def _do_and_bring(self: Any, ctx: Context, answer: Answer) -> Any:
    if self.behaviour.times(ctx) < KEYS:
        do_again(self.behaviour, ctx)
    return self.usual()


def _forget(ctx: Context) -> None:
    ctx.store.change("DELETE FROM answers WHERE key = ?", ctx.key)


def _bring_some(self: Any, ctx: Context, answer: Answer) -> Any:
    if self.behaviour.times(ctx) >= KEYS - 1:
        _forget(ctx)
    return self.usual()


class CountsReplays(Faulty):
    """Counts the replays of a response."""

    def times(self, ctx: Context) -> int:
        """Returns the number of replays, including this one."""
        known = self.state.setdefault("counts", {})
        known[ctx.key] = known.get(ctx.key, 0) + 1
        return int(known[ctx.key])


faults["idempotency.race"] |= {
    "After as many repetitions as met, the key is forgotten.": seam(
        "replayed", _bring_some, base=CountsReplays
    ),
    "Those of simultaneous requests that are late are answered with a redirection.": seam(
        "replayed",
        lambda self, ctx, answer: (
            refuse(refusal(303, "moved", "moved")) if self.behaviour.times(ctx) < KEYS else self.usual()
        ),
        base=CountsReplays,
    ),
    "Simultaneous requests with one key are answered as one, and each is performed.": seam(
        "replayed", _do_and_bring, base=CountsReplays, operations=("createPayout", "createVirtualAccount")
    ),
}


@fault("payout.race", seam="reserve_funds", base=NotAtomic)
def _(self: Any, ctx: Context) -> None:
    """The balance is read outside of the transaction that changes it: simultaneous payouts overwrite each
    other's."""
    before = ctx.store.balances(self.parent(ctx)["id"])
    pause()
    for balance in before:
        ctx.store.set_balance(self.parent(ctx)["id"], balance)
    self.usual()


@fault("create.echo", operations=[name for name in KINDS if name not in ("createPayout", "createWallet")])
class ReadsTheNewestBack(NotAtomic):
    """A create is answered with the newest of its list: with another's where several come at once."""

    def create(self, ctx: Context) -> None:
        super().create(ctx)
        pause()
        kind, parent = KINDS[ctx.operation], self.parent(ctx)["id"]
        (ctx.record,) = ctx.store.select(kind, parent, newest_first=True, limit=1)


@fault("beneficiary.update")
class ReadsTheLastChangedBack(NotAtomic):
    """A PATCH is answered with the beneficiary that was changed last."""

    def update_beneficiary(self, ctx: Context) -> None:
        super().update_beneficiary(ctx)
        last = self.__dict__.setdefault("last", {})
        last["id"] = ctx.params["beneficiary_id"]
        pause()
        ctx.record = self.find(ctx, "beneficiary", last["id"])


@fault("wallet.race")
class LooksThenReserves(NotAtomic):
    """A pair is looked up first and reserved later."""

    def claim_wallet_pair(self, ctx: Context) -> bool:
        pair = (self.parent(ctx)["id"], str(ctx.values["currency"]), str(ctx.values["network"]))
        if ctx.store.query(
            "SELECT 1 FROM wallet_pairs WHERE (account, currency, network) = (?, ?, ?)", *pair
        ):
            return False
        pause()
        ctx.store.claim_wallet_pair(*pair)
        return True


@fault("wallet.race")
class NoneIsLeft(Faulty):
    """Of several simultaneous creates of one pair none results."""

    def transaction(self, ctx: Context) -> contextlib.AbstractContextManager[Any]:
        return _Counted(self, super().transaction(ctx))

    def create(self, ctx: Context) -> None:
        if self.state.get("waiting", 0) > 2:
            self.on_duplicate_wallet(ctx)
        super().create(ctx)


@fault("wallet.race")
class RefusedButThere(NotAtomic):
    """Of several simultaneous creates of one pair all but one are refused, but all are listed."""

    def claim_wallet_pair(self, ctx: Context) -> bool:
        racing = self.state.setdefault("racing", {})
        pair = (self.parent(ctx)["id"], str(ctx.values["currency"]), str(ctx.values["network"]))
        racing[pair] = racing.get(pair, 0) + 1
        pause()
        ctx.notes["racing"] = racing[pair] > 1
        racing[pair] -= 1
        return super().claim_wallet_pair(ctx)

    def on_duplicate_wallet(self, ctx: Context) -> None:
        if ctx.notes.get("racing"):
            self.create(ctx)
        super().on_duplicate_wallet(ctx)
