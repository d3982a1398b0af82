"""Replays of failures in lists that have grown since, and of intermittently lost requests."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from conformance.judge.expectations import Accepted, Outcome
from conformance.judge.invariants import ENOUGH, MOST, SeldomLost, telling
from conformance.judge.paging import Listed, full_pages, no_items
from conformance.replay import document_of, perform
from conformance.replay.reading import still_past
from conformance.wire.messages import Exchange
from conformance.world.run_context import RunContext
from tests.replay.samples import finding
from tests.support.runs import run_on


def listed(run: RunContext, size: int) -> Exchange:
    fixture = run.account()
    call = fixture.call("listAccounts").with_query({"page": 1, "size": size})
    return run.send(fixture.client, call, f"page 1 of size {size}")


def grown(run: RunContext, number: int) -> RunContext:
    fixture = run.account()
    for _ in range(number):
        run.send(fixture.client, fixture.call("createAccount"), "another account")
    return run


def test_a_list_that_has_grown_is_read_to_its_end(run: RunContext) -> None:
    expectation = Listed("the list", [run.account().account_id])
    page = listed(run, 3)
    document = document_of(finding("list.complete", "listAccounts", expectation, page), [page], run)
    assert document is not None and len(document["steps"]) == 2
    sent: list[str] = []
    replayed = perform(document, grown(run_on(), 5), lambda step, exchange: sent.append(step["id"]))
    assert replayed.verdict == "not reproduced"
    assert sent == ["1", "2", "2+1", "2+2"]


def test_only_walks_continue_to_the_last_page(run: RunContext) -> None:
    page = listed(run, 3)
    for expectation, pages in ((full_pages("full", size=3), 3), (Accepted("a page"), 1)):
        document = document_of(finding("list.walk", "listAccounts", expectation, page), [page], run)
        assert document is not None
        replayed = perform(document, grown(run_on(), 6))
        assert replayed.verdict == "not reproduced"
        assert sum(exchange.operation == "listAccounts" for exchange in replayed.answers.values()) == pages


def test_a_replay_with_random_outcome_is_attempted_nine_times_and_shown_once(run: RunContext) -> None:
    fixture = run.account()
    created = run.send(fixture.client, fixture.call("createWallet"), "a wallet").get("created")
    call = fixture.call("listWallets").with_query({"start_date": created})
    page = run.send(fixture.client, call, "from a wallet's created on")
    document = document_of(finding("list.start-date", "listWallets", Accepted("it"), page), [page], run)
    assert document is not None
    seen: list[str] = []
    replayed = perform(document, run_on(), lambda step, exchange: seen.append(step["id"]))
    assert (replayed.verdict, replayed.attempts) == ("not reproduced", 9)
    assert seen == [step["id"] for step in document["steps"]]


def test_a_page_past_the_last_stays_past_it(run: RunContext) -> None:
    page = listed(grown(run, 1), 2)
    step = {"target": "/v1/x?size=2&page=3", "answered": {"status": 200, "past": 1}}
    later = still_past(step, page)
    assert later is None, "two pages at most"
    longer = listed(grown(run, 4), 2)
    later = still_past(step, longer)
    assert (
        later is not None and later["target"] == "/v1/x?size=2&page=4" and still_past(later, longer) is None
    )
    assert still_past({**step, "answered": {"status": 200}}, longer) is None


def test_a_stale_page_past_the_last_is_repeated_past_the_new_last_page(run: RunContext) -> None:
    first = listed(grown(run, 5), 2)
    call = first.call.with_query({"page": 3, "size": 2})
    page = run.send(run.client(), call, "page 1 past the last, as the first page says")
    stale = {**first.document, "total": 4, "pages": 2}
    first.response_body = json.dumps(stale).encode()
    first.forget()
    past = finding("list.page-beyond", "listAccounts", no_items("no items"), page, first)
    document = document_of(past, [first, page], run)
    assert document is not None
    replayed = perform(document, grown(run_on(), 9))
    assert (replayed.verdict, replayed.got) == ("not reproduced", "")


@pytest.mark.parametrize(
    ("lost", "good"), [(0, True), (3, None), (12, False)], ids=["none", "a few", "too many"]
)
def test_the_rate_of_lost_requests_needs_many_requests(lost: int, good: bool | None, run: RunContext) -> None:
    answer = listed(run, 1)
    again = replace(answer, started=answer.started, begun=answer.started - 1)
    exchanges = [again] * lost + [answer] * (ENOUGH - lost)
    outcome: Outcome = SeldomLost("seldom lost").judge(exchanges)
    assert outcome.good is good, outcome
    assert SeldomLost("seldom lost").judge(exchanges[:50]).good is None
    assert [telling(*counted) for counted in ((50, 100), (10, 400), (30, 3000))] == [ENOUGH, 200, MOST]


def test_a_request_that_was_lost_is_sent_many_times_with_new_keys(run: RunContext) -> None:
    fixture = run.account()
    sent = run.send(fixture.client, fixture.call("createAccount"), "lost")
    document = document_of(finding("http.lost-requests", "createAccount", SeldomLost("x"), sent), [sent], run)
    assert document is not None
    assert len(document["judged"]) == len({step["idempotency_key"] for step in document["steps"]}) == ENOUGH
    assert not any("together" in step or "wait" in step for step in document["steps"])
    assert perform(document, run_on()).verdict == "not reproduced"
