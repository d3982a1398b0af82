"""Hostile input as data: bodies, headers, ids and queries that are malformed, or legal and odd.

Nothing here is longer than HTTP front ends usually take: 4 kB for a header or a request target.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from conformance.exchange import to_json

Named = tuple[str, bytes]


class Bodies:
    """Hostile bodies that derive from a sound one, each with its name for a sentence.

    `document` is the sound JSON object; `text` names a member of it that takes free text.
    """

    def __init__(self, document: dict[str, Any], text: str) -> None:
        self.document, self.text = document, text
        self.sound = to_json(document)

    def with_text(self, raw: bytes) -> bytes:
        """The sound body with these bytes as the value of the free text."""
        return to_json({**self.document, self.text: "\ue000"}).replace('"\ue000"'.encode(), raw)

    def with_member(self, name: bytes, raw: bytes) -> bytes:
        """The sound body with one member more."""
        return self.sound[:-1] + b"," + name + b":" + raw + b"}"

    def malformed(self) -> Iterator[Named]:
        """Bodies that are no JSON (RFC 8259) or no UTF-8."""
        sound = self.sound
        yield "cut off in its middle", sound[: len(sound) // 2]
        yield "without its closing brace", sound[:-1]
        yield "with a comma after its last member", sound[:-1] + b",}"
        yield (
            "with a comma missing",
            sound.replace(b',"', b'"', 1) if b',"' in sound else sound.replace(b'":', b'"', 1),
        )
        yield "in single quotes", sound.replace(b'"', b"'")
        yield "without quotes around its names", re.sub(rb'"(\w+)":', rb"\1:", sound)
        yield "with text after it", sound + b"x"
        yield "twice", sound + sound
        yield "with a comment", b"/* */" + sound
        yield "with a raw line feed in a string", self.with_text(b'"con\nformance"')
        yield "with a raw NUL in a string", self.with_text(b'"con\x00formance"')
        yield "with an unknown escape", self.with_text(b'"con\\x66ormance"')
        yield "with a letter in Latin-1", self.with_text(b'"caf\xe9"')
        yield "with an overlong UTF-8 sequence", self.with_text(b'"con\xc0\xaeformance"')
        yield "with a surrogate in UTF-8", self.with_text(b'"con\xed\xa0\x80formance"')
        yield "as a form", b"name=conformance&label=conformance"
        yield "left empty", b""
        yield "of white space only", b" \n"

    def not_objects(self) -> Iterator[Named]:
        """Bodies that are JSON but no object."""
        yield "as an array that holds it", b"[" + self.sound + b"]"
        yield "as an empty array", b"[]"
        yield "as a string that holds it", to_json(self.sound.decode())
        yield "as a number", b"1"
        yield "as true", b"true"
        yield "as null", b"null"

    def odd(self) -> Iterator[Named]:
        """Bodies that parsers differ about; most are legal JSON."""
        yield "a byte order mark", b"\xef\xbb\xbf" + self.sound
        yield "UTF-16", self.sound.decode().encode("utf-16")
        yield "a NaN", self.with_member(b'"x"', b"NaN")
        yield "a NUL escape", self.with_text(b'"con\\u0000formance"')
        yield "an unpaired high surrogate escape", self.with_text(b'"con\\ud83dformance"')
        yield "an unpaired low surrogate escape", self.with_text(b'"con\\ude00formance"')
        yield "a name twice", self.with_member(to_json(self.text), b'"conformance"')
        yield "a name that is an unpaired surrogate", self.with_member(b'"\\udc00"', b"1")
        yield "the name __proto__", self.with_member(b'"__proto__"', b'{"constructor":null}')
        yield "the number 1e400", self.with_member(b'"x"', b"1e400")
        yield "nesting 10000 deep", self.with_member(b'"x"', b"[" * 10_000 + b"]" * 10_000)
        yield "a field nested 10000 deep", self.with_text(b'{"a":' * 10_000 + b"1" + b"}" * 10_000)

    def long(self) -> Iterator[Named]:
        """Bodies that are longer than some servers take."""
        yield "an integer of 100000 digits", self.with_member(b'"x"', b"9" * 100_000)
        yield "a string of 1 MB", self.with_member(b'"x"', b'"' + b"x" * 1_000_000 + b'"')


#: Content types that a JSON body may be sent with; None sends no header.
CONTENT_TYPES = (
    None,
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/json; charset=no-such-charset",
    "multipart/form-data",
)

#: Values of X-Timestamp, X-Nonce, X-Signature, X-API-Key and Idempotency-Key.
TIMESTAMPS = ("9" * 40, "1e400", "१७६३४५६७८९")
NONCES = ("naïve ☃ '\"%00", "f" * 3900)
SIGNATURES = ("é" * 32, "0" * 3900)
API_KEYS = ("' OR '1'='1", "ключ %00", "k" * 3900)
KEYS = ("k" * 3900, "ключ")

#: Path parameters, percent-encoded as they stand here.
IDS = ("%00", "%ff", "%2e%2e%2f", "'%20OR%20'1'='1", "%F0%9F%8F%A6" + "x" * 1900)

#: Queries of any list.
QUERIES = (
    "page=1e309",
    "size=99999999999999999999",
    "page=-99999999999999999999",
    "page=9223372036854775807&size=100",
    "size=NaN",
    "page=1&page=2",
    "page[]=1&size[a]=2",
    "page=%D9%A3",
    "page=&size=",
    "&&==&?",
    "x=" + "y" * 3500,
)

#: Queries that are no UTF-8, hold NUL or a broken escape: an HTTP front end may refuse them in its own words.
BROKEN_QUERIES = ("page=%00", "size=%FF", "page=%zz")

#: Values of start_date and end_date, percent-encoded.
DATES = (
    "garbage",
    "",
    "0000-00-00T00:00:00Z",
    "0000-01-01T00:00:00Z",
    "99999-12-31T23:59:59Z",
    "2016-12-31T23:59:60Z",
    "2020-02-30T00:00:00Z",
    "2020-01-01T25:61:61Z",
    "2020-01-01T00:00:00%2B99:99",
    "0001-01-01T00:00:00%2B14:00",
    "9999-12-31T23:59:59-14:00",
    "2020-01-01",
    "1e400",
    "2020-01-01T00:00:00.1234567890123456789012345Z",
)

#: Values of the other filters, percent-encoded.
FILTERS = ("'%20OR%20'1'='1", "%F0%9F%8F%A6", "x" * 3000, "")


def list_queries(parameters: Iterable[str]) -> Iterator[str]:
    """Hostile queries, valid as such, for a list with these query parameters."""
    yield from QUERIES
    parameters = list(parameters)
    dates = [name for name in parameters if name.endswith("_date")]
    for name in dates[:1]:
        yield from (f"{name}={value}" for value in DATES)
    for name in dates[1:]:
        yield from (f"{name}={value}" for value in DATES if value.startswith(("garbage", "0001", "9999")))
    for name in parameters:
        if name not in ("page", "size", *dates):
            yield from (f"{name}={value}" for value in FILTERS)
            yield "&".join([f"{name}=active"] * 200)
