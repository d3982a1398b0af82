"""Servers that break a rule of authentication: headers, timestamp and key (section 5)."""

from __future__ import annotations

import base64
import re
import time
from typing import Any

from conformance.contract import signing
from conformance.reference.context import Context
from conformance.reference.refusals import Refusal
from conformance.reference.store import Organization

from .catalogue import Faulty, fault, faults, hook, of, refusal, refuse, seam


def first_organization(ctx: Context) -> Organization:
    """An organization for a request that says nothing of its own: the one of the key if it is known."""
    named = ctx.store.organization(ctx.header(b"x-api-key") or "")
    rows = ctx.store.query("SELECT id, api_key, secret FROM organizations")
    return named or next(Organization(*row) for row in rows)


class LetsThrough(Faulty):
    """Lets requests through that need no authentication by its `waives`."""

    def waives(self, ctx: Context) -> bool:
        return False

    def authenticate(self, ctx: Context) -> None:
        if self.here(ctx) and self.waives(ctx):
            ctx.organization = first_organization(ctx)
        else:
            super().authenticate(ctx)


waiving = hook(LetsThrough, "waives")


# --------------------------------------------------------------------------- auth.accepts-valid


faults["auth.accepts-valid"] |= {
    "No signature is right.": seam("signatures_equal", lambda *_: False),
    "A nonce must be a UUID with hyphens.": seam("nonce_well_formed", lambda self, ctx, nonce: "-" in nonce),
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
}


# --------------------------------------------------------------------------- headers


class MissesOtherwise(Faulty):
    """Answers for a missing header by its `answer`."""

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


