"""What pages and walks must be like, judged by rule: section 8 of the specification.

Each function judges one rule, so that a server with one mistake breaks one of them: `pages` is compared
with the answer's own `total`, `total` with what a walk shows, a walk with what other walks showed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from conformance.harness.context import CheckContext
from conformance.judging.comparison import show
from conformance.wire.messages import Exchange
from conformance.wire.pages import MAX_SIZE, Page, Walk, page_of, pages_of

PAGES, ECHO, WALK = "list.pages", "list.echo", "list.walk"


def page(ctx: CheckContext, rule: str, exchange: Exchange, what: str) -> Page | None:
    """The page that answers a sound request, which a refusal of it is not: that breaks `rule`."""
    return _page(ctx, rule, exchange, what, f"{what}: a page (2xx)", refusable=False)


def _page(
    ctx: CheckContext, rule: str, exchange: Exchange, what: str, expected: str, *, refusable: bool
) -> Page | None:
    """The page in an answer; without one, what is no page says of `rule`."""
    if not _readable(ctx, rule, exchange, what):
        return None
    found = page_of(exchange)
    if found is None:
        if exchange.succeeded:
            ctx.skip_judgement(
                rule,
                f"{what} was answered {exchange.described()}, not with a page",
                exchange,
                cause="list.envelope",
            )
        else:
            good = refusable and exchange.refused
            ctx.judge(rule, good, expected, exchange.described(), exchange)
    return found


def _readable(ctx: CheckContext, rule: str, exchange: Exchange, what: str) -> bool:
    """Whether an answer says something about lists; one that refuses the signature says nothing."""
    if exchange.refused_authentication:
        reason = f"{what} was answered {exchange.described()}"
        ctx.skip_judgement(rule, reason, exchange, cause="auth.accepts-valid")
        return False
    return ctx.usable(rule, exchange)


def number(
    ctx: CheckContext, rule: str, found: Page, name: str, expected: int | Collection[int], what: str
) -> bool:
    """Judges a number of the envelope; one that is no integer is the business of list.envelope."""
    value = getattr(found, name)
    if value is None:
        ctx.skip_judgement(rule, f"{name} of {what} is no integer", found.exchange, cause="list.envelope")
        return False
    wanted = [expected] if isinstance(expected, int) else sorted(expected)
    shown = " or ".join(map(str, wanted))
    return ctx.judge(rule, value in wanted, f"{what}: {name} {shown}", f"{name} {value}", found.exchange)


def echo(ctx: CheckContext, found: Page, page: int, size: int, what: str) -> None:
    """Judges list.echo."""
    number(ctx, ECHO, found, "page", page, what)
    number(ctx, ECHO, found, "size", size, what)


def count_of_pages(ctx: CheckContext, found: Page, size: int, what: str, known: int | None = None) -> None:
    """Judges list.pages by the answer's own numbers; where they are wrong themselves, by what was asked and
    by how many elements there are."""
    totals = {value for value in (found.total, known) if value is not None and value >= 0}
    if not totals:
        ctx.skip_judgement(PAGES, f"total of {what} is no integer", found.exchange, cause="list.envelope")
        return
    sizes = {size, found.size if found.size and found.size > 0 else size}
    expected = {pages_of(total, one) for total in totals for one in sizes}
    if 0 in expected:
        expected.add(1)
    of = f"total {found.total} at size {size}"
    number(ctx, PAGES, found, "pages", expected, f"{what}, {of}")


# ---------------------------------------------------------------------- what is out of range


def page_or_refusal(
    ctx: CheckContext, rule: str, exchange: Exchange, expected: str, what: str
) -> Page | None:
    """The page that answers what may be refused; a refusal keeps the rule."""
    return _page(ctx, rule, exchange, what, expected, refusable=True)


def size_in_range(ctx: CheckContext, exchange: Exchange, what: str, *, filled: bool = True) -> None:
    """Judges list.size-range on the answer to a size out of it; `filled`: the page has elements to show."""
    expected = f"{what}: a refusal (4xx), or a page of a size from 1 to {MAX_SIZE}"
    found = page_or_refusal(ctx, "list.size-range", exchange, expected, what)
    if found is None:
        return
    size, count = found.size, len(found.items)
    good = size is not None and 1 <= size <= MAX_SIZE and count <= size
    # No elements, where there are some: a size of nothing was obeyed, whatever the answer calls it.
    good = good and (count > 0 or not filled)
    ctx.judge(
        "list.size-range", good, expected, f"{count} items with size {show(exchange.get('size'))}", exchange
    )


def page_in_range(ctx: CheckContext, exchange: Exchange, valid: Exchange | None, what: str) -> None:
    """Judges list.page-range on the answer to a page below 1; `sound` is the page that it calls itself."""
    rule, expected = "list.page-range", f"{what}: a refusal (4xx), or a page from 1 on"
    found = page_or_refusal(ctx, rule, exchange, expected, what)
    if found is None:
        return
    good = found.page is not None and found.page >= 1
    ctx.judge(rule, good, expected, f"page {show(exchange.get('page'))}", exchange)
    there = page_of(valid) if valid else None
    if good and valid and there is not None:
        others = len(set(found.ids) - set(there.ids))
        ctx.judge(
            rule,
            sorted(found.ids) == sorted(there.ids),
            f"{what}, answered as page {found.page}: its items",
            f"{len(found.ids)} items, {others} of them others",
            exchange,
            valid,
        )


# ---------------------------------------------------------------------- walks


def whole(
    ctx: CheckContext, rule: str, done: Walk, expected: Sequence[str] | Collection[str], what: str
) -> bool:
    """Judges that a walk shows each expected element exactly once, on pages that are full but for the last.

    `expected` are ids; elements beyond them are the business of list.complete, but fill pages, too.
    """
    if done.broken is not None:
        page(ctx, rule, done.broken, f"page {len(done.pages) + 1} of {what}")
        return False
    last = done.pages[-1].exchange
    repeated, missing = done.repeated, [one for one in expected if one not in set(done.ids)]
    if done.cut:
        missing = []
    problems = []
    if repeated:
        problems.append(f"{len(repeated)} of them more than once, {_places(done, repeated[0])}")
    if missing:
        problems.append(f"{len(missing)} of them not at all")
    count = len(set(done.ids))
    found = "; ".join(problems) or f"{count} elements, each once"
    good = ctx.judge(
        rule,
        not problems,
        f"{what}: each of the {len(set(expected))} elements exactly once",
        found,
        *done.exchanges[:4],
        last,
    )
    if not problems and not done.cut:
        good &= _full(ctx, rule, done, what)
    return good


def _places(done: Walk, repeated: str) -> str:
    pages = [str(index) for index, one in enumerate(done.pages, 1) for shown in one.ids if shown == repeated]
    return f"one on page {' and '.join(pages)}" if len(set(pages)) > 1 else f"one twice on page {pages[0]}"


def _full(ctx: CheckContext, rule: str, done: Walk, what: str) -> bool:
    """Judges that every page but the last has as many elements as it can have."""
    count = len(done.items)
    for index, one in enumerate(done.pages):
        wanted = max(0, min(done.size, count - index * done.size))
        if len(one.items) != wanted:
            elements = "elements" if wanted != 1 else "element"
            return ctx.judge(
                rule,
                False,
                f"{what}: {wanted} {elements} on page {index + 1}",
                f"{len(one.items)}",
                one.exchange,
            )
    return True


def totals(ctx: CheckContext, rule: str, pages: Iterable[Page], count: int, what: str) -> bool:
    """Judges that every page shows this total."""
    good = True
    for found in pages:
        if found.total is None:
            ctx.skip_judgement(rule, f"total of {what} is no integer", found.exchange, cause="list.envelope")
        elif found.total != count:
            return ctx.judge(
                rule,
                False,
                f"{what}: total {count}, as many as there are",
                f"total {found.total}",
                found.exchange,
            )
        else:
            good &= ctx.judge(rule, True, f"{what}: total {count}", "the same", found.exchange)
    return good


def belongs(
    ctx: CheckContext,
    shown: Iterable[str],
    created: Collection[str],
    strangers: Mapping[str, str],
    exact: bool,
    what: str,
    *exchanges: Exchange,
) -> bool:
    """Judges that a list shows nothing of another parent: of list.complete, what filtered lists keep, too."""
    foreign = [one for one in dict.fromkeys(shown) if one in strangers or (exact and one not in created)]
    named = sorted({strangers[one] for one in foreign if one in strangers})
    whose = f", among them {' and '.join(named)}" if named else ""
    return ctx.judge(
        "list.complete",
        not foreign,
        f"{what}: only elements that were created there",
        f"{len(foreign)} others{whose}" if foreign else "no others",
        *exchanges,
    )
