"""The signing vectors: schema, coverage, and signatures by the suite's own signer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from conformance.contract import signing
from conformance.contract.rules import SPEC
from tests.support.vectors import DOCUMENT, VECTORS, content

each_vector = pytest.mark.parametrize("vector", VECTORS, ids=[vector["id"] for vector in VECTORS])


def macs() -> list[tuple[str, str, bytes, str]]:
    """Returns each HMAC in the vectors: id, secret, string, value."""
    stated = []
    for vector in VECTORS:
        string = content(vector, "signature_string")
        stated.append((vector["id"], vector["secret"], string, vector["expected_signature"]))
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


@each_vector
def test_signature_string_and_signature(vector: dict[str, Any]) -> None:
    target, body = vector["target"].encode(), content(vector, "body")
    string = signing.signature_string(vector["method"], target, vector["timestamp"], vector["nonce"], body)
    assert content(vector, "signature_string") == string
    assert vector["expected_signature"] == signing.signature(vector["secret"], string)


@each_vector
def test_valid_signatures_and_no_invalid_ones_are_what_a_server_computes(vector: dict[str, Any]) -> None:
    is_expected = vector["signature"] == vector["expected_signature"]
    match vector["result"]:
        case "valid":
            assert is_expected
        case "invalid":
            assert not is_expected
        case _:
            assert vector["signature"].lower() == vector["expected_signature"]


def test_bug_classes_go_with_results() -> None:
    """Vectors that must be accepted, that must be refused, and that are open all occur."""
    classes = {flag: note["bug_class"] for flag, note in DOCUMENT["notes"].items()}
    for vector in VECTORS:
        found = {classes[flag] for flag in vector["flags"]}
        match vector["result"]:
            case "valid":
                assert found <= {"BASIC", "FUNCTIONALITY"}, vector["id"]
            case "acceptable":
                assert "OPEN" in found, vector["id"]
            case _:
                assert found - {"BASIC", "FUNCTIONALITY", "OPEN"}, vector["id"]


def test_stated_mistakes_lead_to_the_presented_signatures() -> None:
    for name, secret, string, value in macs():
        assert signing.signature(secret, string) == value, name


VALID = [vector for vector in VECTORS if vector["result"] == "valid"]
REFUSED = [vector for vector in VECTORS if vector["result"] == "invalid"]


@pytest.mark.parametrize(
    ("feature", "member", "texts"),
    [
        ("queries in several orders", "target", ["?page=1&size=10", "?size=10&page=1"]),
        ("percent-encoding in both cases", "target", ["%3A", "%3a", "%5F", "%5f", "%5B", "%5b"]),
        ("plus signs, encoded and not", "target", ["a+b", "a%20b", "%2B"]),
        ("literal reserved characters", "target", ["00:00", "[]", "active,disabled"]),
        ("UTF-8, escapes, solidus", "body", ["東京", "🏦", "e\u0301", "\\u00e9", "\\ud83c", "\\/"]),
        ("white space", "body", ["\r\n\t", "}\n", " {"]),
    ],
)
def test_valid_vectors_cover(feature: str, member: str, texts: list[str]) -> None:
    values = [vector[member] for vector in VALID if member in vector]
    assert not [text for text in texts if not any(text in value for value in values)], feature


def test_vectors_cover_methods_lengths_and_odd_bytes() -> None:
    valid = {(vector["method"], content(vector, "body") == b"") for vector in VALID}
    assert valid >= {("GET", True), ("POST", True), ("POST", False), ("PATCH", False)}
    refused = {(vector["method"], content(vector, "body") == b"") for vector in REFUSED}
    assert refused >= {("GET", True), ("POST", False), ("PATCH", False)}
    assert [vector for vector in REFUSED if "BasePath" in vector["flags"] and content(vector, "body")]
    assert max(len(content(vector, "body")) for vector in VALID) > 4096
    assert {len(vector["secret"]) for vector in VALID} >= {1, 64, 65}
    assert not all(vector["secret"].isascii() for vector in VECTORS)
    assert sum(b"\xff" in content(vector, "body") or "body_base64" in vector for vector in VECTORS) >= 2
