"""Judgements of lists: pages, walks, totals, elements and filters.

Each function judges one rule, so that one defect breaks one rule: `pages` is compared with the answer's own
`total`, `total` with what a walk shows, a walk with other walks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from conformance.checks.check import Check
from conformance.contract.operations import item_fields
from conformance.contract.traits import traits_of
from conformance.judge import outcomes, paging
from conformance.judge.comparison import (
    MOVING,
    identifiers,
    objects,
    same,
    same_instant,
    sent_document,
    show,
)
from conformance.judge.outcomes import Judgement, Unclear, unless_malformed
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import (
    DEFAULT_SIZE,
    MAX_SIZE,
    Page,
    Parameters,
    Walk,
    identity,
    page_of,
    query,
    status_filter,
    walk,
)
from conformance.world.known_lists import KnownList, small_list

T = TypeVar("T")


# ---------------------------------------------------------------------- reading


def stocked(at: Check) -> KnownList:
    """Returns the small list of the check's operation. Raises Inconclusive where it has no element."""
    return small_list(at.lane, at.operation.id)


def active(at: Check) -> Parameters:
    """Returns the status filter for active elements; empty for a list without one."""
    if not at.operation.status_parameter:
        return []
    return status_filter(at.operation.id, at.target.array_style, "active")


#: Attempts to read a list while others add nothing.
_ATTEMPTS = 4


def steady(at: Check, call: Call, act: Callable[[], T]) -> T:
    """Reads by `act` while nothing is added to a customer's accounts, if possible. `act` may be repeated, so
    it must neither judge nor create anything.

    No lane adds any meanwhile; totals before and after show accounts added by other clients. After the last
    attempt its result is returned: its judge goes by the totals of the answers. Lists within an account are
    read once."""
    if not traits_of(call.operation).others_add:
        return act()
    with at.lane.adders.alone():
        for _ in range(_ATTEMPTS):
            before = _total(at, call)
            result = act()
            if before == _total(at, call):
                break
    return result


def _total(at: Check, call: Call) -> int | None:
    page = page_of(at.send(call.with_query(query(1, 1)), "one element, for the number of all"))
    return page.total if page else None


# ---------------------------------------------------------------------- one page


def usable_page(
    at: Check, rule: str, exchange: Exchange, what: str, *, refusable: bool = False
) -> Page | None:
    """Returns the page in an answer. Without one, judges the answer: a valid request must not be refused, a
    `refusable` one may be."""
    if exchange.refused_authentication and not (refusable and exchange.refused_otherwise):
        # An authentication failure says nothing about lists.
        reason = f"{what} was answered {exchange.described()}"
        at.unclear(rule, reason, exchange, cause="auth.accepts-valid")
        return None
    if not at.usable(rule, exchange):
        return None
    page = page_of(exchange)
    if page is None and exchange.succeeded:
        reason = f"{what} was answered {exchange.described()}, not with a page"
        at.unclear(rule, reason, exchange, cause="list.envelope")
    elif page is None:
        judged = outcomes.refused_or_ignored if refusable else outcomes.accepted
        at.expect(rule, *judged(what, exchange))
    return page


def judge_size(at: Check, exchange: Exchange, what: str, *, filled: bool = True) -> None:
    """Judges list.size-range on the answer to a size out of it; `filled`: the page has elements to show."""
    rule, expected = "list.size-range", f"{what}: a refusal (4xx), or a page of a size from 1 to {MAX_SIZE}"
    if page := usable_page(at, rule, exchange, what, refusable=True):
        at.expect(rule, *paging.size_in_range(expected, page, filled=filled))


def judge_by_query(at: Check, exchange: Exchange, *rules: str) -> None:
    """Judges a page by those of these rules, or of all that the check cites, that follow from its query
    alone."""
    style = at.target.array_style
    for rule, judgement in paging.demanded(at.operation.id, exchange, style):
        if rule in (rules or at.rules):
            at.expect(rule, *judgement)


# ---------------------------------------------------------------------- walks


