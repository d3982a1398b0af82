"""The signing vectors, and the diagnosis of wrong signatures: each usual mistake is named, and no valid
signature is one."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from conformance.cli.main import main
from conformance.contract import signing
from conformance.contract.documents import SPEC
from conformance.contract.signing_mistakes import MISTAKES, Mistake, Parts, explained, signatures
from tests.support.vectors import DOCUMENT, VECTORS, content

# ---------------------------------------------------------------------- the vectors

SIGNED, ORIGIN = ("method", "target", "timestamp", "nonce", "api_key"), b"https://api.example.com"


def sent(vector: dict[str, Any]) -> Parts:
    method, target, timestamp, nonce, key = (vector[name] for name in SIGNED)
    return Parts(method, target.encode(), timestamp, nonce, content(vector, "body"), key, ORIGIN)


def test_vectors_fit_their_schema() -> None:
    schema = json.loads((SPEC / "signing-vectors.schema.json").read_bytes())
    Draft202012Validator.check_schema(schema)
    assert [error.message for error in Draft202012Validator(schema).iter_errors(DOCUMENT)] == []


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_a_vector_is_what_it_says(vector: dict[str, Any]) -> None:
    """Its strings, its signatures, its verdict and its kinds of bugs agree with each other and the suite."""
    found = explained(sent(vector), vector["secret"], vector["signature"])
    assert found.signature == vector["expected_signature"]
    assert found.string == content(vector, "signature_string")
    is_right = vector["signature"] == vector["expected_signature"]
    assert (found.text == "") is is_right
    assert found.is_open is (vector["result"] == "acceptable" and not is_right)
    if {"signed_string", "signed_string_base64", "signed_secret"} & vector.keys():
        stated = {"signed_string", "signed_string_base64"} & vector.keys()
        string = content(vector, "signed_string" if stated else "signature_string")
        secret = vector.get("signed_secret", vector["secret"])
        assert signing.signature(secret, string) == vector["signature"]
        if found.mistake and found.signed is not None:
            assert found.signed == string
    kinds = {DOCUMENT["notes"][flag]["bug_class"] for flag in vector["flags"]}
    match vector["result"]:
        case "valid":
            assert is_right and kinds <= {"BASIC", "FUNCTIONALITY"}
        case "invalid":
            assert not is_right and kinds - {"BASIC", "FUNCTIONALITY", "OPEN"}
        case _:
            assert vector["signature"].lower() == vector["expected_signature"] and "OPEN" in kinds


def test_most_mistakes_of_vectors_are_named() -> None:
    """Some are too rare to be rows, such as a header signed as well."""
    wrong = [vector for vector in VECTORS if vector["result"] == "invalid"]
    named = [each for each in wrong if explained(sent(each), each["secret"], each["signature"]).mistake]
    assert len(named) >= 59


# ---------------------------------------------------------------------- mistakes

TIME, NONCE = "1741079889", "c2" * 16
LIST = Parts("GET", b"/api/v1/customers/cus_%5Fa/accounts?size=1&page=2&q=a+b", TIME, NONCE, b"", "key")
CREATE = Parts("POST", b"/v1/customers/cus_a/accounts", TIME, NONCE, b'{"b": "\xc3\xa9", "a": 1}\n')
UUID = "0f8fad5b-d9cb-469f-a165-70867728950E"
REQUESTS = (
    LIST,
    CREATE,
    Parts("GET", b"/v1/x?a=%3a&b=%20&c=", TIME, UUID, b"", "key", b"http://h"),
    Parts("PATCH", b"/v1/x?t=00:00", TIME, NONCE, b'{"a":"e\xcc\x81\xff"}', "key"),
    Parts("PATCH", b"/v1/x", TIME, NONCE, b" no JSON\n", "key"),
    Parts("PATCH", b"/v1/x", TIME, NONCE, b'{"a":"e\xcc\x81"}', "key"),
    Parts("GET", b"/v1/x?a=b+c&d=%20&e=%C3", TIME, NONCE),
)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_every_mistake_is_named(mistake: Mistake) -> None:
    """Mistakes that make the same signature share the name of the first."""
    named = []
    for secret in ("c0ffee\u00e9 ", "c0ffee00c0ffee00", "C0FFEE"):
        for parts in REQUESTS:
            wrong = mistake.sign(parts, secret)
            if wrong is not None:
                found = explained(parts, secret, wrong)
                assert found.mistake, wrong
                named.append(found.mistake)
                assert found.signed in (None, found.mistake.signed(parts))
    assert mistake in named


def test_right_signature_is_no_mistake() -> None:
    for parts in REQUESTS:
        right = signing.signature("secret", parts.string())
        assert right not in {wrong for _, wrong in signatures(parts, "secret")}


@pytest.mark.parametrize("signature", ["", "0" * 64, "zz", "sha256=", "\u00e9" * 64, "=" * 9])
def test_unrelated_signatures_have_no_explanation(signature: str) -> None:
    found = explained(LIST, "secret", signature)
    assert found.text and not found.mistake
    assert ("64 hexadecimal digits" in found.text) is (signature != "0" * 64)


# ---------------------------------------------------------------------- the commands

VECTOR = next(vector for vector in VECTORS if vector["id"] == "post-compact")
PAGE = (SPEC / "signing.md").read_text("utf-8")
SENT = ["POST", f"https://api.example.com{VECTOR['target']}"]
SENT += [word for name in ("secret", "timestamp", "nonce", "body") for word in (f"--{name}", VECTOR[name])]


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PRIMARY_API_KEY", "PRIMARY_SECRET", "TARGET"):
        monkeypatch.delenv(f"CONFORMANCE_{name}", raising=False)


def test_sign_prints_string_and_headers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sign", *SENT, "--api-key", VECTOR["api_key"]]) == 0
    output = capsys.readouterr().out
    assert output.startswith(f"string to sign:\n{VECTOR['signature_string']}\n")
    assert f"X-Signature: {VECTOR['signature']}\n" in output and "Idempotency-Key: " in output
    assert VECTOR["secret"] not in output


def test_the_page_shows_what_the_command_says(capsys: pytest.CaptureFixture[str]) -> None:
    example = re.search(r"    conformance (explain-signature (?:.*\\\n)+.*\n)\n    (.+)\n", PAGE)
    assert example is not None
    words = shlex.split(example[1].replace("\\\n", " "))
    assert main(words) == 1
    output = capsys.readouterr().out
    assert output.split("\n")[0] == example[2]
    assert f"right signature   {words[-1]}" not in output and VECTOR["secret"] not in output


@pytest.mark.parametrize(
    ("signed", "said"),
    [
        (VECTOR["signature_string"], "the string that was signed is right"),
        (
            "POST/v1/elsewhere" + VECTOR["signature_string"][-70:],
            "the target was signed otherwise than it is sent",
        ),
    ],
)
def test_what_was_signed_is_compared(signed: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain-signature", *SENT, "--signature", "0" * 64, "--signed", signed]) == 1
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("GET /v1/x", "no secret: give --target FILE"),
        ("GET /v1/x --secret s", "/v1/x is a path"),
        ("GET ftp://h/x --secret s", "is not a URL that begins with http"),
        ("GET 'http://h/a b' --secret s", "' ' cannot stand in a URL"),
        ("GET http://h/\u00e9 --secret s", "cannot stand in a URL"),
        ("POST http://h/x --secret s --body-file 'no such file'", "--body-file: No such file"),
        ("GET http://h/x --target 'no such file'", "no such file"),
        ("GET http://h/x --secret s --mistake 'no qeury'", "did you mean no query?"),
        ("GET http://h/x --secret s --mistake 'no query'", "'no query' changes nothing"),
        ("GET http://h/x --secret s --signed secret=x", "should begin with target=, nonce="),
        ("GET http://h/x --secret s --header X-Nonce", "of the form 'Name: value'"),
    ],
)
def test_wrong_usage_is_explained(words: str, complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sign", *shlex.split(words)]) == 2
    assert complaint in capsys.readouterr().err
