"""Page, size, total, order and filters of a list response (section 8), judged by judge/paging."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.judge.outcomes import good
from conformance.judge.paging import demanded, same_each_time
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import page_of, walk

LIST = "/v1/accounts/acc_1/virtual-accounts"


def item(**members: Any) -> dict[str, Any]:
    return {"id": "va_1", "status": "active", "currency": "USD", "created": "2025-01-02T03:04:05Z"} | members


def page(query: str, **members: Any) -> Exchange:
    """Returns the answer to a query of a list with one element."""
    call = Call("listVirtualAccounts", "GET", f"{LIST}?{query}" if query else LIST)
    body = {"items": [item()], "total": 1, "page": 1, "size": 10, "pages": 1} | members
    exchange = Exchange(1, "primary", call, "a page", f"http://server.test{LIST}", "GET", LIST, [], b"")
    exchange.status, exchange.response_body = 200, json.dumps(body).encode()
    return exchange


def broken(query: str, style: str = "repeat", **members: Any) -> set[str]:
    """Returns the rules that an answer breaks, judged by its query."""
    exchange = page(query, **members)
    return {
        rule for rule, judgement in demanded("listVirtualAccounts", exchange, style) if not good(judgement)
    }


@pytest.mark.parametrize(
    ("query", "members", "rule"),
    [
        ("", {"size": 20}, "list.defaults"),
        ("", {"page": 2, "items": []}, "list.defaults"),
        ("size=5", {}, "list.echo"),
        ("page=3", {"page": 4, "items": []}, "list.echo"),
        ("size=0", {"size": 0}, "list.size-range"),
        ("size=101", {"size": 101}, "list.size-range"),
        ("page=0", {"page": 0}, "list.page-range"),
        ("size=1", {"size": 1, "items": [item(), item(id="va_2")], "total": 2, "pages": 2}, "list.walk"),
        ("", {"pages": 2}, "list.pages"),
        ("", {"items": [], "total": 0, "pages": 2}, "list.pages"),
        ("page=2", {"page": 2}, "list.page-beyond"),
        ("statuses=suspended", {}, "list.status-filter"),
        ("currency=EUR", {}, "list.currency-filter"),
        ("start_date=2025-01-02T03:04:06Z", {}, "list.start-date"),
        ("end_date=2025-01-02T03:04:05Z", {}, "list.end-date"),
    ],
)
def test_wrong_page(query: str, members: dict[str, Any], rule: str) -> None:
    assert broken(query, **members) == {rule}


@pytest.mark.parametrize(
    ("query", "style", "members"),
    [
        ("", "repeat", {}),
        ("page=1&size=10", "repeat", {}),
        ("statuses=active", "repeat", {}),
        ("currency=USD", "repeat", {}),
        ("start_date=2025-01-02T03:04:05Z", "repeat", {}),
        ("x=1", "repeat", {}),
        ("page=%zz", "repeat", {}),
        ("", "repeat", {"items": [], "total": 0, "pages": 1}),
        ("", "repeat", {"total": "1"}),
        ("size=05", "repeat", {}),
        ("Size=5", "repeat", {}),
        ("page=1&page=2", "repeat", {}),
        ("size=%zz5", "repeat", {}),
        ("currency=eur", "repeat", {}),
        ("statuses=suspended", "brackets", {}),
        ("end_date=2025-01-02T03:04:05.5Z", "repeat", {}),
        ("start_date=2025-01-02T03:04:05.5Z", "repeat", {}),
        ("start_date=2025-01-02T03:04:06Z", "repeat", {"items": [item(created="yesterday")]}),
    ],
)
def test_correct_and_open_pages_break_no_rule(query: str, style: str, members: dict[str, Any]) -> None:
    assert broken(query, style, **members) == set()


def test_refusals_break_no_rule() -> None:
    refusal = page("size=5")
    refusal.status = 400
    assert list(demanded("listWallets", refusal, "")) == []


def test_statuses_that_move_are_no_other_order() -> None:
    """Elements may enter and leave a list filtered by status between two requests."""
    first, second, turned = (
        page_of(page("statuses=active", items=[item(id=identifier) for identifier in order]))
        for order in (("va_1", "va_2", "va_3"), ("va_1", "va_3", "va_4"), ("va_3", "va_1"))
    )
    assert first and second and turned
    assert good(same_each_time("the active ones", [first, second], moving=True))
    assert not good(same_each_time("the active ones", [first, turned], moving=True))
    assert not good(same_each_time("all", [first, second]))


@pytest.mark.parametrize("left", [1, 2])
def test_walk_of_a_list_that_becomes_shorter(left: int) -> None:
    """Refusing a page that no longer exists ends the walk; refusing one that exists is a violation."""
    totals = iter((2, 2, left))

    def send(call: Call, purpose: str) -> Exchange:
        answer = page(call.query, size=1, total=next(totals, left), pages=2)
        if "page=2" in call.query:
            answer.status, answer.response_body = 422, b"{}"
        return answer

    done = walk(send, Call("listVirtualAccounts", "GET", LIST), size=1)
    assert done.ids == ["va_1"]
    assert (done.broken is None) == (left == 1)