def judge_whole(
    at: Check,
    rule: str,
    done: Walk,
    expected: Collection[str],
    what: str,
    *beside: Exchange,
    full: bool = True,
) -> bool:
    """Judges that a walk shows each of the `expected` ids, unless it was cut before them, and, if `full`,
    exactly once, on pages that are full except for the last.

    Further elements fill pages, too; list.complete judges them."""
    if done.broken is not None:
        usable_page(at, rule, done.broken, f"page {len(done.pages) + 1} of {what}")
        return False
    missing = [identifier for identifier in expected if identifier not in set(done.ids)]
    ids = [identifier for identifier in expected if not done.cut or identifier not in missing]
    good = at.expect(rule, *paging.listed(what, ids, done.page_exchanges, once=full), *beside)
    if good and full and not done.cut:
        good = at.expect(rule, *paging.full_pages(what, done.pages, done.size))
    return good


def judge_count(at: Check, call: Call, first: Walk) -> None:
    """Judges that the totals of a whole walk of a list that others add to count no more elements than it
    shows then, or later."""

    def most(done: Walk) -> Judgement:
        what = "a total that counts no more than the list shows later"
        return paging.counts_at_most(what, first.pages, done, at.lane.lag.within)

    later = at.eventually(
        lambda: walk(at.send, call, size=MAX_SIZE - 1), lambda done: done.cut or not most(done)[1]
    )
    if later.whole and not later.cut:
        at.expect("list.walk", *most(later))


def judge_totals(at: Check, rule: str, read: Sequence[Page], count: int, what: str) -> None:
    """Judges that every page shows a total of `count`, up to the first that does not."""
    walked = len({identifier for page in read for identifier in page.ids}) == count
    others = [page.exchange for page in read] if walked else []
    for page in read:
        good = at.expect(rule, *paging.number_is(what, page, "total", count), *others)
        if not good and page.total is not None:
            return


def shows_all(created: Collection[str], answer: Exchange) -> bool:
    """True for a page with all that was created and a total that fits, and for what is no page."""
    page = page_of(answer)
    return page is None or (set(created) <= set(page.ids) and (_goes_on(page) or page.total == len(page.ids)))


def judge_single_page(at: Check, page: Page, what: str) -> None:
    """Judges that the total of a first page behind which none comes is the number of its elements."""
    if not _goes_on(page):
        judge_totals(at, "list.complete", [page], len(page.ids), what)


def _goes_on(page: Page) -> bool:
    return len(page.items) >= DEFAULT_SIZE


# ---------------------------------------------------------------------- elements


def compared(at: Check, created: Mapping[str, Exchange], exchanges: Sequence[Exchange]) -> None:
    """Judges that each element on pages is shown as its create answered it (list.complete, about members), by
    the first wrong value of each member."""
    # format.object judges `object`; background jobs may change MOVING.
    names = [name for name in item_fields(at.operation.id) if name != "object" and name not in MOVING]
    # A later default may replace an earlier one.
    replaced = [own for own, origin in created.items() if origin.get("is_default") is True][:-1]
    for page, item in [(each, item) for each in exchanges for item in objects(each.get("items"))]:
        origin = created.get(identity(item))
        known = origin.document if origin is not None else None
        if origin is None or not isinstance(known, dict):
            continue
        shows = [name for name in names if name in item and name in known]
        for name in [name for name in shows if not _as_created(name, item[name], origin)]:
            if name != "is_default" or identity(item) not in replaced:
                names.remove(name)
                judgement = shown_as_created("each element", name, page, origin)
                at.expect("list.complete", *judgement, member=name)


def _as_created(name: str, value: Any, origin: Exchange) -> bool:
    """True if a list shows a member as the create answered it, or as it was sent."""
    answered, sent = origin.get(name), sent_document(origin.call)
    if same(value, answered) or (name in sent and same(value, sent[name])):
        return True
    if isinstance(number := sent.get(name.removesuffix("_last4")), str) and value == number[-4:]:
        return True
    return name == "created" and same_instant(value, answered)


def shown_as_created(what: str, name: str, page: Exchange, origin: Exchange) -> Judgement:
    """A page shows a member of an element as its create answered or sent it."""
    answered, items = origin.get(name), objects(page.get("items"))
    values = [item[name] for item in items if name in item and item.get("id") == origin.get("id")]
    expected = f"{name} of {what} as its create answered it: {show(answered)}"
    if not values:
        there = origin.get("id") in (identifiers(items) or ())
        reason = f"the list does not show {name if there else 'what was created'}"
        return expected, Unclear(reason, choice=there), page, origin
    judgement = expected, "" if _as_created(name, values[0], origin) else show(values[0]), page, origin
    return unless_malformed(judgement, (origin, name))
