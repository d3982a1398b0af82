"""Request bodies that are malformed, not an object, or legal but odd."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from conformance.contract.fields import FREE_TEXT
from conformance.wire.messages import to_json
from conformance.world.corpora import Value

#: Whole bodies that are not JSON objects, or on which parsers disagree.
RAW = (
    Value(b"", "empty"),
    Value(b" ", "white space only"),
    Value(b"{", "cut off after its first byte"),
    Value(b"}", "closed only"),
    Value(b"[]", "an array"),
    Value(b"null", "null"),
    Value(b"true", "a boolean"),
    Value(b"1", "a number"),
    Value(b'"text"', "a string"),
    Value(b"{}{}", "two objects"),
    Value(b"{'a': 1}", "single quotes"),
    Value(b'{"a": 1,}', "a comma after the last member"),
    Value(b'{"a": NaN}', "NaN, which many parsers take"),
    Value(b'{"a": Infinity}', "Infinity, which many parsers take"),
    Value(b'{"a": 01}', "a leading zero"),
    Value(b'{"a": "\x01"}', "a raw control character"),
    Value(b'{"a": "\xff"}', "invalid UTF-8"),
    Value(b'{"a": "\xc0\xaf"}', "an overlong UTF-8 sequence"),
    Value(b'{"a": "\xed\xa0\x80"}', "a surrogate in UTF-8"),
    Value(b"\xff\xfe{\x00}\x00", "UTF-16 with its byte order mark"),
    Value(b"\x00", "NUL"),
    Value(b"{/**/}", "a comment"),
    Value(b"a=1&b=2", "a form"),
    Value(b"<xml/>", "XML"),
    Value(b"[" * 20000, "20000 arrays that are not closed"),
    Value(b"[" * 5000 + b"]" * 5000, "5000 arrays in one another"),
    Value(b'{"a":' * 2000 + b"1" + b"}" * 2000, "2000 objects in one another"),
    Value(b"-", "a sign without digits"),
    Value(b'{"a": 1e}', "an exponent without digits"),
    Value(b'{"a" 1}', "a colon missing"),
    Value(b"\xef\xbb\xbf[]", "an array after a byte order mark"),
)

#: Raw members, name and value, to add to a valid body.
MEMBERS = (
    Value(b'"x":' + b"[" * 5000 + b"]" * 5000, "5000 arrays in one another"),
    Value(b'"x":1,"x":2', "a member twice"),
    Value(b'"x":1e999', "a number beyond a double"),
)


class Derived:
    """Hostile bodies derived from a valid one; the reason of each completes a sentence about the body.

    `document` is the valid JSON object, `text` the name of a free-text member, `whole` a valid object with
    more free texts, if there is one.
    """

    def __init__(self, document: dict[str, Any], text: str, whole: dict[str, Any] | None = None) -> None:
        self.document, self.text, self.whole = document, text, whole or document
        self.valid = to_json(document)

    def with_text(self, raw: bytes) -> bytes:
        """The valid body with these bytes as the value of the free text."""
        return to_json({**self.document, self.text: "\ue000"}).replace('"\ue000"'.encode(), raw)

    def with_texts(self, raw: bytes) -> bytes:
        """The whole body with these bytes as the value of each free text in it."""
        address = self.whole.get("address")
        texts: dict[str, Any] = {name: "\ue000" for name in FREE_TEXT if name in self.whole}
        if isinstance(address, dict):
            # A country is a code.
            texts["address"] = {**dict.fromkeys(address, "\ue000"), "country": address.get("country")}
        return to_json({**self.whole, **texts}).replace('"\ue000"'.encode(), raw)

    def with_member(self, name: bytes, raw: bytes) -> bytes:
        """The valid body with a further member."""
        return self.valid[:-1] + b"," + name + b":" + raw + b"}"

    def malformed(self) -> Iterator[Value]:
        """Bodies that are not JSON (RFC 8259) or not UTF-8."""
        valid = self.valid
        comma = (b',"', b'"') if b',"' in valid else (b'":', b'"')
        yield Value(valid[: len(valid) // 2], "cut off in its middle")
        yield Value(valid[:-1], "without its closing brace")
        yield Value(valid[:-1] + b",}", "with a comma after its last member")
        yield Value(valid.replace(*comma, 1), "with a comma missing")
        yield Value(valid.replace(b'"', b"'"), "in single quotes")
        yield Value(re.sub(rb'"(\w+)":', rb"\1:", valid), "without quotes around its names")
        yield Value(valid + b"x", "with text after it")
        yield Value(valid + valid, "twice")
        yield Value(b"/* */" + valid, "with a comment")
        yield Value(self.with_text(b'"con\nformance"'), "with a raw line feed in a string")
        yield Value(self.with_text(b'"con\x00formance"'), "with a raw NUL in a string")
        yield Value(self.with_text(b'"con\\x66ormance"'), "with an unknown escape")
        yield Value(self.with_text(b'"caf\xe9"'), "with a letter in Latin-1")
        yield Value(self.with_text(b'"con\xc0\xaeformance"'), "with an overlong UTF-8 sequence")
        yield Value(self.with_text(b'"con\xed\xa0\x80formance"'), "with a surrogate in UTF-8")
        yield Value(self.with_member(b'"x"', b"NaN"), "with a NaN")
        yield Value(self.with_member(b'"x"', b"01"), "with a number that begins with a zero")
        yield Value(valid.decode().encode("utf-16"), "in UTF-16")
        yield Value(b"name=conformance&label=conformance", "as a form")
        yield Value(b"", "left empty")
        yield Value(b" \n", "of white space only")

    def not_objects(self) -> Iterator[Value]:
        """JSON bodies that are not an object."""
        yield Value(b"[" + self.valid + b"]", "put into an array")
        yield Value(b"[]", "as an empty array")
        yield Value(to_json(self.valid.decode()), "put into a string")
        yield Value(b"1", "as a number")
        yield Value(b"true", "as true")
        yield Value(b"null", "as null")

    def odd(self) -> Iterator[Value]:
        """Bodies that parsers treat differently; most are legal JSON."""
        yield Value(b"\xef\xbb\xbf" + self.valid, "a byte order mark")
        yield Value(self.with_texts(b'"con\\u0000formance"'), "a NUL escape")
        yield Value(self.with_texts(b'"con\\ude00formance\\ud83d"'), "unpaired surrogate escapes")
        yield Value(self.with_texts(b'" \\u00a0\\t "'), "texts of spaces only")
        for name in (name for name in self.document if name.endswith("_id") and name != "tax_id"):
            yield Value(to_json({**self.document, name: "con\x00formance"}), f"a NUL escape in {name}")
        yield Value(self.with_member(to_json(self.text), b'"conformance"'), "a name twice")
        yield Value(self.with_member(b'"\\udc00"', b"1"), "a name that is an unpaired surrogate")
        yield Value(self.with_member(b'"__proto__"', b'{"constructor":null}'), "the name __proto__")
        yield Value(self.with_member(b'"x"', b"1e400"), "the number 1e400")
        yield Value(b"[" * 5000 + b"]" * 5000, "nothing but 5000 nested arrays")
        deep = b"[" * 10_000 + b"]" * 10_000
        yield Value(self.with_member(b'"x"', deep), "nesting 10000 deep")
        deep = b'{"a":' * 10_000 + b"1" + b"}" * 10_000
        yield Value(self.with_text(deep), "a field nested 10000 deep")

    def long(self) -> Iterator[Value]:
        """Bodies longer than some servers accept."""
        yield Value(self.with_member(b'"x"', b"9" * 100_000), "an integer of 100000 digits")
        yield Value(self.with_member(b'"x"', b'"' + b"x" * 1_000_000 + b'"'), "a string of 1 MB")
