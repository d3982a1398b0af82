"""Common mistakes in a signature (section 5.3), one row each, and wrong signatures explained by them.

Checks send the signature that a row computes (`Auth.mistake`), and the oracle names the rule it breaks. A
client's wrong signature, or a server that refuses valid ones, is diagnosed by the row that produces it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from urllib.parse import quote, unquote_to_bytes

from conformance.contract import json_text
from conformance.contract.signing import signature


@dataclass(frozen=True)
class Parts:
    """The signed parts of a request as sent: method, request target, timestamp, nonce, body.

    `api_key` and `origin` (scheme and host) are not signed, and empty if unknown.
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
            "nonce": self.nonce.encode("utf-8", "surrogateescape"),
            "body": self.body,
        }

    @property
    def path(self) -> bytes:
        return self.target.partition(b"?")[0]

    @property
    def query(self) -> bytes:
        return self.target.partition(b"?")[2]

    def string(self, **other: bytes) -> bytes:
        """The signature string, with the given parts replaced."""
        return b"".join({**self.pieces, **other}.values())

    def ordered(self, *names: str, separator: bytes = b"") -> bytes:
        """The named parts (all by default) joined by a separator."""
        return separator.join(self.pieces[name] for name in names or self.pieces)


def _key(parts: Parts, secret: str) -> bytes:
    return secret.encode()


def _hmac(key: bytes, string: bytes) -> bytes:
    return hmac.digest(key, string, "sha256")


@dataclass(frozen=True)
class Mistake:
    """One mistake: `text` is a predicate; `string`, `key`, `digest` and `write` compute the wrong signature.

    They raise ValueError (UnicodeError, binascii.Error) if the mistake cannot be made with a request.
    """

    name: str
    text: str
    string: Callable[[Parts], bytes] = Parts.string
    key: Callable[[Parts, str], bytes] = _key
    digest: Callable[[bytes, bytes], bytes] = _hmac
    write: Callable[[bytes], str] = bytes.hex

    def sign(self, parts: Parts, secret: str) -> str | None:
        """The wrong signature of a request; None if the mistake cannot be made or changes nothing."""
        try:
            wrong = self.write(self.digest(self.key(parts, secret), self.string(parts)))
        except ValueError:
            return None
        return None if wrong == signature(secret, parts.string()) else wrong

    def signed(self, parts: Parts) -> bytes | None:
        """The string that is signed; None if the mistake cannot be made."""
        try:
            return self.string(parts)
        except ValueError:
            return None

    @property
    def described(self) -> str:
        """The wrong signature as a noun phrase."""
        return f"the signature of a client that {self.text}"


def _md5(string: bytes = b"") -> hashlib._Hash:
    """MD5, which some builds of Python (FIPS) have for other uses only."""
    return hashlib.md5(string, usedforsecurity=False)


def _hash(string: bytes) -> bytes:
    return hashlib.sha256(string).hexdigest().encode()


def _part(name: str, change: Callable[[Parts], bytes]) -> Callable[[Parts], bytes]:
    """The signature string with one part replaced."""
    return lambda parts: parts.string(**{name: change(parts)})


def _query(change: Callable[[bytes], bytes]) -> Callable[[Parts], bytes]:
    """The signature string with the query changed, if there is one."""
    return lambda parts: parts.string(
        target=parts.path + b"?" + change(parts.query) if parts.query else parts.target
    )


def _escapes(change: Callable[[bytes], bytes]) -> Callable[[Parts], bytes]:
    """The signature string with each percent-encoded byte changed."""
    return _part("target", lambda parts: re.sub(b"%..", lambda escape: change(escape[0]), parts.target))


def _json(**options: object) -> Callable[[Parts], bytes]:
    """The signature string with the body parsed as JSON and re-serialized."""

    def body(parts: Parts) -> bytes:
        return json.dumps(json_text.load(parts.body), **options).encode("utf-8", "replace")  # type: ignore[arg-type]

    return _part("body", body)


