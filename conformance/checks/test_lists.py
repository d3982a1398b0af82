"""Paged lists: section 8 of the specification, and what the lists of section 4 hold."""

from __future__ import annotations

from typing import Any

from conformance import contract, paging
from conformance.checks.list_reading import (
    PageReading,
    active,
    compared,
    in_order,
    mistyped,
    read_at_all_sizes,
    stocked,
)
from conformance.exchange import MISSING, Exchange
from conformance.listing import DEFAULT_SIZE, MAX_SIZE, Page, page_of, pages_of, query, steady, walk
from conformance.populated import CREATES, MORE_PAIRS, large
from conformance.rules import RULES
from conformance.runner import check
from conformance.suite import refusal_of_sound
from conformance.trial import Trial, show
from conformance.verdict import Inconclusive

_SCHEMA_RULES = ("list.envelope", "list.item-fields", "list.wallet-items")


# ---------------------------------------------------------------------- pages


@check("list.walk", "list.pages", "list.echo", "list.stable")
def test_walking_pages(trial: Trial) -> None:
    """Walks a list at sizes 100, 10, 2 and 1: each element once, full pages, numbers that agree."""
    stock = stocked(trial)
    reading = steady(trial, stock.call, lambda: read_at_all_sizes(trial, stock.call, (10, 2, 1)))
    if len(reading.known) > 1:
        _judge_walks(trial, reading)
    else:
        for rule in ("list.walk", "list.stable"):
            trial.set_aside(rule, f"a list of one element is no list to walk. {MORE_PAIRS}")
    _judge_numbers(trial, reading)


@check(
    "list.walk",
    "list.pages",
    "list.echo",
    "list.complete",
    "list.size-range",
    operations=("listPayoutDestinations", "listVirtualAccounts"),
)
def test_more_elements_than_a_page_holds(trial: Trial) -> None:
    """Walks a list of 101 elements, and asks for more of them at once than a page may hold."""
    stock = large(trial.suite, trial.operation.id)
    reading = read_at_all_sizes(trial, stock.call, (50, 10, 1))
    _judge_walks(trial, reading)
    _judge_numbers(trial, reading)
    missing = [one for one in stock.created if one not in reading.known]
    trial.judge(
        "list.complete",
        not missing,
        f"each of {len(stock.created)} created elements in the list",
        f"{len(missing)} are not" if missing else "they are",
        *reading.walks[0].exchanges,
    )
    for value in ("0", "-1", "101", "1000"):
        probe = trial.send(
            stock.call.with_query([("size", value)]), f"size={value} of {len(stock.created)} elements"
        )
        paging.size_in_range(trial, probe, f"size={value} of {len(stock.created)} elements")


def _judge_walks(trial: Trial, reading: PageReading) -> None:
    """Judges list.walk, and list.stable where the trial cites it."""
    known, first = reading.known, reading.walks[0]
    for done in reading.walks:
        what = f"pages of size {done.size}"
        sound = paging.whole(trial, "list.walk", done, known, what)
        if sound and reading.in_order and not done.cut and "list.stable" in trial.rules:
            trial.judge(
                "list.stable",
                done.ids == first.ids,
                f"{what}: the order that size {MAX_SIZE} shows",
                "another one",
                *done.exchanges[:2],
            )
        if not any(one.cut for one in reading.walks):
            paging.totals(trial, "list.walk", done.pages, len(known), what)
    for size, number, exchange in reading.samples:
        what = f"page {number} of size {size}"
        found = paging.page(trial, "list.walk", exchange, what)
        part = first.ids[(number - 1) * size : number * size]
        if found is not None and reading.in_order and (part or not first.cut):
            others = len(set(found.ids) - set(part))
            trial.judge(
                "list.walk",
                found.ids == part,
                f"{what}: the {len(part)} elements that follow those of page {number - 1}",
                f"{len(found.ids)} elements, {others} of them others",
                exchange,
            )


def _judge_numbers(trial: Trial, reading: PageReading) -> None:
    """Judges list.echo and list.pages on every page that was read."""
    count = None if reading.walks[0].cut else len(reading.known) or None
    pages = [(done.size, index, page) for done in reading.walks for index, page in enumerate(done.pages, 1)]
    pages += [
        (size, number, page) for size, number, exchange in reading.samples if (page := page_of(exchange))
    ]
    for size, number, page in pages:
        what = f"page {number} of size {size}"
        paging.echo(trial, page, number, size, what)
        paging.count_of_pages(trial, page, size, what, count)


