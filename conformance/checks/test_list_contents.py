"""Contents of lists: elements, new elements and empty lists (sections 4.1, 4.3, 4.5, 4.6 and 8)."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from typing import Any

from conformance.checks.check import Check, check
from conformance.checks.filtered_list import FAR_FUTURE, FAR_PAST
from conformance.checks.list_judging import (
    active,
    compared,
    judge_by_query,
    judge_count,
    judge_single_page,
    shows_all,
    steady,
    stocked,
    usable_page,
)
from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.rules import RULES
from conformance.contract.traits import TRAITS
from conformance.judge import outcomes
from conformance.judge.comparison import objects, sent_document
from conformance.judge.outcomes import Unclear
from conformance.judge.paging import (
    count_of_pages,
    ids_of,
    listed,
    no_items,
    no_repeats,
    none_in_common,
    number_is,
)
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import MISSING, Call, Exchange
from conformance.wire.pages import (
    DEFAULT_SIZE,
    MAX_SIZE,
    Page,
    Parameters,
    find,
    identity,
    page_of,
    query,
    status_filter,
    walk,
)
from conformance.world.calls import call
from conformance.world.habits import prepopulated
from conformance.world.known_lists import KnownList, account_with_wallets
from conformance.world.lane import Fixture
from conformance.world.list_elements import SMALL
from conformance.world.purposes import PAYOUTS
from conformance.world.refused_samples import refusal_of_valid

_SCHEMA_RULES = ("list.envelope", "list.item-fields", "list.wallet-items")


@check(
    "list.complete",
    "list.envelope",
    "list.item-fields",
    "list.wallet-items",
    "list.order",
    operations=OPERATION_SETS["list"],
    early=True,
)
def test_list_shows_what_was_created(at: Check) -> None:
    """Walks a list: each created element as its create answered it, and none of another parent."""
    stock = stocked(at)
    at.accept(stock.call, "the list")
    # Several pages of a small list: elements of a later page may differ.
    sizes = [MAX_SIZE, DEFAULT_SIZE]
    if DEFAULT_SIZE < len(stock.created) <= SMALL:
        sizes.reverse()

    def read() -> tuple[list[Page], bool]:
        done = walk(at.send, stock.call, size=sizes[0])
        pages = list(done.pages)
        if done.cut:
            pages += find(at.send, stock.call, done, _some([*stock.created.values()]))
        elif set(stock.created) - set(done.ids):
            pages += walk(at.send, stock.call, size=sizes[1]).pages
        return pages, done.cut

    known = [*stock.created, *stock.named]
    pages, cut = at.eventually(
        lambda: steady(at, stock.call, read),
        lambda reading: reading[1] or {*known} <= {*ids_of(reading[0])},
    )
    exchanges = [page.exchange for page in pages]
    if not pages:
        raise Inconclusive(Unclear("the list could not be read", "list.envelope"))
    for rule in (rule for rule in _SCHEMA_RULES if rule in at.rules):
        at.expect(rule, *outcomes.documented(RULES[rule].statement, rule, at.operation.id, exchanges))
    if not at.operation.filled_by:
        if not ids_of(pages):
            at.not_applicable("list.item-fields", "the list is empty, and no request adds to it")
        return
    if cut:
        # Whether the others are there, no page tells.
        known = [each for each in known if each in ids_of(pages)]
    at.expect("list.complete", *listed("all that is known to be there", known, exchanges))
    at.expect("list.complete", *stock.only_own(at.lane, "the list", exchanges))
    compared(at, stock.created, exchanges)
    at.observe("list.order", "in which order?", in_order(ids_of(pages), list(stock.created)), exchanges[0])


def _some(created: Sequence[Exchange]) -> list[Any]:
    """The documents of the first, the middle and the last created element."""
    places = {0, len(created) // 2, len(created) - 1} if created else ()
    return [created[place].document for place in sorted(places)]


@check("list.complete", "list.walk", operations=("listAccounts",), last=True)
def test_accounts_in_use_are_listed(at: Check) -> None:
    """Walks the customer's accounts: the funded one of the target file and one with wallets in it are there,
    none twice on a page. Another customer's list, read right after that, shows none of them."""
    primary = at.target.primary
    if primary.funded_account_id is None:
        at.not_exercised("list.complete", "the target file names no funded account")
        at.not_exercised("list.walk", "the target file names no funded account")
        return
    used = list(filter(None, (primary.funded_account_id, account_with_wallets(at.lane))))
    listing = call("listAccounts", {"customer_id": primary.customer_id})
    at.accept(listing, "the list")
    # Another size than that of the pages with which later reads are compared.
    read = at.eventually(
        lambda: walk(at.send, listing, size=MAX_SIZE - 1),
        lambda read: read.cut or set(used) <= set(read.ids),
    )
    if read.broken is not None or not read.pages:
        usable_page(at, "list.complete", read.exchanges[-1], "a page of the accounts")
        return
    pages = read.page_exchanges
    if read.cut:
        pages += [page.exchange for page in find(at.send, listing, read, [{"id": each} for each in used])]
        used = [each for each in used if any(each in page.ids for page in map(page_of, pages) if page)]
    if primary.other_customer_id is not None:
        other = call("listAccounts", {"customer_id": primary.other_customer_id})
        _judge_other(at, other.with_query(read.pages[-1].exchange.call.query), read.pages[-1])
    if read.whole and not read.cut and any((page.total or 0) > len({*read.ids}) for page in read.pages):
        # Accounts have more children here than in the list that is walked at all sizes.
        judge_count(at, listing, read)
    for page in read.pages:
        at.expect("list.walk", *no_repeats("a page of the accounts: none of them twice", page))
    if used:
        at.expect("list.complete", *listed("the accounts in use", used, pages))
    else:
        at.not_exercised("list.complete", "the list is too long to be read to its end")


