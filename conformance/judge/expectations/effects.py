"""The expectation that requests changed nothing, judged by snapshots before and after them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.contract.traits import TRAITS
from conformance.judge import effects
from conformance.judge.effects import Effect
from conformance.judge.expectations.base import CannotTell, Outcome, predicate
from conformance.wire.messages import Exchange
from conformance.wire.pages import page_of


@predicate(name="no-effect", sentence="no effect of {what}", effects=True, besides=("fresh",))
def NoEffect(
    exchanges: Sequence[Exchange],
    operation: str,
    before: int = 1,
    after: int = 1,
    answered: int = 0,
    known: Sequence[str] = (),
    fresh: Sequence[str] = (),
    doubtful: bool = False,
    of_refusals: bool = False,
    first_accepted: bool = False,
    fee: str = "0",
) -> Outcome:
    """What an operation's requests may change is the same before and after them (see judge/effects.py).

    The exchanges are `before` looks, `after` looks, `answered` accepted changes from before, and then the
    requests. `known` are ids that others account for, `fresh` those that are new although the looks before
    do not show it. What others might have done as well counts only if `doubtful`: where it came each time.
    `of_refusals` says that the requests must all be refused, `first_accepted` that the first of them that is
    accepted may have its effect. Money counts that moves by a multiple of what the requests ask for, and a
    `fee` beyond.
    """
    looked = before + after
    was, now = exchanges[:before], exchanges[before:looked]
    for look in (*was, *now):
        if not look.succeeded:
            raise CannotTell(f"{look.operation}, which shows the effect, was answered {look.described()}")
    changes, requests = exchanges[looked : looked + answered], exchanges[looked + answered :]
    if of_refusals and any(request.succeeded for request in requests):
        raise CannotTell("not all of the requests were refused")
    first = [str(request.get("id")) for request in requests if request.succeeded][:1]
    accounted = {*known, *(first if first_accepted else [])}
    traits = TRAITS[operation]
    if traits.moves_money:
        effect = _money(operation, was, now)
        asked = [amount for request in requests if (amount := effects.asked_amount(request.call)) is not None]
        if effect and doubtful and not effects.follows(effect.signature, asked, fee):
            raise CannotTell(f"money moves by other amounts than the requests ask for: {effect.found}")
    elif traits.changes:
        documents = [exchange.document for exchange in changes]
        effect = effects.in_resource(traits.read_by, was[-1].document, now[-1].document, documents)
    elif traits.shared:
        effect = _accounts(was, now, requests, accounted, fresh)
    else:
        effect = effects.in_list(operation, _elements(was), _elements(now), accounted)
    if not effect or (effect.doubtful and not doubtful):
        return Outcome(True)
    shows = {before - 1, looked - 1, len(exchanges) - 1}
    return Outcome(False, effect.found, shows=tuple(sorted(shows, key=lambda at: (at != looked - 1, -at))))


def _money(operation: str, before: Sequence[Exchange], after: Sequence[Exchange]) -> Effect:
    was, now = (effects.amounts(looks[-1].get("balances")) for looks in (before, after))
    if was is None or now is None:
        raise CannotTell("the balances are not shown")
    return effects.in_balances(operation, was, now)


def _accounts(
    before: Sequence[Exchange],
    after: Sequence[Exchange],
    requests: Sequence[Exchange],
    accounted: set[str],
    known_fresh: Sequence[str],
) -> Effect:
    old, now = _elements(before), _elements(after)
    items = {identifier: item for identifier, item in now.items() if identifier not in accounted}
    page = page_of(before[-1])
    complete = page is not None and page.total is not None and page.total <= len(page.items)
    fresh = [
        item
        for identifier, item in items.items()
        if identifier in known_fresh or (complete and identifier not in old)
    ]
    calls = [exchange.call for exchange in requests]
    return effects.in_accounts(list(items.values()), fresh, calls)


def _elements(looks: Sequence[Exchange]) -> Mapping[str, Any]:
    pages = [page for look in looks if (page := page_of(look)) is not None]
    if not pages:
        raise CannotTell("the list is not shown")
    return effects.by_id(item for page in pages for item in page.items)
