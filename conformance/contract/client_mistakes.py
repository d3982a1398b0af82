"""Mistakes that only clients make when they sign: their HTTP library sends something else than they signed.

Beside those of `signing_mistakes`, which servers make too.
"""

from __future__ import annotations

import hmac
import json
import re
import unicodedata
from collections.abc import Callable
from urllib.parse import quote

from conformance.contract.signing_mistakes import (
    Mistake,
    OtherKey,
    OtherPart,
    OtherString,
    Parts,
    dumped,
    key,
    replacing,
)


def _target(change: Callable[[bytes], bytes]) -> OtherPart:
    return replacing("target", lambda parts: change(parts.target))


def _query(change: Callable[[bytes], bytes]) -> OtherPart:
    def target(parts: Parts) -> bytes | None:
        return parts.path + b"?" + change(parts.query) if parts.query else None

    return replacing("target", target)


def _escapes(change: Callable[[bytes], bytes]) -> OtherPart:
    return _target(lambda target: re.sub(b"%[0-9A-Fa-f]{2}", lambda found: change(found[0]), target))


def _text(change: Callable[[str], str]) -> OtherPart:
    """The body with its text changed; nothing where it is not UTF-8."""

    def body(parts: Parts) -> bytes | None:
        try:
            return change(parts.body.decode()).encode()
        except UnicodeError:
            return None

    return replacing("body", body)


def _without_empty(query: bytes) -> bytes:
    return b"&".join(pair for pair in query.split(b"&") if not pair.endswith(b"="))


def _seconds_later(seconds: int) -> OtherPart:
    def timestamp(parts: Parts) -> bytes | None:
        return str(int(parts.timestamp) + seconds).encode() if parts.timestamp.isdigit() else None

    return replacing("timestamp", timestamp)


#: Mistakes that only clients make: their HTTP library sends something else than they signed.
CLIENT_MISTAKES: tuple[Mistake, ...] = (
    *(
        Mistake(
            f"signed as {method}",
            f"signs the method {method}",
            replacing("method", lambda parts, method=method: method.encode()),  # type: ignore[misc]
        )
        for method in ("GET", "POST", "PATCH", "PUT", "DELETE")
    ),
    Mistake(
        "encoded query",
        "percent-encodes the query again",
        _query(lambda query: quote(query, safe="=&%").encode()),
    ),
    Mistake("lower-case escapes", "writes percent-encoding in small letters", _escapes(bytes.lower)),
    Mistake(
        "upper-case escapes",
        "writes percent-encoding in capital letters",
        _escapes(lambda found: b"%" + found[1:].upper()),
    ),
    Mistake(
        "plus as %20",
        "writes %20 where a plus sign is sent",
        _query(lambda query: query.replace(b"+", b"%20")),
    ),
    Mistake(
        "%20 as plus",
        "writes a plus sign where %20 is sent",
        _query(lambda query: query.replace(b"%20", b"+")),
    ),
    Mistake(
        "no empty parameters",
        "leaves out parameters without a value",
        replacing("target", lambda parts: (parts.path + b"?" + _without_empty(parts.query)).rstrip(b"?")),
    ),
    Mistake(
        "scheme and host",
        "puts scheme and host before the path",
        replacing("target", lambda parts: parts.origin + parts.target),
    ),
    Mistake(
        "host",
        "puts the host before the path",
        replacing("target", lambda parts: parts.origin.partition(b"//")[2] + parts.target),
    ),
    Mistake(
        "no base path, no /v1",
        "leaves out the path of the base URL, /v1 included",
        replacing("target", lambda parts: re.sub(b"^.*?/v1(?=/)", b"", parts.target)),
    ),
    Mistake("no target", "leaves path and query out", replacing("target", lambda parts: b"")),
    Mistake(
        "lower-case nonce",
        "writes the nonce in small letters",
        replacing("nonce", lambda parts: parts.nonce.lower().encode()),
    ),
    Mistake(
        "no hyphens in the nonce",
        "leaves the nonce's hyphens out",
        replacing("nonce", lambda parts: parts.nonce.replace("-", "").encode()),
    ),
    Mistake(
        "normalized body",
        "normalizes the body's text (NFC)",
        _text(lambda text: unicodedata.normalize("NFC", text)),
    ),
    Mistake("stripped body", "leaves out white space around the body", _text(str.strip)),
    Mistake(
        "a line feed behind the body",
        "signs a line feed behind the body",
        replacing("body", lambda parts: parts.body + b"\n"),
    ),
    Mistake(
        "indented body",
        "reads the body as JSON and writes it again, indented",
        replacing("body", dumped(indent=2, ensure_ascii=False)),
    ),
    Mistake(
        "sorted, spaced body",
        "reads the body as JSON and writes it again with spaces, its members sorted",
        replacing("body", dumped(ensure_ascii=False, sort_keys=True)),
    ),
    Mistake(
        "escaped, spaced body",
        "reads the body as JSON and writes it again with spaces and escapes",
        replacing("body", dumped()),
    ),
    Mistake("body as a JSON string", "turns the body into JSON twice", _text(lambda text: json.dumps(text))),
    Mistake(
        "replaced bytes",
        "replaces bytes of the body that are not UTF-8",
        replacing("body", lambda parts: parts.body.decode("utf-8", "replace").encode()),
    ),
    *(
        Mistake(
            f"{abs(seconds)} s {'later' if seconds > 0 else 'earlier'}",
            "reads the clock once for the signature and once for the header",
            _seconds_later(seconds),
        )
        for seconds in (-2, -1, 1, 2)
    ),
    Mistake(
        "API key before",
        "signs the API key before the rest",
        OtherString(lambda parts: parts.api_key.encode() + parts.string()),
    ),
    Mistake(
        "API key behind",
        "signs the API key behind the rest",
        OtherString(lambda parts: parts.string() + parts.api_key.encode()),
    ),
    Mistake(
        "API key as secret",
        "signs with the API key in the place of the secret",
        OtherKey(lambda parts, secret: parts.api_key.encode() or None),
    ),
    Mistake(
        "Latin-1 secret",
        "turns the secret into bytes as Latin-1, not UTF-8",
        key(lambda secret: secret.encode("latin-1")),
    ),
    Mistake(
        "stripped secret",
        "leaves out white space around the secret",
        key(lambda secret: secret.strip().encode()),
    ),
    Mistake(
        "a line feed behind the secret",
        "signs with a line feed behind the secret",
        key(lambda secret: secret.encode() + b"\n"),
    ),
    Mistake(
        "arguments swapped",
        "exchanges key and message of the HMAC",
        lambda parts, secret: hmac.new(parts.string(), secret.encode(), "sha256").hexdigest(),
    ),
)