def _judge_other(at: Check, request: Call, page: Page) -> None:
    """Judges that another customer's list shows no account of a page of the first one's: a cache may know
    pages by their queries alone."""
    what = "another customer's list, right after the first one's"
    exchange = at.send(request, what)
    if other := page_of(exchange):
        at.expect("list.complete", *none_in_common(f"{what}: none of its accounts", other, page))


@check(
    "list.complete",
    "list.empty",
    "list.pages-empty",
    "list.pages",
    "list.defaults",
    "list.status-filter",
    "read.delay",
    operations=tuple(RULES["list.empty"].operations),
)
def test_new_elements_show(at: Check) -> None:
    """Reads a list before and after each of two creates, the second time by its active elements: empty first,
    then with every created element."""
    fixture = at.account(fresh=True)
    listing = fixture.call(at.operation.id)
    at.accept(stocked(at).call, "a list that is not empty")
    probes = {
        "an empty list": (DEFAULT_SIZE, query(1, DEFAULT_SIZE)),
        "an empty list at size 1": (1, query(1, 1)),
        "an empty list without a query": (DEFAULT_SIZE, []),
        "the active ones of an empty list": (DEFAULT_SIZE, query(1, DEFAULT_SIZE, active(at))),
    }
    for what, (size, parameters) in probes.items():
        exchange = at.find(listing.with_query(parameters), what)
        if (first := page_of(exchange)) and first.items and prepopulated(at.lane, at.operation.id):
            what = f"{what}, by a date before all elements"
            exchange = at.send(listing.with_query([*parameters, ("end_date", FAR_PAST)]), what)
        _judge_empty(at, exchange, what, size)
        if page_of(exchange) is not None:
            judge_by_query(at, exchange, "list.status-filter" if parameters else "list.defaults")
    elements: dict[str, Exchange] = {}
    wallets = TRAITS[at.operation.filled_by].unique_pair
    for body in at.lane.samples.wallets()[:2] if wallets else (None, None):
        created = at.send(fixture.call(at.operation.filled_by, body), "an element to be listed")
        if not created.succeeded:
            at.unclear("list.complete", refusal_of_valid(created).why, created)
            break
        elements[str(created.get("id"))] = created
        # Then by a filter, as before: caches may forget one query and not the other.
        filters = active(at) if len(elements) > 1 else []
        what = f"the {'active ones' if filters else 'list'} after {len(elements)} of its elements"
        looking = listing.with_query(query(1, DEFAULT_SIZE, filters))
        exchange = at.eventually(
            functools.partial(at.find, looking, what), functools.partial(shows_all, elements)
        )
        page = usable_page(at, "list.complete", exchange, what)
        if page is not None:
            expected = list(elements)
            if filters and not elements.keys() <= set(page.ids):
                expected = _active_ones(at, listing, elements)
            at.expect("list.complete", *listed(what, expected, [exchange]))
            judge_single_page(at, page, what)
            judge_by_query(at, exchange, "list.pages")
            at.expect(
                "list.complete", *KnownList(fixture, listing, elements).only_own(at.lane, what, [exchange])
            )
    at.observe_delay("when does a new element show?")
    if "beneficiary_id" in at.operation.path_parameters:
        _judge_changed(at, fixture, elements, "updateBeneficiary", "changed")
        _judge_changed(at, fixture, elements, "disableBeneficiary", "disabled")


def _active_ones(at: Check, listing: Call, elements: Collection[str]) -> list[str]:
    """Returns the ids of those elements that the list shows as active: background jobs may change others."""
    answer = at.find(listing.with_query(query(1, DEFAULT_SIZE)), "the list, to tell which ones are active")
    return [
        str(item.get("id"))
        for item in objects(answer.get("items"))
        if item.get("status") == "active" and identity(item) in elements
    ]


