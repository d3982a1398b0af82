"""Idempotent replay of POST requests: section 4.0 of the specification."""

from __future__ import annotations

import hashlib
import re

from conformance.reference.context import Context
from conformance.reference.core_messages import JSON_TYPE, Response
from conformance.reference.refusals import Refusal
from conformance.reference.seams.base import Base
from conformance.reference.store import Answer

_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")


class Idempotency(Base):
    """The seams of section 4.0. An answer is stored in the transaction of its effect."""

    def replay(self, ctx: Context) -> Response | None:
        """Stage: the stored answer, if the key was used before with this body; None continues the request."""
        if not self.idempotent(ctx):
            return None
        text = ctx.header(b"idempotency-key")
        ctx.key = self.on_missing_key(ctx) if text is None else self.parse_key(ctx, text)
        if ctx.key is None:
            return None
        answer = self.stored_answer(ctx)
        if answer is None:
            ctx.first_use = True
            return None
        if not self.same_body(ctx, answer):
            return self.on_other_body(ctx, answer)
        return self.replayed(ctx, answer)

    def idempotent(self, ctx: Context) -> bool:
        """True if the key is evaluated; on GET and PATCH that is open (idempotency.key-elsewhere)."""
        return ctx.request.method == "POST"

    def on_missing_key(self, ctx: Context) -> str | None:
        """Refuses a POST without a key: idempotency.key-required, idempotency.payout-key-required. None
        continues without a key."""
        raise Refusal("missing_idempotency_key")

    def parse_key(self, ctx: Context, text: str) -> str | None:
        """The canonical key: idempotency.key-invalid, idempotency.key-accepted,
        idempotency.key-other-uuids. Forms without hyphens are open (idempotency.key-forms)."""
        if not _UUID.fullmatch(text):
            raise Refusal("invalid_idempotency_key")
        return text.lower()

    def answer_scope(self, ctx: Context) -> str:
        """The scope in which keys are unique: idempotency.other-organization. Across paths it is open
        (idempotency.other-path); here each path has its own."""
        assert ctx.organization is not None
        return "\n".join((ctx.organization.id, ctx.operation, *ctx.params.values()))

    def fingerprint(self, ctx: Context) -> bytes:
        """A hash of the body's bytes, to compare bodies: idempotency.conflict,
        idempotency.conflict-equivalent, idempotency.conflict-no-body; equivalent JSON in other bytes is open
        (idempotency.equivalent-body)."""
        return hashlib.sha256(ctx.request.body).digest()

    def stored_answer(self, ctx: Context) -> Answer | None:
        """The stored answer of the key: idempotency.replay."""
        assert ctx.key is not None
        return ctx.store.answer(self.answer_scope(ctx), ctx.key)

    def same_body(self, ctx: Context, answer: Answer) -> bool:
        """True if the body is that of the key's first use: idempotency.conflict."""
        return answer.fingerprint == self.fingerprint(ctx)

    def on_other_body(self, ctx: Context, answer: Answer) -> Response | None:
        """Refuses a used key with a different body: idempotency.conflict. None performs the request."""
        raise Refusal("idempotency_key_conflict")

    def replayed(self, ctx: Context, answer: Answer) -> Response | None:
        """The original status and body: idempotency.replay, idempotency.replay-after-change. None
        performs the request again."""
        ctx.replayed = True
        return Response(answer.status, [JSON_TYPE], answer.body, "replayed")

    def remember(self, ctx: Context, response: Response) -> None:
        """Stores the answer under the key: idempotency.replay, idempotency.race."""
        if ctx.key is not None and ctx.first_use:
            ctx.store.keep_answer(
                self.answer_scope(ctx), ctx.key, Answer(self.fingerprint(ctx), response.status, response.body)
            )

    def remembers_refusal(self, ctx: Context, refusal: Refusal) -> bool:
        """True if a refusal uses up the key; open (idempotency.after-refusal), False here."""
        return False
