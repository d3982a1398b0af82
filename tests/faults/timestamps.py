"""Servers that accept timestamps outside the window, or refuse some within (section 5.4.2)."""

from __future__ import annotations

import re
import time
from typing import Any

from conformance.contract import signing
from conformance.contract.operations import OPERATIONS
from conformance.reference.context import Context
from conformance.reference.refusals import Refusal
from conformance.reference.seams.validation import FIELDS

from .catalogue import Faulty, fault, faults, refusal, seam
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


faults["auth.timestamp-window"] |= {
    "A timestamp is accepted that is too far off.": seam(
        "timestamp_in_window", lambda self, ctx, age: self.value(age) or self.usual(), each=WINDOWS
    ),
    "A timestamp is accepted that is off by an hour, as clocks are that know no summer time.": seam(
        "timestamp_in_window",
        lambda self, ctx, age: abs(abs(age) - 3600) < 300 or self.usual(),
        operations=("createAccount", "listAccounts", "listVirtualAccounts", "getVirtualAccount"),
    ),
    "The timestamp of a request with this is not looked at.": seam(
        "timestamp_in_window",
        lambda self, ctx, *_: self.value(ctx.request) or self.usual(),
        each=lambda operation: {
            **({"a long body": lambda request: len(request.body) > 2000} if operation in FIELDS else {}),
            **({"a query": lambda request: b"?" in request.target} if OPERATIONS[operation].is_list else {}),
        },
        operations=_STORED,
    ),
    "A timestamp in microseconds or nanoseconds is read as such.": seam(
        "parse_timestamp",
        lambda self, ctx, text: (
            int(text[:-digits])
            if len(text) == 10 + (digits := _SMALLER_UNITS[self.operation])
            else self.usual()
        ),
        operations=_SMALLER_UNITS,
    ),
    "The distance to a timestamp overflows 64 bits.": seam(
        "check_timestamp",
        lambda self, ctx: (
            None if self.authentication_header(ctx, signing.TIMESTAMP) == str(-(2**63)) else self.usual()
        ),
        operations=("listPayoutDestinations",),
    ),
    "A timestamp below 0 is taken for none, or without its sign.": seam(
        "timestamp_in_window",
        lambda self, ctx, age: age > 2 * self.server_seconds(ctx) - 3600 or self.usual(),
        operations=("createVirtualAccount",),
    ),
    "The timestamps of the second of two organizations are not looked at.": seam(
        "timestamp_in_window",
        lambda self, ctx, *_: _from_the_second(self, ctx) or self.usual(),
        operations=_STORED,
    ),
}


@fault("auth.timestamp-window", seam="parse_timestamp")
def _(self: Any, ctx: Context, text: str) -> Any:
    """A timestamp in milliseconds is read as such."""
    number = self.usual()
    return number // 1000 if number > 100_000_000_000 else number


@fault(
    "auth.timestamp-window",
    operations=[
        operation
        for operation in OPERATIONS
        if operation not in ("listPayoutDestinations", "createVirtualAccount")
    ],
)
class RoundlyOff(Faulty):
    """A timestamp is accepted that is off by some hours or days, or in smaller units than milliseconds."""

    def parse_timestamp(self, ctx: Context, text: str) -> int:
        number = super().parse_timestamp(ctx, text)
        while number > 100_000_000_000_000:
            number //= 1000
        return number // 1000 if number > 100_000_000_000 and len(text) > 13 else number

    def timestamp_in_window(self, ctx: Context, age: int) -> bool:
        far = (3600, 7200, 86_400, 7 * 86_400, 30 * 86_400)
        return super().timestamp_in_window(ctx, age) or any(abs(abs(age) - each) < 300 for each in far)


@fault(
    "auth.timestamp-window",
    seam="check_timestamp",
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
def _(self: Any, ctx: Context) -> None:
    """A timestamp that is too far off is refused with another status, type or code."""
    try:
        self.usual()
    except Refusal as found:
        text = self.authentication_header(ctx, signing.TIMESTAMP) or ""
        if found.kind == "timestamp_too_old" and (int(text) < time.time()) == (self.value[0] == "past"):
            raise refusal(*self.value[1:]) from None
        raise


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
    "A timestamp is refused that is not too far off.": seam(
        "timestamp_in_window", lambda self, ctx, age: not self.value(age) and self.usual(), each=NARROW
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


@fault("auth.timestamp-integer", seam="parse_timestamp", each=TIMESTAMP_TEXTS)
def _(self: Any, ctx: Context, text: str) -> Any:
    """A timestamp that is no integer is accepted."""
    found = re.fullmatch(self.value, text)
    if found:
        return int(found[1] or self.server_seconds(ctx))
    return self.usual()


@fault("auth.timestamp-integer", seam="parse_timestamp", each=("hexadecimal", "exponent"))
def _(self: Any, ctx: Context, text: str) -> Any:
    """A timestamp in hexadecimal, or with an exponent, is read as such."""
    try:
        return int(text, 16) if self.value == "hexadecimal" and text.startswith("0x") else int(float(text))
    except (ValueError, OverflowError):
        return self.usual()


faults["auth.timestamp-integer"] |= {
    "The decimal digits of all scripts are read.": seam(
        "parse_timestamp",
        lambda self, ctx, text: int(text) if text.isdecimal() else self.usual(),
        operations=list(OPERATIONS)[::2],
    ),
    "A timestamp with underscores between its digits is read without them, as Python does.": seam(
        "parse_timestamp", lambda self, ctx, text: int(text) if "_" in text else self.usual()
    ),
}
