"""The expectation that requests changed nothing, told from looks before and after them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from conformance.contract.traits import TRAITS
from conformance.judge import effects
from conformance.judge.effects import Effect, Money
from conformance.judge.expectations.base import CannotTell, Expectation, Outcome
from conformance.target.file import Target
from conformance.wire.messages import Exchange
from conformance.wire.pages import page_of


@dataclass(frozen=True)
class NoEffect(Expectation, kind="no-effect"):
    """What an operation's requests may change is the same before and after them (see judge/effects.py).

    The exchanges are `before` looks, `after` looks, `answered` accepted changes from before, and then the
    requests. `known` are ids that others account for, `fresh` those that are new although the looks before
    do not show it. What others might have done as well counts only if `doubtful`: where it came each time.
    `of_refusals` says that the requests must all be refused, `first_accepted` that the first of them that is
    accepted may have its effect. Money counts that moves by a multiple of what the requests ask for, and a
    `fee` beyond.
    """

    besides: ClassVar[tuple[str, ...]] = ("fresh",)

    operation: str = ""
    before: int = 1
    after: int = 1
    answered: int = 0
    known: Sequence[str] = ()
    fresh: Sequence[str] = ()
    doubtful: bool = False
    of_refusals: bool = False
    first_accepted: bool = False
    fee: str = "0"

    @property
    def expected(self) -> str:
        return f"no effect of {self.what}"

    @property
    def of_effects(self) -> bool:
        return True

    def _judge(self, exchanges: Sequence[Exchange], target: Target | None) -> Outcome:
        looked = self.before + self.after
        before, after = exchanges[: self.before], exchanges[self.before : looked]
        for look in (*before, *after):
            if not look.succeeded:
                raise CannotTell(f"{look.operation}, which shows the effect, was answered {look.described()}")
        requests = exchanges[looked + self.answered :]
        if self.of_refusals and any(request.succeeded for request in requests):
            raise CannotTell("not all of the requests were refused")
        effect = self._effect(before, after, exchanges[looked : looked + self.answered], requests)
        if not effect or (effect.doubtful and not self.doubtful):
            return Outcome(True)
        shows = {self.before - 1, looked - 1, len(exchanges) - 1}
        return Outcome(
            False, effect.found, shows=tuple(sorted(shows, key=lambda at: (at != looked - 1, -at)))
        )

    def _effect(
        self,
        before: Sequence[Exchange],
        after: Sequence[Exchange],
        answered: Sequence[Exchange],
        requests: Sequence[Exchange],
    ) -> Effect:
        traits = TRAITS[self.operation]
        if traits.moves_money:
            was, now = (effects.amounts(looks[-1].get("balances")) for looks in (before, after))
            if was is None or now is None:
                raise CannotTell("the balances are not shown")
            return self._money(was, now, requests)
        if traits.changes:
            documents = [exchange.document for exchange in answered]
            return effects.in_resource(traits.read_by, before[-1].document, after[-1].document, documents)
        if traits.shared:
            return self._accounts(before, after, requests)
        return effects.in_list(self.operation, _elements(before), _elements(after), self._accounted(requests))

    def _money(self, was: Money, now: Money, requests: Sequence[Exchange]) -> Effect:
        effect = effects.in_balances(self.operation, was, now)
        asked = [amount for request in requests if (amount := effects.asked_amount(request.call)) is not None]
        if effect and self.doubtful and not effects.follows(effect.signature, asked, self.fee):
            raise CannotTell(f"money moves by other amounts than the requests ask for: {effect.found}")
        return effect

    def _accounted(self, requests: Sequence[Exchange]) -> set[str]:
        """The ids that are no effect: those that are known, and that of the first accepted request."""
        first = [str(request.get("id")) for request in requests if request.succeeded][:1]
        return {*self.known, *(first if self.first_accepted else [])}

    def _accounts(
        self,
        before: Sequence[Exchange],
        after: Sequence[Exchange],
        requests: Sequence[Exchange],
    ) -> Effect:
        old, now = _elements(before), _elements(after)
        accounted = self._accounted(requests)
        items = {identifier: item for identifier, item in now.items() if identifier not in accounted}
        page = page_of(before[-1])
        complete = page is not None and page.total is not None and page.total <= len(page.items)
        fresh = [
            item
            for identifier, item in items.items()
            if identifier in self.fresh or (complete and identifier not in old)
        ]
        calls = [exchange.call for exchange in requests]
        return effects.in_accounts(list(items.values()), fresh, calls)


def _elements(looks: Sequence[Exchange]) -> Mapping[str, Any]:
    pages = [page for look in looks if (page := page_of(look)) is not None]
    if not pages:
        raise CannotTell("the list is not shown")
    return effects.by_id(item for page in pages for item in page.items)
