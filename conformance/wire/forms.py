"""Random values of requests, and changed forms of texts."""

from __future__ import annotations

import secrets
import uuid

#: Hexadecimal digits -> consonants.
_CONSONANTS = str.maketrans("0123456789abcdef", "bcdfghjklmnpqrst")


def hexadecimal(length: int) -> str:
    """Random lower-case hexadecimal digits."""
    return secrets.token_hex((length + 1) // 2)[:length]


def decimal(length: int) -> str:
    """Random decimal digits."""
    return str(secrets.randbelow(10**length)).zfill(length)


def letters(length: int) -> str:
    """Random lower-case consonants, for names, in which a server may refuse digits."""
    return hexadecimal(length).translate(_CONSONANTS)


def new_key(version: int = 4, variant: str = "") -> str:
    """A new Idempotency-Key: a lower-case UUID (section 4.0) of this version and variant digit."""
    text = str(uuid.uuid4())
    return f"{text[:14]}{version:x}{text[15:19]}{variant or text[19]}{text[20:]}"


def replaced(text: str, at: int, character: str) -> str:
    """Replaces the character at a position, from the end if negative. Raises IndexError outside the text."""
    at = range(len(text))[at]
    return text[:at] + character + text[at + 1 :]


def other_digit(text: str, at: int) -> str:
    """Replaces the character at a position by 0, or 0 by 1. Raises IndexError outside the text."""
    return replaced(text, at, "1" if text[at] == "0" else "0")


def percent_encoded(text: str, *, lower: bool = False) -> str:
    """Percent-encodes the first character, with digits of that case. Raises IndexError for an empty text."""
    codes = "".join(f"%{byte:02x}" if lower else f"%{byte:02X}" for byte in text[0].encode())
    return codes + text[1:]
