"""The oracle: requests that must be refused, must be accepted, or are open."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.contract import signing
from conformance.contract.operations import OPERATIONS
from conformance.contract.signing_mistakes import UPPER_CASE
from conformance.judge import queries
from conformance.judge.oracle import (
    FOREIGN,
    ExpectedAnswer,
    Known,
    ValidBody,
    expect,
    judge_body,
    own_path,
)
from conformance.target.file import build
from conformance.wire.forms import new_key
from conformance.wire.messages import Auth, Call, to_json
from conformance.world import samples
from conformance.world.calls import call

TARGET = build(
    {"base_url": "http://h", "primary": {"api_key": "k", "secret": "s", "customer_id": "cus_1"}}, "test"
)
BODY = samples.Samples(TARGET).beneficiary()
SOUND = ValidBody("createBeneficiary", BODY)
ACCOUNT = ValidBody("createAccount", {"name": "Savings"})
PAYIN = ValidBody(
    "createPayin", {"amount": "10.00", "currency": "USD", "payment_method": "card", "description": "x"}
)


OPEN: list[tuple[str, bytes]] = [
    ("createAccount", b'{"name": "a", "name": "b"}'),
    ("createAccount", b'{"name": ""}'),
    ("createAccount", b'{"name": "\\u0000"}'),
    ("createAccount", b'{"name": "\\ud800"}'),
    ("createAccount", b'{"name": "x", "unknown": 1}'),
    ("createAccount", b"\xef\xbb\xbf" + b'{"name": "x"}'),
    ("createAccount", b"[" * 100_000),
    ("createAccount", json.dumps({"name": "\U0001f600" * 200}).encode()),
    ("createAccount", json.dumps({"name": " " + "x" * 255}).encode()),
    ("createAccount", json.dumps({"name": "e\u0301" * 200}).encode()),
    ("createBeneficiary", to_json({**BODY, "country_code": "us"})),
    ("createBeneficiary", to_json({**BODY, "email": "not an address"})),
    ("createBeneficiary", to_json({**BODY, "address": {}})),
    ("createBeneficiary", to_json({**BODY, "title": None})),
    ("createVirtualAccount", b'{"currency": "USD", "label": "x", "address": ""}'),
    ("createBeneficiary", to_json({**BODY, "country_code": "FR"})),
    ("updateBeneficiary", b"{}"),
    ("updateBeneficiary", b""),
    ("createPayin", to_json({**PAYIN.body, "amount": "1e2"})),
    ("createPayin", to_json({**PAYIN.body, "amount": "+1.00"})),
]


@pytest.mark.parametrize(("operation", "body"), OPEN)
def test_open(operation: str, body: bytes) -> None:
    valid = {"createAccount": ACCOUNT, "createPayin": PAYIN}.get(operation, SOUND)
    verdict = judge_body(operation, body, valid)
    assert not verdict.refusals and not verdict.plain


def test_must_be_accepted() -> None:
    short = {name: BODY[name] for name in SOUND.needed}
    for body in (
        BODY,
        short,
        {**BODY, "display_name": "Zoe"},
        {**BODY, "first_name": "Anna", "note": "page 2"},
        {**BODY, "beneficiary_type": "business", "company_name": "Ltd"},
    ):
        assert judge_body("createBeneficiary", to_json(body), SOUND).plain
    longest = judge_body("createAccount", to_json({"name": "z" * 255}), ACCOUNT)
    assert longest.plain and longest.longest == "name"


# ---------------------------------------------------------------------- whole requests


def request(operation: str, body: bytes | None = None, **changes: Any) -> Call:
    """Returns a call of an operation with unknown ids."""
    ids = {name: f"{name}_1" for name in OPERATIONS[operation].path_parameters}
    return call(operation, ids).but(body=body, **changes)


def answer(
    operation: str, body: bytes | None = None, valid: ValidBody | None = None, **changes: Any
) -> ExpectedAnswer:
    """Returns the expected answer to a call on own resources."""
    return expect(request(operation, body, **changes), TARGET, Known(own_path(operation), valid=valid))


@pytest.mark.parametrize(
    ("operation", "body", "valid", "statuses"),
    [
        ("createBeneficiary", b"{", SOUND, ()),
        ("createPayin", to_json(PAYIN.body), PAYIN, (403,)),
        # A server may know few payment methods, and look at the body first.
        ("createPayin", to_json({**PAYIN.body, "payment_method": "b"}), PAYIN, ()),
    ],
)
def test_path_and_body_both_wrong_may_be_refused_either_way(
    operation: str, body: bytes, valid: ValidBody, statuses: tuple[int, ...]
) -> None:
    known = Known((("account_id", FOREIGN),), valid=valid)
    refusal = expect(request(operation, body), TARGET, known).refusal
    assert refusal is not None and refusal.statuses == statuses


#: Constant, since it is part of test ids, which must be equal in all processes.
KEY = "3f1c7a52-9d0e-4b68-8c17-5e2a9b4d6f03"


REFUSED, ACCEPTED = "idempotency.key-invalid", "fields.accepts-valid"


@pytest.mark.parametrize(
    ("key", "rules"),
    [
        (KEY, [ACCEPTED]),
        ("ABCDEF00-0000-4000-8000-ABCDEF000000", ["idempotency.key-other-uuids"]),
        (None, ["idempotency.key-required"]),
        *((key, [REFUSED]) for key in ("not-a-uuid", "a" * 4000, KEY + "0", f"{KEY}\n", f"{KEY}\u00a0")),
        *((key, [REFUSED]) for key in (f"({KEY})", KEY[:-1], "1-2345678-9abc-def0-1234-56789abcdef0")),
        *((key, []) for key in (KEY.replace("-", ""), "{" + KEY + "}", f"urn:uuid:{KEY}", "")),
    ],
)
def test_keys(key: str | None, rules: list[str]) -> None:
    expected = answer("createAccount", to_json(ACCOUNT.body), ACCOUNT, idempotency_key=key)
    assert [found.rule for found in (expected.refusal, expected.accepted) if found] == rules


# ---------------------------------------------------------------------- authentication


NOW = 1_800_000_000


def test_authentication_comes_before_all_else() -> None:
    for auth, status in ((Auth(mistake="other middle digit"), 401), (Auth(omit=("X-Nonce",)), 0)):
        expected = answer("createAccount", b"{", auth=auth)
        assert [reason.rule for reason in expected.refusals][-1] == "auth.comes-first"
        assert "body.malformed" not in {reason.rule for reason in expected.refusals}
        assert expected.refusals[-1].statuses == ((status,) if status else ())


def test_a_request_signed_as_sent_passes() -> None:
    plain = request("listWallets").with_query("size=2")
    timestamp, nonce = str(NOW), "0" * 32
    string = signing.signature_string("GET", plain.target.encode(), timestamp, nonce, b"")
    signature = signing.signature(TARGET.primary.secret, string)
    sent = plain.signed(api_key="k", timestamp=timestamp, nonce=nonce, signature=signature)
    expected = expect(sent, TARGET, Known(own_path("listWallets"), now=NOW + 5))
    assert not expected.refusals
    assert expected.accepted is not None and expected.accepted.rule == "list.echo"
    assert "auth.query-as-sent" in {reason.rule for reason in expected.passes}


def test_an_open_request_judges_no_rule() -> None:
    for auth in (Auth(mistake=UPPER_CASE), Auth(nonce=new_key()), Auth(timestamp=str(NOW))):
        expected = expect(request("getBeneficiary", auth=auth), TARGET)
        assert expected.reasons == [expected.answered]


# ---------------------------------------------------------------------- queries


PLAIN = {
    "": "list.envelope",
    "page=1&size=100": "list.echo",
    "size=5": "list.echo",
    "status=active": "list.status-filter",
    "start_date=2025-01-01T00:00:00Z": "list.start-date",
    "start_date=2025-01-01T00:00:00Z&end_date=2025-01-01T00:00:01Z": "list.end-date",
}

#: Open, or no sooner decided than the list is known.
NOT_PLAIN = """
    page=2 size=0 size=101 size=01 page=01&size=010 size=05&x size=%zz size=%D9%A5 page=1&page=1 x=1 &
    currency=EUR statuses=active
    start_date=2025-01-01T24:00:00Z start_date=2025-01-01T00:00:00.0Z start_date=2025-12-31T23:59:60Z
    start_date=2025-01-01T00:00:00Z&end_date=2025-01-01T00:00:00Z
    end_date=2025-01-01T00:00:00Z&size=5&start_date=2025-01-02T00:00:00Z
"""


@pytest.mark.parametrize("raw", [*PLAIN, *NOT_PLAIN.split()])
def test_plain_queries(raw: str) -> None:
    assert queries.plain_query("listWallets", queries.read(raw), "repeat") == PLAIN.get(raw, "")
