"""Race conditions: servers that check first and act later."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from conformance.checks.test_races import KEYS
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.reference.context import Context
from conformance.reference.seams.resources import RECORD_KINDS
from conformance.reference.store import Answer
from tests.support.balances import change_balances
from tests.support.overrides import nonce_claimed

from .catalogue import Call, Faulty, Row, faults, seam, seams
from .replays import do_again
from .rows import after, before, refusing, where

#: Rule -> operations that show what was created at once.
LOST = {
    "list.complete": ("listPayoutDestinations", "listVirtualAccounts", "listWallets"),
    "read.equals-create": ("getBeneficiary",),
}

#: Seconds between check and action: long enough for all other requests of a race to pass the check.
PAUSE = 0.02


def pause(times: float = 1) -> None:
    """Waits in real time, even under a fake clock."""
    threading.Event().wait(PAUSE * times)


class NotAtomic(Faulty):
    """Performs the checks and effects of a request outside one transaction."""

    def transaction(self, ctx: Context) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext() if self.here(ctx) else super().transaction(ctx)


def looking_first(name: str, known: Call) -> Row:
    """Makes a row that looks whether something is known, and does what makes it known later."""

    def override(self: Any, usual: Any, *given: Any) -> bool:
        if known(self, *given):
            return False
        pause()
        usual()
        return True

    return seam(name, override, base=NotAtomic)


class Counting(Faulty):
    """Counts the requests of the operation that wait for a transaction."""

    def transaction(self, ctx: Context) -> contextlib.AbstractContextManager[Any]:
        inner = super().transaction(ctx)
        return self._counted(inner) if self.here(ctx) else inner

    @contextlib.contextmanager
    def _counted(self, inner: contextlib.AbstractContextManager[Any]) -> Iterator[None]:
        self.state["waiting"] = self.waiting() + 1
        # Long enough for another request of the race to be answered meanwhile, even on a busy machine.
        pause(3)
        with inner:
            try:
                yield
            finally:
                self.state["waiting"] -= 1

    def waiting(self) -> int:
        """Returns the number of requests that wait, or are performed."""
        return int(self.state.get("waiting", 0))


# ---------------------------------------------------------------------- nonces


def _two_may_pass(self: Any, usual: Any, ctx: Context, nonce: str) -> bool:
    if usual():
        return True
    passed = self.state.setdefault("passed", set())
    second = self.waiting() > 2 and nonce not in passed
    passed |= {nonce} if second else set()
    return bool(second)


faults["auth.nonce-race"] |= {
    "A nonce is looked up first and recorded later.": looking_first(
        "claim_nonce",
        lambda self, ctx, nonce: nonce_claimed(ctx.store, self.nonce_scope(ctx), nonce, ctx.now),
    ),
    "Of simultaneous requests with one nonce two pass.": seam("claim_nonce", _two_may_pass, base=Counting),
}


# ---------------------------------------------------------------------- idempotency keys


class LooksThenActs(NotAtomic):
    """Looks an idempotency key up before the transaction, and stores the answer after it."""

    def stored_answer(self, ctx: Context) -> Answer | None:
        answer = super().stored_answer(ctx)
        if self.here(ctx) and answer is None:
            pause()
        return answer


def _answer_otherwise(self: Any, usual: Any, ctx: Context) -> None:
    """Performs the first of several requests with one key, and answers each otherwise."""
    with self.state.setdefault("lock", threading.Lock()):
        first = self.state.get((self.answer_scope(ctx), ctx.key))
        if first is None:
            usual()
            self.state[self.answer_scope(ctx), ctx.key] = ctx.record
        else:
            another = {"id": self.new_id(ctx, RECORD_KINDS[ctx.operation]), "updated": first["updated"] + 1}
            ctx.record = {**first, **another}


def _times(self: Any, ctx: Context) -> int:
    """Returns the number of replays of a response, including this one."""
    self.state[ctx.key] = times = self.state.get(ctx.key, 0) + 1
    return int(times)


faults["idempotency.race"] |= {
    "Requests with one key are all performed.": seam(
        "claim_wallet_pair", lambda self, usual, *_: usual() or True, base=LooksThenActs
    ),
    "Simultaneous requests with one key are performed once, but each is answered otherwise.": seam(
        "act", _answer_otherwise, base=LooksThenActs
    ),
    "Each body of simultaneous requests with one key is performed once: unique are both together.": seams(
        {
            "on_other_body": lambda self, usual, ctx, *_: (
                known
                if (known := self.state.get((ctx.key, self.fingerprint(ctx))))
                else ctx.notes.update(another=True)
                if self.waiting() > 1
                else usual()
            ),
            "remember": lambda self, usual, ctx, response: (
                usual(),
                self.state.update(
                    {(ctx.key, self.fingerprint(ctx)): response} if "another" in ctx.notes else {}
                ),
            ),
        },
        base=Counting,
        operations=RULES["idempotency.conflict"].operations,
    ),
    "While the first request of a key is under way, another body brings its response, too.": seam(
        "same_body",
        lambda self, usual, *_: self.waiting() > 1 or usual(),
        base=Counting,
        operations=RULES["idempotency.conflict"].operations,
    ),
    "After as many repetitions as met, the key is forgotten.": before(
        "replayed",
        lambda self, ctx, *_: ctx.store.change("DELETE FROM answers WHERE key = ?", ctx.key),
        lambda self, ctx, *_: _times(self, ctx) >= KEYS - 1,
    ),
    "Those of simultaneous requests that are late are answered with a redirection.": refusing(
        "replayed", "303 moved moved", lambda self, ctx, *_: _times(self, ctx) < KEYS
    ),
    "Simultaneous requests with one key are answered as one, and each is performed.": before(
        "replayed",
        lambda self, ctx, *_: do_again(self, ctx),
        lambda self, ctx, *_: self.waiting() > 1,
        base=Counting,
        operations=("createPayout", "createVirtualAccount"),
    ),
}


# ---------------------------------------------------------------------- payouts, creates and updates


def _overwrite(self: Any, ctx: Context) -> None:
    before = ctx.store.balances(self.parent(ctx)["id"])
    pause()
    for balance in before:
        ctx.store.set_balance(self.parent(ctx)["id"], balance)


def _newest(self: Any, ctx: Context) -> None:
    pause()
    kind, parent = RECORD_KINDS[ctx.operation], self.parent(ctx)["id"]
    (ctx.record,) = ctx.store.select(kind, parent, newest_first=True, limit=1)


def _changed_last(self: Any, ctx: Context) -> None:
    self.state["last"] = ctx.params["beneficiary_id"]
    pause()
    ctx.record = self.find(ctx, "beneficiary", self.state["last"])


class CountingCreates(Counting):
    """Counts the requests that create what the operation lists or reads."""

    def here(self, ctx: Context) -> bool:
        return ctx.operation == (OPERATIONS[self.operation].filled_by or "createBeneficiary")


for rule, operations in LOST.items():
    faults[rule] |= {
        "Of creates in one place that come at once some are answered, and lost.": where(
            "create",
            lambda self, *_: self.waiting() > 1,
            lambda self, usual, ctx: setattr(ctx, "record", self.new_record(ctx)),
            base=CountingCreates,
            operations=operations,
        )
    }

faults["payout.race"] |= {
    "The balance is read outside of the transaction that changes it, which others overwrite.": before(
        "reserve_funds", _overwrite, base=NotAtomic
    )
}


def _take(self: Any, usual: Any, ctx: Context) -> None:
    """Takes the amount of a payout in its currency, and in those for which `value` is true."""
    amount = Decimal(str(ctx.values["amount"]))
    change_balances(
        ctx,
        self.parent(ctx)["id"],
        lambda code: code == ctx.values["currency"] or self.value(code),
        available=amount.copy_negate(),
        pending_payout=amount,
    )


faults["payout.one-currency"] |= {
    "A payout is taken from the balance in its currency, and from others.": seam(
        "reserve_funds",
        _take,
        each={
            "of all, by an update without a currency": lambda code: True,
            "that in pounds": lambda code: code == "GBP",
            "that in euros": lambda code: code == "EUR",
            "those that begin with the same letter, or C": lambda code: code[0] in "UC",
        },
    ),
    "A payout in another currency is taken from the dollars as well.": seam(
        "reserve_funds",
        lambda self, usual, ctx: _take(self, usual, ctx) if ctx.values["currency"] != "USD" else usual(),
        each={"": lambda code: code == "USD"},
    ),
    "A payout is added to what is pending in every currency.": after(
        "reserve_funds",
        lambda self, ctx: change_balances(
            ctx,
            self.parent(ctx)["id"],
            lambda code: code != ctx.values["currency"],
            pending_payout=Decimal(ctx.values["amount"]),
        ),
    ),
}

faults["create.echo"] |= {
    "A create is answered with the newest of its list: with another's where several come at once.": after(
        "create",
        _newest,
        base=NotAtomic,
        operations=[name for name in RECORD_KINDS if name not in ("createPayout", "createWallet")],
    )
}

faults["beneficiary.update"] |= {
    "A PATCH is answered with the one changed last.": after(
        "update_beneficiary", _changed_last, base=NotAtomic
    )
}


def _asked_for_last(self: Any, ctx: Context) -> None:
    self.state["last"] = ctx.record
    pause()
    ctx.record = self.state["last"]


for rule in ("read.equals-create", "balances.of-account"):
    faults[rule] |= {
        "Reads that come at once show what the last of them asked for.": after(
            "act", _asked_for_last, base=NotAtomic
        )
    }


# ---------------------------------------------------------------------- wallets


def _pair(self: Any, ctx: Context) -> tuple[str, str, str]:
    return (self.parent(ctx)["id"], str(ctx.values["currency"]), str(ctx.values["network"]))


def _claim_slowly(self: Any, usual: Any, ctx: Context) -> bool:
    pair = _pair(self, ctx)
    self.state[pair] = self.state.get(pair, 0) + 1
    pause()
    ctx.notes["racing"] = self.state[pair] > 1
    self.state[pair] -= 1
    return bool(usual())


faults["wallet.race"] |= {
    "A pair is looked up, and reserved later.": looking_first(
        "claim_wallet_pair",
        lambda self, ctx: ctx.store.query(
            "SELECT 1 FROM wallet_pairs WHERE (account, currency, network) = (?, ?, ?)", *_pair(self, ctx)
        ),
    ),
    "Of several simultaneous creates of one pair none results.": before(
        "create",
        lambda self, ctx: self.on_duplicate_wallet(ctx) if self.waiting() > 2 else None,
        base=Counting,
    ),
    "Of several simultaneous creates of one pair all but one are refused, but all are listed.": seams(
        {
            "claim_wallet_pair": _claim_slowly,
            "on_duplicate_wallet": lambda self, usual, ctx: [
                self.create(ctx) if ctx.notes.get("racing") else None,
                usual(),
            ],
        },
        base=NotAtomic,
    ),
}
