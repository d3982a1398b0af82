"""Faults that show under load: rare ones, full caches, and races.

Each class is a fault. Its docstring says what the server does; one of its rules must be reported.
"""

from __future__ import annotations

import contextlib
import json
import time
from typing import Any

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Listing, Record
from conformance.reference.core_messages import Response
from conformance.reference.seams.resources import RECORD_KINDS
from conformance.reference.store import Answer
from tests.support.programs import Programs
from tests.variants.choice import memory, times

#: Maximum distance in seconds of requests that race.
MEET = 0.1


#: Faults by name.
fault = Programs(Behaviour)


class LoadFault(Behaviour):
    """The reference server with one fault."""

    #: Frequency of the fault: once in so many occasions.
    one_in = 1

    def now_and_then(self) -> bool:
        """Returns True once in `one_in` calls."""
        return times(self, "occasions") % self.one_in == 0

    def met(self, thing: Any) -> bool:
        """Returns True if the last call for this key was less than MEET seconds ago."""
        last = memory(self, "met")
        before, last[thing] = last[thing], time.monotonic()
        return bool(last[thing] - before < MEET)


@fault("idempotency.*", "list.complete")
class AccountKeysRaced(LoadFault):
    """A key of createAccount is performed again within 40 ms of its first use."""

    def stored_answer(self, ctx: Context) -> Answer | None:
        now, scope = time.monotonic(), (self.answer_scope(ctx), ctx.key)
        first = memory(self, "first use").setdefault(scope, now)
        raced = ctx.operation == "createAccount" and now - first < 0.04
        return None if raced else super().stored_answer(ctx)


@fault("idempotency.replay", "idempotency.replay-after-change")
class KeysEvicted(LoadFault):
    """Only the last 1,000 keys are remembered."""

    most = 1000

    def remember(self, ctx: Context, response: Response) -> None:
        super().remember(ctx, response)
        keys = memory(self, "keys")
        keys[self.answer_scope(ctx), ctx.key] = True
        if len(keys) > self.most:
            del keys[first := next(iter(keys))]
            ctx.store.change("DELETE FROM answers WHERE scope = ? AND key = ?", *first)


class ManyKeys(Behaviour):
    """Counts idempotency keys; `full` after 1,000."""

    full = False

    def remember(self, ctx: Context, response: Response) -> None:
        super().remember(ctx, response)
        self.full = (ctx.key is not None and times(self, "keys") >= 1000) or self.full


@fault("idempotency.conflict")
class ConflictsForgotten(ManyKeys, LoadFault):
    """After 1,000 keys the bodies of new ones are no longer compared."""

    def same_body(self, ctx: Context, answer: Answer) -> bool:
        return self.full or super().same_body(ctx, answer)


@fault("idempotency.replay-after-change", "idempotency.replay")
class ReplaysRebuilt(ManyKeys, LoadFault):
    """After 1,000 keys a repeated create is answered with the resource as it is now."""

    def replayed(self, ctx: Context, answer: Answer) -> Response | None:
        first = super().replayed(ctx, answer)
        if self.full and ctx.operation == "createBeneficiary":
            record = ctx.store.get("beneficiary", json.loads(answer.body)["id"])
            if record is not None:
                return Response.of(answer.status, self.resource(ctx, "beneficiary", record), "rebuilt")
        return first


@fault("auth.nonce-replay")
class NoncesForgotten(LoadFault):
    """Only the last 5,000 nonces are remembered."""

    most = 5000

    def claim_nonce(self, ctx: Context, nonce: str) -> bool:
        nonces = memory(self, "nonces")
        if nonce in nonces:
            return False
        nonces[nonce] = True
        if len(nonces) > self.most:
            del nonces[next(iter(nonces))]
        return True


@fault("auth.nonce-race", "auth.nonce-replay")
class NonceRaced(LoadFault):
    """One in 20 requests that repeat a nonce within a tenth of a second passes."""

    one_in = 20

    def claim_nonce(self, ctx: Context, nonce: str) -> bool:
        met = self.met(nonce)
        return super().claim_nonce(ctx, nonce) or (met and self.now_and_then())


@fault("auth.accepts-valid", "auth.query-as-sent", "auth.body-as-sent")
class NoncesConfused(LoadFault):
    """After 2,000 nonces one in 300 new ones is taken for a used one, as a full Bloom filter does."""

    one_in = 300

    def claim_nonce(self, ctx: Context, nonce: str) -> bool:
        full = times(self, "nonces") > 2000
        return super().claim_nonce(ctx, nonce) and not (full and self.now_and_then())


@fault("auth.signature", "auth.signed-*", "auth.no-separators")
class SignaturesSkipped(LoadFault):
    """With more than 12 requests in a tenth of a second the signature is not looked at."""

    def signatures_equal(self, ctx: Context, expected: str, presented: str) -> bool:
        recent, place = memory(self, "recent"), times(self, "requests") % 12
        before, recent[place] = recent[place], time.monotonic()
        busy = recent[place] - before < MEET
        return busy or super().signatures_equal(ctx, expected, presented)


@fault("beneficiary.update")
class UpdateLost(LoadFault):
    """One in 500 acknowledged updates is not stored."""

    one_in = 500

    def update_beneficiary(self, ctx: Context) -> None:
        before = ctx.beneficiary
        super().update_beneficiary(ctx)
        if before is not None and self.now_and_then():
            ctx.store.update(before)


