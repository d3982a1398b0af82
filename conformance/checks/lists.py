"""Lists within a check: pages at several sizes, elements with what created them, and the judgements of both.

Each function judges one rule, so that a server with one mistake breaks one of them: `pages` is compared
with the answer's own `total`, `total` with what a walk shows, a walk with what other walks showed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from conformance.checks.context import CheckContext
from conformance.contract.operations import response_schema
from conformance.contract.traits import traits_of
from conformance.judge import pages
from conformance.judge.comparison import MOVING, objects, same, same_instant, show
from conformance.judge.expectations import Accepted, CannotTell, Outcome, RefusedOrIgnored, predicate
from conformance.judge.expectations.base import outcome
from conformance.judge.pages import Listed
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import (
    MAX_SIZE,
    Page,
    Parameters,
    Walk,
    identity,
    page_of,
    pages_of,
    query,
    sample,
    statuses,
    walk,
)
from conformance.world.lists import ListFixture, small_list

T = TypeVar("T")


# ---------------------------------------------------------------------- reading


def stocked(ctx: CheckContext, least: int = 1) -> ListFixture:
    """The small list of the check's operation; raises Inconclusive when it has fewer elements than needed."""
    list_fixture = small_list(ctx.run, ctx.operation.id)
    list_fixture.need(least)
    return list_fixture


def active(ctx: CheckContext) -> Parameters:
    """The filter for active elements, of the lists that have filters."""
    return status_filter(ctx, "active")


def status_filter(ctx: CheckContext, status: str) -> Parameters:
    """The filter for one status, by the name and in the style in which the list takes it."""
    if "status" in ctx.operation.query_parameters:
        return [("status", status)]
    return statuses(ctx.target.array_style, status)


def steady(ctx: CheckContext, call: Call, act: Callable[[], T], *, attempts: int = 4) -> T:
    """Reads by `act` while nothing is added to a customer's accounts, if possible; `act` may run again and so
    must not judge. The list's total before and after shows accounts that other clients or workers have added.

    Where one did each time, what was read last is returned: its judge goes by the totals of the answers
    themselves. Lists in an account that is the check's own need none of this.
    """
    if not traits_of(call.operation).others_add:
        return act()
    for _ in range(attempts):
        before = _total(ctx, call)
        result = act()
        if before == _total(ctx, call):
            break
    return result


def _total(ctx: CheckContext, call: Call) -> int | None:
    page = page_of(ctx.send(call.with_query(query(1, 1)), "how many elements are there?"))
    return page.total if page else None


@dataclass
class PageReading:
    """A list read at several sizes: whole walks, the one at the greatest size first, and single pages."""

    walks: list[Walk]
    #: Size, number and answer of pages that were read alone.
    samples: list[tuple[int, int, Exchange]] = field(default_factory=list)

    @property
    def known(self) -> dict[str, None]:
        """The ids that any walk showed."""
        return dict.fromkeys(identifier for done in self.walks for identifier in done.ids)

    @property
    def grew(self) -> bool:
        """Others added elements while it was read, as the totals of the answers tell."""
        totals = {page.total for done in self.walks for page in done.pages}
        totals |= {page.total for _, _, exchange in self.samples if (page := page_of(exchange))}
        return len(totals) > 1

    @property
    def in_order(self) -> bool:
        """The first walk shows each known element once, so that its order can be compared with."""
        first = self.walks[0]
        return (
            first.broken is None and not first.repeated and (first.cut or len(first.ids) == len(self.known))
        )


def read_at_all_sizes(ctx: CheckContext, call: Call, sizes: Sequence[int]) -> PageReading:
    """Reads a list at the greatest size and at these; of very many pages only some. Judges nothing."""
    reading = PageReading([walk(ctx.send, call)])
    first = reading.walks[0]
    count = max(len(first.ids), first.total or 0) if first.cut else len(first.ids)
    if count > 1 and all(count % size == 0 for size in sizes if size < count):
        # A last page that is not full tells some mistakes from none.
        sizes = [*sizes, *[size for size in range(3, count) if count % size][:1]]
    for size in sizes:
        numbers = sample(pages_of(count, size))
        if len(numbers) == pages_of(count, size):
            reading.walks.append(walk(ctx.send, call, size=size))
        else:
            for number in numbers:
                exchange = ctx.send(call.with_query(query(number, size)), f"page {number} of size {size}")
                reading.samples.append((size, number, exchange))
    return reading


