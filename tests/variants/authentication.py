"""Choices in sections 5 and 4.0: authentication, idempotency, tenancy."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from conformance.contract import json_text
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.pipeline import Stage
from conformance.reference.refusals import Refusal

from .choice import choice

Step = Callable[[Context], None]


def other(kind: str, status: int, type: str, code: str) -> Refusal:
    """Returns a refusal with a status, type and code of the choice's own."""
    made = Refusal(kind, code=code)
    made.status, made.type = status, type
    return made


@choice("auth.precedence", "auth.unspecified-codes")
class SignatureBeforeTimestamp(Behaviour):
    """Checks the timestamp after the signature."""

    def authentication_steps(self, ctx: Context) -> Sequence[Step]:
        return (
            self.check_headers_present,
            self.check_headers_filled,
            self.check_key,
            self.check_signature,
            self.check_timestamp,
            self.check_nonce,
        )

    def parse_timestamp(self, ctx: Context, text: str) -> int:
        if not re.fullmatch(r"-?[0-9]+", text):
            raise other("invalid_timestamp", 400, "validation_error", "malformed_timestamp")
        return super().parse_timestamp(ctx, text)


@choice()
class SignedTimestamps(Behaviour):
    """Accepts a timestamp with a plus sign, as the integer parsers of Go, Java and C do."""

    def parse_timestamp(self, ctx: Context, text: str) -> int:
        return super().parse_timestamp(ctx, text.removeprefix("+"))


@choice("auth.precedence", "auth.nonce-after-failure")
class NonceBeforeSignature(Behaviour):
    """Claims the nonce before the signature is checked."""

    def authentication_steps(self, ctx: Context) -> Sequence[Step]:
        return (
            self.check_headers_present,
            self.check_headers_filled,
            self.check_key,
            self.check_timestamp,
            self.check_nonce,
            self.check_signature,
        )


@choice("auth.unspecified-codes")
class UnspecifiedCodes(Behaviour):
    """Refuses empty headers and unknown keys with undocumented codes."""

    def check_headers_filled(self, ctx: Context) -> None:
        for name in self.required_headers(ctx):
            if not (self.authentication_header(ctx, name) or "").strip():
                raise other("empty_header", 400, "invalid_request", "empty_header")

    def on_unknown_key(self, ctx: Context) -> Any:
        raise other("unknown_key", 401, "authentication_error", "invalid_signature")


@choice("auth.nonce-scope")
class NoncesOfAll(Behaviour):
    """Shares one nonce store between all organizations."""

    def nonce_scope(self, ctx: Context) -> str:
        return "everybody"


@choice("auth.nonce-form")
class HexadecimalNonces(Behaviour):
    """Requires nonces of 32 hexadecimal characters."""

    def nonce_well_formed(self, ctx: Context, nonce: str) -> bool:
        return bool(re.fullmatch("[0-9a-fA-F]{32}", nonce))


@choice("auth.signature-upper-case")
class SignaturesInAnyCase(Behaviour):
    """Accepts upper-case hexadecimal signatures."""

    def signatures_equal(self, ctx: Context, expected: str, presented: str) -> bool:
        return super().signatures_equal(ctx, expected, presented.lower())


@choice("auth.body-on-get")
class NoBodiesOnGet(Behaviour):
    """Neither reads nor signs the body of a GET."""

    def signed_body(self, ctx: Context) -> bytes:
        return b"" if ctx.request.method == "GET" else super().signed_body(ctx)


@choice("auth.bearer-beside")
class NoBearerBeside(Behaviour):
    """Refuses an Authorization header even beside a valid signature."""

    def authentication_steps(self, ctx: Context) -> Sequence[Step]:
        return (*super().authentication_steps(ctx), self.no_authorization)

    def no_authorization(self, ctx: Context) -> None:
        if ctx.header(b"authorization") is not None:
            raise other("missing_headers", 401, "authentication_error", "unexpected_authorization")


@choice()
class BearerNamed(Behaviour):
    """Refuses a bearer token with a code of its own if signature headers are missing."""

    def check_headers_present(self, ctx: Context) -> None:
        missing = [
            name for name in self.required_headers(ctx) if self.authentication_header(ctx, name) is None
        ]
        if ctx.header(b"authorization") is not None and 0 < len(missing) < 4:
            raise other("missing_headers", 403, "authentication_error", "bearer_not_supported")
        super().check_headers_present(ctx)


# ---------------------------------------------------------------------- idempotency


@choice()
class HeadersOfCgi(Behaviour):
    """Underscores in the names of headers are hyphens (RFC 3875, section 4.1.18); a hyphen wins."""

    def authentication_header(self, ctx: Context, name: str) -> str | None:
        value = super().authentication_header(ctx, name)
        return ctx.header(name.lower().replace("-", "_").encode()) if value is None else value


@choice("idempotency.key-forms")
class AnyUuid(Behaviour):
    """Accepts a key without hyphens, in braces and as a URN, too."""

    FORMS = re.compile(
        r"\{?(?:urn:uuid:)?([0-9a-f]{32}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})\}?", re.I
    )

    def parse_key(self, ctx: Context, text: str) -> str | None:
        form = self.FORMS.fullmatch(text)
        if form is None:
            raise Refusal("invalid_idempotency_key")
        return str(uuid.UUID(form[1]))