@check("list.defaults")
def test_defaults(trial: Trial) -> None:
    """Leaves out page, size or both, and compares with what asking for page 1 and size 10 brings."""
    stock = stocked(trial)
    trial.accept(stock.call.with_query(query(1, DEFAULT_SIZE)), "page 1 of size 10")

    def read() -> list[tuple[str, int, int, Exchange, Exchange]]:
        first = trial.send(stock.call.with_query(query(1, DEFAULT_SIZE)), "page 1 of size 10")
        found = page_of(first)
        last = pages_of(found.total, DEFAULT_SIZE) if found and found.total else 2
        probes = [
            ("no query", [], 1, DEFAULT_SIZE),
            ("page=1 alone", query(page=1), 1, DEFAULT_SIZE),
            ("size=5 alone", query(size=5), 1, 5),
        ]
        if last > 1:
            probes.append(("the last page alone", query(page=last), last, DEFAULT_SIZE))
        if trial.operation.id != "listAccounts":
            probes.append(("a filter alone", active(trial), 1, DEFAULT_SIZE))
        answers = []
        for what, parameters, number, size in probes:
            explicit = first
            if (number, size) != (1, DEFAULT_SIZE) or what == "a filter alone":
                filters = active(trial) if what == "a filter alone" else []
                explicit = trial.send(
                    stock.call.with_query(query(number, size, filters)), f"{what}, spelt out"
                )
            answers.append(
                (what, number, size, trial.send(stock.call.with_query(parameters), what), explicit)
            )
        return answers

    for what, number, size, exchange, explicit in steady(trial, stock.call, read):
        found = paging.page(trial, "list.defaults", exchange, what)
        if found is not None:
            _judge_defaults(trial, found, explicit, what, number, size)


def _judge_defaults(trial: Trial, found: Page, explicit: Exchange, what: str, number: int, size: int) -> None:
    expected = page_of(explicit)
    for name, wanted in (("page", number), ("size", size)):
        if expected is not None and getattr(expected, name) != wanted:
            trial.set_aside(
                "list.defaults", f"{name} is wrong even if spelt out", explicit, cause="list.echo"
            )
        else:
            paging.number(trial, "list.defaults", found, name, wanted, what)
    if expected is None or found.ids == expected.ids:
        return
    again = page_of(trial.send(explicit.call, f"{what}, spelt out again"))
    if again is None or again.ids != expected.ids:
        trial.set_aside(
            "list.defaults", f"what page={number}&size={size} shows changes", explicit, cause="list.stable"
        )
    else:
        trial.judge(
            "list.defaults",
            False,
            f"{what}: the {len(expected.items)} items of page={number}&size={size}",
            f"{len(found.items)} items, {len(set(found.ids) - set(expected.ids))} of them others",
            found.exchange,
            explicit,
        )


@check("list.stable")
def test_order_is_stable(trial: Trial) -> None:
    """Reads the same pages several times, other pages in between: the same elements in the same order."""
    stock = stocked(trial, 2)
    # Of two elements in an arbitrary order, each further look finds out with a probability of one half.
    times = 3 if len(stock.created) > 4 else 8
    queries = {"page 1 of size 100": query(1, MAX_SIZE), "page 2 of size 3": query(2, 3), "no query": []}
    if trial.operation.id != "listAccounts":
        queries["page 1 of the active ones"] = query(1, MAX_SIZE, active(trial))
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
            trial.judge(
                "list.stable",
                not changed,
                f"{what}, read {len(orders)} times: the same elements in the same order",
                f"a difference at the {_ordinal(changed[0])} time" if changed else "the same",
                *exchanges[:2],
            )


def _ordinal(number: int) -> str:
    return {1: "first", 2: "second", 3: "third"}.get(number, f"{number}th")


# ---------------------------------------------------------------------- what is in a list


@check("list.complete", "list.envelope", "list.item-fields", "list.wallet-items", "list.order")
def test_list_shows_what_was_created(trial: Trial) -> None:
    """Compares each element with the answer that created it, and looks for elements of other parents."""
    stock = stocked(trial)
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
        trial.set_aside(
            "list.complete",
            f"{len(pages)} pages of more were read; {len(missing)} elements were not on them",
            *exchanges,
        )
    else:
        trial.judge(
            "list.complete",
            not missing,
            f"each of {len(stock.created) + len(stock.known)} known elements in the list",
            f"{len(missing)} are not" if missing else "they are",
            *exchanges,
        )
    paging.belongs(trial, shown, stock.created, stock.strangers, stock.exact, "the list", *exchanges)
    compared(trial, [item for page in pages for item in page.items], stock.created, exchanges)
    for rule in (one for one in _SCHEMA_RULES if one in trial.rules):
        problems = [
            (problem, page)
            for page in pages
            for problem in contract.response_problems(trial.operation.id, page.exchange.document)
            if problem.rule == rule
        ]
        got = f"{problems[0][0].pointer}: {problems[0][0].message}" if problems else "as stated"
        trial.judge(
            rule,
            not problems,
            RULES[rule].statement,
            got,
            problems[0][1].exchange if problems else exchanges[0],
        )
    for name in ("total", "page", "size", "pages"):
        # To JSON Schema 12.0 is an integer, to most clients it is none.
        value = pages[0].exchange.get(name)
        if isinstance(value, float):
            trial.judge("list.envelope", False, f"{name}: an integer", show(value), pages[0].exchange)
    wrong = [one for page in pages for one in mistyped(trial.operation.id, page.items)]
    trial.judge(
        "list.item-fields",
        not wrong,
        "each item with its documented fields, of their types",
        wrong[0] if wrong else "they are there",
        *exchanges,
    )
    trial.observe("list.order", "in which order?", in_order(shown, list(stock.created)), exchanges[0])


