"""Paged lists: section 8 of the specification, and what the lists of section 4 hold."""

from __future__ import annotations

from conformance import contract, paging
from conformance.checks.list_reading import PageReading, compared, in_order, mistyped, out_of_range, read_at_all_sizes
from conformance.exchange import MISSING, Exchange
from conformance.listing import DEFAULT_SIZE, MAX_SIZE, Page, page_of, pages_of, query, statuses, steady, walk
from conformance.populated import CREATES, MORE_PAIRS, Stock, large, populated
from conformance.rules import RULES
from conformance.runner import check
from conformance.trial import Trial, show
from conformance.verdict import Inconclusive
from conformance.world import call

_SCHEMA_RULES = ("list.envelope", "list.item-fields", "list.wallet-items")


def _stock(trial: Trial, least: int = 1) -> Stock:
    stock = populated(trial.suite, trial.operation.id)
    stock.need(least)
    return stock


# ---------------------------------------------------------------------- pages


@check("list.walk", "list.pages", "list.echo", "list.stable")
def test_walking_pages(trial: Trial) -> None:
    """Walks a list at sizes 100, 10, 2 and 1: each element once, full pages, and numbers that agree with it."""
    stock = _stock(trial)
    reading = steady(trial, stock.call, lambda: read_at_all_sizes(trial, stock.call, (10, 2, 1)))
    if len(reading.known) > 1:
        _judge_walks(trial, reading)
    else:
        for rule in ("list.walk", "list.stable"):
            trial.set_aside(rule, f"a list of one element is no list to walk. {MORE_PAIRS}")
    _judge_numbers(trial, reading)


@check("list.walk", "list.pages", "list.echo", "list.complete", "list.size-range",
       operations=("listPayoutDestinations", "listVirtualAccounts"))
def test_more_elements_than_a_page_holds(trial: Trial) -> None:
    """Walks a list of 101 elements, and asks for more of them at once than a page may hold."""
    stock = large(trial.suite, trial.operation.id)
    reading = read_at_all_sizes(trial, stock.call, (50, 10, 1))
    _judge_walks(trial, reading)
    _judge_numbers(trial, reading)
    missing = [one for one in stock.created if one not in reading.known]
    trial.judge("list.complete", not missing, f"each of {len(stock.created)} created elements in the list",
                f"{len(missing)} are not" if missing else "they are", *reading.walks[0].exchanges)
    for value in ("0", "-1", "101", "1000"):
        probe = trial.send(stock.call.with_query([("size", value)]), f"size={value} of {len(stock.created)} elements")
        _judge_size(trial, probe, value)


def _judge_walks(trial: Trial, reading: PageReading) -> None:
    """Judges list.walk, and list.stable where the trial cites it."""
    known, first = reading.known, reading.walks[0]
    for done in reading.walks:
        what = f"pages of size {done.size}"
        sound = paging.whole(trial, "list.walk", done, known, what)
        if sound and reading.in_order and not done.cut and "list.stable" in trial.rules:
            trial.judge("list.stable", done.ids == first.ids, f"{what}: the order that size {MAX_SIZE} shows",
                        "another one", *done.exchanges[:2])
        if not any(one.cut for one in reading.walks):
            paging.totals(trial, "list.walk", done.pages, len(known), what)
    for size, number, exchange in reading.samples:
        what = f"page {number} of size {size}"
        found = paging.page(trial, "list.walk", exchange, what)
        part = first.ids[(number - 1) * size : number * size]
        if found is not None and reading.in_order and (part or not first.cut):
            others = len(set(found.ids) - set(part))
            trial.judge("list.walk", found.ids == part, f"{what}: the {len(part)} elements that follow those of page {number - 1}",
                        f"{len(found.ids)} elements, {others} of them others", exchange)


def _judge_numbers(trial: Trial, reading: PageReading) -> None:
    """Judges list.echo and list.pages on every page that was read."""
    count = None if reading.walks[0].cut else len(reading.known) or None
    pages = [(done.size, index, page) for done in reading.walks for index, page in enumerate(done.pages, 1)]
    pages += [(size, number, page) for size, number, exchange in reading.samples if (page := page_of(exchange))]
    for size, number, page in pages:
        what = f"page {number} of size {size}"
        paging.echo(trial, page, number, size, what)
        paging.count_of_pages(trial, page, size, what, count)


