"""What the specification says of a request, judged from its bytes: must be refused, must be accepted, or
open."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.contract import signing
from conformance.contract.operations import OPERATIONS
from conformance.judge import queries
from conformance.judge.forms import surely_longer
from conformance.judge.oracle import (
    ENCODED,
    FOREIGN,
    RAW,
    SIBLING,
    UNKNOWN,
    ExpectedAnswer,
    Known,
    ValidBody,
    expect,
    judge_body,
    own_path,
)
from conformance.target.file import build
from conformance.wire.messages import Auth, Call, to_json
from conformance.wire.provenance import new_key
from conformance.world import samples
from conformance.world.account import call

TARGET = build(
    {"base_url": "http://h", "primary": {"api_key": "k", "secret": "s", "customer_id": "cus_1"}}, "test"
)
BODY = samples.Samples(TARGET).beneficiary()
SOUND = ValidBody("createBeneficiary", BODY)
ACCOUNT = ValidBody("createAccount", {"name": "Savings"})
PAYIN = ValidBody(
    "createPayin", {"amount": "10.00", "currency": "USD", "payment_method": "card", "description": "x"}
)


def rules(operation: str, body: bytes | None, valid: ValidBody | None = None) -> set[str]:
    return {reason.rule for reason in judge_body(operation, body, valid).refusals}


REFUSED: list[tuple[str, Any, str]] = [
    ("createAccount", {}, "fields.required"),
    ("createAccount", {"name": None}, "fields.required-null"),
    ("createAccount", {"name": 5}, "fields.type"),
    ("createAccount", {"name": []}, "fields.type"),
    ("createAccount", {"name": "x" * 256}, "fields.max-length"),
    ("createAccount", {"name": "\u0436" * 256}, "fields.max-length"),
    ("createBeneficiary", {**BODY, "beneficiary_type": "robot"}, "fields.enum"),
    ("createBeneficiary", {**BODY, "beneficiary_type": "business"}, "fields.company-name"),
    ("createBeneficiary", {**BODY, "address": "text"}, "fields.address"),
    ("createBeneficiary", {**BODY, "country_code": "USA"}, "fields.country-code"),
    ("createBeneficiary", {**BODY, "country_code": "ZZ"}, "fields.unassigned-code"),
    ("createBeneficiary", {**BODY, "title": ["Ms"]}, "fields.optional-type"),
    ("updateBeneficiary", {"first_name": 5}, "fields.type"),
    ("createPayin", {**PAYIN.body, "amount": 10}, "fields.amount"),
    ("createPayin", {**PAYIN.body, "currency": "US"}, "fields.currency-code"),
    ("createWallet", {"currency": "USD", "network": "ethereum", "label": "x"}, "fields.currency-kind"),
    ("createPayoutDestination", {"country": "US", "type": "wallet", "currency": "USDC"}, "fields.network"),
]


@pytest.mark.parametrize(("operation", "body", "rule"), REFUSED)
def test_must_be_refused(operation: str, body: Any, rule: str) -> None:
    # A required address or amount of another type breaks the rule on types as well.
    assert rules(operation, to_json(body)) - {"fields.type"} == {rule} - {"fields.type"}
    assert rule in rules(operation, to_json(body))


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b"null", b'"x"', b'{"name": "\xff"}', b'{"name": NaN}', b"", None, b"{'a': 1}"]
)
def test_malformed_must_be_refused(body: bytes | None) -> None:
    assert rules("createAccount", body) == {"body.malformed"}


@pytest.mark.parametrize("amount", ["0", "-5.00", "-0"])
def test_payin_of_zero_or_less(amount: str) -> None:
    body = to_json({**PAYIN.body, "amount": amount})
    assert rules("createPayin", body) == {"fields.payin-amount-positive"}


@pytest.mark.parametrize(
    "amount", ["", "abc", "NaN", "Infinity", "1,00", "1.2.3", "0x10", "--1", ".", "0e9", "\u0661"]
)
def test_no_amount(amount: str) -> None:
    assert rules("createPayin", to_json({**PAYIN.body, "amount": amount})) == {"fields.amount"}


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
        {**BODY, "display_name": "Zo\u00eb 2"},
        {**BODY, "first_name": "\u0416\u0430\u043d\u043d\u0430"},
        {**BODY, "beneficiary_type": "business", "company_name": "Ltd"},
    ):
        assert judge_body("createBeneficiary", to_json(body), SOUND).plain
    longest = judge_body("createAccount", to_json({"name": "\u0436" * 255}), ACCOUNT)
    assert longest.plain and longest.longest == "name"


def test_pinned_fields_are_needed() -> None:
    valid = ValidBody("createBeneficiary", BODY, frozenset({"title"}))
    assert not judge_body(
        "createBeneficiary", to_json({name: BODY[name] for name in SOUND.needed}), valid
    ).plain
    assert not judge_body("createBeneficiary", to_json({**BODY, "title": "Dr"}), valid).plain


def test_longer_however_counted() -> None:
    assert surely_longer("x" * 21, 20) and not surely_longer("x" * 20, 20)
    assert not surely_longer("x" * 20 + " ", 20)
    assert not surely_longer("\U0001f600" * 21, 20)
    assert not surely_longer("e\u0301" * 15, 20)


# ---------------------------------------------------------------------- whole requests


def request(operation: str, body: bytes | None = None, **changes: Any) -> Call:
    """A call of an operation, with ids that nothing knows."""
    ids = {name: f"{name}_1" for name in OPERATIONS[operation].path_parameters}
    return call(operation, ids).but(body=body, **changes)


def answer(
    operation: str, body: bytes | None = None, valid: ValidBody | None = None, **changes: Any
) -> ExpectedAnswer:
    """What a call to own resources must be answered."""
    return expect(request(operation, body, **changes), TARGET, Known(own_path(operation), valid=valid))


def on_path(operation: str, **kinds: str) -> ExpectedAnswer:
    """What a call is answered some of whose path parameters name what is not the caller's."""
    path = {**dict(own_path(operation)), **kinds}
    return expect(request(operation), TARGET, Known(tuple(path.items())))


