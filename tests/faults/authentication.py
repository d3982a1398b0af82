"""Servers with authentication faults: headers, timestamp and key (section 5)."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

from conformance.contract import signing
from conformance.contract.operations import OPERATIONS
from conformance.contract.timestamps import http_date
from conformance.reference.context import Context
from conformance.reference.store import OrganizationRow
from conformance.world.corpora.ids import INHERITED

from .catalogue import Faulty, fault, faults, hook, of, refusal, refuse, seam


def first_organization(ctx: Context) -> OrganizationRow:
    """Returns the organization of the API key, or the first one for an unknown key."""
    named = ctx.store.organization(ctx.header(b"x-api-key") or "")
    rows = ctx.store.query("SELECT id, api_key, secret FROM organizations")
    return named or next(OrganizationRow(*row) for row in rows)


class LetsThrough(Faulty):
    """Serves unauthenticated requests for which `waives` is true."""

    def waives(self, ctx: Context) -> bool:
        return False

    def authenticate(self, ctx: Context) -> None:
        if self.here(ctx) and self.waives(ctx):
            ctx.organization = first_organization(ctx)
        else:
            super().authenticate(ctx)


waiving = hook(LetsThrough, "waives")


#: Kind -> part of a nonce that is compared with used ones.
PARTS = {
    "the first half": slice(0, 16),
    "the last half": slice(16, None),
    "the first eight": slice(0, 8),
    "all but the last": slice(0, -1),
    "all but the first": slice(1, None),
}

faults["auth.accepts-valid"] |= {
    "No signature is right.": seam("signatures_equal", lambda *_: False),
    "A nonce must be a UUID with hyphens.": seam("nonce_well_formed", lambda self, ctx, nonce: "-" in nonce),
    "A nonce must have small letters.": seam(
        "nonce_well_formed", lambda self, ctx, nonce: nonce == nonce.lower()
    ),
    "A nonce is signed in small letters.": seam("signed_nonce", lambda self, *_: self.usual().lower()),
    "A nonce must be longer than 32 characters.": seam(
        "nonce_well_formed", lambda self, ctx, nonce: len(nonce) > 32
    ),
    "A timestamp is read as milliseconds.": seam("parse_timestamp", lambda self, *_: self.usual() // 1000),
    "The signature is computed over the path without /v1.": seam(
        "signed_target", lambda self, ctx: ctx.request.target.removeprefix(b"/v1")
    ),
    "The signature is computed over parts that newlines separate.": seam(
        "signature_string",
        lambda self, ctx: b"\n".join(
            (
                self.signed_method(ctx).encode(),
                self.signed_target(ctx),
                self.signed_timestamp(ctx).encode(),
                self.signed_nonce(ctx).encode(),
                self.signed_body(ctx),
            )
        ),
    ),
    "The signature must be in base64.": seam(
        "signatures_equal",
        lambda self, ctx, expected, presented: (
            base64.b64encode(bytes.fromhex(expected)).decode() == presented
        ),
    ),
    "The signature must be in upper-case hexadecimal.": seam(
        "signatures_equal", lambda self, ctx, expected, presented: expected.upper() == presented
    ),
    "A nonce counts as used where only a part of it was.": seam(
        "claim_nonce", lambda self, ctx, nonce: self.usual(ctx, nonce[self.value]), each=PARTS
    ),
}


class MissesOtherwise(Faulty):
    """Answers a missing header with `answer`."""

    def check_headers_present(self, ctx: Context) -> None:
        missing = [name for name in signing.HEADERS if self.authentication_header(ctx, name) is None]
        if self.here(ctx) and missing and missing[0] == self.value[0]:
            raise refusal(*self.value[1:])
        super().check_headers_present(ctx)


def _misses(**answers: tuple[int, str, str]) -> dict[str, tuple[Any, ...]]:
    return {
        f"{header} {name}": (header, *answer)
        for name, answer in answers.items()
        for header in signing.HEADERS
    }


def _of_query(*names: str) -> Callable[[Context], str | None]:
    """Returns the value of the first of these query parameters that is present."""

    def value(ctx: Context) -> str | None:
        given = parse_qs(ctx.query.decode())
        return next((given[name][0] for name in names if name in given), None)

    return value


def _of_date(ctx: Context) -> str | None:
    date = http_date(ctx.header(b"date"))
    return None if date is None else str(int(date))


def _of_cookie(ctx: Context) -> str | None:
    name, _, value = (ctx.header(b"cookie") or "").partition("=")
    return value if name == "api_key" else None


def _of_bearer(ctx: Context) -> str | None:
    kind, _, token = (ctx.header(b"authorization") or "").partition(" ")
    return token if kind.lower() == "bearer" else None


#: Kind -> header, and what is read instead if it is missing.
ELSEWHERE: dict[str, tuple[str, Callable[[Context], str | None]]] = {
    **{f"{name} in the query": (name, _of_query(name)) for name in signing.HEADERS[:3]},
    "api_key in the query": (signing.API_KEY, _of_query("api_key")),
    "timestamp in the query": (signing.TIMESTAMP, _of_query("timestamp")),
    "nonce in the query": (signing.NONCE, _of_query("nonce")),
    "a cookie": (signing.API_KEY, _of_cookie),
    "Date": (signing.TIMESTAMP, _of_date),
    "X-Request-Id": (signing.NONCE, lambda ctx: ctx.header(b"x-request-id")),
}


class LooksElsewhere(Faulty):
    """Reads another place if a header is missing."""

    def authentication_header(self, ctx: Context, name: str) -> str | None:
        value = super().authentication_header(ctx, name)
        missing, elsewhere = self.value
        return elsewhere(ctx) if value is None and name == missing else value


faults["auth.missing-header"] |= {
    "A request without this header needs no authentication.": waiving(
        lambda self, ctx: ctx.header(self.value.lower().encode()) is None, each=signing.HEADERS
    ),
    "A request with none of the four headers needs no authentication.": waiving(
        lambda self, ctx: all(ctx.header(name.lower().encode()) is None for name in signing.HEADERS),
        also=("auth.bearer-only",),
    ),
    "The API key alone does instead of the four headers.": waiving(
        lambda self, ctx: (
            ctx.store.organization(ctx.header(b"x-api-key") or "") is not None
            and all(ctx.header(name.lower().encode()) is None for name in signing.HEADERS[1:])
        ),
        also=("auth.bearer-only",),
    ),
    "A missing header is answered with another type or code.": of(
        MissesOtherwise,
        each=_misses(
            code=(401, "authentication_error", "invalid_signature"),
            type=(401, "validation_error", "missing_headers"),
            singular=(401, "authentication_error", "missing_header"),
            body=(400, "validation_error", "invalid_request"),
        ),
    ),
    "A missing header is made good by what stands elsewhere.": of(LooksElsewhere, each=ELSEWHERE),
}


faults["auth.missing-header-status"] |= {
    "A missing header is answered with another status than 401.": of(
        MissesOtherwise,
        each=_misses(
            forbidden=(403, "authentication_error", "missing_headers"),
            bad=(400, "authentication_error", "missing_headers"),
        ),
    )
}

faults["auth.empty-header"] |= {
    "A request in which this header is empty needs no authentication.": waiving(
        lambda self, ctx: ctx.header(self.value.lower().encode()) == "", each=signing.HEADERS
    )
}


@fault(
    "auth.header-case",
    seam="authentication_header",
    each=[f"{how} {name}" for how in ("documented", "upper", "lower") for name in signing.HEADERS],
)
def _(self: Any, ctx: Context, name: str) -> Any:
    """A header is found under the documented spelling of its name and under no, or one, other."""
    how, which = self.value.split()
    known = {name, name.upper() if how == "upper" else name.lower() if how == "lower" else name}
    if name == which and not any(key.decode() in known for key, _ in ctx.request.headers):
        return None
    return self.usual()


@fault("auth.unknown-key", seam="on_unknown_key")
def _(self: Any, ctx: Context) -> Any:
    """An unknown key counts as that of the organization whose secret the request is signed with."""
    presented = self.authentication_header(ctx, signing.SIGNATURE)
    for row in ctx.store.query("SELECT id, api_key, secret FROM organizations"):
        if signing.signature(row[2], self.signature_string(ctx)) == presented:
            return OrganizationRow(*row)
    return self.usual()


@fault("auth.unknown-key", seam="waives", base=LetsThrough)
def _(self: Any, ctx: Context) -> Any:
    """A request with an unknown key needs no signature."""
    key = ctx.header(b"x-api-key")
    return bool(key) and ctx.store.organization(key or "") is None


@fault("auth.unknown-key", seam="find_organization", each=("prefix", "longer"))
def _(self: Any, ctx: Context, api_key: str) -> Any:
    """A key that resembles a known one is taken for it."""
    for row in ctx.store.query("SELECT id, api_key, secret FROM organizations"):
        known = row[1]
        if {"prefix": len(api_key) > 8 and known.startswith(api_key), "longer": api_key.startswith(known)}[
            self.value
        ]:
            return OrganizationRow(*row)
    return self.usual()


#: Operations that are sent such a key; the others are sent one that resembles a known one.
KEYED_BY_MEMBERS = tuple(
    operation for at, operation in enumerate(OPERATIONS) if at % (len(INHERITED) + 1) > 0
)

faults["auth.unknown-key"] |= {
    "API keys are compared without their letter case.": seam(
        "find_organization",
        lambda self, ctx, key: next(
            (
                OrganizationRow(*row)
                for row in ctx.store.query("SELECT id, api_key, secret FROM organizations")
                if row[1].lower() == key.lower()
            ),
            None,
        ),
    )
}

faults["auth.unknown-key-status"] |= {
    "An API key that is the name of a member of all objects is known, with an empty secret.": seam(
        "find_organization",
        lambda self, ctx, key: OrganizationRow("", key, "") if key in INHERITED else self.usual(),
        operations=KEYED_BY_MEMBERS,
    ),
    "An unknown key is refused with another status.": seam(
        "on_unknown_key",
        lambda self, *_: refuse(refusal(self.value, "authentication_error", "invalid_api_key")),
        each=(400, 403, 404),
    ),
}


def _bearer(ctx: Context) -> str | None:
    kind, _, token = (ctx.header(b"authorization") or "").partition(" ")
    return token if kind.lower() == "bearer" and ctx.header(b"x-signature") is None else None


faults["auth.bearer-only"] |= {
    "The API key may come as a bearer token.": of(
        LooksElsewhere,
        each={"beside the other three headers": (signing.API_KEY, _of_bearer)},
        operations=list(OPERATIONS)[1::2],
    ),
    "A bearer token, whatever it is, does instead of the four headers.": waiving(
        lambda self, ctx: _bearer(ctx) is not None
    ),
    "The API key as bearer token does instead of the four headers.": waiving(
        lambda self, ctx: ctx.store.organization(_bearer(ctx) or "") is not None
    ),
    "A bearer token does instead of the signature, beside the other three headers.": waiving(
        lambda self, ctx: (
            _bearer(ctx) is not None
            and all(
                ctx.header(name.lower().encode()) for name in signing.HEADERS if name != signing.SIGNATURE
            )
        )
    ),
    "A bearer token is refused, but not as missing headers.": seam(
        "check_headers_present",
        lambda self, ctx: refuse(refusal(*self.value)) if _bearer(ctx) is not None else self.usual(),
        each={
            "code": (401, "authentication_error", "invalid_token"),
            "type": (401, "permission_error", "missing_headers"),
            "bad": (400, "validation_error", "bearer_not_supported"),
        },
    ),
}
