"""Diagnosis of wrong signatures: each usual mistake is named, and no valid signature is one."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest

from conformance.cli.main import main
from conformance.contract import signing
from conformance.contract.rules import SPEC
from conformance.contract.signing_mistakes import MISTAKES, Mistake, Parts, explained, signatures
from tests.support.vectors import VECTORS, content

SECRET = "vector-secret-4f9b2c7e1a8d3605"


def sent(vector: dict[str, Any]) -> Parts:
    return Parts(
        vector["method"],
        vector["target"].encode(),
        vector["timestamp"],
        vector["nonce"],
        content(vector, "body"),
        vector["api_key"],
        b"https://api.example.com",
    )


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_every_vector_is_explained(vector: dict[str, Any]) -> None:
    found = explained(sent(vector), vector["secret"], vector["signature"])
    assert found.signature == vector["expected_signature"]
    assert found.string == content(vector, "signature_string")
    assert (found.text == "") is (vector["signature"] == vector["expected_signature"])
    assert found.is_open is (vector["result"] == "acceptable" and found.text != "")
    if found.mistake and found.signed is not None and "signed_string" in vector:
        assert found.signed == content(vector, "signed_string")


def test_most_mistakes_of_vectors_are_named() -> None:
    """Some are too rare to be rows, such as a header signed as well."""
    wrong = [vector for vector in VECTORS if vector["result"] == "invalid"]
    named = [each for each in wrong if explained(sent(each), each["secret"], each["signature"]).mistake]
    assert len(named) >= 59


LIST = Parts(
    "GET", b"/api/v1/customers/cus_%5Fa/accounts?size=1&page=2&q=a+b", "1741079889", "a0" * 16, b"", "key"
)
CREATE = Parts(
    "POST", b"/v1/customers/cus_a/accounts", "1741079889", "b1" * 16, b'{"b": "\xc3\xa9", "a": 1}\n'
)
UUID = Parts(
    "GET",
    b"/v1/x?a=%3a&b=%20&c=",
    "1741079889",
    "0f8fad5b-d9cb-469f-a165-70867728950E",
    b"",
    "key",
    b"http://h",
)
RAW = Parts("PATCH", b"/v1/x?t=00:00", "1741079889", "c2" * 16, b'{"a":"e\xcc\x81\xff"}', "key")
TEXT = Parts("PATCH", b"/v1/x", "1741079889", "c2" * 16, b" no JSON\n", "key")
PLUS = Parts("GET", b"/v1/x?a=b+c&d=%20&e=%C3", "1741079889", "c2" * 16)
DECOMPOSED = Parts("PATCH", b"/v1/x", "1741079889", "c2" * 16, b'{"a":"e\xcc\x81"}', "key")


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_every_mistake_is_named(mistake: Mistake) -> None:
    """Mistakes that make the same signature share the name of the first."""
    named = []
    for secret in ("c0ffee\u00e9 ", "c0ffee00c0ffee00", "C0FFEE"):
        for parts in (LIST, CREATE, UUID, RAW, TEXT, DECOMPOSED, PLUS):
            made = mistake.sign(parts, secret)
            if made is not None:
                found = explained(parts, secret, made)
                assert found.mistake, made
                named.append(found.mistake)
                if found.signed is not None:
                    assert found.signed == found.mistake.signed(parts)
    assert mistake in named


@pytest.mark.parametrize("parts", [LIST, CREATE, UUID, RAW, TEXT])
def test_right_signature_is_no_mistake(parts: Parts) -> None:
    right = signing.signature(SECRET, parts.string())
    assert right not in {made for _, made in signatures(parts, SECRET)}


@pytest.mark.parametrize("signature", ["", "0" * 64, "zz", "sha256=", "\u00e9" * 64, "=" * 9])
def test_unrelated_signatures_have_no_explanation(signature: str) -> None:
    found = explained(LIST, SECRET, signature)
    assert found.text and not found.mistake
    assert ("64 hexadecimal digits" in found.text) is (signature != "0" * 64)


# ---------------------------------------------------------------------- the commands

REQUEST = ("POST", "https://api.example.com/v1/customers/cus_5d8w1r6t3y0p/accounts", "--secret", SECRET)
SENT = (*REQUEST, "--timestamp", "1741079889", "--nonce", "aa2f08ed119306d3382cb7fbd63a885d")
RIGHT = "7703028e44602b379198cd0e3e977908742bed0dc635c6d4038fb192490492f5"
BODY = '{"name":"Operating account"}'


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("API_KEY", "SECRET"):
        monkeypatch.delenv(f"CONFORMANCE_PRIMARY_{name}", raising=False)
    monkeypatch.delenv("CONFORMANCE_TARGET", raising=False)


def test_sign_prints_string_and_headers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sign", *SENT, "--api-key", "vector-key-7d21c0", "--body", BODY]) == 0
    shown = capsys.readouterr().out
    vector = next(vector for vector in VECTORS if vector["id"] == "post-compact")
    assert shown.startswith(f"string to sign:\n{vector['signature_string']}\n")
    assert f"X-Signature: {RIGHT}\n" in shown and "Idempotency-Key: " in shown
    assert SECRET not in shown


def test_explain_signature_names_the_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    spaced = ("--body", BODY.replace(":", ": "))
    assert main(["explain-signature", *SENT, *spaced, "--signature", RIGHT]) == 1
    shown = capsys.readouterr().out
    wrong = "The signature is wrong: the client reads the body as JSON and writes it again without spaces.\n"
    assert shown.startswith(wrong) and f"right signature   {RIGHT}" not in shown and SECRET not in shown


def test_the_page_shows_what_the_command_says(capsys: pytest.CaptureFixture[str]) -> None:
    page = (SPEC / "signing.md").read_text("utf-8")
    command, answer = re.search(
        r"    conformance (explain-signature (?:.*\\\n)+.*\n)\n    (.+)\n", page
    ).groups()  # type: ignore[union-attr]
    assert main(shlex.split(command.replace("\\\n", " "))) == 1
    assert capsys.readouterr().out.split("\n")[0] == answer


def test_explain_signature_compares_with_what_was_signed(capsys: pytest.CaptureFixture[str]) -> None:
    vector = next(vector for vector in VECTORS if vector["id"] == "post-compact")
    words = ["explain-signature", *SENT, "--body", BODY, "--signature", "0" * 64]
    assert main([*words, "--signed", vector["signature_string"]]) == 1
    assert "the string that was signed is right" in capsys.readouterr().out
    assert main([*words, "--signed", "POST/v1/elsewhere" + vector["signature_string"][-70:]]) == 1
    assert "the target was signed otherwise than it is sent" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["GET", "/v1/x"], "no secret: give --target FILE"),
        (["GET", "/v1/x", "--secret", "s"], "/v1/x is a path"),
        (["GET", "ftp://h/x", "--secret", "s"], "is not a URL that begins with http"),
        (["GET", "http://h/a b", "--secret", "s"], "' ' cannot stand in a URL"),
        (["GET", "http://h/\u00e9", "--secret", "s"], "cannot stand in a URL"),
        (["POST", "http://h/x", "--secret", "s", "--body-file", "no such file"], "--body-file: No such file"),
        (["GET", "http://h/x", "--target", "no such file"], "no such file"),
        (["GET", "http://h/x", "--secret", "s", "--mistake", "no qeury"], "did you mean no query?"),
        (["GET", "http://h/x", "--secret", "s", "--mistake", "no query"], "'no query' changes nothing"),
        (["GET", "http://h/x", "--secret", "s", "--signed", "secret=x"], "should begin with target=, nonce="),
        (["GET", "http://h/x", "--secret", "s", "--header", "X-Nonce"], "of the form 'Name: value'"),
    ],
)
def test_wrong_usage_is_explained(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sign", *words]) == 2
    assert complaint in capsys.readouterr().err
