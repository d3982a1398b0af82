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
    """What is signed: the method, the request target as sent, timestamp and nonce as sent, the body's bytes.

    `api_key` and `origin` (scheme and host) are sent and not signed; they are empty where nobody knows them.
    """

    method: str
    target: bytes
    timestamp: str
    nonce: str
    body: bytes = b""
    api_key: str = ""
    origin: bytes = b""

    @property
    def pieces(self) -> dict[str, bytes]:
        """The five parts of the signature string, in their order."""
        return {
            "method": self.method.encode(),
            "target": self.target,
            "timestamp": self.timestamp.encode(),
            "nonce": self.nonce.encode(),
            "body": self.body,
        }

    @property
    def path(self) -> bytes:
        return self.target.partition(b"?")[0]

    @property
    def query(self) -> bytes:
        return self.target.partition(b"?")[2]

    def string(self, **other: bytes) -> bytes:
        """The signature string, with some of its five parts replaced."""
        return b"".join({**self.pieces, **other}.values())


#: Parts and the secret -> the signature, or None where the mistake makes no difference.
Construction = Callable[[Parts, str], str | None]


@dataclass(frozen=True)
class Mistake:
    """One wrong construction: its name, what is done wrong in a sentence's predicate, and how it is done."""

    name: str
    text: str
    sign: Construction


def _mac(secret: bytes, string: bytes, algorithm: str = "sha256") -> str:
    return hmac.new(secret, string, algorithm).hexdigest()


@dataclass(frozen=True)
class OtherString:
    """A construction that signs another string than the request's; `string` is None where it makes none."""

    string: Callable[[Parts], bytes | None]

    def __call__(self, parts: Parts, secret: str) -> str | None:
        string = self.string(parts)
        return None if string is None or string == parts.string() else _mac(secret.encode(), string)


@dataclass(frozen=True)
class OtherPart(OtherString):
    """One that puts something else in the place of one part."""

    part: str
    change: Callable[[Parts], bytes | None]


@dataclass(frozen=True)
class OtherKey:
    """One that reads the secret in another way."""

    key: Callable[[Parts, str], bytes | None]

    def __call__(self, parts: Parts, secret: str) -> str | None:
        try:
            key = self.key(parts, secret)
        except (ValueError, binascii.Error):
            return None
        return None if key is None or key == secret.encode() else _mac(key, parts.string())


@dataclass(frozen=True)
class OtherAlgorithm:
    """One that uses HMAC with another hash."""

    algorithm: str

    def __call__(self, parts: Parts, secret: str) -> str | None:
        return _mac(secret.encode(), parts.string(), self.algorithm)


def replacing(part: str, change: Callable[[Parts], bytes | None]) -> OtherPart:
    """Signs as stated, but for one part; nothing where the change leaves the string as it is."""

    def string(parts: Parts) -> bytes | None:
        changed = change(parts)
        return None if changed is None else parts.string(**{part: changed})

    return OtherPart(string, part, change)


def _joined(separator: bytes) -> OtherString:
    return OtherString(lambda parts: separator.join(parts.pieces.values()))


def _ordered(*order: str) -> OtherString:
    return OtherString(lambda parts: b"".join(parts.pieces[name] for name in order))


def key(decode: Callable[[str], bytes]) -> OtherKey:
    """Signs with the secret read in another way."""
    return OtherKey(lambda parts, secret: decode(secret))


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


def dumped(**options: object) -> Callable[[Parts], bytes | None]:
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
    Mistake("lower-case method", "writes the method in lower case", replacing("method", lambda parts: parts.method.lower().encode())),
    Mistake("no method", "leaves the method out", replacing("method", lambda parts: b"")),
    Mistake("no query", "leaves the query out", replacing("target", lambda parts: parts.path)),
    Mistake("no question mark", "leaves out the question mark before the query", replacing("target", lambda parts: parts.path + parts.query)),
    Mistake("sorted query", "sorts the query's parameters", replacing("target", _sorted_query)),
    Mistake("decoded target", "decodes the percent-encoding of the path or the query", replacing("target", lambda parts: unquote_to_bytes(parts.target))),
    Mistake("no /v1", "leaves /v1 out of the path", replacing("target", _without_version)),
    Mistake("no base path", "leaves out what the base URL has before /v1", replacing("target", _without_base_path)),
    Mistake("no leading slash", "leaves out the slash before the path", replacing("target", lambda parts: parts.target.removeprefix(b"/"))),
    Mistake("trailing slash", "puts a slash behind the path", replacing("target", lambda parts: parts.path + b"/" + (b"?" + parts.query if parts.query else b""))),
    Mistake("milliseconds", "takes the timestamp in milliseconds", replacing("timestamp", _milliseconds)),
    Mistake("no timestamp", "leaves the timestamp out", replacing("timestamp", lambda parts: b"")),
    Mistake("no nonce", "leaves the nonce out", replacing("nonce", lambda parts: b"")),
    Mistake("upper-case nonce", "writes the nonce in capital letters", replacing("nonce", lambda parts: parts.nonce.upper().encode())),
    Mistake("no body", "leaves the body out", replacing("body", lambda parts: b"")),
    Mistake("compact body", "reads the body as JSON and writes it again without spaces", replacing("body", dumped(separators=(",", ":"), ensure_ascii=False))),
    Mistake("spaced body", "reads the body as JSON and writes it again with spaces", replacing("body", dumped(ensure_ascii=False))),
    Mistake("escaped body", "reads the body as JSON and writes it again with escapes for what is not ASCII", replacing("body", dumped(separators=(",", ":")))),
    Mistake("sorted body", "reads the body as JSON and writes it again with its members sorted", replacing("body", dumped(separators=(",", ":"), ensure_ascii=False, sort_keys=True))),
    Mistake("empty object as body", "signs {} where there is no body", replacing("body", lambda parts: parts.body or b"{}")),
    Mistake("null as body", "signs null where there is no body", replacing("body", lambda parts: parts.body or b"null")),
    Mistake("hashed body", "signs the SHA-256 hash of the body in its place", replacing("body", lambda parts: _hash(parts.body).encode())),
    Mistake("new lines", "puts a new line between the parts", _joined(b"\n")),
    Mistake("dots", "puts a dot between the parts", _joined(b".")),
    Mistake("colons", "puts a colon between the parts", _joined(b":")),
    Mistake("vertical bars", "puts a vertical bar between the parts", _joined(b"|")),
    Mistake("commas", "puts a comma between the parts", _joined(b",")),
    Mistake("spaces", "puts a space between the parts", _joined(b" ")),
    Mistake("timestamp first", "puts timestamp and nonce before the method", _ordered("timestamp", "nonce", "method", "target", "body")),
    Mistake("nonce before timestamp", "puts the nonce before the timestamp", _ordered("method", "target", "nonce", "timestamp", "body")),
    Mistake("body before timestamp", "puts the body before timestamp and nonce", _ordered("method", "target", "body", "timestamp", "nonce")),
    Mistake("hexadecimal secret", "takes the secret for hexadecimal and signs with its bytes", key(bytes.fromhex)),
    Mistake("base64 secret", "takes the secret for base64 and signs with its bytes", key(lambda secret: base64.b64decode(secret, validate=True))),
    Mistake("hashed secret", "signs with the SHA-256 hash of the secret", key(lambda secret: _hash(secret.encode()).encode())),
    Mistake("SHA-512", "uses HMAC-SHA512", OtherAlgorithm("sha512")),
    Mistake("SHA-1", "uses HMAC-SHA1", OtherAlgorithm("sha1")),
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
