"""Targets that a front end or router may refuse or rewrite."""

from __future__ import annotations

import pytest

from conformance.wire.grammar import is_odd


@pytest.mark.parametrize(
    "target",
    [
        "/v1/customers/acc_1%2F../accounts",
        "/v1/customers/acc_1%2e%2e/accounts",
        "/v1/customers/../accounts",
        "/v1/customers//accounts",
        "/v1/customers/acc_%00/accounts",
        "/v1/customers/acc_%zz/accounts",
        "/v1/customers/acc_{}/accounts",
        "/v1/customers/acc_1;x=1/accounts",
        "/v1/customers/acc_1%5c/accounts",
        "/v1/customers/" + "9" * 2000 + "/accounts",
        "/v1/customers/cus_1/accounts?page[]=1",
        "/v1/customers/cus_1/accounts?page=%",
        "/v1/customers/cus_1/accounts?page=%00",
        "/v1/customers/cus_1/accounts?x=a b",
    ],
)
def test_odd(target: str) -> None:
    assert is_odd(target)


@pytest.mark.parametrize(
    "target",
    [
        "/v1/customers/cus_1/accounts",
        "/v1/customers/cus%5F1/accounts?page=1&size=%31",
        "/v1/customers/cus_a.b:c@d/accounts?statuses%5B%5D=active&start_date=2025-01-01T00:00:00%2B02:00",
    ],
)
def test_plain(target: str) -> None:
    assert not is_odd(target)
