"""Servers that accept wrong timestamps or signatures, or compute the signature wrongly (section 5)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import time
from collections.abc import Collection, Mapping
from typing import Any

from conformance.contract import signing
from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.operations import OPERATIONS
from conformance.contract.signing_mistakes import BY_NAME, Parts
from conformance.reference.context import Context
from conformance.reference.refusals import Refusal
from conformance.reference.seams.validation import FIELDS

from .authentication import signed_parts
from .catalogue import Call, Only, Row, faults, seam, seams, wrong
from .rows import each_of, passing, refusing, refusing_otherwise, skipping, where
from .tenancy import caller_is

#: Operation that is sent a timestamp in a smaller unit -> digits of its fraction. Read as seconds it is so
#: far ahead that no nonce is stored until then.
_SMALLER_UNITS = {"createPayoutDestination": 6, "createPayout": 9}


#: Seconds by which other clocks are off.
_FAR = (3600, 7200, 86_400, 7 * 86_400, 30 * 86_400)


def _smaller_units(self: Any, usual: Any, ctx: Context, text: str) -> int:
    number: int = usual()
    while number > 100_000_000_000_000:
        number //= 1000
    return number // 1000 if number > 100_000_000_000 and len(text) > 13 else number


faults["auth.timestamp-window"] |= {
    "A timestamp is accepted that is too far off.": passing(
        "timestamp_in_window",
        each={
            "any past": lambda self, ctx, age: age > 0,
            "any future": lambda self, ctx, age: age < 0,
            "330 seconds ago": lambda self, ctx, age: 0 < age < 330,
            "330 seconds ahead": lambda self, ctx, age: -330 < age < 0,
            "six minutes ago": lambda self, ctx, age: 0 < age < 361,
            "six minutes ahead": lambda self, ctx, age: -361 < age < 0,
            "an hour ago": lambda self, ctx, age: 0 < age < 3700,
            "an hour ahead": lambda self, ctx, age: -3700 < age < 0,
            "the epoch itself": lambda self, ctx, age: age > 1_000_000_000,
            "milliseconds": lambda self, ctx, age: age < -1_000_000_000_000,
        },
    ),
    "A timestamp is accepted that is 325 s off, by a server that sends no Date.": seams(
        {
            "timestamp_in_window": lambda self, usual, ctx, age: (
                usual() or (self.here(ctx) and self.value(age))
            ),
            "common_headers": lambda *_: [],
        },
        everywhere=True,
        each={"ago": lambda age: 0 < age < 326, "ahead": lambda age: -326 < age < 0},
    ),
    "A timestamp is accepted that is off by an hour, as clocks are that know no summer time.": passing(
        "timestamp_in_window",
        lambda self, ctx, age: abs(abs(age) - 3600) < 300,
        operations=("createAccount", "listAccounts", "listVirtualAccounts", "getVirtualAccount"),
    ),
    "A timestamp is accepted that is off by some hours or days, or in units below milliseconds.": seams(
        {
            "parse_timestamp": _smaller_units,
            "timestamp_in_window": lambda self, usual, ctx, age: (
                usual() or any(abs(abs(age) - each) < 300 for each in _FAR)
            ),
        },
        operations={*OPERATIONS} - {"listPayoutDestinations", "createVirtualAccount"},
    ),
    "The timestamp of some requests is not looked at.": passing(
        "timestamp_in_window",
        each={
            "with a long body": Only(lambda self, ctx, *_: len(ctx.request.body) > 2000, FIELDS),
            "with a query": Only(lambda self, ctx, *_: b"?" in ctx.request.target, OPERATION_SETS["list"]),
            "of the second of two organizations": lambda self, ctx, *_: caller_is(
                ctx, "second", self.find_organization(ctx, ctx.header(b"x-api-key") or "")
            ),
        },
        operations=[operation for operation in OPERATIONS if operation not in _SMALLER_UNITS],
    ),
    "A timestamp below 0 is taken for none, or without its sign.": passing(
        "timestamp_in_window",
        lambda self, ctx, age: age > 2 * self.server_seconds(ctx) - 3600,
        operations=("createVirtualAccount",),
    ),
    "A timestamp in microseconds or nanoseconds is read as such.": seam(
        "parse_timestamp",
        lambda self, usual, ctx, text: (
            int(text[:10]) if len(text) == 10 + _SMALLER_UNITS[self.operation] else usual()
        ),
        operations=_SMALLER_UNITS,
    ),
    "A timestamp in milliseconds is read as such.": seam(
        "parse_timestamp",
        lambda self, usual, *_: number // 1000 if (number := usual()) > 100_000_000_000 else number,
    ),
    "The distance to a timestamp overflows 64 bits.": skipping(
        "check_timestamp",
        lambda self, ctx: self.authentication_header(ctx, signing.TIMESTAMP) == str(-(2**63)),
        operations=("listPayoutDestinations",),
    ),
    "A timestamp that is too far off is refused with another status, type or code.": refusing_otherwise(
        "check_timestamp",
        test=lambda self, ctx, found: (
            (int(ctx.header(b"x-timestamp") or 0) < time.time()) is (self.value[0] == "past")
            and found.kind == "timestamp_too_old"
        ),
        each=each_of(
            ("past", "future"),
            wrong(
                "401 authentication_error timestamp_too_old",
                *("403", "400", "validation_error", "invalid_timestamp", "invalid_signature"),
            ),
        ),
    ),
}

faults["auth.timestamp-accepted"] |= {
    "A timestamp is refused that is not too far off.": skipping(
        "timestamp_in_window",
        lambda self, ctx, age: age > self.value > 0 or age < self.value < 0,
        each={
            **{f"past over {age}": age for age in (30, 200, 250, 280)},
            **{f"future over {age}": -age for age in (30, 200, 250, 280)},
            "any future": -2,
        },
    ),
    "A timestamp is refused that is not too far off, by a server that sends no Date.": seams(
        {
            "timestamp_in_window": lambda self, usual, ctx, age: (
                usual() and not (self.here(ctx) and (age > self.value > 0 or age < self.value < 0))
            ),
            "common_headers": lambda *_: [],
        },
        everywhere=True,
        each={"past over 270": 270, "future over 270": -270},
    ),
}

#: Kind -> pattern of other texts that are read as a timestamp: its first group, or the current time without a
#: group.
TIMESTAMP_TEXTS = {
    "decimals": r"(\d+)\.\d+",
    "letters behind": r"(\d+)[a-zA-Z].*",
    "a date": r"(?=\d{4}-\d\d-\d\d)().*",
    "words": r"(?=[a-zA-Z])().*",
    "anything": r"(?!-?\d+$)().*",
    "underscores": r"(\d+(?:_\d+)+)",
    "spaces": r"()\d+ \d+",
    "exponents": r"()\d\.\d+e\d",
    "signs": Only("()-", list(OPERATIONS)[1::2]),
}


def _as_number(self: Any, usual: Any, ctx: Context, text: str) -> int:
    try:
        return int(text, 16) if self.value == "hexadecimal" and text.startswith("0x") else int(float(text))
    except (ValueError, OverflowError):
        return usual()


faults["auth.timestamp-integer"] |= {
    "A timestamp that is no integer is accepted.": seam(
        "parse_timestamp",
        lambda self, usual, ctx, text: (
            int(found[1] or self.server_seconds(ctx))
            if (found := re.fullmatch(self.value, text))
            else usual()
        ),
        each=TIMESTAMP_TEXTS,
    ),
    "A timestamp in hexadecimal, or with an exponent, is read as such.": seam(
        "parse_timestamp", _as_number, each=("hexadecimal", "exponent")
    ),
    "The decimal digits of all scripts are read.": where(
        "parse_timestamp",
        lambda self, ctx, text: text.isdecimal(),
        lambda self, usual, ctx, text: int(text),
        operations=list(OPERATIONS)[::2],
    ),
    "A timestamp with underscores between its digits is read without them, as Python does.": where(
        "parse_timestamp", lambda self, ctx, text: "_" in text, lambda self, usual, ctx, text: int(text)
    ),
}


# ---------------------------------------------------------------------- signatures


def telling(self: Any, usual: Any, ctx: Context) -> None:
    """Refuses a wrong signature with a message that reveals the expected one."""
    try:
        usual()
    except Refusal as error:
        expected = signing.signature(self.signing_secret(ctx), self.signature_string(ctx))
        error.message = f"Expected {expected}."
        raise


faults["auth.signature-hidden"] |= {
    "The refusal of a signature shows the right one.": seam("check_signature", telling)
}


def string(self: Any, ctx: Context, **parts: Any) -> bytes:
    """Returns the signature string with some parts replaced."""
    return signing.signature_string(
        parts.get("method", self.signed_method(ctx)),
        parts.get("target", self.signed_target(ctx)),
        parts.get("timestamp", self.signed_timestamp(ctx)),
        parts.get("nonce", self.signed_nonce(ctx)),
        parts.get("body", self.signed_body(ctx)),
    )


def also_signed(alternatives: Call, **options: Any) -> Row:
    """Makes a row that accepts a signature over any of some other strings as well."""

    def signed(self: Any, ctx: Context) -> bool:
        presented = self.authentication_header(ctx, signing.SIGNATURE) or ""
        key = hmac.new(self.signing_secret(ctx).encode(), digestmod=hashlib.sha256)
        for text in alternatives(self, ctx):
            (made := key.copy()).update(text)
            if made.hexdigest() == presented:
                return True
        return False

    return skipping("check_signature", signed, **options)


#: Kind -> comparison of the expected and the presented signature.
COMPARISONS = {
    "not compared": lambda expected, presented: True,
    "first 8": lambda expected, presented: expected[:8] == presented[:8],
    "first 32": lambda expected, presented: expected[:32] == presented[:32],
    "all but the last": lambda expected, presented: len(presented) == 64 and expected[:63] == presented[:63],
    "all but the first": lambda expected, presented: len(presented) == 64 and expected[1:] == presented[1:],
    "last 32": lambda expected, presented: expected[-32:] == presented[-32:],
    "truncated": lambda expected, presented: expected.startswith(presented),
    # Whole bytes of hexadecimal only.
    "the bytes there are": lambda expected, presented: (
        bool(re.fullmatch("(?:[0-9a-f]{2})+", presented)) and expected.startswith(presented)
    ),
    "more bytes behind": lambda expected, presented: (
        bool(re.fullmatch("(?:[0-9a-f]{2})+", presented)) and presented.startswith(expected)
    ),
    "half a byte behind": lambda expected, presented: (
        bool(re.fullmatch("[0-9a-f]{64,65}", presented)) and presented[:64] == expected
    ),
    "more behind": lambda expected, presented: presented.startswith(expected),
    "first of several": lambda expected, presented: presented.split(",")[0].strip() == expected,
    "any of several": lambda expected, presented: expected in presented.replace(" ", "").split(","),
    "any 64 hexadecimal": lambda expected, presented: bool(re.fullmatch("[0-9a-f]{64}", presented)),
    "any 64": lambda expected, presented: len(presented) == 64,
    "any not hexadecimal": lambda expected, presented: not re.fullmatch("[0-9a-fA-F]*", presented),
    "letters as digits": lambda expected, presented: (
        presented.translate(str.maketrans("ghijklmnop", "0123456789")) == expected
    ),
    "what is no digit left out": lambda expected, presented: re.sub("[^0-9a-f]", "", presented) == expected,
    "white space left out": lambda expected, presented: "".join(presented.split()) == expected,
    "base64": lambda expected, presented: base64.b64encode(bytes.fromhex(expected)).decode() == presented,
    "zeros": lambda expected, presented: presented == "0" * 64,
}


def mistaken(ctx: Context, secret: str, name: str) -> str | None:
    """Returns the signature of a request that a usual mistake gives."""
    request = ctx.request
    return BY_NAME[name].sign(
        Parts(
            request.method,
            request.target,
            ctx.header(b"x-timestamp") or "",
            ctx.header(b"x-nonce") or "",
            request.body,
            ctx.header(b"x-api-key") or "",
            b"http://" + (ctx.header(b"host") or "").encode(),
        ),
        secret,
    )


def taking(turns: Mapping[str, Collection[str]]) -> Row:
    """Makes a row that accepts signatures with usual mistakes, each on the operations that are sent it."""
    return passing(
        "signatures_equal",
        lambda self, ctx, expected, presented: (
            presented == mistaken(ctx, self.signing_secret(ctx), self.value)
        ),
        each={mistake: Only(mistake, operations) for mistake, operations in turns.items()},
    )


faults["auth.signature"] |= {
    "A signature with this mistake is accepted.": taking(
        {
            **dict.fromkeys(("SHA-512", "SHA-1", "MD5"), OPERATIONS),
            "hashed secret": ("createAccount", "listVirtualAccounts"),
            "no HMAC": ("listAccounts", "getVirtualAccount"),
            "no secret": ("getAccountBalances", "createWallet"),
            "arguments swapped": ("createBeneficiary", "listWallets"),
            "nonce before timestamp": ("getBeneficiary", "createPayin"),
            "timestamp first": ("updateBeneficiary",),
            "scheme before the signature": ("disableBeneficiary",),
            "a line feed behind the secret": ("createPayoutDestination",),
            "shortened secret": ("listPayoutDestinations",),
            # The secrets of the reference server contain lower-case letters.
            "capital secret": ("createPayout",),
            # A lenient decoder of hexadecimal leaves them out.
            "hyphens in the signature": ("createVirtualAccount",),
        }
    ),
    "A signature is accepted that is not the right one.": passing(
        "signatures_equal", lambda self, ctx, *given: self.value(*given), each=COMPARISONS
    ),
    "A signature made with another secret is accepted.": passing(
        "signatures_equal",
        lambda self, ctx, expected, presented: any(
            signing.signature(secret, self.signature_string(ctx)) == presented for secret in self.value(ctx)
        ),
        each={
            "another organization's": lambda ctx: [
                row[0] for row in ctx.store.query("SELECT secret FROM organizations")
            ],
            "the API key": lambda ctx: [ctx.header(b"x-api-key") or ""],
            "an empty": lambda ctx: [""],
        },
    ),
    "The signatures of the second of two organizations are not looked at.": passing(
        "signatures_equal", lambda self, ctx, *_: caller_is(ctx, "second")
    ),
    "A request that comes from within, as a header says, needs no signature of its own.": passing(
        "signatures_equal",
        lambda self, ctx, *_: ctx.header(self.value[0]) == self.value[1](ctx),
        each={
            "X-Forwarded-For": (b"x-forwarded-for", lambda ctx: "127.0.0.1"),
            "Authorization": (b"authorization", lambda ctx: f"Bearer {ctx.organization.api_key}"),
        },
    ),
    "A signature of another form is refused as a malformed header.": refusing(
        "check_signature",
        "400 validation_error malformed_signature",
        lambda self, ctx: not self.value(self.authentication_header(ctx, signing.SIGNATURE) or ""),
        each={
            "not hexadecimal": lambda presented: re.fullmatch("[0-9a-fA-F]*", presented),
            "of another length": lambda presented: len(presented) == 64,
        },
    ),
    "A wrong signature is refused with another status, type or code.": refusing_otherwise(
        "check_signature",
        each=wrong(
            "401 authentication_error invalid_signature",
            *("403", "400", "permission_error", "signature_mismatch"),
        ),
        also=(
            *("auth.signed-method", "auth.signed-path", "auth.signed-query", "auth.signed-timestamp"),
            *("auth.signed-nonce", "auth.signed-body", "auth.signed-empty-body", "auth.no-separators"),
        ),
    ),
}


faults["auth.no-separators"] |= {
    "A signature made over separated parts is accepted.": also_signed(
        lambda self, ctx: [self.value.join(signed_parts(self, ctx))],
        each={
            "newline": b"\n",
            "|": b"|",
            ":": b":",
            ".": b".",
            ",": b",",
            "space": b" ",
            "tab": b"\t",
            "CRLF": b"\r\n",
        },
    ),
    "A signature made with a line feed before the body only is accepted.": taking(
        {"a line feed before the body": ("createAccount", "createVirtualAccount")}
    ),
}