@check("list.defaults")
def test_defaults(trial: Trial) -> None:
    """Leaves out page, size or both, and compares with what asking for page 1 and size 10 brings."""
    stock = _stock(trial)
    probes: dict[str, tuple[list[tuple[str, str]], list[tuple[str, str]]]] = {
        "no query": ([], query(1, DEFAULT_SIZE)),
        "page=1 alone": (query(page=1), query(1, DEFAULT_SIZE)),
        "page=2 alone": (query(page=2), query(2, DEFAULT_SIZE)),
        "size=5 alone": (query(size=5), query(1, 5)),
    }
    if trial.operation.id != "listAccounts":
        active = _active(trial)
        probes["a filter alone"] = (active, query(1, DEFAULT_SIZE, active))
    trial.accept(stock.call.with_query(query(1, DEFAULT_SIZE)), "page 1 of size 10")

    def read() -> list[tuple[str, Exchange, Exchange]]:
        spelt: dict[str, Exchange] = {}
        answers = []
        for what, (short, explicit) in probes.items():
            if str(explicit) not in spelt:
                spelt[str(explicit)] = trial.send(stock.call.with_query(explicit), f"{what}, spelt out")
            answers.append((what, trial.send(stock.call.with_query(short), what), spelt[str(explicit)]))
        return answers

    for what, exchange, explicit in steady(trial, stock.call, read):
        expected = page_of(explicit)
        number, size = 2 if what == "page=2 alone" else 1, 5 if what == "size=5 alone" else DEFAULT_SIZE
        if number == 2 and (expected is None or not expected.items):
            continue
        found = paging.page(trial, "list.defaults", exchange, what)
        if found is None:
            continue
        for name, wanted in (("page", number), ("size", size)):
            if expected is not None and getattr(expected, name) != wanted:
                trial.set_aside("list.defaults", f"{name} is wrong even if spelt out", explicit, cause="list.echo")
            else:
                paging.number(trial, "list.defaults", found, name, wanted, what)
        if expected is None or found.ids == expected.ids:
            continue
        again = page_of(trial.send(explicit.call, f"{what}, spelt out again"))
        if again is None or again.ids != expected.ids:
            trial.set_aside("list.defaults", f"what page={number}&size={size} shows changes", explicit, cause="list.stable")
        else:
            trial.judge("list.defaults", False, f"{what}: the items of page={number}&size={size}", "other items", exchange, explicit)


def _active(trial: Trial) -> list[tuple[str, str]]:
    """The filter for active elements."""
    if trial.operation.id == "listWallets":
        return [("status", "active")]
    return statuses(trial.target.array_style, "active")


@check("list.stable")
def test_order_is_stable(trial: Trial) -> None:
    """Reads the same pages several times, with other reads in between: the same elements in the same order."""
    stock = _stock(trial, 2)
    # Of two elements in an arbitrary order, each further look finds out with a probability of one half.
    times = 3 if len(stock.created) > 4 else 8
    queries = {"page 1 of size 100": query(1, MAX_SIZE), "page 2 of size 3": query(2, 3), "no query": []}
    if trial.operation.id != "listAccounts":
        queries["page 1 of the active ones"] = query(1, MAX_SIZE, _active(trial))
    trial.accept(stock.call, "the list")

    def read() -> dict[str, list[Exchange]]:
        answers: dict[str, list[Exchange]] = {what: [] for what in queries}
        for _ in range(times):
            for what, parameters in queries.items():
                answers[what].append(trial.send(stock.call.with_query(parameters), what))
        return answers

    for what, exchanges in steady(trial, stock.call, read).items():
        found = [paging.page(trial, "list.stable", one, what) for one in exchanges]
        orders = [one.ids for one in found if one is not None]
        changed = [index for index, ids in enumerate(orders, 1) if ids != orders[0]]
        if orders:
            trial.judge("list.stable", not changed, f"{what}, read {len(orders)} times: the same elements in the same order",
                        f"a difference at the {_ordinal(changed[0])} time" if changed else "the same", *exchanges[:2])


def _ordinal(number: int) -> str:
    return {1: "first", 2: "second", 3: "third"}.get(number, f"{number}th")


# ---------------------------------------------------------------------- what is in a list


