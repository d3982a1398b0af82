"""Values that a server may want unique are new in every request that it must accept; nothing else changes."""

from __future__ import annotations

import json

import pytest

from conformance.fuzz.schema.own_values import marked, owned, renewed
from conformance.judge.oracle import ValidBody, judge_body
from conformance.world.samples import marker

SAMPLE = {
    "first_name": "Ada",
    "last_name": "Lovelace",
    "display_name": "Ada Lovelace",
    "email": "ada.1@example.com",
    "phone": "+12025550123",
    "tax_id": "123456789",
    "address": {"city": "X"},
    "country_code": "US",
}
FRESH = {**SAMPLE, "email": "ada.2@example.com", "phone": "+12025550124", "tax_id": "987654321"}
VALID = ValidBody("createBeneficiary", SAMPLE)


def test_sample_values_are_renewed_wherever_they_stand() -> None:
    body = json.dumps({**SAMPLE, "note": "z"}, ensure_ascii=False).encode()
    valid, sent = renewed(VALID, body, FRESH)
    assert json.loads(sent) == {**FRESH, "note": "z"}
    assert valid.body == FRESH
    assert judge_body("createBeneficiary", sent, valid).plain


def test_mutated_bytes_stay_mutated() -> None:
    body = json.dumps(SAMPLE).encode()[:-1] + b"\xff"
    _, sent = renewed(VALID, body, FRESH)
    assert sent.endswith(b"\xff") and b"ada.1" not in sent


def test_generated_values_carry_a_word_and_keep_their_length_at_the_limit() -> None:
    valid = ValidBody("createAccount", {"name": "Conformance"})
    for name in ("z", "a b", "x" * 255, "z" * 250):
        document = {"name": name}
        for escaped in (False, True):
            sent = marked(valid, json.dumps(document, ensure_ascii=escaped).encode(), document)
            assert sent is not None
            verdict = judge_body("createAccount", sent, valid)
            assert verdict.plain and verdict.document is not None
            assert verdict.document["name"] != name
            assert len(verdict.document["name"]) == len(name) + (
                len(f" {marker()}") if len(name) < 230 else 0
            )


def test_generated_addresses_stay_plain() -> None:
    document = {**SAMPLE, "email": "z@example.com"}
    sent = marked(VALID, json.dumps(document).encode(), document)
    assert sent is not None
    again = marked(VALID, json.dumps(document).encode(), document)
    assert judge_body("createBeneficiary", sent, VALID).plain
    assert sent != again


def test_what_cannot_be_told_in_the_bytes_is_left_alone() -> None:
    document = {"name": "a/b"}
    assert marked(ValidBody("createAccount", {"name": "x"}), rb'{"name": "a\/b"}', document) is None


def test_fresh_sample_is_the_servers_own() -> None:
    body = {**FRESH, "note": "Hello"}
    assert owned(VALID, body).body == FRESH
    assert judge_body("createBeneficiary", json.dumps(body).encode(), owned(VALID, body)).plain


@pytest.mark.parametrize(
    ("name", "text"), [("note", "\u0436"), ("display_name", "Ada 1"), ("last_name", "Zo\u00eb")]
)
def test_other_scripts_and_digits_in_names_may_be_refused(name: str, text: str) -> None:
    verdict = judge_body("createBeneficiary", json.dumps({**SAMPLE, name: text}).encode(), VALID)
    assert not verdict.plain and not verdict.refusals
