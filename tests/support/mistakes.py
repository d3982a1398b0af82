"""Typical implementation errors, each in one seam; some show only with several server processes."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Listing
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


class AnySignature(Behaviour):
    """Accepts every signature."""

    def signatures_equal(self, ctx: Context, expected: str, presented: str) -> bool:
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


class NoNonces(Behaviour):
    """Accepts used nonces."""

    def claim_nonce(self, ctx: Context, nonce: str) -> bool:
        return True
