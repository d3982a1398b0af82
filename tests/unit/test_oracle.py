"""The oracle: bodies, keys and paths that are open or not, and queries that every server must accept.

Faults and variants prove the rest.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.contract.operations import OPERATIONS
from conformance.judge import queries
from conformance.judge.oracle import FOREIGN, ExpectedAnswer, Known, ValidBody, expect, judge_body, own_path
from conformance.target.file import build
from conformance.wire.messages import to_json
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


# ---------------------------------------------------------------------- whole requests


def expected(operation: str, body: bytes, known: Known, **changes: Any) -> ExpectedAnswer:
    """Returns the expected answer to a call with unknown ids."""
    ids = {name: f"{name}_1" for name in OPERATIONS[operation].path_parameters}
    return expect(call(operation, ids).but(body=body, **changes), TARGET, known)


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
    refusal = expected(operation, body, known).refusal
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
    known = Known(own_path("createAccount"), valid=ACCOUNT)
    answer = expected("createAccount", to_json(ACCOUNT.body), known, idempotency_key=key)
    assert [each.rule for each in (answer.refusal, answer.accepted) if each] == rules


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


@pytest.mark.parametrize("raw", [*PLAIN, "page=1;size=2", "page=1&x=a;size=2"])
def test_a_semicolon_separates_parameters_to_some_servers(raw: str) -> None:
    assert queries.read(raw).readable == (raw in PLAIN)