def _text(change: Callable[[str], str]) -> Callable[[Parts], bytes]:
    """The signature string with the text of a UTF-8 body changed."""
    return _part("body", lambda parts: change(parts.body.decode()).encode())


def _decoded(errors: str, sign: str = "\ufffd") -> Callable[[Parts], bytes]:
    """The signature string with bytes of the body that are not UTF-8 left out, or a sign in their place."""
    return _part("body", lambda parts: parts.body.decode("utf-8", errors).replace("\ufffd", sign).encode())


def _instead(text: bytes) -> Callable[[Parts], bytes]:
    """The signature string with a text where there is no body."""
    return _part("body", lambda parts: parts.body or text)


def _other_digit(at: int) -> Callable[[bytes], str]:
    """The signature with another digit at a position."""

    def write(digest: bytes) -> str:
        text = digest.hex()
        return f"{text[:at]}{1 if text[at] == '0' else 0}{text[at + 1 :]}"

    return write


def _later(seconds: int) -> Callable[[Parts], bytes]:
    return _part("timestamp", lambda parts: str(int(parts.timestamp) + seconds).encode())


#: Name of a separator -> its bytes.
SEPARATORS = {
    "new line": b"\n",
    "dot": b".",
    "colon": b":",
    "vertical bar": b"|",
    "comma": b",",
    "space": b" ",
    "tab": b"\t",
    "carriage return and line feed": b"\r\n",
}

#: Digits -> letters that `pack("H*")` of Perl and Ruby reads as these digits.
_LETTERS = str.maketrans("0123456789", "ghijklmnop")

#: Name of the row with a separator before the body only.
BEFORE_BODY = "a line feed before the body"

#: Name of the row that is open (auth.signature-upper-case).
UPPER_CASE = "upper-case hexadecimal"

