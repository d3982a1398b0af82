"""Pages and sizes out of range, and pages past the last (section 8)."""

from __future__ import annotations

import itertools

from conformance.checks.check import Check, check
from conformance.checks.list_judging import (
    active,
    judge_by_query,
    judge_size,
    stocked,
    usable_page,
)
from conformance.contract.operation_sets import OPERATION_SETS
from conformance.judge import outcomes, paging, queries
from conformance.judge.outcomes import Judgement, Unclear
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import DEFAULT_SIZE, MAX_SIZE, Walk, page_of, pages_of, query, walk


@check("list.size-range", "list.out-of-range")
def test_size_out_of_range(at: Check) -> None:
    """Sends sizes that are not integers from 1 to 100: refused, or answered with such a size."""
    stock = stocked(at)
    at.accept(stock.call.with_query(query(1, MAX_SIZE)), "page 1 of size 100")
    values = ("0", "-1", "-100", "101", "1000", "99999999999", "100000000000000000000", "abc", "1.5", "")
    probes = [[("size", value)] for value in values]
    probes += [[("page", "2"), ("size", "101")], [("page", "1"), ("size", "0")]]
    # With two sizes, a server may validate one and use the other.
    probes.append([("size", "2"), ("size", "1000")])
    if filters := active(at):
        probes += [[*filters, ("size", "101")], [("size", "-1"), *filters]]
    for parameters in probes:
        what = "&".join("=".join(pair) for pair in parameters)
        exchange = at.send(stock.call.with_query(parameters), what)
        judge_size(at, exchange, what, filled=("page", "2") not in parameters)
        if len(parameters) == 1:
            out_of_range(at, exchange, *parameters[0])


@check("list.page-range", "list.out-of-range")
def test_page_out_of_range(at: Check) -> None:
    """Sends pages that are not positive integers: refused, or the items of the page that is named."""
    stock, values = stocked(at), ("0", "-1", "-2", "abc", "1.5", "")
    at.accept(stock.call.with_query(query(1, MAX_SIZE)), "page 1 of size 100")
    for value, size in [*((value, 3) for value in values), *((value, MAX_SIZE) for value in values[:2])]:
        what = f"page={value} at size {size}"
        exchange = at.send(stock.call.with_query([("page", value), ("size", str(size))]), what)
        _judge_number(at, exchange, what, size)
        if size == 3:
            out_of_range(at, exchange, "page", value)
    what = "page=0 alone"
    _judge_number(at, at.send(stock.call.with_query([("page", "0")]), what), what, DEFAULT_SIZE)


def _judge_number(at: Check, exchange: Exchange, what: str, size: int) -> None:
    """Judges list.page-range on the answer to a page below 1, and by the page that it claims to be."""
    rule, expected = "list.page-range", f"{what}: a refusal (4xx), or a page from 1 on"
    page = usable_page(at, rule, exchange, what, refusable=True)
    if page is None or not at.expect(rule, *paging.page_from_one(expected, page)):
        return
    valid = stocked(at).call.with_query(query(page.page, size))
    other = page_of(at.send(valid, f"page {page.page} of size {size}"))
    # Else the list has grown between the two.
    if other is not None and other.total == page.total:
        sentence = f"{what}, answered as page {page.page}: its items"
        at.expect(rule, *paging.same_elements(sentence, page, other))


#: Integers in other forms, percent-encoded, and what they are: another number to parsers of octal digits, of
#: digits alone, and of leading digits.
_FORMS = (("%2B7", 7), ("7.0", 7), ("1e1", 10), ("%207", 7), ("%D9%A7", 7), ("7%20", 7))


@check("list.echo")
def test_integers_in_other_forms(at: Check) -> None:
    """Sends page and size with a leading zero, a plus sign, a fraction, an exponent, a space, or in digits of
    another script: that decimal number, the default, or a refusal; written plainly: that number."""
    stock, turn = stocked(at), OPERATION_SETS["list"].index(at.operation.id)
    forms = [("size", "011", 11), ("page", "010", 10)]
    forms += [("size", *_FORMS[(turn + step) % len(_FORMS)]) for step in (0, 2)]
    plain = at.send(stock.call.with_query(query(1, 11)), "page=1&size=11")
    if page := usable_page(at, "list.echo", plain, plain.purpose):
        # A server may refuse all others.
        judge_by_query(at, plain, "list.echo")
    for name, text, value in forms:
        size = "&size=1" if name == "page" else ""
        what = f"{name}={text}{size}"
        exchange = at.send(stock.call.with_query(what), what)
        if page := usable_page(at, "list.echo", exchange, what, refusable=True):
            numbers = sorted({value, 1 if name == "page" else DEFAULT_SIZE})
            at.expect("list.echo", *paging.number_among(what, page, name, numbers, page_of(plain)))


#: A page past the last that is 1 in 32 bits, and one whose offset is 0.
_FIRST, _FAR = (2**32 + 1, DEFAULT_SIZE), (2**28 + 1, 16)

