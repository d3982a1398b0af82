"""Two values of a member mean the same exactly where the specification leaves their form open."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.judge.comparison import (
    alike,
    differences,
    found_again,
    identifiers,
    objects,
    same_account,
    same_amount,
    sent_document,
    shown,
)
from conformance.wire.messages import MISSING
from tests.support.report_samples import exchange

ADDRESS = {"address_line": "1 Main Street", "city": "X", "region": "Y", "postal_code": "1", "country": "US"}


@pytest.mark.parametrize(
    ("name", "got", "expected", "same"),
    [
        ("created", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000Z", True),
        ("created", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.999Z", True),
        ("created", "2026-01-01T00:00:00.999Z", "2026-01-01T00:00:01Z", True),
        ("created", "2026-01-01T00:00:01Z", "2026-01-01T00:00:00.499Z", False),
        ("created", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01.001Z", False),
        ("created", "2026-01-01T00:00:00.123Z", "2026-01-01T00:00:00.124Z", False),
        ("created", "2026-01-01T00:00:00.1236Z", "2026-01-01T00:00:00.124Z", True),
        ("created", "yesterday", "2026-01-01T00:00:00Z", False),
        ("account_id", "acct_1", "acc_1", True),
        ("account_id", "acc_1", "acc_2", False),
        ("id", "acct_1", "acc_1", False),
        ("address", {**ADDRESS, "extra": 1}, ADDRESS, True),
        ("address", {**ADDRESS, "city": "Z"}, ADDRESS, False),
        ("address", {name: ADDRESS[name] for name in ("city", "country")}, ADDRESS, False),
        ("address", "1 Main Street", ADDRESS, False),
        ("payout_destinations", [{"id": "b"}, {"id": "a"}], [{"id": "a"}, {"id": "b"}], True),
        ("payout_destinations", [{"id": "a"}], [{"id": "a"}, {"id": "a"}], False),
        ("payout_destinations", [[]], [], False),
        ("verified", 0, False, False),
        ("title", None, None, True),
        ("title", "", None, False),
        ("note", MISSING, None, False),
    ],
)
def test_alike(name: str, got: Any, expected: Any, same: bool) -> None:
    assert alike("getBeneficiary", name, got, expected) is same


def test_members_that_are_not_documented_make_no_difference() -> None:
    """At any depth, whether they are added, changed or gone."""
    wallet = {"id": "wal_1", "addresses": [{"address": "a", "tag": None}], "label": None}
    more = {
        "etag": 1,
        "id": "wal_1",
        "addresses": [{"address": "a", "tag": None, "age": 5}],
    }
    assert differences("createWallet", more, wallet) == []
    other = {**wallet, "id": "wal_2", "addresses": [{"address": "b", "tag": None}]}
    assert [name for name, _, _ in differences("createWallet", other, wallet)] == ["id", "addresses"]
    assert differences("createWallet", other, wallet, but=("id", "addresses")) == []
    assert [name for name, _, _ in differences("createWallet", [], wallet)] == [""]


def test_an_account_is_named_by_its_balances() -> None:
    assert alike("getAccountBalances", "id", "acct_1", "acc_1")


@pytest.mark.parametrize(
    ("got", "expected", "same"),
    [
        ("1", "1.00", True),
        ("1.0000000000000000000000000000001", "1", False),
        ("one", "1", False),
        (1, "1", False),
        ("1" + "0" * 40, "1" + "0" * 40 + ".1", False),
    ],
)
def test_same_amount(got: Any, expected: Any, same: bool) -> None:
    assert same_amount(got, expected) is same


@pytest.mark.parametrize(
    "value", [MISSING, None, 1, "text", {"id": "a"}, [1], [{"id": []}], [{}], [{"id": 1}, {"id": "a"}]]
)
def test_what_is_no_array_of_resources_has_no_identifiers(value: Any) -> None:
    assert identifiers(value) is None
    assert all(isinstance(member, dict) for member in objects(value))


def test_no_account_is_no_account() -> None:
    assert not same_account(None, None)
    assert not same_account("acc_1", MISSING)


def test_a_missing_member_is_said_to_be_missing() -> None:
    assert (shown(MISSING), shown(None), shown(["a"])) == ("no such member", "null", '["a"]')


def test_a_request_nested_too_deeply_to_be_read_sends_no_members() -> None:
    deep = exchange(1).call.but(body=b'{"name": ' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    assert sent_document(deep) == {}
    assert not found_again(exchange(2, call=deep), exchange(1))


def test_a_resource_is_found_again_by_a_value_in_a_body_that_is_nested_too_deeply() -> None:
    first = exchange(1, call=exchange(1).call.but(body=b'{"iban": "DE89370400440532013000"}'))
    for iban, again in ((b"DE89370400440532013000", True), (b"FR7630006000011234567890189", False)):
        body = b'{"iban": "' + iban + b'", "label": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
        assert found_again(exchange(2, call=exchange(1).call.but(body=body)), first) is again