#: All rows; of several that produce one signature the most common comes first.
MISTAKES: tuple[Mistake, ...] = (
    # The method.
    Mistake("lower-case method", "writes the method in lower case", _part("method", lambda parts: parts.method.lower().encode())),
    Mistake("no method", "leaves the method out", _part("method", lambda parts: b"")),
    *(Mistake(f"signed as {name}", f"signs the method {name}", partial(Parts.string, method=name.encode())) for name in ("GET", "POST", "PATCH")),
    # The request target.
    Mistake("no query", "leaves the query out", _part("target", lambda parts: parts.path)),
    Mistake("no question mark", "leaves out the question mark before the query", _part("target", lambda parts: parts.path + parts.query)),
    Mistake("sorted query", "sorts the query's parameters", _query(lambda query: b"&".join(sorted(query.split(b"&"))))),
    Mistake("no empty parameters", "leaves out parameters without a value", _query(lambda query: b"&".join(pair for pair in query.split(b"&") if not pair.endswith(b"=")))),
    Mistake("no equals sign behind a name alone", "leaves out the equals sign of parameters without a value", _query(lambda query: re.sub(rb"=(?=&|\Z)", b"", query))),
    Mistake("decoded target", "decodes the percent-encoding of the path or the query", _part("target", lambda parts: unquote_to_bytes(parts.target))),
    Mistake("encoded query", "percent-encodes the query again", _query(lambda query: quote(query, safe="=&%").encode())),
    Mistake("lower-case escapes", "writes percent-encoding in small letters", _escapes(bytes.lower)),
    Mistake("upper-case escapes", "writes percent-encoding in capital letters", _escapes(bytes.upper)),
    Mistake("plus as %20", "writes %20 where a plus sign is sent", _query(lambda query: query.replace(b"+", b"%20"))),
    Mistake("%20 as plus", "writes a plus sign where %20 is sent", _query(lambda query: query.replace(b"%20", b"+"))),
    Mistake("no /v1", "leaves /v1 out of the path", _part("target", lambda parts: parts.target.replace(b"/v1/", b"/", 1))),
    Mistake("no base path", "leaves out what the base URL has before /v1", _part("target", lambda parts: re.sub(rb"\A.*?/v1/", b"/v1/", parts.target))),
    Mistake("no base path, no /v1", "leaves out the path of the base URL, /v1 included", _part("target", lambda parts: re.sub(rb"\A.+?/v1/", b"/", parts.target))),
    Mistake("trailing slash", "puts a slash behind the path", lambda parts: parts.string(target=parts.target.replace(parts.path, parts.path + b"/", 1))),
    Mistake("host", "puts the host before the path", _part("target", lambda parts: parts.origin.rpartition(b"/")[2] + parts.target)),
    Mistake("scheme and host", "puts scheme and host before the path", _part("target", lambda parts: parts.origin + parts.target)),
    # Timestamp and nonce.
    Mistake("milliseconds", "takes the timestamp in milliseconds", lambda parts: parts.string(timestamp=str(int(parts.timestamp) * 1000).encode())),
    Mistake("1 s earlier", "signs a timestamp 1 s before the one it sends, as clocks read twice show it", _later(-1)),
    Mistake("1 s later", "signs a timestamp 1 s after the one it sends, as clocks read twice show it", _later(1)),
    Mistake("no timestamp", "leaves the timestamp out", _part("timestamp", lambda parts: b"")),
    Mistake("no nonce", "leaves the nonce out", _part("nonce", lambda parts: b"")),
    Mistake("upper-case nonce", "writes the nonce in capital letters", _part("nonce", lambda parts: parts.nonce.upper().encode())),
    # The body.
    Mistake("no body", "leaves the body out", _part("body", lambda parts: b"")),
    Mistake("compact body", "reads the body as JSON and writes it again without spaces", _json(separators=(",", ":"), ensure_ascii=False)),
    Mistake("spaced body", "reads the body as JSON and writes it again with spaces", _json(ensure_ascii=False)),
    Mistake("escaped body", "reads the body as JSON and writes it again with escapes for what is not ASCII", _json(separators=(",", ":"))),
    Mistake("escaped, spaced body", "reads the body as JSON and writes it again with spaces and escapes", _json()),
    Mistake("sorted body", "reads the body as JSON and writes it again with its members sorted", _json(separators=(",", ":"), ensure_ascii=False, sort_keys=True)),
    Mistake("indented body", "reads the body as JSON and writes it again, indented", _json(indent=2, ensure_ascii=False)),
    Mistake("stripped body", "leaves out white space around the body", _text(str.strip)),
    Mistake("normalized body", "normalizes the body's text (NFC)", _text(lambda text: unicodedata.normalize("NFC", text))),
    Mistake("dropped bytes", "leaves out bytes of the body that are not UTF-8", _decoded("ignore")),
    Mistake("replaced bytes", "replaces bytes of the body that are not UTF-8", _decoded("replace")),
    Mistake("question marks", "writes question marks for bytes of the body that are not UTF-8", _decoded("replace", "?")),
    Mistake("a line feed behind the body", "signs a line feed behind the body", _part("body", lambda parts: parts.body + b"\n")),
    Mistake(BEFORE_BODY, "signs a line feed before the body", _part("body", lambda parts: b"\n" * bool(parts.body) + parts.body)),
    Mistake("empty object as body", "signs {} where there is no body", _instead(b"{}")),
    *(Mistake(f"{name} as body", f"signs {name} where there is no body", _instead(name.encode())) for name in ("null", "undefined", "None")),
    Mistake("hashed body", "signs the SHA-256 hash of the body in its place", _part("body", lambda parts: _hash(parts.body))),
    # The parts together.
    *(Mistake(name, f"puts a {name} between the parts", partial(Parts.ordered, separator=separator)) for name, separator in SEPARATORS.items()),
    Mistake("timestamp first", "puts timestamp and nonce before the method", lambda parts: parts.ordered("timestamp", "nonce", "method", "target", "body")),
    Mistake("nonce before timestamp", "puts the nonce before the timestamp", lambda parts: parts.ordered("method", "target", "nonce", "timestamp", "body")),
    Mistake("body before timestamp", "puts the body before timestamp and nonce", lambda parts: parts.ordered("method", "target", "body", "timestamp", "nonce")),
    Mistake("API key", "signs the API key before the rest", lambda parts: parts.api_key.encode() + parts.string()),
    # The key.
    Mistake("hexadecimal secret", "takes the secret for hexadecimal and signs with its bytes", key=lambda parts, secret: bytes.fromhex(secret)),
    Mistake("base64 secret", "takes the secret for base64 and signs with its bytes", key=lambda parts, secret: base64.b64decode(secret, validate=True)),
    Mistake("Latin-1 secret", "turns the secret into bytes as Latin-1, not UTF-8", key=lambda parts, secret: secret.encode("latin-1")),
    Mistake("hashed secret", "signs with the SHA-256 hash of the secret", key=lambda parts, secret: _hash(secret.encode())),
    Mistake("a line feed behind the secret", "signs with a line feed behind the secret", key=lambda parts, secret: secret.encode() + b"\n"),
    Mistake("lower-case secret", "signs with the secret in small letters", key=lambda parts, secret: secret.lower().encode()),
    Mistake("capital secret", "signs with the secret in capital letters", key=lambda parts, secret: secret.upper().encode()),
    Mistake("shortened secret", "leaves out the last character of the secret", key=lambda parts, secret: secret[:-1].encode()),
    Mistake("API key as secret", "signs with the API key in the place of the secret", key=lambda parts, secret: parts.api_key.encode()),
    # The digest and its notation.
    Mistake("SHA-512", "uses HMAC-SHA512", digest=lambda key, string: hmac.digest(key, string, "sha512")),
    Mistake("SHA-1", "uses HMAC-SHA1", digest=lambda key, string: hmac.digest(key, string, "sha1")),
    Mistake("MD5", "uses HMAC-MD5", digest=lambda key, string: hmac.digest(key, string, _md5)),
    Mistake("no HMAC", "hashes secret and string without HMAC", digest=lambda key, string: hashlib.sha256(key + string).digest()),
    Mistake("no secret", "hashes the string without the secret", digest=lambda key, string: hashlib.sha256(string).digest()),
    Mistake("arguments swapped", "exchanges key and message of the HMAC", digest=lambda key, string: _hmac(string, key)),
    Mistake("base64", "writes the signature in base64, not in hexadecimal", write=lambda digest: base64.b64encode(digest).decode()),
    Mistake("base64url", "writes the signature in base64url, not in hexadecimal", write=lambda digest: base64.urlsafe_b64encode(digest).decode().rstrip("=")),
    Mistake(UPPER_CASE, "writes the signature in capital letters", write=lambda digest: digest.hex().upper()),
    Mistake("last byte left out", "leaves out the last byte of the signature", write=lambda digest: digest.hex()[:-2]),
    Mistake("second half left out", "leaves out the second half of the signature", write=lambda digest: digest.hex()[:32]),
    Mistake("one byte more", "writes the digits 00 behind the signature", write=lambda digest: digest.hex() + "00"),
    Mistake("one digit more", "writes a digit 0 behind the signature", write=lambda digest: digest.hex() + "0"),
    Mistake("a space between digits", "writes a space in the middle of the signature", write=lambda digest: digest.hex(" ", 16)),
    Mistake("letters for digits", "writes the letters g to p in the place of the digits 0 to 9 of the signature", write=lambda digest: digest.hex().translate(_LETTERS)),
    Mistake("two signatures", "writes another signature behind the right one, after a comma", write=lambda digest: f"{digest.hex()}, {'0' * 64}"),
    *(Mistake(f"other {place} digit", f"writes another {place} digit of the signature", write=_other_digit(at)) for place, at in (("first", 0), ("middle", 32), ("last", 63))),
    Mistake("hyphens in the signature", "writes hyphens between the bytes of the signature", write=lambda digest: digest.hex("-")),
    Mistake("scheme before the signature", "writes sha256= before the signature", write=lambda digest: "sha256=" + digest.hex()),
)  # fmt: skip


