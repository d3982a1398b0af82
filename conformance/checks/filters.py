"""Lists under filters: the elements as a list shows them, and those that filters keep."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from conformance.checks.context import CheckContext
from conformance.checks.lists import status_filter, stocked, usable_page
from conformance.contract.timestamps import digits, parse
from conformance.contract.traits import ADDS_TO, TRAITS
from conformance.judge.expectations import Expectation
from conformance.judge.findings import Inconclusive
from conformance.judge.pages import keeps_what_fits
from conformance.wire.messages import Exchange
from conformance.wire.pages import MAX_SIZE, Page, Parameters, page_of, query
from conformance.wire.provenance import derive
from conformance.world.habits import eventually
from conformance.world.samples import OTHER_CURRENCIES

FAR_PAST, FAR_FUTURE = "2001-02-03T04:05:06Z", "2099-01-01T00:00:00Z"


@dataclass(frozen=True)
class Element:
    """An element as its list shows it: `text` is its `created`, which is `created` seconds since 1970."""

    id: str
    text: str
    created: Fraction
    status: str
    currency: str


@dataclass(frozen=True)
class Filter:
    """One filter: its parameters, what it keeps, and the rule that says so."""

    rule: str
    parameters: Parameters
    keeps: Callable[[Element], bool]

    def kept(self, elements: Sequence[Element]) -> set[str]:
        """The ids of the elements that it keeps."""
        return {element.id for element in elements if self.keeps(element)}


class Filtered:
    """The small list of an operation under filters. Raises Inconclusive when its elements cannot be read."""

    def __init__(self, ctx: CheckContext) -> None:
        self.ctx = ctx
        self.list_fixture = stocked(ctx)
        self.call = self.list_fixture.call
        self.elements: list[Element] = []
        eventually(
            ctx.run.cache, ctx.operation.id, self.read, lambda ids: ids >= self.list_fixture.created.keys()
        )
        if not self.elements:
            raise Inconclusive(
                "the list shows no element with id, status and created, by which filters are judged",
                cause="list.item-fields",
            )
        self.ids = {element.id for element in self.elements}

    def read(self) -> set[str]:
        """Reads the list without a filter; the ids of its elements. Statuses may have been moved since it was
        read last."""
        exchange = self.ctx.accept(self.call.with_query(query(1, MAX_SIZE)), "the list without a filter")
        self.unfiltered = exchange
        items = exchange.get("items")
        read = map(element, items if isinstance(items, list) else [])
        # A server may show one many times; that is for list.walk to say.
        shown = {each.id: each for each in read if each and each.id in self.list_fixture.created}
        # Where none shows any more, what was read before stays what there is to ask for.
        self.elements = list(shown.values()) or self.elements
        return set(shown)

    @property
    def in_time(self) -> list[Element]:
        """The elements in the order of their creation."""
        return sorted(self.elements, key=lambda element: element.created)

    @property
    def status_name(self) -> str:
        return "status" if "status" in self.ctx.operation.query_parameters else "statuses"

    def send(self, filters: Parameters, what: str) -> Exchange:
        """Asks for all elements that some filters keep; the filters come last, page and size before them."""
        return self.ctx.send(self.call.with_query([*query(1, MAX_SIZE), *filters]), what)

    def keeps(self, rule: str, filters: Parameters, expected: Sequence[Element], what: str) -> Page | None:
        """Judges that filters keep exactly the expected elements, if the run wants this probe."""
        if not self.ctx.wanted(what):
            return None
        return self.judge(rule, self.send(filters, what), expected, what)

    def judge(self, rule: str, exchange: Exchange, expected: Sequence[Element], what: str) -> Page | None:
        """Judges an answer by the elements that it should show, or a later one where they show late or their
        statuses have moved; others than the list's own are the business of list.complete. Gives the page that
        was judged."""
        of = f"the {len(expected)} of {len(self.ids)} elements" if expected else "none of the elements"
        fitting = keeps_what_fits(f"{what}: {of}", ids=sorted(self.ids))
        exchange = self.looked(exchange, lambda answer: holds(fitting, self.unfiltered, answer))
        found = usable_page(self.ctx, rule, exchange, what)
        if found is None:
            return None
        self.ctx.judge(rule, fitting, self.unfiltered, exchange)
        if "list.complete" in self.ctx.rules:
            own = self.list_fixture.expectation(self.ctx.run, what, found.ids)
            self.ctx.judge("list.complete", own, exchange)
        return found

    def looked(self, exchange: Exchange, good: Callable[[Exchange], bool]) -> Exchange:
        """The answer to a request, or to one like it, later, with the list read anew before it: looked at
        until it is good. One that is not a page is not looked at again."""
        answers = itertools.chain([exchange], self._again(exchange))
        return eventually(
            self.ctx.run.cache,
            self.ctx.operation.id,
            lambda: next(answers),
            lambda answer: page_of(answer) is None or good(answer),
        )

    def _again(self, exchange: Exchange) -> Iterator[Exchange]:
        while True:
            self.read()
            yield self.ctx.send(exchange.call, exchange.purpose)

    def shows(self, exchange: Exchange, kept: Filter | set[str]) -> Exchange:
        """The answer to a request as it shows just those elements of the list that a filter keeps, or the
        last one."""

        def good(answer: Exchange) -> bool:
            expected = kept.kept(self.elements) if isinstance(kept, Filter) else kept
            page = page_of(answer)
            return page is not None and set(page.ids) & self.ids == expected

        return self.looked(exchange, good)

    def filters(self) -> dict[str, Filter]:
        """Filters to combine, by name; of each kind one keeps some elements, others keep all or none."""
        early, late, currency = self._telling()
        unused = self._unused()
        found = {
            "start_date": Filter(
                "list.start-date", start_date(early.text), lambda element: element.created >= early.created
            ),
            "start_date in the past": Filter("list.start-date", start_date(FAR_PAST), lambda element: True),
            "end_date": Filter(
                "list.end-date", end_date(late.text), lambda element: element.created < late.created
            ),
            "end_date in the future": Filter("list.end-date", end_date(FAR_FUTURE), lambda element: True),
            "status": Filter(
                "list.status-filter",
                status_filter(self.ctx, "active"),
                lambda element: element.status == "active",
            ),
            "status that nothing has": Filter(
                "list.status-filter",
                status_filter(self.ctx, unused),
                lambda element: element.status == unused,
            ),
        }
        if "currency" in self.ctx.operation.query_parameters:
            found["currency"] = Filter(
                "list.currency-filter", [("currency", currency)], lambda element: element.currency == currency
            )
        return found

    def _telling(self) -> tuple[Element, Element, str]:
        """The elements to begin and to end at, and the currency, whose filters differ most from one another
        and from what they keep together."""
        by_date = sorted(
            {element.created: element for element in self.elements}.values(),
            key=lambda element: element.created,
        )
        best, chosen = -1, (by_date[0], by_date[-1], by_date[0].currency)
        for early, late, currency in itertools.product(
            by_date, by_date, sorted({element.currency for element in self.elements})
        ):
            started = {element.id for element in self.elements if element.created >= early.created}
            ended = {element.id for element in self.elements if element.created < late.created}
            same = {element.id for element in self.elements if element.currency == currency}
            score = _difference(started, ended, same)
            if score > best:
                best, chosen = score, (early, late, currency)
        return chosen

    def _unused(self) -> str:
        return "disabled" if "beneficiary_id" in self.ctx.operation.path_parameters else "suspended"


def _difference(*kept: set[str]) -> int:
    """How well filters that keep these elements are told from one another: first by each leaving out some
    that another keeps, then by some being left for two and for all of them. {1, 2}, {2, 3} and {1, 3} come
    to 6 times 3, and 3 for the pairs."""
    apart = sum(not left <= other for left, other in itertools.permutations(kept, 2))
    shared = sum(bool(left & other) for left, other in itertools.combinations(kept, 2))
    return 3 * apart + shared + bool(set.intersection(*kept))


def holds(expectation: Expectation, *exchanges: Exchange) -> bool:
    """True if an expectation holds of exchanges, as far as can be told."""
    return expectation.judge(exchanges).good is not False


def element(item: object) -> Element | None:
    """A list item as an element; None when it lacks what filters go by."""
    if not isinstance(item, dict):
        return None
    identifier, text, status, currency = (item.get(name) for name in ("id", "created", "status", "currency"))
    created = parse(text)
    if created is None or not all(isinstance(value, str) for value in (identifier, status)):
        return None
    return Element(
        str(identifier), str(text), created, str(status), currency if isinstance(currency, str) else ""
    )


def start_date(text: str) -> Parameters:
    return [("start_date", text)]


def end_date(text: str) -> Parameters:
    return [("end_date", text)]


def absent_currencies(operation: str, elements: Sequence[Element]) -> list[str]:
    """Currencies that nothing in the list has, among them beginnings of such as it has."""
    present = {element.currency for element in elements}
    candidates = (
        ["USD", "BTC", "ETH", "EUR", "USDT", "USDC"]
        if TRAITS[ADDS_TO[operation]].unique_pair
        else [*OTHER_CURRENCIES, "JPY", "CHF", "CAD"]
    )
    return [code for code in candidates if code not in present][:3]


def dates(elements: Sequence[Element]) -> list[tuple[str, str]]:
    """Dates to filter by: those of the first and last elements and of some between, and some of none."""
    by_date = {element.created: element for element in sorted(elements, key=lambda element: element.created)}
    distinct = list(by_date.values())
    chosen = dict.fromkeys(
        index for index in (0, 1, len(distinct) // 2, len(distinct) - 2, len(distinct) - 1) if index >= 0
    )
    found = [
        (f"at the created of an element, number {index + 1} of {len(distinct)}", distinct[index].text)
        for index in chosen
        if index < len(distinct)
    ]
    for index in dict.fromkeys((len(distinct) // 2, len(distinct) - 1)):
        second = derive(distinct[index].text, "second")
        if second != distinct[index].text:
            found.append((f"at the whole second of element {index + 1} of {len(distinct)}", second))
    # The one that shows most digits, as few as one in ten lack: a date just after it is nearest.
    finest = max(
        range(len(distinct)),
        key=lambda index: (digits(distinct[index].text), -abs(index - len(distinct) // 2)),
    )
    later = derive(distinct[finest].text, "after")
    # Another one shown there may have been rounded up to it.
    if parse(later) not in by_date:
        # First, as what it shows depends least on how near to one another elements are.
        found.insert(0, ("just after the created of an element", later))
    if distinct:
        found.append(("at the midnight before the first element", derive(distinct[0].text, "day")))
    return [*found, ("far in the past", FAR_PAST), ("far in the future", FAR_FUTURE)]
