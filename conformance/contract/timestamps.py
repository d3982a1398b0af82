"""ISO 8601 timestamps as exact fractions of seconds.

Servers choose the precision (section 2): no digit is lost, and `12:00:00Z` equals `12:00:00.000Z`.
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
    """Parses an HTTP date (RFC 9110, 5.6.7) to Unix seconds; None if it is not one."""
    try:
        return parsedate_to_datetime((text or "")[:80]).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None


def parse(text: object) -> Fraction | None:
    """Parses a timestamp to Unix seconds; None if it is not one.

    Accepts values of any type, and offsets other than `Z`, which format.timestamp judges. A leap second
    counts as the second after it.
    """
    # The bound keeps long texts out of the cache.
    return _parsed(text) if isinstance(text, str) and len(text) < 80 else None


@functools.lru_cache(4096)
def _parsed(text: str) -> Fraction | None:
    parts = _TIMESTAMP.fullmatch(text)
    if parts is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in parts.groups()[:6])
    try:
        moment = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=UTC)
    except ValueError:
        return None
    if second > 60:
        return None
    elapsed = moment - _EPOCH
    seconds = elapsed.days * 86_400 + elapsed.seconds + (second == 60)
    sign, hours, minutes = parts[9], int(parts[10] or 0), int(parts[11] or 0)
    if hours > 23 or minutes > 59:
        return None
    offset = (hours * 60 + minutes) * 60
    seconds += offset if sign == "-" else -offset
    digits = parts[7] or ""
    return Fraction(seconds) + (Fraction(int(digits), 10 ** len(digits)) if digits else 0)


def step(text: object) -> Fraction | None:
    """Resolution of the clock behind a timestamp, in seconds; None if it is not a timestamp.

    Trailing zeros do not count: `12:00:00.000Z` may come from a clock of whole seconds.
    """
    return None if parse(text) is None else Fraction(1, 10 ** len(_fraction(text).rstrip("0")))


def _fraction(text: object) -> str:
    """Digits of the fraction of a second; empty if it is not a timestamp."""
    parts = _TIMESTAMP.fullmatch(text) if isinstance(text, str) else None
    return (parts[7] or "") if parts else ""


def places(text: object) -> int:
    """Number of decimal places that a timestamp is written with; 0 if it is none."""
    return len(_fraction(text))


#: Decimal places of a typical server's clock: microseconds.
FINEST = 6


def just_after(text: str) -> str | None:
    """The next timestamp, in UTC, at the resolution of this one's clock (see FINEST); None if it is none."""
    instant, decimals = parse(text), min(len(_fraction(text).rstrip("0")), FINEST)
    if instant is None:
        return None
    later = instant // Fraction(1, 10**decimals) + 1
    second = _written(later // 10**decimals)
    fraction = f".{later % 10**decimals:0{decimals}d}" if decimals else ""
    return None if second is None else f"{second.removesuffix('Z')}{fraction}Z"


def whole_second(text: object) -> str | None:
    """Truncates a timestamp to whole seconds; None if it is none."""
    instant = parse(text)
    return None if instant is None else _written(instant // 1)


def _written(second: int) -> str | None:
    """Formats Unix seconds as a timestamp; None outside the years 1 to 9999."""
    try:
        return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return None


def with_offset(text: str, minutes: int) -> str:
    """Rewrites a timestamp in UTC with an offset in minutes. Raises OverflowError outside the years 1 to
    9999, ValueError if it is no timestamp."""
    local = datetime.fromisoformat(text[:19]) + timedelta(minutes=minutes)
    hours, rest = divmod(abs(minutes), 60)
    sign = "-" if minutes < 0 else "+"
    return f"{local.isoformat()}{text[19:].removesuffix('Z')}{sign}{hours:02d}:{rest:02d}"