@check("list.complete", "list.envelope", "list.item-fields", "list.wallet-items", "list.order")
def test_list_shows_what_was_created(trial: Trial) -> None:
    """Compares each element with the answer that created it, and looks for elements of other parents."""
    stock = _stock(trial)
    trial.accept(stock.call, "the list")

    def read() -> tuple[list[Page], bool]:
        done = walk(trial, stock.call)
        pages = list(done.pages)
        if set(stock.created) - set(done.ids):
            pages += walk(trial, stock.call, size=DEFAULT_SIZE).pages
        return pages, done.cut

    pages, cut = steady(trial, stock.call, read)
    shown = [one for page in pages for one in page.ids]
    exchanges = [page.exchange for page in pages[:3]]
    if not pages:
        raise Inconclusive("the list could not be read", cause="list.envelope")
    missing = [one for one in [*stock.created, *stock.known] if one not in shown]
    if missing and cut:
        trial.set_aside("list.complete", f"{len(pages)} pages of more were read; {len(missing)} elements were not on them", *exchanges)
    else:
        trial.judge("list.complete", not missing, f"each of {len(stock.created) + len(stock.known)} known elements in the list",
                    f"{len(missing)} are not" if missing else "they are", *exchanges)
    paging.belongs(trial, shown, stock.created, stock.strangers, stock.exact, "the list", *exchanges)
    compared(trial, [item for page in pages for item in page.items], stock.created, exchanges)
    for rule in (one for one in _SCHEMA_RULES if one in trial.rules):
        problems = [(problem, page) for page in pages
                    for problem in contract.response_problems(trial.operation.id, page.exchange.document) if problem.rule == rule]
        got = f"{problems[0][0].pointer}: {problems[0][0].message}" if problems else "as stated"
        trial.judge(rule, not problems, RULES[rule].statement, got, problems[0][1].exchange if problems else exchanges[0])
    for name in ("total", "page", "size", "pages"):
        # To JSON Schema 12.0 is an integer, to most clients it is none.
        value = pages[0].exchange.get(name)
        if isinstance(value, float):
            trial.judge("list.envelope", False, f"{name}: an integer", show(value), pages[0].exchange)
    wrong = [one for page in pages for one in mistyped(trial.operation.id, page.items)]
    trial.judge("list.item-fields", not wrong, "each item with its documented fields, of their types",
                wrong[0] if wrong else "they are there", *exchanges)
    trial.observe("list.order", "in which order?", in_order(shown, list(stock.created)), exchanges[0])


@check("list.complete", "list.empty", "list.pages-empty", "list.pages")
def test_new_elements_show(trial: Trial) -> None:
    """Reads a list before and after each of two elements is added: at first empty, then with what was added."""
    if trial.operation.id == "listAccounts":
        _new_accounts_show(trial)
        return
    scene = trial.scene(fresh=True)
    listing = scene.call(trial.operation.id)
    trial.accept(_stock(trial).call, "a list that is not empty")
    probes = {"an empty list": query(1, DEFAULT_SIZE), "an empty list at size 1": query(1, 1), "an empty list without a query": [],
              "the active ones of an empty list": query(1, DEFAULT_SIZE, _active(trial))}
    for what, parameters in probes.items():
        exchange = trial.send(listing.with_query(parameters), what)
        _judge_empty(trial, exchange, what, 1 if "size 1" in what else DEFAULT_SIZE)
    samples = trial.suite.samples
    bodies = [samples.wallet(index) for index in range(min(2, len(samples.wallet_pairs)))]
    made: dict[str, Exchange] = {}
    for index in range(len(bodies) if trial.operation.id == "listWallets" else 2):
        body = bodies[index] if trial.operation.id == "listWallets" else None
        created = scene.create(CREATES[trial.operation.id], body)
        made[str(created.get("id"))] = created
        what = f"the list after {index + 1} of its elements"
        exchange = trial.send(listing.with_query(query(1, DEFAULT_SIZE)), what)
        found = paging.page(trial, "list.complete", exchange, what)
        if found is not None:
            missing = [one for one in made if one not in found.ids]
            trial.judge("list.complete", not missing, f"{what}: each of them", f"{len(missing)} missing", exchange)
            paging.belongs(trial, found.ids, made, {}, True, what, exchange)