def _judge_changed(
    at: Check, fixture: Fixture, elements: dict[str, Exchange], operation: str, changed: str
) -> None:
    """Judges that a beneficiary's destinations stay listed after it is changed or disabled, where the list is
    shown, and that a destination accepted after the disable is listed too."""
    what = f"the list after its beneficiary was {changed}"
    if not at.send(fixture.call(operation), f"it is {changed}").succeeded:
        return
    if TRAITS[operation].disables:
        late = at.send(fixture.call("createPayoutDestination"), "a destination of a disabled beneficiary")
        if late.succeeded:
            elements = {**elements, str(late.get("id")): late}
    exchange = at.eventually(
        functools.partial(at.find, fixture.call(at.operation.id), what),
        functools.partial(shows_all, elements),
    )
    if (page := page_of(exchange)) is not None:
        at.expect("list.complete", *listed(what, list(elements), [exchange], once=True))
        judge_single_page(at, page, what)
    if TRAITS[operation].disables:
        # Destinations have a status of their own, which the filter must use.
        disabled = status_filter(at.operation.id, at.target.array_style, "disabled")
        exchange = at.send(fixture.call(at.operation.id).with_query(disabled), f"{what}, by status")
        if page_of(exchange) is not None:
            judge_by_query(at, exchange, "list.status-filter")


def _judge_empty(at: Check, exchange: Exchange, what: str, size: int) -> None:
    page = usable_page(at, "list.empty", exchange, what)
    if page is None:
        if exchange.succeeded and exchange.get("items") is not MISSING:
            at.equal("list.empty", what, "items", [], exchange)
        return
    at.expect("list.empty", *no_items(f"{what}: no items", page))
    at.expect("list.empty", *number_is(what, page, "total", 0))
    if not page.items:
        at.expect("list.pages", *count_of_pages(what, page, size, 0))
        at.observe("list.pages-empty", "pages of an empty list", str(page.pages), exchange)


# ---------------------------------------------------------------------- elements with many children

#: Payouts to the destination whose list is read.
_PAID = 3


@check("list.filters-combine", "list.walk", "list.complete", last=True)
def test_elements_with_children_are_counted_once(at: Check) -> None:
    """At the end of the run, lists in the account that payouts draw on, whose destination was paid several
    times, are read whole and with each filter: each element is shown and counted once."""
    fixture = at.lane.account(PAYOUTS)
    listing = _with_children(at, fixture)
    whole = at.accept(listing.with_query(query(1, MAX_SIZE)), "a list whose elements have children")
    items = objects(whole.get("items"))
    filters: dict[str, Parameters] = {
        "": [],
        "the active ones of ": active(at),
        "those from 1970 on of ": [("start_date", FAR_PAST)],
        "those until 2099 of ": [("end_date", FAR_FUTURE)],
    }
    if items and "currency" in at.operation.query_parameters:
        filters["those of a currency of "] = [("currency", str(items[0].get("currency", "")))]
    for which, parameters in filters.items():
        what = f"{which}a list whose elements have children"
        request = listing.with_query(query(1, MAX_SIZE, parameters))
        # A replica may count what is new later.
        answer = at.eventually(functools.partial(at.send, request, what), _counted)
        if (page := usable_page(at, "list.walk", answer, what)) is None:
            continue
        at.expect("list.walk", *no_repeats(f"{what}: none twice", page))
        if len(page.items) < MAX_SIZE:
            rule = "list.filters-combine" if which else "list.complete"
            at.expect(rule, *number_is(what, page, "total", len(set(page.ids))))


def _counted(answer: Exchange) -> bool:
    """True if a page is none, or counts the elements that it shows."""
    page = page_of(answer)
    return page is None or page.total in (None, len(set(page.ids)))


def _with_children(at: Check, fixture: Fixture) -> Call:
    """The list of the check's operation in an account, in which something is listed and payouts were made."""
    run, (beneficiary, destination, _) = at.lane, fixture.payee
    paid = sum(
        str(each.operation) == "createPayout"
        and sent_document(each.call).get("payout_destination_id") == destination
        for each in list(run.accepted)
    )
    for _ in range(paid, _PAID):
        if not at.send(
            fixture.call("createPayout"), "a payout, for a destination paid several times"
        ).succeeded:
            break
    if "beneficiary_id" in at.operation.path_parameters:
        ids = {"account_id": fixture.account_id, "beneficiary_id": beneficiary}
        return call(at.operation.id, ids)
    at.send(fixture.call(at.operation.filled_by), "an element of a list whose account has children")
    return fixture.call(at.operation.id)


def in_order(ids: Sequence[str], created: Sequence[str]) -> str:
    """Describes the order of a list by the elements whose order of creation is known."""
    ours = [identifier for identifier in dict.fromkeys(ids) if identifier in set(created)]
    expected = [identifier for identifier in created if identifier in set(ours)]
    if len(ours) < 2:
        return "cannot be told"
    if ours == expected:
        return "oldest first"
    return "newest first" if ours == expected[::-1] else "another"
