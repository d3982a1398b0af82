"""Mistakes of an engineer who wrote a server from the specification, each in one decision; some need several
processes to show."""

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
    """The idempotency key is looked up before the transaction that performs the request."""

    def transaction(self, ctx: Context) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext()

    def act(self, ctx: Context) -> None:
        pause(0.25)
        with ctx.store.transaction():
            super().act(ctx)


class TotalsKept(Behaviour):
    """Each process counts a list once in 60 s."""

    def count(self, ctx: Context, listing: Listing) -> int:
        known: dict[Any, tuple[int, int]] = self.__dict__.setdefault("known", {})
        asked = (ctx.operation, self.list_parent(ctx), repr(listing.conditions))
        if asked not in known or ctx.now - known[asked][0] > 60_000_000:
            known[asked] = ctx.now, super().count(ctx, listing)
        return known[asked][1]


class NoncesByPath(Behaviour):
    """A nonce is used up on its path only."""

    def nonce_scope(self, ctx: Context) -> str:
        return super().nonce_scope(ctx) + ctx.path.decode("latin-1")


class TypeReset(Behaviour):
    """A PATCH puts beneficiary_type back to its default."""

    def patched(self, ctx: Context, record: Record) -> Record:
        return {**super().patched(ctx, record), "beneficiary_type": "individual", **ctx.values}


class OffsetIgnored(Behaviour):
    """The offset of a date is ignored."""

    def parameter(self, ctx: Context, query: Any, name: str) -> str | None:
        text = super().parameter(ctx, query, name)
        return text[:-6] + "Z" if text and name.endswith("_date") and text[-6:-5] in "+-" else text


class NumberInError(Behaviour):
    """An error shows the account number that was sent."""

    def error_message(self, ctx: Context, refusal: Refusal) -> str:
        number = ctx.body.get("account_number")
        return f"{super().error_message(ctx, refusal)} Account {number}."


class SecondDisable(Behaviour):
    """A second disable makes the beneficiary inactive."""

    def disabled(self, ctx: Context, record: Record) -> Record:
        status = "inactive" if record["status"] == "disabled" else "disabled"
        return {**super().disabled(ctx, record), "status": status}


class OnePageMore(Behaviour):
    """`pages` is total // size + 1."""

    def pages(self, ctx: Context, listing: Listing) -> int:
        return listing.total // listing.size + 1


class FloatAmounts(Behaviour):
    """Amounts pass through a float."""

    def amount_text(self, ctx: Context, record: Record) -> Any:
        return repr(float(record["amount"]))


class RoundedAmounts(Behaviour):
    """Amounts have two decimals."""

    def amount_text(self, ctx: Context, record: Record) -> Any:
        return format(Decimal(record["amount"]).quantize(Decimal("0.01")), "f")


class HalfSignatures(Behaviour):
    """The first 32 digits of a signature are compared."""

    def signatures_equal(self, ctx: Context, expected: str, presented: str) -> bool:
        return super().signatures_equal(ctx, expected[:32], presented[:32])


class NoncesOfEachProcess(Behaviour):
    """Each process remembers the nonces of its own requests."""

    def nonce_scope(self, ctx: Context) -> str:
        return f"{super().nonce_scope(ctx)} {os.getpid()}"


class KeysOfAll(Behaviour):
    """Organizations share idempotency keys."""

    def answer_scope(self, ctx: Context) -> str:
        return ctx.operation


class RepetitionReads(Behaviour):
    """A repetition reads the beneficiary again."""

    def replayed(self, ctx: Context, answer: Answer) -> Response | None:
        response = super().replayed(ctx, answer)
        if response is None or ctx.operation != "createBeneficiary":
            return response
        record = ctx.store.get("beneficiary", response.document["id"])
        return response.with_document(self.resource(ctx, "beneficiary", record)) if record else response


class EndInclusive(Behaviour):
    """`end_date` is inclusive."""

    def end_date_condition(self, ctx: Context, query: Any) -> Any:
        condition = super().end_date_condition(ctx, query)
        return condition and condition._replace(operator="<=")


class DisableStands(Behaviour):
    """Disabling leaves `updated` as it was."""

    def disabled(self, ctx: Context, record: Record) -> Record:
        return {**super().disabled(ctx, record), "updated": record["updated"]}


class AnySignature(Behaviour):
    """Every signature is taken."""

    def signatures_equal(self, ctx: Context, expected: str, presented: str) -> bool:
        return True


class TwoWallets(Behaviour):
    """A pair of currency and network is claimed, and claimed again."""

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
