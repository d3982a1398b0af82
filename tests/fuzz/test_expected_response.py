"""What the specification says of a request, judged from its bytes: must be refused, must be accepted, or
open."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.fuzz.schema.bodies import ValidBody, judge_body
from conformance.fuzz.schema.cases import ENCODED, FOREIGN, RAW, SIBLING, UNKNOWN, Case, Key, own_path
from conformance.fuzz.schema.expected_response import expect
from conformance.fuzz.schema.mutations import KEYS
from conformance.judge import queries
from conformance.target.file import build
from conformance.wire.messages import to_json
from conformance.world import samples
from conformance.world.corpora.forms import surely_longer

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
    ("createPayoutDestination", {"country": "US", "type": "wallet", "currency": "USDC"}, "fields.network"),
]


@pytest.mark.parametrize(("operation", "body", "rule"), REFUSED)
def test_must_be_refused(operation: str, body: Any, rule: str) -> None:
    assert rules(operation, to_json(body)) == {rule}


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b"null", b'"x"', b'{"name": "\xff"}', b'{"name": NaN}', b"", None, b"{'a': 1}"]
)
def test_malformed_must_be_refused(body: bytes | None) -> None:
    assert rules("createAccount", body) == {"body.malformed"}


@pytest.mark.parametrize("amount", ["0", "-5.00", "-0"])
def test_payin_of_zero_or_less(amount: str) -> None:
    body = to_json({**PAYIN.body, "amount": amount})
    assert rules("createPayin", body) == {"fields.payin-amount-positive"}


@pytest.mark.parametrize("amount", ["", "abc", "NaN", "Infinity", "1,00", "1.2.3", "0x10", "--1", ".", "0e9"])
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
    ("createPayin", to_json({**PAYIN.body, "amount": "\u0661"})),
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


def case(operation: str, **changes: Any) -> Case:
    return Case(operation, "test", **{"path": own_path(operation), **changes})


def test_path_refusals() -> None:
    path = {name: dict(own_path("getBeneficiary")) for name in ("parent", "child")}
    for kind, rule, statuses in (
        (FOREIGN, "tenancy.foreign-parent", (403,)),
        (UNKNOWN, "tenancy.unknown-parent", (404,)),
    ):
        expected, _ = expect(
            case("getBeneficiary", path=tuple({**path["parent"], "account_id": kind}.items())),
            None,
            None,
            TARGET,
        )
        assert expected.refusal is not None and (expected.refusal.rule, expected.refusal.statuses) == (
            rule,
            statuses,
        )
    for kind, rule in (
        (FOREIGN, "tenancy.foreign-child"),
        (UNKNOWN, "tenancy.missing-child"),
        (SIBLING, "tenancy.sibling-child"),
    ):
        expected, _ = expect(
            case("getBeneficiary", path=tuple({**path["child"], "beneficiary_id": kind}.items())),
            None,
            None,
            TARGET,
        )
        assert expected.refusal is not None and (expected.refusal.rule, expected.refusal.statuses) == (
            rule,
            (404,),
        )


def test_path_and_body_both_wrong_may_be_refused_either_way() -> None:
    path = (("account_id", FOREIGN),)
    expected, _ = expect(case("createBeneficiary", path=path, body=b"{"), b"{", SOUND, TARGET)
    assert expected.refusal is not None and expected.refusal.statuses == ()


def test_odd_paths_are_open() -> None:
    for text in ("acc_%zz", "..", "%2e%2e", "acc_1%2F..", "acc_%FF"):
        expected, _ = expect(case("listWallets", path=(("account_id", RAW + text),)), None, None, TARGET)
        assert expected.refusal is None and expected.accepted is None and expected.authenticates == ""
    encoded, _ = expect(case("listWallets", path=(("account_id", ENCODED),)), None, None, TARGET)
    assert encoded.authenticates == "auth.path-as-sent" and encoded.accepted is None


def test_keys() -> None:
    body = to_json(ACCOUNT.body)

    def outcome(key: Key) -> tuple[str, str]:
        expected, _ = expect(case("createAccount", body=body, key=key), body, ACCOUNT, TARGET)
        return (
            expected.refusal.rule if expected.refusal else "",
            expected.accepted.rule if expected.accepted else "",
        )

    assert outcome(Key()) == ("", "fields.accepts-valid")
    assert outcome(KEYS["word"]()) == ("idempotency.key-invalid", "")
    assert outcome(KEYS["none"]()) == ("idempotency.key-required", "")
    assert outcome(KEYS["upper case"]()) == ("", "idempotency.key-other-uuids")
    assert outcome(KEYS["no hyphens"]()) == ("", "")


def test_payouts_may_lack_funds() -> None:
    body = {
        "beneficiary_id": "bene_1",
        "payout_destination_id": "dest_1",
        "amount": "1.00",
        "currency": "USD",
    }
    sent = to_json(body)
    expected, verdict = expect(case("createPayout", body=sent), sent, ValidBody("createPayout", body), TARGET)
    assert verdict.plain and expected.accepted is None


def test_other_media_types_are_open() -> None:
    expected, _ = expect(case("createAccount", body=b"{", content_type="text/plain"), b"{", ACCOUNT, TARGET)
    assert expected.refusal is None


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
