"""What pages and walks must be like, judged by rule: section 8 of the specification.

Each function judges one rule, so that a server with one mistake breaks one of them: `pages` is compared
with the answer's own `total`, `total` with what a walk shows, a walk with what other walks showed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from conformance.harness.context import CheckContext
from conformance.judging.expectations import Accepted, Listed, RefusedOrIgnored, lists
from conformance.judging.expectations.lists import none_of_another
from conformance.wire.messages import Exchange
from conformance.wire.pages import MAX_SIZE, Page, Walk, page_of

PAGES, ECHO, WALK = "list.pages", "list.echo", "list.walk"


def page(ctx: CheckContext, rule: str, exchange: Exchange, what: str) -> Page | None:
    """The page that answers a sound request, which a refusal of it is not: that breaks `rule`."""
    return _page(ctx, rule, exchange, what, refusable=False)


def _page(ctx: CheckContext, rule: str, exchange: Exchange, what: str, *, refusable: bool) -> Page | None:
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
            ctx.judge(rule, RefusedOrIgnored(what) if refusable else Accepted(what), exchange)
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
    among = lists.number_among(f"{what}: {name} {shown}", name=name, among=wanted)
    return ctx.judge(rule, among, found.exchange)


def echo(ctx: CheckContext, found: Page, page: int, size: int, what: str) -> None:
    """Judges list.echo."""
    number(ctx, ECHO, found, "page", page, what)
    number(ctx, ECHO, found, "size", size, what)


def count_of_pages(ctx: CheckContext, found: Page, size: int, what: str, known: int | None = None) -> None:
    """Judges list.pages by the answer's own numbers; where they are wrong themselves, by what was asked and
    by how many elements there are."""
    if not any(value is not None and value >= 0 for value in (found.total, known)):
        ctx.skip_judgement(PAGES, f"total of {what} is no integer", found.exchange, cause="list.envelope")
    elif found.pages is None:
        ctx.skip_judgement(PAGES, f"pages of {what} is no integer", found.exchange, cause="list.envelope")
    else:
        sentence = f"{what}, total {found.total} at size {size}: as many pages as they fill"
        ctx.judge(PAGES, lists.pages_fit_total(sentence, size=size, known=known), found.exchange)


# ---------------------------------------------------------------------- what is out of range


def page_or_refusal(ctx: CheckContext, rule: str, exchange: Exchange, what: str) -> Page | None:
    """The page that answers what may be refused; a refusal keeps the rule."""
    return _page(ctx, rule, exchange, what, refusable=True)


def size_in_range(ctx: CheckContext, exchange: Exchange, what: str, *, filled: bool = True) -> None:
    """Judges list.size-range on the answer to a size out of it; `filled`: the page has elements to show."""
    expected = f"{what}: a refusal (4xx), or a page of a size from 1 to {MAX_SIZE}"
    found = page_or_refusal(ctx, "list.size-range", exchange, what)
    if found is None:
        return
    ctx.judge("list.size-range", lists.size_in_range(expected, filled=filled), exchange)


def page_in_range(ctx: CheckContext, exchange: Exchange, valid: Exchange | None, what: str) -> None:
    """Judges list.page-range on the answer to a page below 1; `sound` is the page that it calls itself."""
    rule, expected = "list.page-range", f"{what}: a refusal (4xx), or a page from 1 on"
    found = page_or_refusal(ctx, rule, exchange, what)
    if found is None:
        return
    good = ctx.judge(rule, lists.page_from_one(expected), exchange)
    if good and valid and page_of(valid) is not None:
        ctx.judge(
            rule, lists.same_elements(f"{what}, answered as page {found.page}: its items"), exchange, valid
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
    missing = [identifier for identifier in expected if identifier not in set(done.ids)]
    ids = [identifier for identifier in expected if not done.cut or identifier not in missing]
    good = ctx.judge(rule, Listed(what, ids, once=True), *done.page_exchanges)
    if good and not done.cut:
        full = lists.full_pages(f"{what}: {done.size} elements on each page but the last", size=done.size)
        good = ctx.judge(rule, full, *done.page_exchanges)
    return good


def totals(ctx: CheckContext, rule: str, pages: Sequence[Page], count: int, what: str) -> bool:
    """Judges that every page shows this total."""
    good = True
    walked = len({identifier for found in pages for identifier in found.ids}) == count
    sentence = f"{what}: total {count}, as many as there are"
    expected = lists.total_of_walk(sentence, count=None if walked else count)
    others = [page.exchange for page in pages] if walked else []
    for found in pages:
        if found.total is None:
            ctx.skip_judgement(rule, f"total of {what} is no integer", found.exchange, cause="list.envelope")
        else:
            good = ctx.judge(rule, expected, found.exchange, *others) and good
        if not good:
            break
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
    seen = set(shown)
    own = none_of_another(
        f"{what}: only elements that were created there",
        created=[identifier for identifier in created if identifier in seen],
        strangers=[[identifier, whose] for identifier, whose in strangers.items() if identifier in seen],
        exact=exact,
    )
    return ctx.judge("list.complete", own, *exchanges)
