"""The signing vectors, checked with the suite's own signer and with two that share nothing with it."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from conformance.contract import signing
from conformance.contract.operations import SPEC

DOCUMENT = json.loads((SPEC / "signing-vectors.json").read_bytes())
VECTORS: list[dict[str, Any]] = DOCUMENT["vectors"]
each_vector = pytest.mark.parametrize("vector", VECTORS, ids=[vector["id"] for vector in VECTORS])


def content(vector: dict[str, Any], member: str) -> bytes:
    """A member's bytes, which are there as text or as base64."""
    if member in vector:
        return vector[member].encode()
    return base64.b64decode(vector[f"{member}_base64"], validate=True)


def computed(vector: dict[str, Any]) -> str:
    """The signature that a server computes, as the vector states it."""
    return vector["signature"] if vector["valid"] else vector["expected_signature"]


def macs() -> list[tuple[str, str, bytes, str]]:
    """Every HMAC that the vectors state: whose, its secret, its string, its value."""
    stated = []
    for vector in VECTORS:
        string = content(vector, "signature_string")
        stated.append((vector["id"], vector["secret"], string, computed(vector)))
        has_string = {"signed_string", "signed_string_base64"} & vector.keys()
        if has_string or "signed_secret" in vector:
            string = content(vector, "signed_string") if has_string else string
            secret = vector.get("signed_secret", vector["secret"])
            stated.append((f"{vector['id']}, as signed", secret, string, vector["signature"]))
    return stated


def test_vectors_fit_their_schema() -> None:
    schema = json.loads((SPEC / "signing-vectors.schema.json").read_bytes())
    Draft202012Validator.check_schema(schema)
    found = Draft202012Validator(schema).iter_errors(DOCUMENT)
    assert not [f"{error.json_path}: {error.message}" for error in found]


def test_vectors_have_ids_and_nonces_of_their_own() -> None:
    for member in ("id", "reason", "nonce"):
        values = [vector[member] for vector in VECTORS]
        assert len(set(values)) == len(values), member


@each_vector
def test_signature_string_and_signature(vector: dict[str, Any]) -> None:
    target, body = vector["target"].encode(), content(vector, "body")
    string = signing.signature_string(vector["method"], target, vector["timestamp"], vector["nonce"], body)
    assert content(vector, "signature_string") == string
    assert computed(vector) == signing.signature(vector["secret"], string)


@each_vector
def test_only_valid_signatures_are_what_a_server_computes(vector: dict[str, Any]) -> None:
    string = content(vector, "signature_string")
    assert (vector["signature"] == signing.signature(vector["secret"], string)) is vector["valid"]


def test_stated_mistakes_lead_to_the_presented_signatures() -> None:
    for name, secret, string, value in macs():
        assert signing.signature(secret, string) == value, name


@pytest.mark.parametrize(
    ("feature", "member", "texts"),
    [
        ("queries in several orders", "target", ["?page=1&size=10", "?size=10&page=1"]),
        ("percent-encoding in both cases", "target", ["%3A", "%3a", "%5F", "%5f", "%5B", "%5b"]),
        ("plus signs, encoded and not", "target", ["a+b", "a%20b", "%2B"]),
        ("literal reserved characters", "target", ["00:00", "[]", "active,disabled"]),
        (
            "UTF-8, escapes, solidus",
            "body",
            ["東京", "🏦", "e\u0301", "\\u00e9", "\\u00E9", "\\ud83c", "\\/"],
        ),
        ("white space", "body", ["\r\n\t", "}\n", " {"]),
    ],
)
def test_valid_vectors_cover(feature: str, member: str, texts: list[str]) -> None:
    values = [vector[member] for vector in VECTORS if vector["valid"] and member in vector]
    assert not [text for text in texts if not any(text in value for value in values)], feature


def test_valid_vectors_cover_empty_and_long_bodies_and_every_method() -> None:
    valid = [vector for vector in VECTORS if vector["valid"]]
    assert {(vector["method"], content(vector, "body") == b"") for vector in valid} >= {
        ("GET", True),
        ("POST", True),
        ("POST", False),
        ("PATCH", False),
    }
    assert max(len(content(vector, "body")) for vector in valid) > 4096
    assert {len(vector["secret"]) for vector in valid} >= {1, 64, 65}


def test_openssl_computes_the_same() -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("the openssl command is not installed")
    for name, secret, string, value in macs():
        key = f"hexkey:{secret.encode().hex()}"
        command = [openssl, "dgst", "-sha256", "-mac", "HMAC", "-macopt", key, "-r"]
        answer = subprocess.run(command, input=string, capture_output=True, check=True, timeout=30)
        assert answer.stdout.split()[0].decode() == value, name


#: Reads the vectors, makes their signature strings by itself, and prints [string, signature] for each.
NODE = """
const crypto = require('crypto');
const vectors = JSON.parse(require('fs').readFileSync(0)).vectors;
const bytes = (v, m) => m in v ? Buffer.from(v[m]) : Buffer.from(v[m + '_base64'], 'base64');
console.log(JSON.stringify(vectors.map(v => {
  const string = Buffer.concat([Buffer.from(v.method + v.target + v.timestamp + v.nonce), bytes(v, 'body')]);
  return [string.toString('base64'), crypto.createHmac('sha256', v.secret).update(string).digest('hex')];
})));
"""


def test_node_computes_the_same() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("the node command is not installed")
    document = json.dumps(DOCUMENT).encode()
    answer = subprocess.run([node, "-e", NODE], input=document, capture_output=True, check=True, timeout=60)
    for vector, (string, signature) in zip(VECTORS, json.loads(answer.stdout), strict=True):
        assert base64.b64decode(string) == content(vector, "signature_string"), vector["id"]
        assert signature == computed(vector), vector["id"]