# ---------------------------------------------------------------------- one page


def usable_page(
    ctx: CheckContext, rule: str, exchange: Exchange, what: str, *, refusable: bool = False
) -> Page | None:
    """The page in an answer. Without one, the answer is judged: a valid request must not be refused, a
    `refusable` one may be."""
    if exchange.refused_authentication:
        # It refuses the signature, and says nothing about lists.
        reason = f"{what} was answered {exchange.described()}"
        ctx.skip_judgement(rule, reason, exchange, cause="auth.accepts-valid")
        return None
    if not ctx.usable(rule, exchange):
        return None
    found = page_of(exchange)
    if found is None and exchange.succeeded:
        reason = f"{what} was answered {exchange.described()}, not with a page"
        ctx.skip_judgement(rule, reason, exchange, cause="list.envelope")
    elif found is None:
        ctx.judge(rule, RefusedOrIgnored(what) if refusable else Accepted(what), exchange)
    return found


def judge_size(ctx: CheckContext, exchange: Exchange, what: str, *, filled: bool = True) -> None:
    """Judges list.size-range on the answer to a size out of it; `filled`: the page has elements to show."""
    rule, expected = "list.size-range", f"{what}: a refusal (4xx), or a page of a size from 1 to {MAX_SIZE}"
    if usable_page(ctx, rule, exchange, what, refusable=True) is not None:
        ctx.judge(rule, pages.size_in_range(expected, filled=filled), exchange)


def judge_number(ctx: CheckContext, exchange: Exchange, valid: Exchange | None, what: str) -> None:
    """Judges list.page-range on the answer to a page below 1; `valid` is the page that it calls itself."""
    rule, expected = "list.page-range", f"{what}: a refusal (4xx), or a page from 1 on"
    found = usable_page(ctx, rule, exchange, what, refusable=True)
    if found is None:
        return
    good = ctx.judge(rule, pages.page_from_one(expected), exchange)
    if good and valid and page_of(valid) is not None:
        sentence = f"{what}, answered as page {found.page}: its items"
        ctx.judge(rule, pages.same_elements(sentence, refusable=True), exchange, valid)


# ---------------------------------------------------------------------- walks


def judge_whole(ctx: CheckContext, rule: str, done: Walk, expected: Collection[str], what: str) -> bool:
    """Judges that a walk shows each expected element exactly once, on pages that are full but for the last.

    `expected` are ids; elements beyond them are the business of list.complete, but fill pages, too.
    """
    if done.broken is not None:
        usable_page(ctx, rule, done.broken, f"page {len(done.pages) + 1} of {what}")
        return False
    missing = [identifier for identifier in expected if identifier not in set(done.ids)]
    ids = [identifier for identifier in expected if not done.cut or identifier not in missing]
    good = ctx.judge(rule, Listed(what, ids, once=True), *done.page_exchanges)
    if good and not done.cut:
        full = pages.full_pages(f"{what}: {done.size} elements on each page but the last", size=done.size)
        good = ctx.judge(rule, full, *done.page_exchanges)
    return good


def judge_totals(ctx: CheckContext, rule: str, read: Sequence[Page], count: int, what: str) -> None:
    """Judges that every page shows this total, up to the first that does not."""
    walked = len({identifier for found in read for identifier in found.ids}) == count
    sentence = f"{what}: total {count}, as many as there are"
    expected = pages.total_of_walk(sentence, count=None if walked else count)
    others = [found.exchange for found in read] if walked else []
    for found in read:
        good = ctx.judge(rule, expected, found.exchange, *others)
        if not good and found.total is not None:
            return


# ---------------------------------------------------------------------- elements


def item_fields(operation: str) -> Mapping[str, Mapping[str, Any]]:
    """The documented members of a list's items and their schemas (sections 2.4, 2.6, 2.7 and 4.1)."""
    fields: Mapping[str, Mapping[str, Any]] = _item_schema(operation)["properties"]
    return fields


def _item_schema(operation: str) -> Mapping[str, Any]:
    described = response_schema(operation)
    for part in [described, *described.get("allOf", [])]:
        items: Mapping[str, Any] | None = part.get("properties", {}).get("items", {}).get("items")
        if items:
            return items
    raise KeyError(f"{operation} answers no list")