def _new_accounts_show(trial: Trial) -> None:
    scene = trial.scene()
    listing = scene.call("listAccounts")
    trial.accept(listing, "the list")
    before = walk(trial, listing)
    created = scene.create("createAccount")
    after = walk(trial, listing, size=before.size)
    if after.broken is not None:
        paging.page(trial, "list.complete", after.broken, "the list after an account was added")
        return
    if after.cut and created.get("id") not in after.ids:
        total = after.total or 0
        rest = trial.send(listing.with_query(query(pages_of(total, MAX_SIZE), MAX_SIZE)), "the last page")
        after.pages += [page for page in [page_of(rest)] if page]
    if not after.cut and (after.repeated or after.total != len(after.ids)):
        trial.set_aside("list.complete", "the list cannot be read as a whole", *after.exchanges[:2], cause="list.walk")
        return
    trial.judge("list.complete", created.get("id") in after.ids, "the list after an account was added: that account in it",
                f"{len(after.ids)} others", created, after.pages[-1].exchange)
    if not after.cut:
        gone = set(before.ids) - set(after.ids)
        trial.judge("list.complete", not gone, "the list after an account was added: all that it showed before",
                    f"{len(gone)} are gone", after.pages[-1].exchange)
    for found in after.pages[:1]:
        paging.count_of_pages(trial, found, after.size, "the list after an account was added")


def _judge_empty(trial: Trial, exchange: Exchange, what: str, size: int) -> None:
    found = paging.page(trial, "list.empty", exchange, what)
    if found is None:
        if exchange.succeeded and exchange.get("items") is not MISSING:
            trial.judge("list.empty", False, f"{what}: items []", f"items {show(exchange.get('items'))}", exchange)
        return
    trial.judge("list.empty", not found.items, f"{what}: no items", f"{len(found.items)} items", exchange)
    paging.number(trial, "list.empty", found, "total", 0, what)
    if not found.items:
        paging.count_of_pages(trial, found, size, what, 0)
        trial.observe("list.pages-empty", "pages of an empty list", str(found.pages), exchange)


# ---------------------------------------------------------------------- out of range


@check("list.size-range", "list.out-of-range")
def test_size_out_of_range(trial: Trial) -> None:
    """Asks for sizes that are none, below 1 or above 100: refused, or a page of 1 to 100 elements."""
    stock = _stock(trial)
    trial.accept(stock.call.with_query(query(1, MAX_SIZE)), "page 1 of size 100")
    values = ("0", "-1", "-100", "101", "1000", "99999999999", "abc", "1.5", "")
    for value in values:
        exchange = trial.send(stock.call.with_query([("size", value)]), f"size={value}")
        _judge_size(trial, exchange, value)
        out_of_range(trial, exchange, "size", value)
    beside = [([("page", "2"), ("size", "101")], "101"), ([("page", "1"), ("size", "0")], "0")]
    if trial.operation.id != "listAccounts":
        beside += [([*_active(trial), ("size", "101")], "101"), ([("size", "-1"), *_active(trial)], "-1")]
    for parameters, value in beside:
        what = "&".join("=".join(pair) for pair in parameters)
        _judge_size(trial, trial.send(stock.call.with_query(parameters), what), value, what)


def _judge_size(trial: Trial, exchange: Exchange, value: str, what: str = "") -> None:
    rule, what = "list.size-range", what or f"size={value}"
    if not trial.usable(rule, exchange):
        return
    found = page_of(exchange)
    expected = f"{what}: a refusal (4xx), or a page of a size from 1 to {MAX_SIZE}"
    if found is None:
        if exchange.succeeded:
            trial.set_aside(rule, f"{what} was answered {exchange.described()}, not with a page", exchange, cause="list.envelope")
        else:
            trial.judge(rule, exchange.refused, expected, exchange.described(), exchange)
        return
    size, count = found.size, len(found.items)
    shown = f"{count} items with size {_shown(exchange)}"
    good = size is not None and 1 <= size <= MAX_SIZE and count <= size
    if good and not count and "page=2" not in what:
        # None of the elements that are there: a size of nothing was obeyed.
        good = False
    trial.judge(rule, good, expected, shown, exchange)


def _shown(exchange: Exchange, name: str = "size") -> str:
    """A number of the envelope for a sentence."""
    return repr(exchange.get(name))[:40]


