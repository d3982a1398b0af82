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
from tests.support.overrides import with_header

from .catalogue import Call, Row, faults, refuse, seam, seams, wrong
from .rows import each_of, refusing, skipping, where


def _key(ctx: Context) -> str:
    return ctx.header(b"x-api-key") or ""


def _organizations(ctx: Context) -> list[OrganizationRow]:
    return [OrganizationRow(*row) for row in ctx.store.query("SELECT id, api_key, secret FROM organizations")]


def first_organization(ctx: Context) -> OrganizationRow:
    """Returns the organization of the API key, or the first one for an unknown key."""
    return ctx.store.organization(_key(ctx)) or _organizations(ctx)[0]


def signed_parts(behaviour: Any, ctx: Context) -> tuple[bytes, ...]:
    """Returns the parts of a request that are signed, in order."""
    return (
        behaviour.signed_method(ctx).encode(),
        behaviour.signed_target(ctx),
        behaviour.signed_timestamp(ctx).encode(),
        behaviour.signed_nonce(ctx).encode(),
        behaviour.signed_body(ctx),
    )


def waiving(test: Call | None = None, **options: Any) -> Row:
    """Makes a row that serves unauthenticated requests for which a test holds, by default the kind."""
    return where(
        "authenticate",
        test,
        lambda self, usual, ctx: setattr(ctx, "organization", first_organization(ctx)),
        **options,
    )