@check("list.complete", operations=("listAccounts",))
def test_new_account_shows(trial: Trial) -> None:
    """Walks the accounts before and after one is added: all that were there, and the new one."""
    scene = trial.scene()
    listing = scene.call("listAccounts")
    trial.accept(listing, "the list")
    before = walk(trial, listing)
    created = scene.create("createAccount")
    after = walk(trial, listing)
    what = "the list after an account was added"
    if after.broken is not None or not after.pages:
        paging.page(trial, "list.complete", after.exchanges[-1], what)
        return
    if not after.cut and (after.repeated or after.total != len(after.ids)):
        trial.set_aside(
            "list.complete", "the list cannot be read as a whole", *after.exchanges[:2], cause="list.walk"
        )
        return
    shown = set(after.ids)
    if after.cut:
        # Of very many accounts only the first pages were read; a new one may be on the last.
        rest = trial.send(
            listing.with_query(query(pages_of(after.total or 0, MAX_SIZE), MAX_SIZE)), "the last page"
        )
        shown |= set(last.ids if (last := page_of(rest)) else ())
    else:
        gone = set(before.ids) - shown
        trial.judge(
            "list.complete",
            not gone,
            f"{what}: all that it showed before",
            f"{len(gone)} are gone",
            after.pages[-1].exchange,
        )
    if created.get("id") in shown or not after.cut:
        trial.judge(
            "list.complete",
            created.get("id") in shown,
            f"{what}: that account in it",
            f"{len(shown)} others",
            created,
            after.pages[-1].exchange,
        )
    else:
        trial.set_aside(
            "list.complete", "the new account is neither on the first pages nor on the last", created
        )


@check(
    "list.complete",
    "list.empty",
    "list.pages-empty",
    "list.pages",
    "list.defaults",
    operations=tuple(RULES["list.empty"].operations),
)
def test_new_elements_show(trial: Trial) -> None:
    """Reads a list before and after each of two elements is added: first empty, then with what was added."""
    scene = trial.scene(fresh=True)
    listing = scene.call(trial.operation.id)
    trial.accept(stocked(trial).call, "a list that is not empty")
    probes = {
        "an empty list": query(1, DEFAULT_SIZE),
        "an empty list at size 1": query(1, 1),
        "an empty list without a query": [],
        "the active ones of an empty list": query(1, DEFAULT_SIZE, active(trial)),
    }
    for what, parameters in probes.items():
        exchange = trial.send(listing.with_query(parameters), what)
        _judge_empty(trial, exchange, what, 1 if "size 1" in what else DEFAULT_SIZE)
        if not parameters and (found := page_of(exchange)) is not None:
            paging.number(trial, "list.defaults", found, "page", 1, what)
            paging.number(trial, "list.defaults", found, "size", DEFAULT_SIZE, what)
    made: dict[str, Exchange] = {}
    for body in _two_bodies(trial):
        created = trial.send(scene.call(CREATES[trial.operation.id], body), "an element to be listed")
        if not created.succeeded:
            trial.set_aside("list.complete", refusal_of_sound(created).reason, created)
            break
        made[str(created.get("id"))] = created
        what = f"the list after {len(made)} of its elements"
        exchange = trial.send(listing.with_query(query(1, DEFAULT_SIZE)), what)
        found = paging.page(trial, "list.complete", exchange, what)
        if found is not None:
            missing = [one for one in made if one not in found.ids]
            trial.judge(
                "list.complete", not missing, f"{what}: each of them", f"{len(missing)} missing", exchange
            )
            paging.belongs(trial, found.ids, made, {}, True, what, exchange)


def _two_bodies(trial: Trial) -> list[dict[str, Any] | None]:
    """What to create two elements with, None for the sample; wallets differ in their pairs."""
    samples = trial.suite.samples
    if trial.operation.id == "listWallets":
        return [samples.wallet(index) for index in range(min(2, len(samples.wallet_pairs)))]
    return [None, None]


def _judge_empty(trial: Trial, exchange: Exchange, what: str, size: int) -> None:
    found = paging.page(trial, "list.empty", exchange, what)
    if found is None:
        if exchange.succeeded and exchange.get("items") is not MISSING:
            trial.judge(
                "list.empty", False, f"{what}: items []", f"items {show(exchange.get('items'))}", exchange
            )
        return
    trial.judge("list.empty", not found.items, f"{what}: no items", f"{len(found.items)} items", exchange)
    paging.number(trial, "list.empty", found, "total", 0, what)
    if not found.items:
        paging.count_of_pages(trial, found, size, what, 0)
        trial.observe("list.pages-empty", "pages of an empty list", str(found.pages), exchange)
