"""The usual wrong ways to build a signature (section 5.3), each as a function of the parts of a request.

A server, or a client, that uses one of them computes exactly the signature that its function returns, so a
signature that nobody can explain is compared with all of them. None is ever right: to name one is a diagnosis.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from conformance.contract import signing


@dataclass(frozen=True)
class Parts:
    """What is signed: the method, the request target as sent, timestamp and nonce as sent, the body's bytes."""

    method: str
    target: bytes
    timestamp: str
    nonce: str
    body: bytes = b""

    @property
    def path(self) -> bytes:
        return self.target.partition(b"?")[0]

    @property
    def query(self) -> bytes:
        return self.target.partition(b"?")[2]

    def string(self, **other: bytes) -> bytes:
        """The signature string, with some of its five parts replaced."""
        parts = {
            "method": self.method.encode(),
            "target": self.target,
            "timestamp": self.timestamp.encode(),
            "nonce": self.nonce.encode(),
            "body": self.body,
        }
        return b"".join({**parts, **other}.values())


#: Parts, the secret, and the base URL's own path -> the signature, or None where the mistake makes no difference.
Construction = Callable[[Parts, str], str | None]


@dataclass(frozen=True)
class Mistake:
    """One wrong construction: its name, what is done wrong in a sentence's predicate, and how it is done."""

    name: str
    text: str
    sign: Construction


def _mac(secret: bytes, string: bytes, algorithm: str = "sha256") -> str:
    return hmac.new(secret, string, algorithm).hexdigest()


def _replacing(part: str, change: Callable[[Parts], bytes | None]) -> Construction:
    """Signs as stated, but for one part; nothing where the change leaves the string as it is."""

    def sign(parts: Parts, secret: str) -> str | None:
        changed = change(parts)
        if changed is None:
            return None
        string = parts.string(**{part: changed})
        return _mac(secret.encode(), string) if string != parts.string() else None

    return sign


def _joined(separator: bytes) -> Construction:
    def sign(parts: Parts, secret: str) -> str | None:
        pieces = (
            parts.method.encode(),
            parts.target,
            parts.timestamp.encode(),
            parts.nonce.encode(),
            parts.body,
        )
        return _mac(secret.encode(), separator.join(pieces))

    return sign


def _ordered(*order: str) -> Construction:
    def sign(parts: Parts, secret: str) -> str | None:
        pieces = {
            "method": parts.method.encode(),
            "target": parts.target,
            "timestamp": parts.timestamp.encode(),
            "nonce": parts.nonce.encode(),
            "body": parts.body,
        }
        return _mac(secret.encode(), b"".join(pieces[name] for name in order))

    return sign


def _key(decode: Callable[[str], bytes]) -> Construction:
    """Signs with the secret read in another way."""

    def sign(parts: Parts, secret: str) -> str | None:
        try:
            key = decode(secret)
        except (ValueError, binascii.Error):
            return None
        return _mac(key, parts.string()) if key != secret.encode() else None

    return sign


def _algorithm(name: str) -> Construction:
    return lambda parts, secret: _mac(secret.encode(), parts.string(), name)


def _written(write: Callable[[bytes], str]) -> Construction:
    """The right signature, written in another way than lower-case hexadecimal."""

    def sign(parts: Parts, secret: str) -> str | None:
        return write(hmac.new(secret.encode(), parts.string(), "sha256").digest())

    return sign


def _hash(string: bytes) -> str:
    return hashlib.sha256(string).hexdigest()


def _sorted_query(parts: Parts) -> bytes | None:
    pieces = parts.query.split(b"&")
    return parts.path + b"?" + b"&".join(sorted(pieces)) if parts.query else None


def _dumped(**options: object) -> Callable[[Parts], bytes | None]:
    """The body read as JSON and written again."""

    def change(parts: Parts) -> bytes | None:
        try:
            document = json.loads(parts.body)
        except (ValueError, RecursionError):
            return None
        return json.dumps(document, **options).encode("utf-8", "replace")  # type: ignore[arg-type]

    return change


def _milliseconds(parts: Parts) -> bytes | None:
    return parts.timestamp.encode() + b"000" if parts.timestamp.isdigit() else None


def _without_version(parts: Parts) -> bytes | None:
    before, version, after = parts.target.partition(b"/v1/")
    return b"/" + after if version and not before else None


def _without_base_path(parts: Parts) -> bytes | None:
    before, version, after = parts.target.partition(b"/v1/")
    return version + after if before else None