@check("list.page-range", "list.out-of-range")
def test_page_out_of_range(trial: Trial) -> None:
    """Asks for pages that are none or below 1: refused, or the items of a page that there is."""
    stock = _stock(trial)
    trial.accept(stock.call.with_query(query(1, MAX_SIZE)), "page 1 of size 100")
    values = ("0", "-1", "-2", "abc", "1.5", "")

    def read() -> list[tuple[str, int, Exchange, Exchange | None]]:
        answers = []
        for size in (3, MAX_SIZE):
            sound: dict[int, Exchange] = {}
            for value in values if size == 3 else values[:2]:
                exchange = trial.send(stock.call.with_query([("page", value), ("size", str(size))]), f"page={value} at size {size}")
                number = (found := page_of(exchange)) and found.page
                if number is not None and number >= 1 and number not in sound:
                    sound[number] = trial.send(stock.call.with_query(query(number, size)), f"page {number} of size {size}")
                answers.append((value, size, exchange, sound.get(number or 0)))
        return answers

    for value, size, exchange, sound in steady(trial, stock.call, read):
        _judge_page(trial, value, size, exchange, sound)
        if size == 3:
            out_of_range(trial, exchange, "page", value)
    alone = trial.send(stock.call.with_query([("page", "0")]), "page=0 alone")
    _judge_page(trial, "0", DEFAULT_SIZE, alone, None)


def _judge_page(trial: Trial, value: str, size: int, exchange: Exchange, sound: Exchange | None) -> None:
    rule, what = "list.page-range", f"page={value} at size {size}"
    if not trial.usable(rule, exchange):
        return
    found = page_of(exchange)
    expected = f"{what}: a refusal (4xx), or a page from 1 on"
    if found is None:
        if exchange.succeeded:
            trial.set_aside(rule, f"{what} was answered {exchange.described()}, not with a page", exchange, cause="list.envelope")
        else:
            trial.judge(rule, exchange.refused, expected, exchange.described(), exchange)
        return
    good = found.page is not None and found.page >= 1
    trial.judge(rule, good, expected, f"page {_shown(exchange, 'page')}", exchange)
    there = page_of(sound) if sound else None
    if good and sound and there is not None:
        trial.judge(rule, sorted(found.ids) == sorted(there.ids), f"{what}, answered as page {found.page}: the items of that page",
                    f"{len(found.ids)} items, {len(set(found.ids) - set(there.ids))} of them others", exchange, sound)


#: Pages whose offset at size 16 is 0 again in 64 bits, or which hardly fit 64 bits themselves.
_BEYOND_NUMBERS = {"page=2**60+1 at size 16": 2**60 + 1, "page=2**63-1 at size 16": 2**63 - 1}


@check("list.page-beyond", "list.out-of-range")
def test_page_past_the_last(trial: Trial) -> None:
    """Asks for pages past the last, also so far that a 64-bit offset overflows: no items, or a refusal."""
    stock = _stock(trial)
    trial.accept(stock.call.with_query(query(1, MAX_SIZE)), "page 1 of size 100")

    def read() -> list[tuple[str, Exchange]]:
        done = walk(trial, stock.call)
        count = max(len(set(done.ids)), done.total or 0)
        probes = []
        for size, steps in ((DEFAULT_SIZE, (1, 2, 100)), (1, (1, 2)), (MAX_SIZE, (1,))):
            last = max(1, pages_of(count, size))
            probes += [(f"page {step} past the last of size {size}", query(last + step, size)) for step in steps]
        # Times 16, 2**28 makes an offset that is 0 again in 32 bits.
        probes += [("page=1000000000000", query(page=10**12)), ("page=268435457 at size 16", query(2**28 + 1, 16))]
        probes += [(what, query(far, 16)) for what, far in _BEYOND_NUMBERS.items()]
        if trial.operation.id != "listAccounts":
            last = max(1, pages_of(count, DEFAULT_SIZE))
            probes.append(("the page past the last of the active ones", query(last + 1, DEFAULT_SIZE, _active(trial))))
        return [(what, trial.send(stock.call.with_query(parameters), what)) for what, parameters in probes]

    rule = "list.page-beyond"
    for what, exchange in steady(trial, stock.call, read):
        if trial.usable(rule, exchange):
            found = page_of(exchange)
            if found is None and exchange.succeeded:
                trial.set_aside(rule, f"{what} was answered {exchange.described()}, not with a page", exchange, cause="list.envelope")
            else:
                got = f"{len(found.items)} items" if found else exchange.described()
                good = not found.items if found else exchange.refused
                if found and what in _BEYOND_NUMBERS:
                    # What does not fit the server's numbers, it may take for none and answer as another page.
                    good = good or found.page not in _BEYOND_NUMBERS.values()
                trial.judge(rule, good, f"{what}: no items, or a refusal (4xx)", got, exchange)
        if what in ("page 1 past the last of size 10", "page=1000000000000"):
            answer = f"refused {exchange.status}" if exchange.refused else f"answered {exchange.status}"
            trial.observe("list.out-of-range", what, answer, exchange)
