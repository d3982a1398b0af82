"""Texts, numbers, notations and bytes that servers stumble over; most are legal, few are thought of."""

from __future__ import annotations

from typing import Any

from conformance import fields

# fmt: off

#: Texts that are legal JSON strings and seldom thought of.
ODD_TEXTS = (
    "\u0000", "a\u0000b", "\ud800", "\udc00\ud800", "\U0001f469\u200d\U0001f4bb", "\U00010348" * 20, "\ufeff",
    "\u202eabc", "e\u0301" * 10,
    "", " ", " x ", "\t\r\n", "\u2028", "\u00a0", "'\"`;--", "<script>", "${7*7}", "%s%n", "../../etc",
    "\\u0041", "null", "true",
    "0", "-1", "1e999", "NaN", "\u0660\u0661", "\uff11", "I\u0307", "\ufb01", "\u1e9e", "x" * 5000,
    "\u0436" * 5000,
)

#: Members that only the server sets, and values that it must not take for them.
SERVER_OWNED: dict[str, tuple[Any, ...]] = {
    "id": ("acc_1", "x"), "status": ("disabled", "inactive", "completed", "suspended"), "verified": (True,),
    "created": ("2001-01-01T00:00:00Z",),
    "payout_destinations": ([{"id": "dest_1"}],), "balances": ([{"currency": "USD",
    "available_balance": "1000000.00"}],),
    "provider": ("x",), "submitted_at": ("2001-01-01T00:00:00Z",),
}

ODD_NUMBERS = (0, -1, 1.5, 2**53 + 1, 2**63, -(2**63) - 1, 10**400, 1e308, -0.0)

AMOUNTS = tuple(value for _, value in fields.WRONG_AMOUNTS) + (
    "-1", "-0", "-0.00", "-1e2", "0e9", "0x1F", "1_000", "1 000", "\u0661\u0662", "\uff11", "1\u0000", "--1",
    "+-1", ".", "e5", "1e", "$5", "5 USD",
    "1e400", "1e-400", "0." + "0" * 300 + "1", "9" * 400, "00000", "1e2", "+1.00", ".5", "1.",
)

CODES = ("", "ZZ", "U", "USA", "us", "U1", "12", "U$", "U\u0000", "\u00dcS", "\uff35\uff33", "USDD", "EU",
"E1R", "eur", "   ", "USD ", "ZZZ")

#: Raw texts of an integer parameter.
INTEGERS = (
    "1", "2", "7", "1000", "0", "-1", "1.0", "1.5", "1e1", "1e400", "abc", "", "%20", "%00", "true", "null",
    "NaN", "Infinity", "0x1", "+1", "%2B1", "01", "1%20", "1_0",
    "%EF%BC%91", "%D9%A1", "101", "100", "2147483648", "9007199254740993", "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809", "18446744073709551616", "1000000000000", "9" * 60, "%FF", "%", "1,2", "[1]",
)

DATES = (
    "", "2025", "2025-01-01", "2025-02-30T00:00:00Z", "2025-01-01T00:00:00", "2025-01-01T00:00:00%2B14:00",
    "2025-01-01T24:00:00Z",
    "2025-12-31T23:59:60Z", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
    "10000-01-01T00:00:00Z",
    "2025-01-01T00:00:00.1234567891Z", "2025-01-01t00:00:00z", "1735689600", "-1", "now", "2025-W01-1", "%00",
    "2025-01-01%2000:00:00",
    "0001-01-01T00:00:00%2B23:59", "9999-12-31T23:59:59-23:59",
)

STATUSES = ("active", "disabled", "inactive", "suspended", "unknown", "ACTIVE", "", "%00", "active,inactive",
"active%2Cinactive", "%FF", "*")

QUERIES = (
    "", "&", "&&", "=", "=1", "page", "page=", "page=1&page=2", "size=1&size=100", "page[]=1", "page%5B%5D=1",
    "x=1", "x=%zz", "x=%C0%AF",
    "x=" + "y" * 3000, "page=1;size=2", "%70age=1", "PAGE=2", "size=10&page=1", "a=1&b=2&a=3",
    "statuses[]=active", "x=\u00e9",
    "page=1&page=1", "size=5&page=1&x=%20+%2B",
)

#: Bodies that are no JSON object, or in no one way.
RAW_BODIES = (
    b"", b" ", b"{", b"}", b"[]", b"null", b"true", b"1", b'"text"', b"{}{}", b"{'a': 1}", b'{"a": 1,}',
    b'{"a": NaN}', b'{"a": Infinity}',
    b'{"a": 01}', b'{"a": "\x01"}', b'{"a": "\xff"}', b'{"a": "\xc0\xaf"}', b'{"a": "\xed\xa0\x80"}',
    b"\xff\xfe{\x00}\x00", b"\x00", b"{/**/}",
    b"a=1&b=2", b"<xml/>", b"[" * 20000, b'{"a":' * 2000 + b"1" + b"}" * 2000, b"-", b'{"a": 1e}', b'{"a" 1}',
    b'\xef\xbb\xbf[]',
)

CONTENT_TYPES = (
    None, "", "text/plain", "application/json; charset=utf-8", "application/json;charset=iso-8859-1",
    "APPLICATION/JSON", "application/xml",
    "application/x-www-form-urlencoded", "multipart/form-data", "application/merge-patch+json",
    "application/json, text/plain", ";",
)

#: Own form of a path segment: raw text as it stands in the path.
SEGMENTS = (
    "x", "0", "-1", "null", "acc_", "acc_%00", "acc_%FF", "acc_%E2%82%AC", "%20", "%2e%2e", "..",
    "acc_1%2F..", "acc_1%252F", "acc_1;x=1", "acc_%F0%9F%98%80",
    "acc_" + "9" * 2000, "'%20OR%201=1", "acc_%zz", "%0a", "acc_1%3Fx=1", "acc_a%2Fb", "ACC_1", "*", "acc_{}",
    "acc_|", "acc_%C3%28",
)