faults["auth.accepts-valid"] |= {
    "No signature is right.": seam("signatures_equal", lambda *_: False),
    "A nonce must be of another form.": seam(
        "nonce_well_formed",
        each={
            "a UUID with hyphens": lambda self, usual, ctx, nonce: "-" in nonce,
            "small letters": lambda self, usual, ctx, nonce: nonce == nonce.lower(),
            "longer than 32 characters": lambda self, usual, ctx, nonce: len(nonce) > 32,
        },
    ),
    "A nonce is signed in small letters.": seam("signed_nonce", lambda self, usual, *_: usual().lower()),
    "A timestamp is read as milliseconds.": seam("parse_timestamp", lambda self, usual, *_: usual() // 1000),
    "The signature is computed over the path without /v1.": seam(
        "signed_target", lambda self, usual, ctx: ctx.request.target.removeprefix(b"/v1")
    ),
    "The signature is computed over parts that newlines separate.": seam(
        "signature_string", lambda self, usual, ctx: b"\n".join(signed_parts(self, ctx))
    ),
    "The signature must be in another form.": seam(
        "signatures_equal",
        lambda self, usual, ctx, expected, presented: self.value(expected) == presented,
        each={
            "base64": lambda expected: base64.b64encode(bytes.fromhex(expected)).decode(),
            "upper-case hexadecimal": str.upper,
        },
    ),
    "A nonce counts as used where only a part of it was.": seam(
        "claim_nonce",
        lambda self, usual, ctx, nonce: usual(ctx, nonce[self.value]),
        each={
            "the first half": slice(0, 16),
            "the last half": slice(16, None),
            "the first eight": slice(0, 8),
            "all but the last": slice(0, -1),
            "all but the first": slice(1, None),
        },
    ),
}


def misses(*ways: str) -> Row:
    """Makes a row that refuses a request without one of the four headers otherwise."""

    def missing(self: Any, ctx: Context) -> bool:
        first = next((name for name in signing.HEADERS if self.authentication_header(ctx, name) is None), "")
        return bool(first == self.value[0])

    return where(
        "check_headers_present",
        missing,
        lambda self, *_: refuse(self.value[1]),
        each=each_of(signing.HEADERS, wrong("401 authentication_error missing_headers", *ways)),
    )


def _of_query(name: str) -> Callable[[Context], str | None]:
    """Returns what reads a query parameter."""
    return lambda ctx: next(iter(parse_qs(ctx.query.decode()).get(name, ())), None)


def _token(ctx: Context) -> str | None:
    kind, _, token = (ctx.header(b"authorization") or "").partition(" ")
    return token if kind.lower() == "bearer" else None


def _bearer(ctx: Context) -> str | None:
    """Returns a bearer token that comes without a signature."""
    return _token(ctx) if ctx.header(b"x-signature") is None else None


def _elsewhere(self: Any, usual: Any, ctx: Context, name: str) -> Any:
    """Reads another place if a header is missing."""
    value, (missing, elsewhere) = usual(), self.value
    return elsewhere(ctx) if value is None and name == missing else value


def _has(ctx: Context, *names: str) -> bool:
    """Returns True if a request has one of these headers."""
    return any(ctx.header(name.lower().encode()) is not None for name in names)


faults["auth.missing-header"] |= {
    "A request without this header needs no authentication.": waiving(
        lambda self, ctx: not _has(ctx, self.value), each=signing.HEADERS
    ),
    "A request with none of the four headers needs no authentication.": waiving(
        lambda self, ctx: not _has(ctx, *signing.HEADERS), also=("auth.bearer-only",)
    ),
    "A cookie that an earlier answer has set does instead of missing headers.": seams(
        {
            "finish": lambda self, usual, ctx, response: with_header(
                usual(), b"set-cookie", b"sid=1; Path=/; HttpOnly"
            ),
            "authenticate": lambda self, usual, ctx: (
                setattr(ctx, "organization", first_organization(ctx))
                if ctx.header(b"cookie") == "sid=1" and not _has(ctx, signing.SIGNATURE)
                else usual()
            ),
        }
    ),
    "The API key alone does instead of the four headers.": waiving(
        lambda self, ctx: ctx.store.organization(_key(ctx)) and not _has(ctx, *signing.HEADERS[1:]),
        also=("auth.bearer-only",),
    ),
    "A missing header is answered with another type or code.": misses(
        "invalid_signature", "validation_error", "missing_header", "400 validation_error invalid_request"
    ),
    "A missing header is made good by what stands elsewhere.": seam(
        "authentication_header",
        _elsewhere,
        each={
            **{f"{name} in the query": (name, _of_query(name)) for name in signing.HEADERS[:3]},
            "api_key in the query": (signing.API_KEY, _of_query("api_key")),
            "timestamp in the query": (signing.TIMESTAMP, _of_query("timestamp")),
            "nonce in the query": (signing.NONCE, _of_query("nonce")),
            "a cookie": (
                signing.API_KEY,
                lambda ctx: (ctx.header(b"cookie") or "").partition("api_key=")[2] or None,
            ),
            "Date": (
                signing.TIMESTAMP,
                lambda ctx: None if (date := http_date(ctx.header(b"date"))) is None else str(int(date)),
            ),
            "X-Request-Id": (signing.NONCE, lambda ctx: ctx.header(b"x-request-id")),
        },
    ),
}

faults["auth.missing-header-status"] |= {
    "A missing header is answered with another status than 401.": misses("403", "400")
}

faults["auth.empty-header"] |= {
    "A request in which this header is empty needs no authentication.": waiving(
        lambda self, ctx: ctx.header(self.value.lower().encode()) == "", each=signing.HEADERS
    )
}


faults["auth.header-case"] |= {
    "A header is found under the documented spelling of its name and under no, or one, other.": skipping(
        "authentication_header",
        lambda self, ctx, name: (
            name == self.value[0]
            and not any(key.decode() in (name, self.value[1](name)) for key, _ in ctx.request.headers)
        ),
        each=each_of(signing.HEADERS, {"documented": str, "upper": str.upper, "lower": str.lower}),
    )
}


# ---------------------------------------------------------------------- API keys


#: Operations that are sent such a key; the others are sent one that resembles a known one.
KEYED_BY_MEMBERS = tuple(
    operation for at, operation in enumerate(OPERATIONS) if at % (len(INHERITED) + 1) > 0
)

faults["auth.unknown-key"] |= {
    "An unknown key counts as that of the organization whose secret the request is signed with.": seam(
        "on_unknown_key",
        lambda self, usual, ctx: (
            next(
                (
                    one
                    for one in _organizations(ctx)
                    if signing.signature(one.secret, self.signature_string(ctx)) == ctx.header(b"x-signature")
                ),
                None,
            )
            or usual()
        ),
    ),
    "A request with an unknown key needs no signature.": waiving(
        lambda self, ctx: _key(ctx) and ctx.store.organization(_key(ctx)) is None
    ),
    "A key that resembles a known one is taken for it.": seam(
        "find_organization",
        lambda self, usual, ctx, api_key: next(
            (one for one in _organizations(ctx) if self.value(api_key, one.api_key)), usual()
        ),
        each={
            "prefix": lambda key, known: len(key) > 8 and known.startswith(key),
            "longer": lambda key, known: key.startswith(known),
            "in another letter case": lambda key, known: known.lower() == key.lower(),
        },
    ),
}

faults["auth.unknown-key-status"] |= {
    "An API key that is the name of a member of all objects is known, with an empty secret.": where(
        "find_organization",
        lambda self, ctx, api_key: api_key in INHERITED,
        lambda self, usual, ctx, api_key: OrganizationRow("", api_key, ""),
        operations=KEYED_BY_MEMBERS,
    ),
    "An unknown key is refused with another status.": refusing(
        "on_unknown_key", each=wrong("401 authentication_error invalid_api_key", "400", "403", "404")
    ),
}

faults["auth.bearer-only"] |= {
    "The API key may come as a bearer token.": seam(
        "authentication_header",
        _elsewhere,
        each={"beside the other three headers": (signing.API_KEY, _token)},
        operations=list(OPERATIONS)[1::2],
    ),
    "Any bearer token does instead of the four headers.": waiving(lambda self, ctx: _bearer(ctx) is not None),
    "The API key as bearer token does instead of the four headers.": waiving(
        lambda self, ctx: ctx.store.organization(_bearer(ctx) or "") is not None
    ),
    "A bearer token does instead of the signature, beside the other three headers.": waiving(
        lambda self, ctx: (
            _bearer(ctx) is not None
            and all(_has(ctx, name) for name in signing.HEADERS if name != signing.SIGNATURE)
        )
    ),
    "A bearer token is refused, but not as missing headers.": refusing(
        "check_headers_present",
        test=lambda self, ctx: _bearer(ctx) is not None,
        each=wrong(
            "401 authentication_error missing_headers",
            *("invalid_token", "permission_error", "400 validation_error bearer_not_supported"),
        ),
    ),
}