@choice("idempotency.key-case")
class KeysByTheirLetters(Behaviour):
    """Compares keys case-sensitively."""

    def parse_key(self, ctx: Context, text: str) -> str | None:
        super().parse_key(ctx, text)
        return text


@choice("idempotency.equivalent-body")
class EqualJsonReplays(Behaviour):
    """Ignores white space and member order when comparing bodies."""

    def fingerprint(self, ctx: Context) -> bytes:
        try:
            body = json.dumps(json_text.load(ctx.request.body), sort_keys=True).encode()
        except ValueError:
            body = ctx.request.body
        return hashlib.sha256(body).digest()


@choice("idempotency.other-path")
class KeysOfOrganization(Behaviour):
    """Scopes keys to the organization: another path with the same key is a conflict."""

    def answer_scope(self, ctx: Context) -> str:
        assert ctx.organization is not None
        return ctx.organization.id

    def fingerprint(self, ctx: Context) -> bytes:
        return super().fingerprint(ctx) + ctx.request.target


@choice("idempotency.other-path")
class KeysBeforeResources(Behaviour):
    """Scopes keys to organization and body, whatever the path, and looks them up before the path is
    resolved."""

    def stages(self, ctx: Context) -> Sequence[Stage]:
        return (self.authenticate, self.replay, self.resolve, self.validate, self.check_state, self.act)

    def answer_scope(self, ctx: Context) -> str:
        assert ctx.organization is not None
        return ctx.organization.id


@choice("idempotency.after-refusal")
class RefusalsRemembered(Behaviour):
    """Stores refusals, so that a repetition with the key gets the refusal again."""

    def remembers_refusal(self, ctx: Context, refusal: Refusal) -> bool:
        return refusal.kind not in ("invalid_idempotency_key", "idempotency_key_conflict")


@choice("idempotency.key-elsewhere")
class NoKeysElsewhere(Behaviour):
    """Refuses a key on GET or PATCH."""

    def replay(self, ctx: Context) -> Response | None:
        if not self.idempotent(ctx) and ctx.header(b"idempotency-key") is not None:
            raise other("missing_idempotency_key", 400, "validation_error", "unexpected_idempotency_key")
        return super().replay(ctx)


@choice(breaks=("idempotency.key-required",))
class KeysOptional(Behaviour):
    """Performs a POST without a key, except for payouts, where the specification requires it."""

    def on_missing_key(self, ctx: Context) -> str | None:
        return super().on_missing_key(ctx) if ctx.operation == "createPayout" else None


# ---------------------------------------------------------------------- tenancy


@choice("tenancy.and-validation")
class ValidatesFirst(Behaviour):
    """Validates the body before it resolves the path."""

    def stages(self, ctx: Context) -> Sequence[Stage]:
        return (self.authenticate, self.validate, self.resolve, self.replay, self.check_state, self.act)


@choice("tenancy.and-validation")
class KeyFirst(Behaviour):
    """Reads the idempotency key before it resolves the path."""

    def stages(self, ctx: Context) -> Sequence[Stage]:
        return (
            self.authenticate,
            self.look_at_key,
            self.resolve,
            self.replay,
            self.validate,
            self.check_state,
            self.act,
        )

    def look_at_key(self, ctx: Context) -> None:
        if self.idempotent(ctx):
            text = ctx.header(b"idempotency-key")
            if text is None:
                self.on_missing_key(ctx)
            else:
                self.parse_key(ctx, text)


@choice()
class ForeignAccountForbidden(Behaviour):
    """Answers 403 instead of 404 for another organization's account under the caller's customer."""

    def on_child_elsewhere(self, ctx: Context, kind: str, record: Record, parent: Record) -> Record:
        if kind == "account" and not self.owned(ctx, record):
            return self.on_foreign_parent(ctx, kind, record)
        return super().on_child_elsewhere(ctx, kind, record, parent)


@choice()
class IdsOfAForm(Behaviour):
    """Refuses ids of another resource type, or with a space, as malformed before anything else."""

    def top_level(self, ctx: Context, kind: str, identifier: str) -> Record:
        self._check_form(kind, identifier)
        return super().top_level(ctx, kind, identifier)

    def child(self, ctx: Context, kind: str, identifier: str, parent: Record) -> Record:
        self._check_form(kind, identifier)
        return super().child(ctx, kind, identifier, parent)

    def _check_form(self, kind: str, identifier: str) -> None:
        prefix = {"customer": "cus", "account": "acct?", "beneficiary": "bene"}.get(kind, "va")
        if not re.match(prefix + "_", identifier) or " " in identifier:
            raise other("unknown_path", 400, "validation_error", "malformed_id")


@choice("auth.precedence", "auth.nonce-after-failure")
class NonceFirst(Behaviour):
    """Claims the nonce before all other checks, for any sender; checks the timestamp last."""

    def authentication_steps(self, ctx: Context) -> Sequence[Step]:
        return (
            self.check_headers_present,
            self.check_headers_filled,
            self.check_nonce,
            self.check_key,
            self.check_signature,
            self.check_timestamp,
        )

    def nonce_scope(self, ctx: Context) -> str:
        return "everybody"

    def nonce_expiry(self, ctx: Context) -> int:
        return ctx.now + (self.nonce_window + self.nonce_margin) * 1_000_000
