"""Typical implementation errors, each in one seam; some show only with several server processes."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.refusals import Refusal
from tests.faults.races import pause


class KeyBeforeTransaction(Behaviour):
    """Looks up the idempotency key before the transaction that performs the request."""

    def transaction(self, ctx: Context) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext()

    def act(self, ctx: Context) -> None:
        pause(0.25)
        with ctx.store.transaction():
            super().act(ctx)


class NoncesOfEachProcess(Behaviour):
    """Remembers nonces in each process separately."""

    def nonce_scope(self, ctx: Context) -> str:
        return f"{super().nonce_scope(ctx)} {os.getpid()}"


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


class NoSignatureCheck(Behaviour):
    """Takes any signature for getBeneficiary."""

    def signatures_equal(self, ctx: Context, expected: str, presented: str) -> bool:
        return ctx.operation == "getBeneficiary" or super().signatures_equal(ctx, expected, presented)
