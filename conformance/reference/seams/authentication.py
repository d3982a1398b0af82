"""Authentication, section 5 of the specification: headers, timestamp, key, signature, nonce."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Sequence

from conformance.contract import signing
from conformance.reference.context import Context
from conformance.reference.refusals import Refusal
from conformance.reference.seams.base import Base
from conformance.reference.store import OrganizationRow

#: Seconds between deletions of expired nonces.
PRUNE_INTERVAL = 30

_INTEGER = re.compile(r"-?[0-9]+")


class Authentication(Base):
    """The seams of section 5. Each check returns if it finds no error, else raises Refusal."""

    #: Maximum timestamp skew in seconds (section 8).
    timestamp_skew = 300
    #: Nonce replay window in seconds (section 8), and a margin.
    nonce_window = 300
    nonce_margin = 5

    def authenticate(self, ctx: Context) -> None:
        """Stage: authenticates before anything else: auth.comes-first, auth.other-spellings,
        auth.undocumented-reads."""
        for step in self.authentication_steps(ctx):
            step(ctx)

    def authentication_steps(self, ctx: Context) -> Sequence[Callable[[Context], None]]:
        """The checks in order. Which of several failures is reported is open (auth.precedence).

        The nonce follows the signature, so that nobody else can use up nonces (open:
        auth.nonce-after-failure). An Authorization header is ignored (open: auth.bearer-beside).
        """
        return (
            self.check_headers_present,
            self.check_headers_filled,
            self.check_timestamp,
            self.check_key,
            self.check_signature,
            self.check_nonce,
        )

    # ------------------------------------------------------------------ headers

    def required_headers(self, ctx: Context) -> Sequence[str]:
        """The required headers: auth.missing-header, auth.bearer-only."""
        return signing.HEADERS

    def check_headers_present(self, ctx: Context) -> None:
        """Every required header is present: auth.missing-header, auth.bearer-only."""
        for name in self.required_headers(ctx):
            if self.authentication_header(ctx, name) is None:
                raise Refusal("missing_headers")

    def check_headers_filled(self, ctx: Context) -> None:
        """No required header is empty: auth.empty-header."""
        for name in self.required_headers(ctx):
            if not (self.authentication_header(ctx, name) or "").strip():
                raise Refusal("empty_header")

    def authentication_header(self, ctx: Context, name: str) -> str | None:
        """The value of one of the four headers, whose names are case-insensitive: auth.header-case."""
        return ctx.header(name.lower().encode())

    # ------------------------------------------------------------------ timestamp

    def check_timestamp(self, ctx: Context) -> None:
        """The timestamp is an integer within the window."""
        timestamp = self.parse_timestamp(ctx, self.authentication_header(ctx, signing.TIMESTAMP) or "")
        if not self.timestamp_in_window(ctx, self.server_seconds(ctx) - timestamp):
            raise Refusal("timestamp_too_old")

    def parse_timestamp(self, ctx: Context, text: str) -> int:
        """Parses epoch seconds: auth.timestamp-integer."""
        if not _INTEGER.fullmatch(text):
            raise Refusal("invalid_timestamp")
        # A truncated integer is out of the window, too.
        return int(text[:20])

    def server_seconds(self, ctx: Context) -> int:
        """Server time in epoch seconds."""
        return ctx.now // 1_000_000

    def timestamp_in_window(self, ctx: Context, age: int) -> bool:
        """True if a timestamp of this age in seconds (negative: in the future) is accepted:
        auth.timestamp-window, auth.timestamp-accepted."""
        return -self.timestamp_skew <= age <= self.timestamp_skew

    # ------------------------------------------------------------------ key

    def check_key(self, ctx: Context) -> None:
        """The API key is known: auth.unknown-key. Sets the organization."""
        key = self.authentication_header(ctx, signing.API_KEY) or ""
        ctx.organization = self.find_organization(ctx, key) or self.on_unknown_key(ctx)

    def find_organization(self, ctx: Context, api_key: str) -> OrganizationRow | None:
        """The organization of an API key."""
        return ctx.store.organization(api_key)

    def on_unknown_key(self, ctx: Context) -> OrganizationRow:
        """Refuses an unknown API key: auth.unknown-key, auth.unknown-key-status."""
        raise Refusal("unknown_key")

    # ------------------------------------------------------------------ signature

    def check_signature(self, ctx: Context) -> None:
        """The signature matches the request as received: auth.signature. The refusal does not reveal the
        right one: auth.signature-hidden."""
        expected = signing.signature(self.signing_secret(ctx), self.signature_string(ctx))
        presented = self.authentication_header(ctx, signing.SIGNATURE) or ""
        if not self.signatures_equal(ctx, expected, presented):
            raise Refusal("invalid_signature")

    def signing_secret(self, ctx: Context) -> str:
        """The secret of the organization: auth.signature."""
        assert ctx.organization is not None
        return ctx.organization.secret

    def signature_string(self, ctx: Context) -> bytes:
        """The signature string (section 5.3): auth.no-separators, auth.accepts-valid."""
        return signing.signature_string(
            self.signed_method(ctx),
            self.signed_target(ctx),
            self.signed_timestamp(ctx),
            self.signed_nonce(ctx),
            self.signed_body(ctx),
        )

    def signed_method(self, ctx: Context) -> str:
        """The METHOD part: auth.signed-method."""
        return ctx.request.method

    def signed_target(self, ctx: Context) -> bytes:
        """The PATH_AND_QUERY part, exactly as sent: auth.signed-path, auth.signed-query,
        auth.path-as-sent, auth.query-as-sent."""
        return ctx.request.target

    def signed_timestamp(self, ctx: Context) -> str:
        """The TIMESTAMP part: auth.signed-timestamp."""
        return self.authentication_header(ctx, signing.TIMESTAMP) or ""

    def signed_nonce(self, ctx: Context) -> str:
        """The NONCE part: auth.signed-nonce."""
        return self.authentication_header(ctx, signing.NONCE) or ""

    def signed_body(self, ctx: Context) -> bytes:
        """The BODY part, exactly as sent: auth.signed-body, auth.signed-empty-body, auth.body-as-sent,
        http.chunked-body; also of a GET: auth.body-on-get."""
        return ctx.request.body

    def signatures_equal(self, ctx: Context, expected: str, presented: str) -> bool:
        """Compares in constant time; upper case is refused, which is open (auth.signature-upper-case)."""
        return hmac.compare_digest(expected.encode(), presented.encode())

    # ------------------------------------------------------------------ nonce

    def check_nonce(self, ctx: Context) -> None:
        """The nonce is new: auth.nonce-replay, auth.nonce-replay-idempotent, auth.nonce-race."""
        nonce = self.authentication_header(ctx, signing.NONCE) or ""
        if not self.nonce_well_formed(ctx, nonce):
            raise Refusal("invalid_nonce")
        self.prune_nonces(ctx)
        if not self.claim_nonce(ctx, nonce):
            raise Refusal("nonce_replay")

    def nonce_well_formed(self, ctx: Context, nonce: str) -> bool:
        """True if the form of a nonce is accepted; open (auth.nonce-form) except for 32 hexadecimal
        characters."""
        return len(nonce) <= 255

    def nonce_scope(self, ctx: Context) -> str:
        """The scope in which nonces are unique: the organization. Across organizations it is open
        (auth.nonce-scope)."""
        assert ctx.organization is not None
        return ctx.organization.id

    def nonce_expiry(self, ctx: Context) -> int:
        """The expiry of the nonce in microseconds: not before its timestamp and the replay window expire."""
        timestamp = self.parse_timestamp(ctx, self.authentication_header(ctx, signing.TIMESTAMP) or "")
        seconds = max(self.server_seconds(ctx) + self.nonce_window, timestamp + self.timestamp_skew)
        return (seconds + self.nonce_margin) * 1_000_000

    def claim_nonce(self, ctx: Context, nonce: str) -> bool:
        """Records the nonce unless it is recorded, atomically: auth.nonce-race."""
        return ctx.store.claim_nonce(self.nonce_scope(ctx), nonce, ctx.now, self.nonce_expiry(ctx))

    def prune_nonces(self, ctx: Context) -> None:
        """Deletes expired nonces periodically."""
        if ctx.now - ctx.server.pruned > PRUNE_INTERVAL * 1_000_000:
            ctx.server.pruned = ctx.now
            ctx.store.prune_nonces(ctx.now)
