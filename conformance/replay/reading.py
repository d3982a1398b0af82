"""Adapts reads of pages to the length of the list on this server, which may have grown since recording."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from conformance.contract.operations import OPERATIONS
from conformance.judge.expectations import from_plain
from conformance.replay.format import Document, Step
from conformance.wire.messages import Exchange
from conformance.wire.pages import Page, page_of, pages_of

#: The number of a page in a query.
PAGE = re.compile("(?<![^?&])page=([1-9][0-9]*)(?=&|$)")

#: Maximum of pages that are read beyond those of the file.
MOST_FURTHER = 100


def read_on(
    document: Document, answers: dict[str, Exchange], send: Callable[[Step], Exchange]
) -> Iterator[Exchange]:
    """Yields the pages after the last judged one, where all pages of a list are judged; `send` sends a
    step."""
    expectation = from_plain(document["expectation"])
    steps = {step["id"]: step for step in document["steps"]}
    last = next((step for step in reversed(document["judged"]) if _lists(steps[step])), "")
    if not expectation.predicate.walk or last not in answers:
        return
    step, page = steps[last], page_of(answers[last])
    # A list that grows meanwhile may show an element twice.
    total, steady = page.total if page else None, "once" in expectation.parameters
    for further in range(1, MOST_FURTHER + 1):
        if page is None or not page.items or (steady and page.total != total) or not _goes_on(page):
            return
        asked = PAGE.search(step["target"])
        if asked is None or int(asked[1]) != page.page or "auth" in step:
            return
        target = PAGE.sub(f"page={page.page + 1}", step["target"])
        step = {**step, "target": target, "id": f"{last}+{further}", "purpose": "the list goes on"}
        exchange = send(step)
        yield exchange
        page = page_of(exchange)


def _lists(step: Step) -> bool:
    """True if a step reads a list."""
    return step.get("operation") in OPERATIONS and OPERATIONS[step["operation"]].is_list


def _goes_on(page: Page) -> bool:
    """True if the envelope of a page says that more follow."""
    return bool(page.page and page.size and page.total and page.page < pages_of(page.total, page.size))


def shorter(document: Document, step: Step, exchange: Exchange) -> Step | None:
    """The step with the last page of this server's list, where that is shorter than the only judged read
    expects; None otherwise."""
    lists = [each for each in document["steps"] if each["id"] in document["judged"] and _lists(each)]
    asked, page = PAGE.search(step["target"]), page_of(exchange)
    if lists != [step] or not from_plain(document["expectation"]).predicate.walk or "auth" in step:
        return None
    if asked is None or step["answered"].get("past") or page is None or page.items:
        return None
    last = pages_of(page.total or 0, page.size or 1)
    return {**step, "target": PAGE.sub(f"page={last}", step["target"])} if 0 < last < int(asked[1]) else None


def still_past(step: Step, exchange: Exchange) -> Step | None:
    """The step with a later page, where a page past the last has elements since the list has grown; None
    otherwise."""
    past, asked, page = step["answered"].get("past", 0), PAGE.search(step["target"]), page_of(exchange)
    if not past or asked is None or "auth" in step or page is None or not page.items:
        return None
    if not page.total or not page.size or page.size < 1:
        return None
    wanted = pages_of(page.total, page.size) + past
    later = {
        "target": PAGE.sub(f"page={wanted}", step["target"]),
        "answered": {**step["answered"], "past": 0},
    }
    return {**step, **later} if wanted > int(asked[1]) else None
