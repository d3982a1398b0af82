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
from conformance.reference.pipeline import Stage
from conformance.reference.refusals import Refusal
from conformance.reference.store import Answer
from conformance.world.corpora import headers
from tests.support.overrides import Usual

from .choice import choice, demand, memory, other

Step = Callable[[Context], None]


def _steps(behaviour: Behaviour, *order: str) -> list[Step]:
    """Returns the checks of authentication in an order, after those of the headers."""
    return [getattr(behaviour, f"check_{name}") for name in ("headers_present", "headers_filled", *order)]


@choice("auth.precedence", "auth.unspecified-codes")
class SignatureBeforeTimestamp(Behaviour):
    """Checks the timestamp after the signature."""

    def authentication_steps(self, ctx: Context) -> Sequence[Step]:
        return _steps(self, "key", "signature", "timestamp", "nonce")

    def parse_timestamp(self, ctx: Context, text: str) -> int:
        if not re.fullmatch(r"-?[0-9]+", text):
            raise other("invalid_timestamp", 400, "validation_error", "malformed_timestamp")
        return super().parse_timestamp(ctx, text)


@choice(seam="parse_timestamp")
def signed_timestamps(self: Behaviour, usual: Usual, ctx: Context, text: str) -> int:
    """Accepts a timestamp with a plus sign, as the integer parsers of Go, Java and C do."""
    return usual(ctx, text.removeprefix("+"))


@choice("auth.precedence", "auth.nonce-after-failure", seam="authentication_steps")
def nonce_before_signature(self: Behaviour, usual: Usual, ctx: Context) -> Sequence[Step]:
    """Claims the nonce before the signature is checked."""
    return _steps(self, "key", "timestamp", "nonce", "signature")


@choice("auth.unspecified-codes")
class UnspecifiedCodes(Behaviour):
    """Refuses empty headers and unknown keys with undocumented codes."""

    def check_headers_filled(self, ctx: Context) -> None:
        for name in self.required_headers(ctx):
            if not (self.authentication_header(ctx, name) or "").strip():
                raise other("empty_header", 400, "invalid_request", "empty_header")

    def on_unknown_key(self, ctx: Context) -> Any:
        raise other("unknown_key", 401, "authentication_error", "invalid_signature")


@choice("auth.nonce-scope", seam="nonce_scope")
def nonces_of_all(self: Behaviour, usual: Usual, ctx: Context) -> str:
    """Shares one nonce store between all organizations."""
    return "everybody"


@choice("auth.nonce-form", seam="nonce_well_formed")
def hexadecimal_nonces(self: Behaviour, usual: Usual, ctx: Context, nonce: str) -> bool:
    """Requires nonces of 32 hexadecimal characters."""
    return bool(re.fullmatch("[0-9a-fA-F]{32}", nonce))


@choice("auth.signature-upper-case", seam="signatures_equal")
def signatures_in_any_case(
    self: Behaviour, usual: Usual, ctx: Context, expected: str, presented: str
) -> bool:
    """Accepts upper-case hexadecimal signatures."""
    return usual(ctx, expected, presented.lower())


@choice("auth.body-on-get", seam="signed_body")
def no_bodies_on_get(self: Behaviour, usual: Usual, ctx: Context) -> bytes:
    """Neither reads nor signs the body of a GET."""
    return b"" if ctx.request.method == "GET" else usual(ctx)


@demand("auth.bearer-beside", seam="authenticate", kind="missing_headers")
def no_bearer_beside(self: Behaviour, ctx: Context) -> object:
    """Refuses an Authorization header even beside a valid signature."""
    return ctx.header(b"authorization") is not None


@choice(seam="check_headers_present")
def bearer_named(self: Behaviour, usual: Usual, ctx: Context) -> None:
    """Refuses a bearer token with a code of its own if signature headers are missing."""
    missing = [name for name in self.required_headers(ctx) if self.authentication_header(ctx, name) is None]
    if ctx.header(b"authorization") is not None and 0 < len(missing) < 4:
        raise other("missing_headers", 403, "authentication_error", "bearer_not_supported")
    usual(ctx)


