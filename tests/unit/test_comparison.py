"""Comparison of members: equal in any form that the specification leaves open."""

from __future__ import annotations

import pytest

from conformance.judge.comparison import alike, differences, found_again, sent_document, shown, was_changed
from conformance.wire.messages import MISSING, to_json
from tests.support.report_samples import exchange


@pytest.mark.parametrize(
    ("operation", "name", "got", "same"),
    [
        ("getBeneficiary", "account_id", "acct_1", True),
        ("getBeneficiary", "account_id", "acc_2", False),
        ("getBeneficiary", "id", "acct_1", False),
        ("getAccountBalances", "id", "acct_1", True),
    ],
)
def test_the_id_of_an_account_has_two_prefixes(operation: str, name: str, got: str, same: bool) -> None:
    assert alike(operation, name, got, "acc_1") is same


def test_members_that_are_not_documented_make_no_difference() -> None:
    """At any depth: added, changed or removed."""
    wallet = {"id": "wal_1", "addresses": [{"address": "a", "tag": None}], "label": None}
    more = {"etag": 1, "id": "wal_1", "addresses": [{"address": "a", "tag": None, "age": 5}]}
    assert differences("createWallet", more, wallet) == []
    other = {**wallet, "id": "wal_2", "addresses": [{"address": "b", "tag": None}]}
    assert [name for name, _, _ in differences("createWallet", other, wallet)] == ["id", "addresses"]
    assert differences("createWallet", other, wallet, but=("id", "addresses")) == []
    assert [name for name, _, _ in differences("createWallet", [], wallet)] == [""]


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


@pytest.mark.parametrize(
    ("updated", "shown", "again"),
    [("01:00:00", "", True), ("00:00:00", "", False), ("01:00:00", "x@example.org", False)],
    ids=["changed to it", "not changed", "still another"],
)
def test_a_resource_is_found_again_by_a_value_that_it_was_changed_to(
    updated: str, shown: str, again: bool
) -> None:
    answer = {"id": "bene_1", "email": shown, "created": "2026-01-01T00:00:00Z"}
    first, later = (
        exchange(
            number, to_json(answer | {"updated": f"2026-01-01T{time}Z"}), call=exchange(1).call.but(body=body)
        )
        for number, body, time in (
            (1, b'{"email": "ada@example.org"}', "00:00:00"),
            (2, b'{"email": ""}', updated),
        )
    )
    assert found_again(later, first) is again


@pytest.mark.parametrize(
    ("updated", "changed"),
    [("00:00:02.1Z", True), ("00:00:01Z", False), ("00:00:00Z", False), ("soon", False)],
)
def test_an_answer_to_a_create_shows_what_was_changed_if_it_took_longer(updated: str, changed: bool) -> None:
    body = to_json({"created": "2026-01-01T00:00:00Z", "updated": f"2026-01-01T{updated}"})
    assert was_changed(exchange(1, body)) is changed
