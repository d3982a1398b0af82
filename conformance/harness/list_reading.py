"""What the checks of lists read and compare: pages at several sizes, and elements with what created them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.contract.operations import response_schema
from conformance.harness.context import CheckContext
from conformance.harness.pagination import walk
from conformance.judge import pages
from conformance.judge.comparison import MOVING, objects, same, same_instant, show
from conformance.judge.expectations import CannotTell, Outcome, predicate
from conformance.judge.expectations.base import outcome
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import Parameters, Walk, identity, page_of, pages_of, query, sample, statuses
from conformance.world.lists import ListFixture, small_list


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
    if ctx.operation.id == "listWallets":
        return [("status", status)]
    return statuses(ctx.target.array_style, status)


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
    reading = PageReading([walk(ctx, call)])
    first = reading.walks[0]
    count = max(len(first.ids), first.total or 0) if first.cut else len(first.ids)
    if count > 1 and all(count % size == 0 for size in sizes if size < count):
        # A last page that is not full tells some mistakes from none.
        sizes = [*sizes, *[size for size in range(3, count) if count % size][:1]]
    for size in sizes:
        numbers = sample(pages_of(count, size))
        if len(numbers) == pages_of(count, size):
            reading.walks.append(walk(ctx, call, size=size))
        else:
            for number in numbers:
                exchange = ctx.send(call.with_query(query(number, size)), f"page {number} of size {size}")
                reading.samples.append((size, number, exchange))
    return reading


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
    """What the documented fields of a list's items lack or have of another JSON type, in words."""
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
    ours = [fromkey for fromkey in dict.fromkeys(shown) if fromkey in set(created)]
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