BY_NAME = {mistake.name: mistake for mistake in MISTAKES}


def broken_rules(mistake: Mistake, parts: Parts) -> tuple[str, ...]:
    """Rules that a request with the mistake breaks; each operation has one of the two for bodies."""
    if mistake.name in (*SEPARATORS, BEFORE_BODY):
        return ("auth.no-separators",)
    signed = mistake.signed(parts) or parts.string()
    part = "" if signed == parts.string() else changed_part(parts, signed)
    if part == "body":
        return ("auth.signed-body", "auth.signed-empty-body")
    if part == "target":
        begin = len(parts.method)
        return _of_target(
            parts, signed[begin : begin + len(parts.target) + len(signed) - len(parts.string())]
        )
    return (f"auth.signed-{part}" if part else "auth.signature",)


def _of_target(parts: Parts, signed: bytes) -> tuple[str, ...]:
    """Rules that a request breaks whose target was signed in another form."""
    if parts.query and signed.startswith(parts.path):
        return ("auth.signed-query",)
    query = signed.partition(b"?")[2]
    return ("auth.signed-path", *(["auth.signed-query"] if query != parts.query else []))


def changed_part(parts: Parts, signed: bytes) -> str:
    """The only part in which a signed string differs from the right one; empty for several parts."""
    names, pieces = list(parts.pieces), list(parts.pieces.values())
    # A host between method and target belongs to the target; a suffix is a body if none was sent.
    host = parts.origin.rpartition(b"/")[2]
    places = [1, 0, 2, 3, 4] if host and host in signed else [0, 1, 2, 3, 4]
    if not parts.body and signed.startswith(parts.string()):
        places = [4, *places]
    for place in places:
        before, after = b"".join(pieces[:place]), b"".join(pieces[place + 1 :])
        fits = len(signed) >= len(before) + len(after)
        if fits and signed.startswith(before) and signed.endswith(after):
            return names[place]
    return ""