# ---------------------------------------------------------------------- idempotency


@choice(seam="authentication_header")
def headers_of_cgi(self: Behaviour, usual: Usual, ctx: Context, name: str) -> str | None:
    """Underscores in the names of headers are hyphens (RFC 3875, section 4.1.18); a hyphen wins."""
    value = usual(ctx, name)
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


@choice("idempotency.key-case", seam="parse_key")
def keys_by_their_letters(self: Behaviour, usual: Usual, ctx: Context, text: str) -> str | None:
    """Compares keys case-sensitively."""
    usual(ctx, text)
    return text


@choice("idempotency.equivalent-body", seam="fingerprint")
def equal_json_replays(self: Behaviour, usual: Usual, ctx: Context) -> bytes:
    """Ignores white space and member order when comparing bodies."""
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


@choice("idempotency.after-refusal", seam="remembers_refusal")
def refusals_remembered(self: Behaviour, usual: Usual, ctx: Context, refusal: Refusal) -> bool:
    """Stores refusals, so that a repetition with the key gets the refusal again."""
    return refusal.kind not in ("invalid_idempotency_key", "idempotency_key_conflict")


@demand(seam="authenticate", kind="invalid_parameter")
def no_addresses_of_proxies(self: Behaviour, ctx: Context) -> object:
    """Refuses an address or prefix that a proxy would tell."""
    return any(ctx.header(name.lower().encode()) for name in (*headers.PREFIXES, *headers.ADDRESSES))


@choice(seam="check_headers_present")
def no_other_methods(self: Behaviour, usual: Usual, ctx: Context) -> None:
    """Refuses a method in a header before it looks at the signature."""
    if any(ctx.header(name.lower().encode()) for name in headers.METHODS):
        raise Refusal("unknown_method")
    usual(ctx)


@demand(seam="check_state", kind="broken_off")
def abandoned_with_the_caller(self: Behaviour, ctx: Context) -> object:
    """Does nothing, and records no key, where the caller hangs up before the work is done."""
    return ctx.request.method == "POST" and ctx.request.gone(0.001)


@choice(seam="stored_answer")
def hung_up_under_way(self: Behaviour, usual: Usual, ctx: Context) -> Answer | None:
    """Answers 409 to the first request again whose caller had hung up, as the work goes on."""
    if ctx.request.gone(0):
        memory(self, "hung up")[ctx.key] = 1
    elif memory(self, "hung up").pop(ctx.key, 0):
        raise other("idempotency_key_conflict", 409, "idempotency_error", "request_in_progress")
    return usual(ctx)


@demand("idempotency.key-elsewhere", seam="replay", kind="missing_idempotency_key")
def no_keys_elsewhere(self: Behaviour, ctx: Context) -> object:
    """Refuses a key on GET or PATCH."""
    return not self.idempotent(ctx) and ctx.header(b"idempotency-key") is not None


@choice("idempotency.key-required", seam="on_missing_key")
def keys_optional(self: Behaviour, usual: Usual, ctx: Context) -> str | None:
    """Performs a POST without a key, except for payouts, where the specification requires it."""
    return usual(ctx) if ctx.operation == "createPayout" else None


# ---------------------------------------------------------------------- tenancy


@choice("tenancy.and-validation", seam="stages")
def validates_first(self: Behaviour, usual: Usual, ctx: Context) -> Sequence[Stage]:
    """Validates the body before it resolves the path."""
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


@choice(seam="on_child_elsewhere")
def foreign_account_forbidden(
    self: Behaviour, usual: Usual, ctx: Context, kind: str, record: Record, parent: Record
) -> Record:
    """Answers 403 instead of 404 for another organization's account under the caller's customer."""
    if kind == "account" and not self.owned(ctx, record):
        return self.on_foreign_parent(ctx, kind, record)
    return usual(ctx, kind, record, parent)


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
        return _steps(self, "nonce", "key", "signature", "timestamp")

    def nonce_scope(self, ctx: Context) -> str:
        return "everybody"

    def nonce_expiry(self, ctx: Context) -> int:
        return ctx.now + (self.nonce_window + self.nonce_margin) * 1_000_000
