"""Request bodies that are malformed, no object, or legal and odd."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from conformance.wire.messages import to_json
from conformance.world.corpora.value import Bug, Value

#: Whole bodies that are not a JSON object, or in no one way.
RAW = (
    Value(b"", "empty", Bug.CRASH),
    Value(b" ", "white space only", Bug.CRASH),
    Value(b"{", "cut off after its first byte", Bug.CRASH),
    Value(b"}", "closed only", Bug.CRASH),
    Value(b"[]", "an array", Bug.CRASH),
    Value(b"null", "null", Bug.CRASH),
    Value(b"true", "a boolean", Bug.CRASH),
    Value(b"1", "a number", Bug.CRASH),
    Value(b'"text"', "a string", Bug.CRASH),
    Value(b"{}{}", "two objects", Bug.LENIENCY),
    Value(b"{'a': 1}", "single quotes", Bug.LENIENCY),
    Value(b'{"a": 1,}', "a comma after the last member", Bug.LENIENCY),
    Value(b'{"a": NaN}', "NaN, which many parsers take", Bug.LENIENCY),
    Value(b'{"a": Infinity}', "Infinity, which many parsers take", Bug.LENIENCY),
    Value(b'{"a": 01}', "a leading zero", Bug.LENIENCY),
    Value(b'{"a": "\x01"}', "a raw control character", Bug.LENIENCY),
    Value(b'{"a": "\xff"}', "invalid UTF-8", Bug.ENCODING),
    Value(b'{"a": "\xc0\xaf"}', "an overlong UTF-8 sequence", Bug.ENCODING),
    Value(b'{"a": "\xed\xa0\x80"}', "a surrogate in UTF-8", Bug.ENCODING),
    Value(b"\xff\xfe{\x00}\x00", "UTF-16 with its byte order mark", Bug.ENCODING),
    Value(b"\x00", "NUL", Bug.ENCODING),
    Value(b"{/**/}", "a comment", Bug.LENIENCY),
    Value(b"a=1&b=2", "a form", Bug.CRASH),
    Value(b"<xml/>", "XML", Bug.CRASH),
    Value(b"[" * 20000, "20000 arrays that are not closed", Bug.LENGTH),
    Value(b"[" * 5000 + b"]" * 5000, "5000 arrays in one another", Bug.LENGTH),
    Value(b'{"a":' * 2000 + b"1" + b"}" * 2000, "2000 objects in one another", Bug.LENGTH),
    Value(b"-", "a sign without digits", Bug.CRASH),
    Value(b'{"a": 1e}', "an exponent without digits", Bug.CRASH),
    Value(b'{"a" 1}', "a colon missing", Bug.CRASH),
    Value(b"\xef\xbb\xbf[]", "an array after a byte order mark", Bug.ENCODING),
)

#: Raw members, name and value, that are laid beside those of a valid body.
MEMBERS = (
    Value(b'"x":' + b"[" * 5000 + b"]" * 5000, "5000 arrays in one another", Bug.LENGTH),
    Value(b'"x":1,"x":2', "a member twice", Bug.AMBIGUITY),
    Value(b'"x":1e999', "a number beyond a double", Bug.OVERFLOW),
)


class Derived:
    """Hostile bodies that derive from a valid one; the reason of each completes a sentence about the body.

    `document` is the valid JSON object; `text` names a member of it that takes free text.
    """

    def __init__(self, document: dict[str, Any], text: str) -> None:
        self.document, self.text = document, text
        self.valid = to_json(document)

    def with_text(self, raw: bytes) -> bytes:
        """The valid body with these bytes as the value of the free text."""
        return to_json({**self.document, self.text: "\ue000"}).replace('"\ue000"'.encode(), raw)

    def with_member(self, name: bytes, raw: bytes) -> bytes:
        """The valid body with one member more."""
        return self.valid[:-1] + b"," + name + b":" + raw + b"}"

    def malformed(self) -> Iterator[Value]:
        """Bodies that are not JSON (RFC 8259) or not UTF-8."""
        valid = self.valid
        comma = (b',"', b'"') if b',"' in valid else (b'":', b'"')
        yield Value(valid[: len(valid) // 2], "cut off in its middle", Bug.CRASH)
        yield Value(valid[:-1], "without its closing brace", Bug.CRASH)
        yield Value(valid[:-1] + b",}", "with a comma after its last member", Bug.LENIENCY)
        yield Value(valid.replace(*comma, 1), "with a comma missing", Bug.LENIENCY)
        yield Value(valid.replace(b'"', b"'"), "in single quotes", Bug.LENIENCY)
        yield Value(re.sub(rb'"(\w+)":', rb"\1:", valid), "without quotes around its names", Bug.LENIENCY)
        yield Value(valid + b"x", "with text after it", Bug.LENIENCY)
        yield Value(valid + valid, "twice", Bug.LENIENCY)
        yield Value(b"/* */" + valid, "with a comment", Bug.LENIENCY)
        yield Value(self.with_text(b'"con\nformance"'), "with a raw line feed in a string", Bug.LENIENCY)
        yield Value(self.with_text(b'"con\x00formance"'), "with a raw NUL in a string", Bug.ENCODING)
        yield Value(self.with_text(b'"con\\x66ormance"'), "with an unknown escape", Bug.LENIENCY)
        yield Value(self.with_text(b'"caf\xe9"'), "with a letter in Latin-1", Bug.ENCODING)
        yield Value(self.with_text(b'"con\xc0\xaeformance"'), "with an overlong UTF-8 sequence", Bug.ENCODING)
        yield Value(self.with_text(b'"con\xed\xa0\x80formance"'), "with a surrogate in UTF-8", Bug.ENCODING)
        yield Value(self.with_member(b'"x"', b"NaN"), "with a NaN", Bug.LENIENCY)
        yield Value(valid.decode().encode("utf-16"), "in UTF-16", Bug.ENCODING)
        yield Value(b"name=conformance&label=conformance", "as a form", Bug.LENIENCY)
        yield Value(b"", "left empty", Bug.CRASH)
        yield Value(b" \n", "of white space only", Bug.CRASH)

    def not_objects(self) -> Iterator[Value]:
        """Bodies that are JSON but no object."""
        yield Value(b"[" + self.valid + b"]", "as an array that holds it", Bug.LENIENCY)
        yield Value(b"[]", "as an empty array", Bug.LENIENCY)
        yield Value(to_json(self.valid.decode()), "as a string that holds it", Bug.LENIENCY)
        yield Value(b"1", "as a number", Bug.CRASH)
        yield Value(b"true", "as true", Bug.CRASH)
        yield Value(b"null", "as null", Bug.CRASH)

    def odd(self) -> Iterator[Value]:
        """Bodies that parsers differ about; most are legal JSON."""
        yield Value(b"\xef\xbb\xbf" + self.valid, "a byte order mark", Bug.ENCODING)
        yield Value(self.with_text(b'"con\\u0000formance"'), "a NUL escape", Bug.ENCODING)
        yield Value(
            self.with_text(b'"con\\ud83dformance"'), "an unpaired high surrogate escape", Bug.ENCODING
        )
        yield Value(self.with_text(b'"con\\ude00formance"'), "an unpaired low surrogate escape", Bug.ENCODING)
        yield Value(self.with_member(to_json(self.text), b'"conformance"'), "a name twice", Bug.AMBIGUITY)
        yield Value(
            self.with_member(b'"\\udc00"', b"1"), "a name that is an unpaired surrogate", Bug.ENCODING
        )
        yield Value(
            self.with_member(b'"__proto__"', b'{"constructor":null}'), "the name __proto__", Bug.INJECTION
        )
        yield Value(self.with_member(b'"x"', b"1e400"), "the number 1e400", Bug.OVERFLOW)
        deep = b"[" * 10_000 + b"]" * 10_000
        yield Value(self.with_member(b'"x"', deep), "nesting 10000 deep", Bug.LENGTH)
        deep = b'{"a":' * 10_000 + b"1" + b"}" * 10_000
        yield Value(self.with_text(deep), "a field nested 10000 deep", Bug.LENGTH)

    def long(self) -> Iterator[Value]:
        """Bodies that are longer than some servers take."""
        yield Value(self.with_member(b'"x"', b"9" * 100_000), "an integer of 100000 digits", Bug.OVERFLOW)
        yield Value(self.with_member(b'"x"', b'"' + b"x" * 1_000_000 + b'"'), "a string of 1 MB", Bug.LENGTH)