@pytest.mark.parametrize(
    ("kinds", "rule", "statuses"),
    [
        ({"account_id": FOREIGN}, "tenancy.foreign-parent", (403,)),
        ({"account_id": UNKNOWN}, "tenancy.unknown-parent", (404,)),
        ({"beneficiary_id": FOREIGN}, "tenancy.foreign-child", (404,)),
        ({"beneficiary_id": UNKNOWN}, "tenancy.missing-child", (404,)),
        ({"beneficiary_id": SIBLING}, "tenancy.sibling-child", (404,)),
    ],
)
def test_path_refusals(kinds: dict[str, str], rule: str, statuses: tuple[int, ...]) -> None:
    refusal = on_path("getBeneficiary", **kinds).refusal
    assert refusal is not None and (refusal.rule, refusal.statuses) == (rule, statuses)


def test_path_and_body_both_wrong_may_be_refused_either_way() -> None:
    known = Known((("account_id", FOREIGN),), valid=SOUND)
    refusal = expect(request("createBeneficiary", b"{"), TARGET, known).refusal
    assert refusal is not None and refusal.statuses == ()


def test_odd_paths_are_open() -> None:
    for text in ("acc_%zz", "..", "%2e%2e", "acc_1%2F..", "acc_%FF"):
        expected = on_path("listWallets", account_id=RAW + text)
        assert expected.reasons == [expected.answered]
    encoded = on_path("listWallets", account_id=ENCODED)
    assert encoded.passes[0].rule == "auth.path-as-sent" and encoded.accepted is None


#: A key that is the same in each process: tests are named by it.
KEY = "3f1c7a52-9d0e-4b68-8c17-5e2a9b4d6f03"


@pytest.mark.parametrize(
    ("key", "refused", "accepted"),
    [
        (KEY, "", "fields.accepts-valid"),
        ("not-a-uuid", "idempotency.key-invalid", ""),
        ("a" * 4000, "idempotency.key-invalid", ""),
        (KEY + "0", "idempotency.key-invalid", ""),
        (None, "idempotency.key-required", ""),
        ("ABCDEF00-0000-4000-8000-ABCDEF000000", "", "idempotency.key-other-uuids"),
        (KEY.replace("-", ""), "", ""),
        ("{" + KEY + "}", "", ""),
        ("", "", ""),
    ],
)
def test_keys(key: str | None, refused: str, accepted: str) -> None:
    expected = answer("createAccount", to_json(ACCOUNT.body), ACCOUNT, idempotency_key=key)
    assert (expected.refusal.rule if expected.refusal else "") == refused
    assert (expected.accepted.rule if expected.accepted else "") == accepted


def test_payouts_may_lack_funds() -> None:
    body = {
        "beneficiary_id": "bene_1",
        "payout_destination_id": "dest_1",
        "amount": "1.00",
        "currency": "USD",
    }
    expected = answer("createPayout", to_json(body), ValidBody("createPayout", body))
    assert expected.body.plain and expected.accepted is None


