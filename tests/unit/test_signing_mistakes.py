"""Signatures of the signing vectors are made again from `how` alone."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

VECTORS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "spec" / "signing-vectors.json").read_bytes()
)["vectors"]

PARTS = ("method", "target", "timestamp", "nonce", "body")


def content(vector: dict[str, Any], member: str) -> bytes:
    if member in vector:
        found: str = vector[member]
        return found.encode()
    return base64.b64decode(vector[f"{member}_base64"], validate=True)


def mac(secret: bytes, string: bytes, algorithm: str = "sha256") -> str:
    return hmac.new(secret, string, algorithm).hexdigest()


def changed(vector: dict[str, Any]) -> bytes:
    """The part of the signed string that `how` names; the other parts are as they were sent."""
    parts = [content(vector, part) for part in PARTS]
    place = PARTS.index(vector["how"]["step"])
    before, after = b"".join(parts[:place]), b"".join(parts[place + 1 :])
    signed = content(vector, "signed_string")
    assert signed.startswith(before) and signed.endswith(after)
    return signed[len(before) : len(signed) - len(after)]


def in_order(text: bytes, separator: bytes) -> list[bytes]:
    return sorted(text.partition(b"?")[2].split(separator))


def same_json(signed: bytes, sent: bytes) -> bool:
    return signed != sent and json.loads(signed) == json.loads(sent)


def unquoted(target: bytes) -> bytes:
    return unquote(target.decode()).encode()


#: Step and change -> whether what was signed, beside what was sent, is that change.
CHANGES: dict[tuple[str, str], Callable[[bytes, bytes], bool]] = {
    ("method", "lower-case"): lambda signed, sent: signed == sent.lower() != sent,
    ("method", "other-method"): lambda signed, sent: signed in {b"GET", b"POST", b"PATCH"} - {sent},
    ("target", "without-version-prefix"): lambda signed, sent: sent.endswith(b"/v1" + signed),
    ("target", "without-base-path"): lambda signed, sent: sent.endswith(signed) and signed.startswith(b"/v1"),
    ("target", "full-url"): lambda signed, sent: (
        re.sub(rb"^https://[^/]+(?=/)", b"", signed) == sent != signed
    ),
    ("target", "trailing-slash"): lambda signed, sent: signed == sent + b"/",
    ("target", "other-path"): lambda signed, sent: signed != sent and signed.count(b"/") == sent.count(b"/"),
    ("target", "decoded-path"): lambda signed, sent: signed == unquoted(sent) != sent,
    ("target", "path-encoding-case"): lambda signed, sent: signed != sent and signed.lower() == sent.lower(),
    ("target", "without-query"): lambda signed, sent: sent.startswith(signed + b"?"),
    ("target", "without-question-mark"): lambda signed, sent: sent.replace(b"?", b"", 1) == signed != sent,
    ("target", "unsent-query"): lambda signed, sent: signed.startswith(sent + b"?"),
    ("target", "other-query"): lambda signed, sent: (
        signed != sent and signed.partition(b"?")[0] == sent.partition(b"?")[0]
    ),
    ("target", "sorted-query"): lambda signed, sent: (
        signed != sent and signed.partition(b"?")[2].split(b"&") == in_order(sent, b"&")
    ),
    ("target", "reordered-query"): lambda signed, sent: (
        signed != sent and in_order(signed, b"&") == in_order(sent, b"&")
    ),
    ("target", "decoded-query"): lambda signed, sent: signed == unquoted(sent) != sent,
    ("target", "encoded-query"): lambda signed, sent: unquoted(signed) == sent != signed,
    ("target", "query-encoding-case"): lambda signed, sent: signed != sent and signed.lower() == sent.lower(),
    ("target", "plus-as-percent-20"): lambda signed, sent: sent.replace(b"+", b"%20") == signed != sent,
    ("target", "dropped-empty-value"): lambda signed, sent: (
        signed == re.sub(rb"(\w+=(?=&|$))&?", b"", sent).rstrip(b"&?") != sent
    ),
    ("timestamp", "other-timestamp"): lambda signed, sent: signed != sent and signed.isdigit(),
    ("timestamp", "left-out"): lambda signed, sent: signed == b"",
    ("timestamp", "milliseconds"): lambda signed, sent: signed == sent + b"000",
    ("nonce", "other-nonce"): lambda signed, sent: signed != sent and len(signed) == len(sent),
    ("nonce", "other-case"): lambda signed, sent: signed != sent and signed.lower() == sent.lower(),
    ("nonce", "left-out"): lambda signed, sent: signed == b"",
    ("body", "other-body"): lambda signed, sent: json.loads(signed) != json.loads(sent),
    ("body", "reserialized"): same_json,
    ("body", "normalized"): lambda signed, sent: (
        signed.decode() == unicodedata.normalize("NFC", sent.decode()) and signed != sent
    ),
    ("body", "stripped"): lambda signed, sent: signed == sent.strip() != sent,
    ("body", "cut-off"): lambda signed, sent: signed != b"" and sent.startswith(signed) and signed != sent,
    ("body", "left-out"): lambda signed, sent: signed == b"" != sent,
    ("body", "hashed"): lambda signed, sent: signed == hashlib.sha256(sent).hexdigest().encode(),
    ("body", "unsent-body"): lambda signed, sent: sent == b"" != signed,
    ("body", "replaced-invalid-utf-8"): lambda signed, sent: (
        signed == sent.decode("utf-8", "replace").encode()
    ),
}

IN_PARTS = [vector for vector in VECTORS if "how" in vector and vector["how"]["step"] in PARTS]


@pytest.mark.parametrize(
    "vector",
    [vector for vector in IN_PARTS if vector["result"] == "invalid"],
    ids=lambda vector: vector["id"],
)
def test_a_changed_part_is_changed_as_it_says(vector: dict[str, Any]) -> None:
    how = vector["how"]
    assert CHANGES[how["step"], how["change"]](changed(vector), content(vector, how["step"]))
    assert mac(vector["secret"].encode(), content(vector, "signed_string")) == vector["signature"]


def test_every_change_of_a_part_occurs() -> None:
    assert set(CHANGES) == {
        (vector["how"]["step"], vector["how"]["change"])
        for vector in IN_PARTS
        if vector["result"] == "invalid"
    }


#: Change -> the signature that is presented, from the vector without its `signed_` members.
OTHERWISE: dict[str, Callable[[dict[str, Any], bytes, bytes], str]] = {
    "hmac-sha-1": lambda vector, secret, string: mac(secret, string, "sha1"),
    "hmac-sha-512": lambda vector, secret, string: mac(secret, string, "sha512"),
    "sha-256-without-hmac": lambda vector, secret, string: hashlib.sha256(secret + string).hexdigest(),
    "arguments-swapped": lambda vector, secret, string: mac(string, secret),
    "api-key": lambda vector, secret, string: mac(vector["api_key"].encode(), string),
    "other-secret": lambda vector, secret, string: mac(vector["signed_secret"].encode(), string),
    "latin-1": lambda vector, secret, string: mac(secret.decode().encode("latin-1"), string),
    "zeros": lambda vector, secret, string: "0" * 64,
    "base64": lambda vector, secret, string: base64.b64encode(bytes.fromhex(mac(secret, string))).decode(),
    "labelled": lambda vector, secret, string: "sha256=" + mac(secret, string),
    "upper-case": lambda vector, secret, string: mac(secret, string).upper(),
    "api-key-added": lambda vector, secret, string: mac(secret, vector["api_key"].encode() + string),
    "separator": lambda vector, secret, string: mac(
        secret, vector["how"]["separator"].encode().join(content(vector, part) for part in PARTS)
    ),
    "other-order": lambda vector, secret, string: mac(
        secret, b"".join(content(vector, part) for part in vector["how"]["order"])
    ),
}

#: Change -> whether a presented signature is that change of the expected one.
LOOSELY: dict[str, Callable[[str, str], bool]] = {
    "cut-off": lambda shown, expected: expected.startswith(shown) and 0 < len(shown) < 64,
    "digit-added": lambda shown, expected: shown[:64] == expected and len(shown) == 65,
    "digit-changed": lambda shown, expected: (
        sum(digit != right for digit, right in zip(shown, expected, strict=True)) == 1
    ),
    "not-hexadecimal": lambda shown, expected: len(shown) == 64 and not re.search("[0-9a-f]", shown),
    "mixed-case": lambda shown, expected: shown not in (expected, expected.upper()),
}

OTHER = [
    vector
    for vector in VECTORS
    if "how" in vector and (vector["result"] == "acceptable" or vector["how"]["step"] not in PARTS)
]


@pytest.mark.parametrize("vector", OTHER, ids=lambda vector: vector["id"])
def test_any_other_signature_is_made_as_it_says(vector: dict[str, Any]) -> None:
    secret, string = vector["secret"].encode(), content(vector, "signature_string")
    change, shown, expected = vector["how"]["change"], vector["signature"], vector["expected_signature"]
    if vector["how"]["step"] == "secret" and change == "cut-off":
        cut = vector["signed_secret"]
        assert vector["secret"].startswith(cut) and shown == mac(cut.encode(), string)
    elif change in OTHERWISE:
        assert shown == OTHERWISE[change](vector, secret, string)
    elif change in LOOSELY:
        assert LOOSELY[change](shown, expected)
    else:
        assert change in ("uuid", "invalid-utf-8") and shown == expected