def signatures(parts: Parts, secret: str) -> Iterator[tuple[Mistake, str]]:
    """Yields each row that produces a wrong signature of a request, with that signature."""
    for mistake in MISTAKES:
        if (wrong := mistake.sign(parts, secret)) is not None:
            yield mistake, wrong


# ---------------------------------------------------------------------- explaining a signature


@dataclass(frozen=True)
class Explanation:
    """The right `string` and `signature`, and what is wrong with the presented one: `text` (empty: nothing).

    `mistake` makes the presented signature; `signed` is what was signed in the place of `string`, if known.
    """

    string: bytes
    signature: str
    text: str = ""
    mistake: Mistake | None = None
    signed: bytes | None = None
    rules: tuple[str, ...] = ("auth.signature",)

    @property
    def is_open(self) -> bool:
        """True for the right signature in capital letters, which the specification leaves open."""
        return self.mistake is not None and self.mistake.name == UPPER_CASE


def explained(parts: Parts, secret: str, presented: str, signed: bytes | None = None) -> Explanation:
    """Explains a request's signature; `signed` is the string that the client claims to have signed."""
    parts = replace(parts, method=parts.method.upper())
    string = parts.string()
    right = Explanation(string, signature(secret, string))
    if presented == right.signature:
        return right
    digits = _digits(presented.strip())
    for mistake, wrong in signatures(parts, secret):
        if _digits(wrong) == digits:
            other, rules = mistake.signed(parts), broken_rules(mistake, parts)
            other = None if other == string else other
            return replace(
                right, text=f"the client {mistake.text}", mistake=mistake, signed=other, rules=rules
            )
    if signed == string:
        text = (
            "the string that was signed is right: the secret is another one, or this is no HMAC-SHA256 of it"
        )
        signed = None
    elif signed is not None:
        part = changed_part(parts, signed)
        text = f"the {part or 'combination of several parts'} was signed otherwise than it is sent"
    elif re.fullmatch("[0-9a-f]{64}", digits):
        text = "no usual mistake makes it: the secret is another one, or something else was signed"
    else:
        text = "it has to be 64 hexadecimal digits"
    return replace(right, text=text, signed=signed)


def _digits(signature: str) -> str:
    """A hexadecimal signature in small letters, or a base64 one without padding."""
    return signature.lower() if re.fullmatch("[0-9A-Fa-f]{64}", signature) else signature.rstrip("=")