@fault("beneficiary.disable")
class DisableLost(LoadFault):
    """A beneficiary that is changed and disabled at one moment is active again, one time in three."""

    one_in = 3

    def update_beneficiary(self, ctx: Context) -> None:
        super().update_beneficiary(ctx)
        assert ctx.beneficiary is not None
        self.met(ctx.beneficiary["id"])

    def disable_beneficiary(self, ctx: Context) -> None:
        before = ctx.beneficiary
        super().disable_beneficiary(ctx)
        if before is not None and self.met(before["id"]) and self.now_and_then():
            ctx.store.update(before)


@fault("format.id-unique")
class IdsFromClock(LoadFault):
    """The id of a beneficiary is the time in milliseconds."""

    def new_id(self, ctx: Context, kind: str) -> str:
        if kind != "beneficiary":
            return super().new_id(ctx, kind)
        return f"bene_{ctx.now // 1000:024d}"

    def create(self, ctx: Context) -> None:
        if ctx.operation != "createBeneficiary":
            return super().create(ctx)
        ctx.record = self.new_record(ctx)
        if ctx.store.get("beneficiary", ctx.record["id"]) is None:
            ctx.store.insert("beneficiary", ctx.record)
        else:
            ctx.store.update(ctx.record)
        return None


@fault("tenancy.foreign-parent")
class ListsCached(LoadFault):
    """Lists and balances are cached for a second by their path, and served to whoever asks."""

    def resolve(self, ctx: Context) -> Any:
        at, response = memory(self, "cache").get(ctx.request.target, (0.0, None))
        if ctx.request.method == "GET" and response is not None and time.monotonic() - at < 1:
            return Response(response.status, list(response.headers), response.body, "cached")
        return super().resolve(ctx)

    def finish(self, ctx: Context, response: Response) -> Response:
        if ctx.operation.startswith("list") and response.status == 200 and response.reason != "cached":
            copy = Response(response.status, list(response.headers[:1]), response.body, "cached")
            memory(self, "cache")[ctx.request.target] = time.monotonic(), copy
        return super().finish(ctx, response)


@fault(
    "tenancy.isolation",
    "read.equals-create",
    "balances.of-account",
    "list.complete",
    "list.walk",
    "list.empty",
)
class AnswersSwapped(LoadFault):
    """One in 300 reads is answered with the answer to another one of the same operation."""

    one_in = 300

    def finish(self, ctx: Context, response: Response) -> Response:
        response = super().finish(ctx, response)
        if ctx.request.method != "GET" or response.status != 200 or ctx.operation == "listAccounts":
            return response
        bodies = memory(self, "bodies")
        before, bodies[ctx.operation] = bodies[ctx.operation], response.body
        if before and self.now_and_then():
            response.body = before
        return response


@fault("list.complete")
class ElementsLost(LoadFault):
    """One in 20 virtual accounts that are created at one moment is in no list."""

    one_in = 20

    def create(self, ctx: Context) -> None:
        super().create(ctx)
        assert ctx.record is not None
        if RECORD_KINDS[ctx.operation] == "virtual_account" and self.met("create") and self.now_and_then():
            memory(self, "lost").setdefault(ctx.record["parent"], set()).add(ctx.record["id"])

    def _lacking(self, ctx: Context) -> set[str]:
        if ctx.operation != "listVirtualAccounts" or ctx.account is None:
            return set()
        return set(memory(self, "lost").get(ctx.account["id"], ()))

    def count(self, ctx: Context, listing: Listing) -> int:
        return super().count(ctx, listing) - len(self._lacking(ctx))

    def fetch(self, ctx: Context, listing: Listing, *, limit: int = -1, offset: int = 0) -> list[Record]:
        if not (lacking := self._lacking(ctx)):
            return super().fetch(ctx, listing, limit=limit, offset=offset)
        records = [one for one in super().fetch(ctx, listing) if one["id"] not in lacking]
        return records[offset:] if limit < 0 else records[offset : offset + limit]


@fault("wallet.race", "wallet.duplicate")
class WalletTwice(LoadFault):
    """One in 10 second wallets of a pair that meet the first is created."""

    one_in = 10

    def claim_wallet_pair(self, ctx: Context) -> bool:
        pair = (ctx.params.get("account_id"), ctx.values.get("currency"), ctx.values.get("network"))
        claimed, met = super().claim_wallet_pair(ctx), self.met(pair)
        return claimed or (met and self.now_and_then())


@fault("payout.race")
class BalanceReadBeforeCommit(LoadFault):
    """The balance is read before the transaction that changes it: one in 10 payouts forgets what others took
    meanwhile."""

    one_in = 10

    def transaction(self, ctx: Context) -> contextlib.AbstractContextManager[Any]:
        if ctx.operation == "createPayout":
            ctx.notes["read"] = memory(self, "committed").get(ctx.params["account_id"])
            # Simulates a round trip to a database.
            time.sleep(0.003)
        return super().transaction(ctx)

    def reserve_funds(self, ctx: Context) -> None:
        account, read = ctx.params["account_id"], ctx.notes["read"]
        if read and read != ctx.store.balances(account) and self.now_and_then():
            for balance in read:
                ctx.store.set_balance(account, balance)
        super().reserve_funds(ctx)
        memory(self, "committed")[account] = ctx.store.balances(account)
