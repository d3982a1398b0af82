"""Every wrong construction is told from the right one, and from every other."""

from __future__ import annotations

import pytest

from conformance.contract import signing
from conformance.contract.signing_mistakes import MISTAKES, Mistake, Parts, recognized, signatures

SECRET = "c0ffee00c0ffee00"
GET = Parts(
    "GET", b"/base/v1/customers/cus_%41/accounts?size=1&page=2%20", "1742000000", "0123456789abcdef" * 2
)
SHORT = Parts("GET", b"/v1/customers/cus_a/accounts", "1742000000", "0123456789abcdef" * 2)
POST = Parts("POST", b"/v1/a", "1742000000", "ab" * 16, '{"b": "\u0436", "a": 1}'.encode())
TIGHT = Parts("POST", b"/v1/a", "1742000000", "ab" * 16, b'{"b":1,"a":[1,2]}')


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name.replace(" ", "-"))
def test_mistake_is_recognized_by_what_it_makes(mistake: Mistake) -> None:
    made = [(parts, mistake.sign(parts, SECRET)) for parts in (GET, SHORT, POST, TIGHT)]
    telling = [(parts, text) for parts, text in made if text is not None]
    assert telling
    assert any(
        [found.name for found in recognized(parts, SECRET, text)] == [mistake.name] for parts, text in telling
    )


@pytest.mark.parametrize("parts", [GET, SHORT, POST], ids=["query", "no-query", "body"])
def test_right_signature_is_no_mistake(parts: Parts) -> None:
    right = signing.signature(
        SECRET, signing.signature_string(parts.method, parts.target, parts.timestamp, parts.nonce, parts.body)
    )
    assert recognized(parts, SECRET, right) == []
    assert right not in {made for _, made in signatures(parts, SECRET)}


def test_secret_that_is_no_number_is_not_decoded() -> None:
    assert "hexadecimal secret" not in {mistake.name for mistake, _ in signatures(GET, "not hexadecimal!")}
