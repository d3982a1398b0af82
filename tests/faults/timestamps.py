"""Servers that accept timestamps outside the window, or refuse some within (section 5.4.2)."""

from __future__ import annotations

import re
import time
from typing import Any

from conformance.contract import signing
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context
from conformance.reference.refusals import Refusal
from conformance.reference.seams.validation import FIELDS

from .catalogue import Only, faults, refuse, seam, seams
from .rows import passing, skipping, where
from .tenancy import caller_is

#: Kind -> ages in seconds that are accepted, beside the required ones.
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


#: Operation that is sent a timestamp in a smaller unit -> digits of its fraction. Read as seconds it is so
#: far ahead that no nonce is stored until then.
_SMALLER_UNITS = {"createPayoutDestination": 6, "createPayout": 9}
_STORED = [operation for operation in OPERATIONS if operation not in _SMALLER_UNITS]


def _from_the_second(self: Any, ctx: Context) -> bool:
    """Returns True for a request of the second organization; the key is not authenticated yet."""
    ctx.organization = self.find_organization(ctx, self.authentication_header(ctx, signing.API_KEY) or "")
    return caller_is(ctx, "second")


#: Seconds by which other clocks are off.
_FAR = (3600, 7200, 86_400, 7 * 86_400, 30 * 86_400)


def _smaller_units(self: Any, ctx: Context, text: str) -> int:
    number: int = self.usual()
    while number > 100_000_000_000_000:
        number //= 1000
    return number // 1000 if number > 100_000_000_000 and len(text) > 13 else number


def _of_digits(self: Any, ctx: Context, text: str) -> int:
    """Reads a timestamp in microseconds or nanoseconds."""
    digits = _SMALLER_UNITS[self.operation]
    return int(text[:-digits] if len(text) == 10 + digits else self.usual())


def _refused_otherwise(self: Any, ctx: Context) -> None:
    try:
        self.usual()
    except Refusal as found:
        when = (
            "past" if int(self.authentication_header(ctx, signing.TIMESTAMP) or 0) < time.time() else "future"
        )
        refuse(self.value[1] if (found.kind, when) == ("timestamp_too_old", self.value[0]) else found)


faults["auth.timestamp-window"] |= {
    "A timestamp is accepted that is too far off.": passing(
        "timestamp_in_window", lambda self, ctx, age: self.value(age), each=WINDOWS
    ),
    "A timestamp is accepted that is off by an hour, as clocks are that know no summer time.": passing(
        "timestamp_in_window",
        lambda self, ctx, age: abs(abs(age) - 3600) < 300,
        operations=("createAccount", "listAccounts", "listVirtualAccounts", "getVirtualAccount"),
    ),
    "A timestamp is accepted that is off by some hours or days, or in units below milliseconds.": seams(
        {
            "parse_timestamp": _smaller_units,
            "timestamp_in_window": lambda self, ctx, age: (
                self.usual() or any(abs(abs(age) - each) < 300 for each in _FAR)
            ),
        },
        operations=[
            name for name in OPERATIONS if name not in ("listPayoutDestinations", "createVirtualAccount")
        ],
    ),
    "The timestamp of a request with this is not looked at.": passing(
        "timestamp_in_window",
        lambda self, ctx, *_: self.value(ctx.request),
        each={
            "a long body": Only(lambda request: len(request.body) > 2000, FIELDS),
            "a query": Only(lambda request: b"?" in request.target, OPERATION_SETS["list"]),
        },
        operations=_STORED,
    ),
    "The timestamps of the second of two organizations are not looked at.": passing(
        "timestamp_in_window", lambda self, ctx, *_: _from_the_second(self, ctx), operations=_STORED
    ),
    "A timestamp below 0 is taken for none, or without its sign.": passing(
        "timestamp_in_window",
        lambda self, ctx, age: age > 2 * self.server_seconds(ctx) - 3600,
        operations=("createVirtualAccount",),
    ),
    "A timestamp in microseconds or nanoseconds is read as such.": seam(
        "parse_timestamp", _of_digits, operations=_SMALLER_UNITS
    ),
    "A timestamp in milliseconds is read as such.": seam(
        "parse_timestamp",
        lambda self, *_: number // 1000 if (number := self.usual()) > 100_000_000_000 else number,
    ),
    "The distance to a timestamp overflows 64 bits.": skipping(
        "check_timestamp",
        lambda self, ctx: self.authentication_header(ctx, signing.TIMESTAMP) == str(-(2**63)),
        operations=("listPayoutDestinations",),
    ),
    "A timestamp that is too far off is refused with another status, type or code.": seam(
        "check_timestamp",
        _refused_otherwise,
        each={
            f"{when} {name}": (when, error)
            for when in ("past", "future")
            for name, error in {
                "status 403": (403, "authentication_error", "timestamp_too_old"),
                "status 400": (400, "authentication_error", "timestamp_too_old"),
                "type": (401, "validation_error", "timestamp_too_old"),
                "code": (401, "authentication_error", "invalid_timestamp"),
                "signature": (401, "authentication_error", "invalid_signature"),
            }.items()
        },
    ),
}

#: Kind -> ages in seconds that are refused.
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
    "A timestamp is refused that is not too far off.": skipping(
        "timestamp_in_window", lambda self, ctx, age: self.value(age), each=NARROW
    )
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
}


def _read(self: Any, ctx: Context, text: str) -> int:
    found = re.fullmatch(self.value, text)
    return int(found[1] or self.server_seconds(ctx)) if found else self.usual()


def _as_number(self: Any, ctx: Context, text: str) -> int:
    try:
        return int(text, 16) if self.value == "hexadecimal" and text.startswith("0x") else int(float(text))
    except (ValueError, OverflowError):
        return self.usual()  # type: ignore[no-any-return]


faults["auth.timestamp-integer"] |= {
    "A timestamp that is no integer is accepted.": seam("parse_timestamp", _read, each=TIMESTAMP_TEXTS),
    "A timestamp in hexadecimal, or with an exponent, is read as such.": seam(
        "parse_timestamp", _as_number, each=("hexadecimal", "exponent")
    ),
    "The decimal digits of all scripts are read.": where(
        "parse_timestamp",
        lambda self, ctx, text: text.isdecimal(),
        lambda self, ctx, text: int(text),
        operations=list(OPERATIONS)[::2],
    ),
    "A timestamp with underscores between its digits is read without them, as Python does.": where(
        "parse_timestamp", lambda self, ctx, text: "_" in text, lambda self, ctx, text: int(text)
    ),
}