#: Pages past the last, with their sizes.
_PAST = (
    _FIRST,
    _FAR,
    # Themselves or their offsets are negative in 32 bits, or inexact as floating-point numbers.
    (2**31 - 1, DEFAULT_SIZE),
    (2**31 // DEFAULT_SIZE + 2, DEFAULT_SIZE),
    (2**32 // DEFAULT_SIZE + 2, DEFAULT_SIZE),
    (2**27 + 1, 16),
    (2**49 + 1, 16),
    (2**53 + 1, DEFAULT_SIZE),
    # They overflow 64 bits: by their offset, or by themselves.
    (2**59 + 1, 16),
    (2**60 + 1, 16),
    (2**63 - 1, 16),
    (2**64 + 1, 16),
)

#: The least page of these that may be treated as invalid, as it overflows, and answered as another one.
_OVERFLOWS = 2**59


@check("list.page-beyond", "list.out-of-range", "list.echo", "list.pages", "list.walk")
def test_page_past_the_last(at: Check) -> None:
    """Reads pages past the last, up to where 32-bit and 64-bit offsets overflow: no items, or a refusal. The
    envelope has the page and size of the query and the number of pages, as that of the first page has."""
    stock = stocked(at)
    exchange = at.accept(stock.call.with_query(query(1, MAX_SIZE)), "page 1 of size 100")
    first = page_of(exchange)
    done = walk(at.send, stock.call)
    # Those past the last may all be refused.
    _judge_numbers(at, exchange, exchange.purpose, done)
    # The highest count known, also where the walk is cut off.
    count = max(len(set(done.ids)), done.total or 0, len(stock.created), (first and first.total) or 0)
    near: dict[tuple[int, int], str] = {}
    for size, steps in ((DEFAULT_SIZE, (1, 2, 100)), (1, (1, 2)), (MAX_SIZE, (1,))):
        last = max(1, pages_of(count, size))
        near |= {(last + step, size): f"page {step} past the last of size {size}" for step in steps}
    probes = [(what, query(*numbers)) for numbers, what in near.items()]
    probes += [(f"page={page} at size {size}", query(page, size)) for page, size in _PAST]
    if filters := active(at):
        last = max(1, pages_of(count, DEFAULT_SIZE))
        filtered = query(last + 1, DEFAULT_SIZE, filters)
        probes.append(("the page past the last of the active ones", filtered))
    rule = "list.page-beyond"
    for what, parameters in probes:
        exchange = at.send(stock.call.with_query(parameters), what)
        if page := usable_page(at, rule, exchange, what, refusable=True):
            if _grown_to(at, stock.call, exchange):
                continue
            asked = int(dict(parameters)["page"])
            expected = f"{what}: no items, or a refusal (4xx)"
            at.expect(rule, *paging.no_items(expected, page, [asked] if asked >= _OVERFLOWS else []))
            if what in ("page 1 past the last of size 10", "page 2 past the last of size 1"):
                _judge_numbers(at, exchange, what, done)
            elif parameters == query(*_FAR):
                # The only page of a size from 11 to 49 on which the size must be shown.
                at.expect("list.echo", *paging.number_is(what, page, "size", 16))
        if what == "page 1 past the last of size 10" or parameters == query(*_FIRST):
            answer = f"refused {exchange.status}" if exchange.refused else f"answered {exchange.status}"
            at.observe("list.out-of-range", what, answer, exchange)


def _judge_numbers(at: Check, exchange: Exchange, what: str, done: Walk) -> None:
    """Judges the envelope of a page: it echoes page and size, and `pages`, or the total from which it follows
    there, is that of the whole list, not of the empty result of a page past the last."""
    judge_by_query(at, exchange, "list.echo")
    size = queries.read(exchange.call.query).number("size")
    if size is not None and done.pages:
        growing = at.operation.traits.others_add

        def fitting(answer: Exchange) -> Judgement:
            page = page_of(answer)
            if page is None:
                return what, Unclear(f"{what} was answered {answer.described()}"), answer
            return paging.pages_of_walk(what, page, done.pages, size, growing=growing)

        # Another replica may count a new account a moment later.
        counted = itertools.chain(
            [exchange], map(at.send, itertools.repeat(exchange.call), itertools.repeat(what))
        )
        exchange = at.eventually(lambda: next(counted), lambda answer: outcomes.good(fitting(answer)))
        page = page_of(exchange)
        of_total = page is not None and outcomes.good(paging.count_of_pages(what, page, size))
        at.expect("list.walk" if of_total and "list.walk" in at.rules else "list.pages", *fitting(exchange))
    judge_by_query(at, exchange, "list.pages")


def _grown_to(at: Check, call: Call, exchange: Exchange) -> bool:
    """True if the list of accounts has grown up to this page meanwhile, possibly after a delay."""
    page = page_of(exchange)
    if not at.operation.traits.others_add or page is None or not (page.items and page.page and page.size):
        return False
    if f"page={page.page}" not in exchange.call.query.split("&"):
        return False
    least = (page.page - 1) * page.size + len(page.items)

    def reaches(read: Walk) -> bool:
        return max(len(set(read.ids)), read.total or 0) >= least

    return reaches(at.eventually(lambda: walk(at.send, call), reaches))


def out_of_range(at: Check, exchange: Exchange, name: str, value: str) -> None:
    """Records list.out-of-range: how the server interprets an invalid page or size."""
    page = page_of(exchange)
    if exchange.refused:
        answer = f"refused {exchange.status}"
    elif page is not None:
        answer = f"answered as {name} {getattr(page, name)}"
    else:
        answer = f"answered {exchange.status}"
    at.observe("list.out-of-range", f"{name}={value}", answer, exchange)