def test_other_media_types_are_open() -> None:
    assert answer("createAccount", b"{", ACCOUNT, content_type="text/plain").refusal is None


# ---------------------------------------------------------------------- authentication


NOW = 1_800_000_000

FAILURES: list[tuple[Auth, str, tuple[int, ...], str]] = [
    (Auth(omit=("X-Nonce",)), "auth.missing-header", (), "missing_headers"),
    (Auth(empty=("X-Nonce",)), "auth.empty-header", (), ""),
    (Auth(nonce=""), "auth.empty-header", (), ""),
    (Auth(api_key="K"), "auth.unknown-key", (), ""),
    (Auth(timestamp="abc"), "auth.timestamp-integer", (), ""),
    (Auth(timestamp=str(NOW - 301)), "auth.timestamp-window", (401,), "timestamp_too_old"),
    (Auth(timestamp_offset=301), "auth.timestamp-window", (401,), "timestamp_too_old"),
    (Auth(nonce="0" * 32), "auth.nonce-replay", (401,), "nonce_replay"),
    (Auth(secret=""), "auth.signature", (401,), "invalid_signature"),
    (Auth(mangle="flip"), "auth.signature", (401,), "invalid_signature"),
    (Auth(signature="0" * 64), "auth.signature", (401,), "invalid_signature"),
    (Auth(signed_method="PUT"), "auth.signed-method", (401,), "invalid_signature"),
    (Auth(signed_target="/v1/x"), "auth.signed-path", (401,), "invalid_signature"),
    (Auth(signed_timestamp="1"), "auth.signed-timestamp", (401,), "invalid_signature"),
    (Auth(signed_nonce="1"), "auth.signed-nonce", (401,), "invalid_signature"),
    (Auth(signed_body=b"{}"), "auth.signed-empty-body", (401,), "invalid_signature"),
    (Auth(separator="|"), "auth.no-separators", (401,), "invalid_signature"),
]


@pytest.mark.parametrize(("auth", "rule", "statuses", "code"), FAILURES)
def test_failures_of_authentication(auth: Auth, rule: str, statuses: tuple[int, ...], code: str) -> None:
    known = Known(own_path("listWallets"), now=NOW, nonces=["0" * 32])
    expected = expect(request("listWallets", auth=auth), TARGET, known)
    first = expected.refusals[0]
    assert (first.rule, first.statuses, first.code) == (rule, statuses, code)
    assert not expected.passes and expected.accepted is None


def test_authentication_comes_before_all_else() -> None:
    for auth, status in ((Auth(mangle="flip"), 401), (Auth(omit=("X-Nonce",)), 0)):
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


def test_reasons_say_rule_section_and_sentence() -> None:
    body = to_json(ACCOUNT.body)
    (missing, status) = answer("createAccount", body, ACCOUNT, auth=Auth(omit=("X-Nonce",))).refusals
    assert (missing.rule, missing.section[0]) == ("auth.missing-header", "5.2")
    assert missing.sentence == "a request without X-Nonce: any 4xx authentication_error/missing_headers"
    assert status.sentence == "a request without X-Nonce: 401"


def test_what_is_open_leaves_nothing_to_judge() -> None:
    for auth in (Auth(mangle="upper"), Auth(nonce=new_key()), Auth(timestamp=str(NOW))):
        expected = expect(request("getBeneficiary", auth=auth), TARGET)
        assert expected.reasons == [expected.answered]


# ---------------------------------------------------------------------- queries


@pytest.mark.parametrize(
    ("raw", "rule"),
    [
        ("", "list.envelope"),
        ("page=1&size=100", "list.echo"),
        ("size=5", "list.echo"),
        ("status=active", "list.status-filter"),
        ("start_date=2025-01-01T00:00:00Z", "list.start-date"),
        ("page=2", ""),
        ("size=0", ""),
        ("size=101", ""),
        ("x=1", ""),
        ("page=1&page=1", ""),
        ("size=%zz", ""),
        ("&", ""),
        ("start_date=2025-12-31T23:59:60Z", ""),
        ("currency=EUR", ""),
        ("size=05&x", ""),
    ],
)
def test_plain_queries(raw: str, rule: str) -> None:
    assert queries.plain_query("listWallets", queries.read(raw), "repeat") == rule


def test_brackets_style_leaves_bare_statuses_open() -> None:
    assert (
        queries.plain_query("listVirtualAccounts", queries.read("statuses=active"), "repeat")
        == "list.status-filter"
    )
    assert queries.plain_query("listVirtualAccounts", queries.read("statuses=active"), "brackets") == ""
