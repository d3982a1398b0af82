"""Typical implementation errors, each in one seam; some show only with several server processes."""

from __future__ import annotations

import contextlib
import os
from decimal import Decimal
from typing import Any

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Listing, Record
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal
from conformance.reference.store import Answer
from tests.faults.races import pause


class KeyBeforeTransaction(Behaviour):
    """Looks up the idempotency key before the transaction that performs the request."""

    def transaction(self, ctx: Context) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext()

    def act(self, ctx: Context) -> None:
        pause(0.25)
        with ctx.store.transaction():
            super().act(ctx)


class TotalsKept(Behaviour):
    """Caches the total of a list for 60 s in each process."""

    def count(self, ctx: Context, listing: Listing) -> int:
        known: dict[Any, tuple[int, int]] = self.__dict__.setdefault("known", {})
        asked = (ctx.operation, self.list_parent(ctx), repr(listing.conditions))
        if asked not in known or ctx.now - known[asked][0] > 60_000_000:
            known[asked] = ctx.now, super().count(ctx, listing)
        return known[asked][1]


class NoncesByPath(Behaviour):
    """Scopes nonces to the path."""

    def nonce_scope(self, ctx: Context) -> str:
        return super().nonce_scope(ctx) + ctx.path.decode("latin-1")


class TypeReset(Behaviour):
    """Resets beneficiary_type to its default on PATCH."""

    def patched(self, ctx: Context, record: Record) -> Record:
        return {**super().patched(ctx, record), "beneficiary_type": "individual", **ctx.values}


class OffsetIgnored(Behaviour):
    """Ignores the UTC offset of a date."""

    def parameter(self, ctx: Context, query: Any, name: str) -> str | None:
        text = super().parameter(ctx, query, name)
        return text[:-6] + "Z" if text and name.endswith("_date") and text[-6:-5] in "+-" else text


class NumberInError(Behaviour):
    """Shows the full account number in error messages."""

    def error_message(self, ctx: Context, refusal: Refusal) -> str:
        number = ctx.body.get("account_number")
        return f"{super().error_message(ctx, refusal)} Account {number}."


class SecondDisable(Behaviour):
    """Makes the beneficiary inactive on a second disable."""

    def disabled(self, ctx: Context, record: Record) -> Record:
        status = "inactive" if record["status"] == "disabled" else "disabled"
        return {**super().disabled(ctx, record), "status": status}


class OnePageMore(Behaviour):
    """Computes `pages` as total // size + 1."""

    def pages(self, ctx: Context, listing: Listing) -> int:
        return listing.total // listing.size + 1


class FloatAmounts(Behaviour):
    """Stores amounts as floats."""

    def amount_text(self, ctx: Context, record: Record) -> Any:
        return repr(float(record["amount"]))


class RoundedAmounts(Behaviour):
    """Rounds amounts to two decimals."""

    def amount_text(self, ctx: Context, record: Record) -> Any:
        return format(Decimal(record["amount"]).quantize(Decimal("0.01")), "f")


class HalfSignatures(Behaviour):
    """Compares only the first 32 digits of a signature."""

    def signatures_equal(self, ctx: Context, expected: str, presented: str) -> bool:
        return super().signatures_equal(ctx, expected[:32], presented[:32])


class NoncesOfEachProcess(Behaviour):
    """Remembers nonces in each process separately."""

    def nonce_scope(self, ctx: Context) -> str:
        return f"{super().nonce_scope(ctx)} {os.getpid()}"


class KeysIgnored(Behaviour):
    """Ignores idempotency keys."""

    def stored_answer(self, ctx: Context) -> Answer | None:
        return None


class KeysOfAll(Behaviour):
    """Shares idempotency keys between organizations."""

    def answer_scope(self, ctx: Context) -> str:
        return ctx.operation


class RepetitionReads(Behaviour):
    """Replays an idempotent request with the current state of the beneficiary."""

    def replayed(self, ctx: Context, answer: Answer) -> Response | None:
        response = super().replayed(ctx, answer)
        if response is None or ctx.operation != "createBeneficiary":
            return response
        record = ctx.store.get("beneficiary", response.document["id"])
        return response.with_document(self.resource(ctx, "beneficiary", record)) if record else response


class EndInclusive(Behaviour):
    """Includes `end_date` in the filtered range."""

    def end_date_condition(self, ctx: Context, query: Any) -> Any:
        condition = super().end_date_condition(ctx, query)
        return condition and condition._replace(operator="<=")


class DisableStands(Behaviour):
    """Leaves `updated` unchanged on disable."""

    def disabled(self, ctx: Context, record: Record) -> Record:
        return {**super().disabled(ctx, record), "updated": record["updated"]}


class AnySignature(Behaviour):
    """Accepts every signature."""

    def signatures_equal(self, ctx: Context, expected: str, presented: str) -> bool:
        return True


class TwoWallets(Behaviour):
    """Lets a pair of currency and network be claimed twice."""

    def claim_wallet_pair(self, ctx: Context) -> bool:
        super().claim_wallet_pair(ctx)
        return True


class Closed(Behaviour):
    """Refuses every body of one operation."""

    def __init__(self, operation: str) -> None:
        super().__init__()
        self._closed = operation

    def check_together(self, ctx: Context) -> None:
        if ctx.operation == self._closed:
            raise Refusal("invalid_field", "Not today.", code="closed")
        super().check_together(ctx)


class PerformsAgain(Behaviour):
    """Performs a request again under a used key."""

    def replayed(self, ctx: Context, answer: Answer) -> Response | None:
        return None


class NoNonces(Behaviour):
    """Accepts used nonces."""

    def claim_nonce(self, ctx: Context, nonce: str) -> bool:
        return True


class LongTexts(Behaviour):
    """Accepts texts of any length."""

    def check_length(self, ctx: Context, field: Any, value: str) -> None:
        pass