faults["auth.missing-header"] |= {
    "A request without this header needs no authentication.": waiving(
        lambda self, ctx: ctx.header(self.value.lower().encode()) is None, each=signing.HEADERS
    ),
    "A request with none of the four headers needs no authentication.": waiving(
        lambda self, ctx: all(ctx.header(name.lower().encode()) is None for name in signing.HEADERS),
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
}


faults["auth.missing-header-status"] |= {
    "A missing header is answered with another status than 401.": of(
        MissesOtherwise,
        each=_misses(
            forbidden=(403, "authentication_error", "missing_headers"),
            bad=(400, "authentication_error", "missing_headers"),
        ),
    ),
}


faults["auth.empty-header"] |= {
    "A request in which this header is empty needs no authentication.": waiving(
        lambda self, ctx: ctx.header(self.value.lower().encode()) == "", each=signing.HEADERS
    ),
}


@fault(
    "auth.header-case",
    each=[f"{how} {name}" for how in ("documented", "upper", "lower") for name in signing.HEADERS],
)
class ReadsNamesExactly(Faulty):
    """A header is found under the documented spelling of its name and under no, or one, other."""

    def authentication_header(self, ctx: Context, name: str) -> str | None:
        how, which = self.value.split()
        known = {name, name.upper() if how == "upper" else name.lower() if how == "lower" else name}
        if name == which and not any(key.decode() in known for key, _ in ctx.request.headers):
            return None
        return super().authentication_header(ctx, name)


# --------------------------------------------------------------------------- timestamp

#: Kind -> whether a timestamp so many seconds old is accepted, beside those that have to be.
WINDOWS = {
    "any past": lambda age: age > 0,
    "any future": lambda age: age < 0,
    "330 seconds ago": lambda age: 0 < age < 330,
    "330 seconds ahead": lambda age: -330 < age < 0,
    "six minutes ago": lambda age: 0 < age < 361,
    "six minutes ahead": lambda age: -361 < age < 0,
    "an hour ago": lambda age: 0 < age < 3700,
    "an hour ahead": lambda age: -3700 < age < 0,
    "the epoch itself": lambda age: age > 1_000_000_000,
    "milliseconds": lambda age: age < -1_000_000_000_000,
}


faults["auth.timestamp-window"] |= {
    "A timestamp is accepted that is too far off.": seam(
        "timestamp_in_window", lambda self, ctx, age: self.value(age) or self.usual(), each=WINDOWS
    ),
}


@fault("auth.timestamp-window")
class ReadsMilliseconds(Faulty):
    """A timestamp in milliseconds is read as such."""

    def parse_timestamp(self, ctx: Context, text: str) -> int:
        number = super().parse_timestamp(ctx, text)
        return number // 1000 if number > 100_000_000_000 else number


@fault(
    "auth.timestamp-window",
    each={
        f"{when} {name}": (when, *answer)
        for when in ("past", "future")
        for name, answer in {
            "status 403": (403, "authentication_error", "timestamp_too_old"),
            "status 400": (400, "authentication_error", "timestamp_too_old"),
            "type": (401, "validation_error", "timestamp_too_old"),
            "code": (401, "authentication_error", "invalid_timestamp"),
            "signature": (401, "authentication_error", "invalid_signature"),
        }.items()
    },
)
class WindowAnsweredOtherwise(Faulty):
    """A timestamp that is too far off is refused with another status, type or code."""

    def check_timestamp(self, ctx: Context) -> None:
        try:
            super().check_timestamp(ctx)
        except Refusal as found:
            text = self.authentication_header(ctx, signing.TIMESTAMP) or ""
            if found.kind == "timestamp_too_old" and (int(text) < time.time()) == (self.value[0] == "past"):
                raise refusal(*self.value[1:]) from None
            raise


#: Kind -> whether a timestamp so many seconds old is refused.
NARROW = {
    "past over 30": lambda age: age > 30,
    "future over 30": lambda age: age < -30,
    "past over 200": lambda age: age > 200,
    "future over 200": lambda age: age < -200,
    "past over 250": lambda age: age > 250,
    "future over 250": lambda age: age < -250,
    "past over 280": lambda age: age > 280,
    "future over 280": lambda age: age < -280,
    "any future": lambda age: age < -2,
}


faults["auth.timestamp-accepted"] |= {
    "A timestamp is refused that is not too far off.": seam(
        "timestamp_in_window", lambda self, ctx, age: not self.value(age) and self.usual(), each=NARROW
    ),
}


#: Kind -> pattern of further texts that are read as a timestamp: the first group, or now if it has none.
TIMESTAMP_TEXTS = {
    "decimals": r"(\d+)\.\d+",
    "letters behind": r"(\d+)[a-zA-Z].*",
    "a date": r"(?=\d{4}-\d\d-\d\d)().*",
    "words": r"(?=[a-zA-Z])().*",
    "anything": r"(?!-?\d+$)().*",
    "underscores": r"(\d+(?:_\d+)+)",
    "a plus sign": r"\+(\d+)",
    "spaces": r"()\d+ \d+",
}


@fault("auth.timestamp-integer", each=TIMESTAMP_TEXTS)
class ReadsOtherTexts(Faulty):
    """A timestamp that is no integer is accepted."""

    def parse_timestamp(self, ctx: Context, text: str) -> int:
        found = re.fullmatch(self.value, text)
        if found:
            return int(found[1] or self.server_seconds(ctx))
        return super().parse_timestamp(ctx, text)


@fault("auth.timestamp-integer", each=("hexadecimal", "exponent"))
class ReadsOtherNotations(Faulty):
    """A timestamp in hexadecimal, or with an exponent, is read as such."""

    def parse_timestamp(self, ctx: Context, text: str) -> int:
        try:
            return (
                int(text, 16) if self.value == "hexadecimal" and text.startswith("0x") else int(float(text))
            )
        except (ValueError, OverflowError):
            return super().parse_timestamp(ctx, text)


# --------------------------------------------------------------------------- key and bearer


@fault("auth.unknown-key")
class FallsBack(Faulty):
    """An unknown key counts as that of the organization whose secret the request is signed with."""

    def on_unknown_key(self, ctx: Context) -> Organization:
        presented = self.authentication_header(ctx, signing.SIGNATURE)
        for row in ctx.store.query("SELECT id, api_key, secret FROM organizations"):
            if signing.signature(row[2], self.signature_string(ctx)) == presented:
                return Organization(*row)
        return super().on_unknown_key(ctx)


@fault("auth.unknown-key")
class UnknownIsUnsigned(LetsThrough):
    """A request with an unknown key needs no signature."""

    def waives(self, ctx: Context) -> bool:
        key = ctx.header(b"x-api-key")
        return bool(key) and ctx.store.organization(key or "") is None


@fault("auth.unknown-key", each=("prefix", "longer"))
class LenientKeys(Faulty):
    """A key that resembles a known one is taken for it."""

    def find_organization(self, ctx: Context, api_key: str) -> Organization | None:
        for row in ctx.store.query("SELECT id, api_key, secret FROM organizations"):
            known = row[1]
            if {
                "prefix": len(api_key) > 8 and known.startswith(api_key),
                "longer": api_key.startswith(known),
            }[self.value]:
                return Organization(*row)
        return super().find_organization(ctx, api_key)


faults["auth.unknown-key-status"] |= {
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
    "A bearer token, whatever it is, does instead of the four headers.": waiving(
        lambda self, ctx: _bearer(ctx) is not None
    ),
    "The API key as bearer token does instead of the four headers.": waiving(
        lambda self, ctx: ctx.store.organization(_bearer(ctx) or "") is not None
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