def compared(
    ctx: CheckContext, items: Sequence[Any], created: Mapping[str, Exchange], exchanges: Sequence[Exchange]
) -> None:
    """Judges that each element is shown as its create answered it: the part of list.complete about fields."""
    # That object is the right constant is another rule's business; what jobs move may have moved.
    names = [name for name in item_fields(ctx.operation.id) if name != "object" and name not in MOVING]
    differences = []
    for item in items:
        origin = created.get(identity(item))
        if origin is None or not isinstance(item, dict) or not isinstance(origin.document, dict):
            continue
        sent = origin.call.document
        for name in names:
            answered = origin.get(name)
            if name not in item or name not in origin.document or same(item[name], answered):
                continue
            if name == "created" and same_instant(item[name], answered):
                continue
            # Where the create did not answer what was sent, the list is not to blame for showing it.
            if name not in sent or not same(item[name], sent[name]):
                differences.append((name, answered, item[name], origin))
    seen = set()
    for name, answered, shown, origin in differences:
        if name not in seen:
            seen.add(name)
            sentence = f"{name} of each element as its create answered it: {show(answered)}"
            page = next(
                (exchange for exchange in exchanges if shown in _shown(exchange, origin, name)), exchanges[0]
            )
            ctx.judge("list.complete", shown_as_created(sentence, name=name), page, origin)


def _shown(page: Exchange, origin: Exchange, name: str) -> list[Any]:
    """A member of the element of a page that a create made."""
    items = objects(page.get("items"))
    return [item[name] for item in items if name in item and item.get("id") == origin.get("id")]


@predicate(walk=True)
def shown_as_created(exchanges: Sequence[Exchange], name: str) -> str:
    """A page, first, shows a member of an element as its create, second, answered it, or as it was sent; so
    may pages that follow."""
    page, origin, *further = exchanges
    shown = [value for each in (page, *further) for value in _shown(each, origin, name)]
    if not shown:
        raise CannotTell("the list does not show what was created")
    alike = same(shown[0], origin.get(name)) or (
        name == "created" and same_instant(shown[0], origin.get(name))
    )
    sent = origin.call.document
    return "" if alike or (name in sent and same(shown[0], sent[name])) else show(shown[0])


_TYPES = {"string": str, "boolean": bool, "null": type(None)}


def mistyped(operation: str, items: Sequence[Any]) -> list[str]:
    """Documented members of a list's items that are missing or have another JSON type, in words."""
    required = _item_schema(operation)["required"]
    found = []
    for item in items:
        if not isinstance(item, dict):
            found.append(f"an item is {show(item)}")
            continue
        for name, described in item_fields(operation).items():
            types = described.get("type", ())
            wanted = tuple(_TYPES[kind] for kind in ([types] if isinstance(types, str) else types))
            if name not in item:
                found += [f"{name} is missing"] * (name in required)
            elif wanted and not isinstance(item[name], wanted):
                found.append(f"{name} is {show(item[name])}")
    return found


@predicate
def documented_items(exchanges: Sequence[Exchange], operation: str) -> str | Outcome:
    """The items of each page have their documented fields, of their JSON types."""
    read = pages.pages(exchanges)
    for at, page in enumerate(read):
        if wrong := mistyped(operation, page.items):
            return outcome(wrong[0], at)
    if not any(page.items for page in read):
        raise CannotTell("none of the pages holds an item")
    return ""


def in_order(shown: Sequence[str], created: Sequence[str]) -> str:
    """The order of a list in words, by the elements whose order of creation is known."""
    ours = [identifier for identifier in dict.fromkeys(shown) if identifier in set(created)]
    expected = [identifier for identifier in created if identifier in set(ours)]
    if len(ours) < 2:
        return "cannot be told"
    if ours == expected:
        return "oldest first"
    return "newest first" if ours == expected[::-1] else "another"


def out_of_range(ctx: CheckContext, exchange: Exchange, name: str, value: str) -> None:
    """Observes list.out-of-range: what the server makes of a page or size that is none."""
    found = page_of(exchange)
    if exchange.refused:
        answer = f"refused {exchange.status}"
    elif found is not None:
        answer = f"answered as {name} {getattr(found, name)}"
    else:
        answer = f"answered {exchange.status}"
    ctx.observe("list.out-of-range", f"{name}={value}", answer, exchange)
