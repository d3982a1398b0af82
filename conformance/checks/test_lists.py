"""Paging, defaults and order of lists (section 8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from conformance._text import count
from conformance.checks.check import Check, check
from conformance.checks.list_judging import (
    active,
    compared,
    judge_by_query,
    judge_count,
    judge_size,
    judge_totals,
    judge_whole,
    steady,
    stocked,
    usable_page,
)
from conformance.contract.traits import TRAITS
from conformance.judge import paging
from conformance.judge.outcomes import Unclear
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import (
    DEFAULT_SIZE,
    MAX_SIZE,
    Page,
    PageReading,
    Walk,
    page_of,
    pages_of,
    query,
    read_at_all_sizes,
    walk,
)
from conformance.world.known_lists import LONGEST_LIST, KnownList, accounts_of_the_run, large_list
from conformance.world.lag import MOST_IN_VAIN

#: Remedy where others add to a list while it is read.
WITHOUT_OTHERS = "Run it while nobody else creates accounts."

#: Lists that take any number of elements, which a run alone adds.
_LONG = tuple(
    traits.listed_by
    for traits in TRAITS.values()
    if traits.listed_by and not (traits.once or TRAITS[traits.listed_by].others_add)
)


@check("list.walk", "list.pages", "list.echo", "list.stable")
def test_walking_pages(at: Check) -> None:
    """Walks a list at sizes 100, 99, 10, 2 and 1: each element once, full pages, consistent numbers."""
    stock = stocked(at)
    reading, first = _read(at, stock, (99, 10, 2, 1))
    if len(reading.known) > 1:
        _judge_walks(at, reading, first)
    else:
        for rule in ("list.walk", "list.stable"):
            reason = "a list of one element is no list to walk"
            at.unclear(rule, (stock.shortage(2) or Unclear("")).because(reason))
    _judge_numbers(at, reading)


def _read(
    at: Check, stock: KnownList, sizes: Sequence[int], expected: Collection[str] = ()
) -> tuple[PageReading, PageReading]:
    """Reads a list at the maximum size and at these, until it shows the `expected` ids, and as many elements
    as it counts; returns the last reading and the first one."""
    readings: list[PageReading] = []

    def read() -> PageReading:
        readings.append(read_at_all_sizes(at.send, stock.call, sizes))
        return readings[-1]

    def settled(reading: PageReading) -> bool:
        return not at.operation.traits.others_add or (
            reading.counts(len(readings[0].ids))
            and not reading.fell
            and (reading.shows_all or reading.grew)
            and (reading.walks[0].cut or reading.ids.issuperset(expected))
        )

    return at.eventually(lambda: steady(at, stock.call, read), settled), readings[0]


@check(
    "list.walk",
    "list.pages",
    "list.echo",
    "list.complete",
    "list.size-range",
    operations=("listAccounts",),
    last=True,
)
def test_accounts_of_the_run(at: Check) -> None:
    """Walks the list of all accounts in which checks have worked, more than a page holds; sizes out of range
    are refused, or answered as one of 1 to 100."""
    stock = accounts_of_the_run(at.lane)
    ids = [*stock.created, *stock.named]
    reading, first = _read(at, stock, (99, 10), ids)
    _judge_walks(at, reading, first)
    _judge_numbers(at, reading)
    walked = reading.walks[0]
    if walked.whole and not walked.cut:
        at.expect(
            "list.complete",
            *paging.listed("the accounts in which checks have worked", ids, walked.page_exchanges),
        )
    _judge_sizes(at, stock.call, len(reading.known))


@check(
    "list.walk",
    "list.pages",
    "list.echo",
    "list.complete",
    "list.size-range",
    operations=_LONG,
    early=True,
)
def test_more_elements_than_a_page_holds(at: Check) -> None:
    """Walks a list of 101 elements; sizes out of range are refused, or answered as one of 1 to 100."""
    stock = large_list(at.lane, at.operation.id)
    _judge_long(at, stock, (50, 10, 1))
    _judge_sizes(at, stock.call, len(stock.created))


def _judge_sizes(at: Check, call: Call, number: int) -> None:
    for value in ("0", "-1", "101", "1000"):
        what = f"size={value} of {number} elements"
        judge_size(at, at.send(call.with_query([("size", value)]), what), what)


@check(
    "list.walk",
    "list.pages",
    "list.echo",
    "list.complete",
    operations=_LONG,
    deep=True,
)
def test_very_long_list(at: Check) -> None:
    """Walks a list of 501 elements at the maximum size, and samples smaller pages."""
    _judge_long(at, large_list(at.lane, at.operation.id, LONGEST_LIST), (50, 7))


def _judge_long(at: Check, stock: KnownList, sizes: Sequence[int]) -> None:
    """Judges walks at the maximum size and at these, and that they show every created element."""
    reading = read_at_all_sizes(at.send, stock.call, sizes)
    _judge_walks(at, reading, reading)
    _judge_numbers(at, reading)
    walked = [exchange for done in reading.walks for exchange in done.page_exchanges]
    at.expect("list.complete", *paging.listed("what was created", list(stock.created), walked))
    compared(at, stock.created, reading.walks[0].page_exchanges)


def _judge_walks(at: Check, reading: PageReading, earlier: PageReading) -> None:
    """Judges list.walk, and list.stable if cited; `earlier` is the first of several readings."""
    _say_length(at, reading.walks[0])
    uncounted = len(reading.ids) > len(earlier.ids) and not reading.counts(len(reading.ids))
    unshown = reading.count > earlier.count and not reading.shows_all
    if at.operation.traits.others_add and (reading.grew or uncounted or unshown):
        _judge_grown(at, reading, earlier)
        return
    known, first = reading.known, reading.walks[0]
    for done in reading.walks:
        what = f"pages of size {done.size}"
        valid = judge_whole(at, "list.walk", done, known, what)
        if valid and reading.in_order and not done.cut:
            _judge_order(at, first, done)
        # Walks of smaller pages may be cut, by a total that is too great as well.
        if not first.cut and (first.whole or not any(walk.cut for walk in reading.walks)):
            of = f"{what} of a list that shows {count(len(known), 'element')}"
            judge_totals(at, "list.walk", done.pages, len(known), of)
    for size, number, exchange in reading.samples:
        what = f"page {number} of size {size}"
        page = usable_page(at, "list.walk", exchange, what)
        part = first.ids[(number - 1) * size : number * size]
        if page is not None and reading.in_order and (part or not first.cut):
            at.expect("list.walk", *paging.part_of_walk(what, page, first.pages, number, size))


def _judge_order(at: Check, first: Walk, done: Walk) -> None:
    """Judges list.stable, if cited, on two walks between which nothing was added."""
    if "list.stable" in at.rules:
        sentence = f"pages of size {done.size}: the order that size {first.size} shows"
        at.expect("list.stable", *paging.same_order(sentence, first.pages, done.pages))


def _say_length(at: Check, done: Walk) -> None:
    """Says how many elements of how many a walk has shown."""
    number = len({*done.ids})
    of_all = f" of {done.total:,}" if done.cut and done.total is not None else ""
    longer = (
        "; --effort deep walks longer lists" if at.operation.id in _LONG and number < LONGEST_LIST else ""
    )
    at.reached("list.walk", number, f"{count(number, 'element')}{of_all} walked{longer}")


def _judge_grown(at: Check, reading: PageReading, earlier: PageReading) -> None:
    """Judges list.walk under concurrent creates, which shift elements to later pages: no element of the first
    walk is lost, and no total decreases."""
    first = reading.walks[0]
    if first.broken is not None:
        usable_page(at, "list.walk", first.broken, "a page of a list")
        return
    ids, before = first.ids, earlier.walks[0].pages[:1]
    if reading.fell:
        # Replicas of different age answered: only what was shown long before must be there.
        long = first.exchanges[0].started - earlier.walks[0].exchanges[-1].arrived >= at.lane.lag.within
        ids = [identifier for identifier in ids if long and identifier in earlier.ids]
        before = before if long else []
    for done in reading.walks[1:] if ids else ():
        if done.fell:
            reason = "an element may have slipped between pages, as replicas of different age answered"
            at.unclear("list.walk", reason, *done.page_exchanges[:1], remedy=WITHOUT_OTHERS, choice=True)
        elif done.broken is None and not done.cut and not first.cut:
            what = f"pages of size {done.size}: what those of size {first.size} showed"
            at.expect("list.walk", *paging.listed(what, ids, done.page_exchanges))
        totals = {page.total for page in (*first.pages, *done.pages)}
        if len(totals) == 1 and sorted(first.ids) == sorted(done.ids):
            _judge_order(at, first, done)
    pages = [page for done in reading.walks for page in done.pages]
    pages += [page for _, _, exchange in reading.samples if (page := page_of(exchange))]
    what = "a list that others add to: a total that no page changes"
    at.expect("list.walk", *paging.one_total(what, before, pages))


@check("list.walk", operations=("listAccounts",))
def test_total_counts_what_is_listed(at: Check) -> None:
    """The total of a list that others add to counts no more elements than it shows later; its last page has
    as many as its numbers say."""
    call = stocked(at).call
    first = steady(at, call, lambda: walk(at.send, call))
    if first.cut or not first.whole:
        usable_page(at, "list.walk", first.exchanges[-1], "a page of a list")
        _say_length(at, first)
        return
    judge_count(at, call, first)
    _judge_last_page(at, call)


def _judge_last_page(at: Check, call: Call) -> None:
    """Judges that the last page of a list that others add to has as many elements as its own total says."""

    def look() -> Page | None:
        first = page_of(
            at.send(call.with_query(query(1, MAX_SIZE)), "the list, for the number of its elements")
        )
        if first is None or first.total is None or first.total <= MAX_SIZE:
            return first
        number = pages_of(first.total, MAX_SIZE)
        return page_of(at.send(call.with_query(query(number, MAX_SIZE)), "the last page of a list"))

    def lacks(page: Page | None) -> int:
        return paging.lacking(page) if page else 0

    def tells(page: Page | None) -> bool:
        # A full page may lack none where one that is not full does.
        return page is None or not (lacks(page) or len(page.items) >= MAX_SIZE)

    what = "the last page of a list"
    with at.lane.adders.alone():
        for _ in range(MOST_IN_VAIN):
            first = look()
            # Waits of its own, as those for the list may have been in vain before.
            last = at.eventually(look, tells, what) if lacks(first) else first
            if first is None or last is None:
                return
            long = last.exchange.started - first.exchange.arrived >= at.lane.lag.within
            if not lacks(last) or (long and last.total == first.total):
                at.expect("list.walk", *paging.as_many_as_counted(what, last), first.exchange)
                return
    reason = "others added to the list each time its last page was read"
    raise Inconclusive(Unclear(reason, remedy=WITHOUT_OTHERS))


def _judge_numbers(at: Check, reading: PageReading) -> None:
    """Judges list.echo and list.pages on each page."""
    count = None if reading.walks[0].cut or reading.grew else len(reading.known) or None
    read = [(done.size, number, page) for done in reading.walks for number, page in enumerate(done.pages, 1)]
    read += [
        (size, number, page) for size, number, exchange in reading.samples if (page := page_of(exchange))
    ]
    for size, number, page in read:
        judge_by_query(at, page.exchange, "list.echo")
        at.expect("list.pages", *paging.count_of_pages(f"page {number} of size {size}", page, size, count))


@check("list.defaults", "list.pages")
def test_defaults(at: Check) -> None:
    """Omits page, size or both: the same answer as for page 1 and size 10 written out."""
    stock = stocked(at)
    at.accept(stock.call.with_query(query(1, DEFAULT_SIZE)), "page 1 of size 10")

    def read() -> list[tuple[str, Exchange, Exchange]]:
        usual = query(1, DEFAULT_SIZE)
        first = at.send(stock.call.with_query(usual), "page 1 of size 10")
        page = page_of(first)
        last = pages_of(page.total, DEFAULT_SIZE) if page and page.total else 2
        probes = [("size=5 alone", query(size=5), query(1, 5))]
        if last > 1:
            probes.append(("the last page alone", query(page=last), query(last, DEFAULT_SIZE)))
        # Behind those that name another number: a server may take that for the next request's.
        probes += [("no query", [], usual), ("page=1 alone", query(page=1), usual)]
        if filters := active(at):
            probes.append(("a filter alone", filters, query(1, DEFAULT_SIZE, filters)))
        answers = []
        for what, parameters, whole in probes:
            # Before the page that is spelt out: a server may take its numbers for the next request's.
            answer, explicit = at.send(stock.call.with_query(parameters), what), first
            if whole != usual:
                explicit = at.send(stock.call.with_query(whole), f"{what}, spelt out")
            answers.append((what, answer, explicit))
        return answers

    def alike(answers: list[tuple[str, Exchange, Exchange]]) -> bool:
        pairs = ([page_of(each) for each in answer[1:]] for answer in answers)
        return not at.operation.traits.others_add or all(
            left is None or right is None or left.ids == right.ids for left, right in pairs
        )

    before: list[Exchange] = []
    for what, exchange, explicit in at.eventually(lambda: steady(at, stock.call, read), alike):
        if page := usable_page(at, "list.defaults", exchange, what):
            judge_by_query(at, exchange)
            _judge_same(at, page, explicit, what, before)
        before = [explicit]


def _judge_same(at: Check, page: Page, explicit: Exchange, what: str, before: Sequence[Exchange]) -> None:
    """Judges that a page of which not all numbers were requested is the one that is spelt out; `before` are
    requests that may determine its numbers."""
    expected = page_of(explicit)
    if expected is None or page.ids == expected.ids:
        return
    # Both again, in the other order, as a status may have changed between them.
    again = page_of(at.send(explicit.call, f"{what}, spelt out again"))
    for exchange in before:
        at.send(exchange.call, f"the request before {what}, again")
    omitted = page_of(at.send(page.exchange.call, f"{what} again"))
    if again is None or again.ids != expected.ids or omitted is None or omitted.ids != page.ids:
        reason = f"what {explicit.call.query} shows changes"
        at.unclear("list.defaults", reason, explicit, cause="list.stable", choice=True)
    else:
        sentence = f"{what}: the {len(expected.items)} items of {explicit.call.query}"
        at.expect("list.defaults", *paging.same_each_time(sentence, [expected, page]))


#: The probe whose elements background jobs may change.
_ACTIVE = "page 1 of the active ones"


@check("list.stable", "list.complete")
def test_order_is_stable(at: Check) -> None:
    """Reads the same pages several times, interleaved: the same elements in the same order, each as its
    create answered it."""
    stock = stocked(at)
    try:
        stock.need(2)
    except Inconclusive as stop:
        # One element has no order; other checks compare it.
        at.unclear("list.stable", stop.why)
        return
    # With two elements in arbitrary order, each further read reveals that with a probability of one half.
    times = 3 if len(stock.created) > 4 else 8
    queries = {"page 1 of size 100": query(1, MAX_SIZE), "no query": []}
    # A page past the last may be refused.
    second = 3 if len(stock.created) > 3 else 1
    if len(stock.created) > second:
        queries[f"page 2 of size {second}"] = query(2, second)
    if filters := active(at):
        queries[_ACTIVE] = query(1, MAX_SIZE, filters)
    at.accept(stock.call, "the list")

    def read() -> dict[str, list[Exchange]]:
        answers: dict[str, list[Exchange]] = {what: [] for what in queries}
        turns = list(queries)
        for _ in range(times):
            for what in turns:
                answers[what].append(at.send(stock.call.with_query(queries[what]), what))
            if len(turns) % 3 == 0:
                # Rotate the queries, so that each of three round-robin processes answers each of them.
                turns = [*turns[1:], turns[0]]
        return answers

    growing = at.operation.traits.others_add
    for what, exchanges in steady(at, stock.call, read).items():
        answers = [usable_page(at, "list.stable", exchange, what) for exchange in exchanges]
        pages = [page for page in answers if page is not None]
        # Under concurrent creates only answers with the same total are comparable.
        usual = Counter(page.total for page in pages).most_common(1)
        readings = [page for page in pages if not growing or page.total == usual[0][0]]
        if readings:
            sentence = f"{what}, read {len(readings)} times: the same elements in the same order"
            at.expect("list.stable", *paging.same_each_time(sentence, readings, moving=what == _ACTIVE))
        compared(at, stock.created, [page.exchange for page in pages])
