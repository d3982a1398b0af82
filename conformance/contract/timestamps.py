"""ISO 8601 timestamps as exact numbers.

Servers choose how many digits of a second they show (section 2), so instants are compared as
fractions: no digit is lost, and `12:00:00Z` equals `12:00:00.000Z`.
"""

from __future__ import annotations

import functools
import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from fractions import Fraction

_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]{1,30}))?"
    r"(?:([Zz])|([+-])([0-9]{2}):?([0-9]{2}))"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@functools.lru_cache(16)
def http_date(text: str | None) -> float | None:
    """The date of an HTTP header (RFC 9110, 5.6.7) in Unix seconds; None when it is none."""
    try:
        return parsedate_to_datetime((text or "")[:80]).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None


def parse(text: object) -> Fraction | None:
    """A timestamp with its date, time and offset as seconds since 1970-01-01T00:00:00Z; None when it is none.

    Anything may be passed, also what is not a string. Offsets other than `Z` are understood, although
    section 2 forbids them: that is another rule's business. A leap second counts as the second after it.
    """
    # None is longer: a server may send texts of any length, which are not to be kept.
    return _parsed(text) if isinstance(text, str) and len(text) < 80 else None


@functools.lru_cache(4096)
def _parsed(text: str) -> Fraction | None:
    # Lists show the same timestamps again and again.
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    try:
        moment = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=UTC)
    except ValueError:
        return None
    if second > 60:
        return None
    elapsed = moment - _EPOCH
    seconds = elapsed.days * 86_400 + elapsed.seconds + (second == 60)
    sign, hours, minutes = found[9], int(found[10] or 0), int(found[11] or 0)
    if hours > 23 or minutes > 59:
        return None
    offset = (hours * 60 + minutes) * 60
    seconds += offset if sign == "-" else -offset
    digits = found[7] or ""
    return Fraction(seconds) + (Fraction(int(digits), 10 ** len(digits)) if digits else 0)


def step(text: object) -> Fraction | None:
    """The smallest difference, in seconds, that the clock behind a timestamp is sure to show; None when it is
    none.

    Zeros at the end of the fraction do not count: `12:00:00.000Z` may well come from a clock of whole
    seconds.
    """
    return None if parse(text) is None else Fraction(1, 10 ** len(_fraction(text).rstrip("0")))


def _fraction(text: object) -> str:
    """The digits of a second's fraction; none of what is no timestamp."""
    found = _TIMESTAMP.fullmatch(text) if isinstance(text, str) else None
    return (found[7] or "") if found else ""


#: Digits of a second to which clocks of servers go, as a rule: microseconds.
FINEST = 6


def digits(text: object) -> int:
    """The digits of a second's fraction that a timestamp shows, but zeros at their end and what is finer than
    FINEST; 0 for what is no timestamp."""
    return min(len(_fraction(text).rstrip("0")), FINEST)


def places(text: object) -> int:
    """The digits of a second's fraction that a timestamp is written with; 0 for what is no timestamp."""
    return len(_fraction(text))


def just_after(text: str) -> str | None:
    """A timestamp, in UTC, that is later by the least difference that the clock behind this one is sure to
    show (see `step`), and by a microsecond at least; None when it is none."""
    instant, shown = parse(text), digits(text)
    if instant is None:
        return None
    later = instant // Fraction(1, 10**shown) + 1
    second = _written(later // 10**shown)
    fraction = f".{later % 10**shown:0{shown}d}" if shown else ""
    return None if second is None else f"{second.removesuffix('Z')}{fraction}Z"


def whole_second(text: object) -> str | None:
    """The second that a timestamp lies in, written without a fraction; None when it is not a timestamp."""
    instant = parse(text)
    return None if instant is None else _written(instant // 1)


def _written(second: int) -> str | None:
    """A second since 1970 as a timestamp; None beyond the years that there are."""
    try:
        return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return None


def with_offset(text: str, minutes: int) -> str:
    """The same instant as a timestamp in UTC, as clocks show it that are so many minutes ahead. Raises
    OverflowError beyond the years that there are, ValueError for what is no timestamp."""
    local = datetime.fromisoformat(text[:19]) + timedelta(minutes=minutes)
    hours, rest = divmod(abs(minutes), 60)
    sign = "-" if minutes < 0 else "+"
    return f"{local.isoformat()}{text[19:].removesuffix('Z')}{sign}{hours:02d}:{rest:02d}"