MISTAKES: tuple[Mistake, ...] = (
    Mistake("lower-case method", "writes the method in lower case", _replacing("method", lambda parts: parts.method.lower().encode())),
    Mistake("no method", "leaves the method out", _replacing("method", lambda parts: b"")),
    Mistake("no query", "leaves the query out", _replacing("target", lambda parts: parts.path)),
    Mistake("no question mark", "leaves out the question mark before the query", _replacing("target", lambda parts: parts.path + parts.query)),
    Mistake("sorted query", "sorts the query's parameters", _replacing("target", _sorted_query)),
    Mistake("decoded target", "decodes the percent-encoding of the path or the query", _replacing("target", lambda parts: unquote_to_bytes(parts.target))),
    Mistake("no /v1", "leaves /v1 out of the path", _replacing("target", _without_version)),
    Mistake("no base path", "leaves out what the base URL has before /v1", _replacing("target", _without_base_path)),
    Mistake("no leading slash", "leaves out the slash before the path", _replacing("target", lambda parts: parts.target.removeprefix(b"/"))),
    Mistake("trailing slash", "puts a slash behind the path", _replacing("target", lambda parts: parts.path + b"/" + (b"?" + parts.query if parts.query else b""))),
    Mistake("milliseconds", "takes the timestamp in milliseconds", _replacing("timestamp", _milliseconds)),
    Mistake("no timestamp", "leaves the timestamp out", _replacing("timestamp", lambda parts: b"")),
    Mistake("no nonce", "leaves the nonce out", _replacing("nonce", lambda parts: b"")),
    Mistake("upper-case nonce", "writes the nonce in capital letters", _replacing("nonce", lambda parts: parts.nonce.upper().encode())),
    Mistake("no body", "leaves the body out", _replacing("body", lambda parts: b"")),
    Mistake("compact body", "reads the body as JSON and writes it again without spaces", _replacing("body", _dumped(separators=(",", ":"), ensure_ascii=False))),
    Mistake("spaced body", "reads the body as JSON and writes it again with spaces", _replacing("body", _dumped(ensure_ascii=False))),
    Mistake("escaped body", "reads the body as JSON and writes it again with escapes for what is not ASCII", _replacing("body", _dumped(separators=(",", ":")))),
    Mistake("sorted body", "reads the body as JSON and writes it again with its members sorted", _replacing("body", _dumped(separators=(",", ":"), ensure_ascii=False, sort_keys=True))),
    Mistake("empty object as body", "signs {} where there is no body", _replacing("body", lambda parts: parts.body or b"{}")),
    Mistake("null as body", "signs null where there is no body", _replacing("body", lambda parts: parts.body or b"null")),
    Mistake("hashed body", "signs the SHA-256 hash of the body in its place", _replacing("body", lambda parts: _hash(parts.body).encode())),
    Mistake("new lines", "puts a new line between the parts", _joined(b"\n")),
    Mistake("dots", "puts a dot between the parts", _joined(b".")),
    Mistake("colons", "puts a colon between the parts", _joined(b":")),
    Mistake("vertical bars", "puts a vertical bar between the parts", _joined(b"|")),
    Mistake("commas", "puts a comma between the parts", _joined(b",")),
    Mistake("spaces", "puts a space between the parts", _joined(b" ")),
    Mistake("timestamp first", "puts timestamp and nonce before the method", _ordered("timestamp", "nonce", "method", "target", "body")),
    Mistake("nonce before timestamp", "puts the nonce before the timestamp", _ordered("method", "target", "nonce", "timestamp", "body")),
    Mistake("body before timestamp", "puts the body before timestamp and nonce", _ordered("method", "target", "body", "timestamp", "nonce")),
    Mistake("hexadecimal secret", "takes the secret for hexadecimal and signs with its bytes", _key(bytes.fromhex)),
    Mistake("base64 secret", "takes the secret for base64 and signs with its bytes", _key(lambda secret: base64.b64decode(secret, validate=True))),
    Mistake("hashed secret", "signs with the SHA-256 hash of the secret", _key(lambda secret: _hash(secret.encode()).encode())),
    Mistake("SHA-512", "uses HMAC-SHA512", _algorithm("sha512")),
    Mistake("SHA-1", "uses HMAC-SHA1", _algorithm("sha1")),
    Mistake("no HMAC", "hashes secret and string without HMAC", lambda parts, secret: _hash(secret.encode() + parts.string())),
    Mistake("hash without HMAC, secret last", "hashes string and secret without HMAC", lambda parts, secret: _hash(parts.string() + secret.encode())),
    Mistake("base64", "writes the signature in base64, not in hexadecimal", _written(lambda digest: base64.b64encode(digest).decode())),
    Mistake("base64url", "writes the signature in base64url, not in hexadecimal", _written(lambda digest: base64.urlsafe_b64encode(digest).decode().rstrip("="))),
    Mistake("upper-case hexadecimal", "writes the signature in capital letters", _written(lambda digest: digest.hex().upper())),
    Mistake("scheme before the signature", "writes sha256= before the signature", _written(lambda digest: "sha256=" + digest.hex())),
)  # fmt: skip


def signatures(parts: Parts, secret: str) -> Iterator[tuple[Mistake, str]]:
    """What each mistake makes of a request, where it makes a difference, with the secret as text."""
    right = signing.signature(
        secret, signing.signature_string(parts.method, parts.target, parts.timestamp, parts.nonce, parts.body)
    )
    for mistake in MISTAKES:
        made = mistake.sign(parts, secret)
        if made is not None and made != right:
            yield mistake, made


def recognized(parts: Parts, secret: str, signature: str) -> list[Mistake]:
    """The mistakes that make just this signature of this request."""
    return [
        mistake
        for mistake, made in signatures(parts, secret)
        if hmac.compare_digest(made.encode(), signature.encode())
    ]
