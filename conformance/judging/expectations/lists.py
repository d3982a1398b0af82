"""Expectations of lists: what they show, and what they do not. The exchanges are the pages that were read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from conformance.judging.comparison import show
from conformance.judging.expectations.base import CannotTell, Expectation, Outcome, outcome
from conformance.target.file import Target
from conformance.wire.messages import Exchange
from conformance.wire.pages import Page, page_of


def pages(exchanges: Sequence[Exchange]) -> Iterator[Page]:
    """The exchanges as pages. Raises CannotTell for an answer that is no page."""
    for exchange in exchanges:
        page = page_of(exchange)
        if page is None:
            raise CannotTell(f"{exchange.operation} was answered {exchange.described()}")
        yield page


@dataclass(frozen=True)
class Listed(Expectation, kind="listed"):
    """The pages show each of these ids; with `exactly`, nothing else."""

    ids: Sequence[str] = ()
    exactly: bool = False

    @property
    def expected(self) -> str:
        return f"{self.what}: " + (
            f"exactly {len(self.ids)} elements" if self.exactly else "each of them in the list"
        )

    def _judge(self, exchanges: Sequence[Exchange], target: Target | None) -> Outcome:
        shown = [identifier for page in pages(exchanges) for identifier in page.ids]
        missing = [identifier for identifier in self.ids if identifier not in shown]
        others = [identifier for identifier in shown if identifier not in self.ids] if self.exactly else []
        told = [f"{len(missing)} missing"] * bool(missing) + [f"{len(others)} others"] * bool(others)
        return outcome(" and ".join(told))


@dataclass(frozen=True)
class NotShown(Expectation, kind="not-shown"):
    """No answer shows one of these texts, which only requests without effect carried."""

    texts: Sequence[str] = ()

    @property
    def expected(self) -> str:
        return f"{self.what}: shown nowhere"

    def _judge(self, exchanges: Sequence[Exchange], target: Target | None) -> Outcome:
        for at, exchange in enumerate(exchanges):
            if not exchange.succeeded:
                raise CannotTell(f"{exchange.operation} was answered {exchange.described()}")
            answer = exchange.response_body.decode("utf-8", "replace")
            for text in self.texts:
                if text in answer:
                    return outcome(f"{exchange.operation} shows {show(text)}", at)
        return outcome("")


@dataclass(frozen=True)
class OncePerWalk(Expectation, kind="once-per-walk"):
    """The pages, read one after the other, show every element once, and as many as `total` says."""

    @property
    def expected(self) -> str:
        return f"{self.what}: every element exactly once"

    def _judge(self, exchanges: Sequence[Exchange], target: Target | None) -> Outcome:
        read = list(pages(exchanges))
        shown = Counter(identifier for page in read for identifier in page.ids)
        repeated = sum(times > 1 for times in shown.values())
        if repeated:
            return outcome(f"{repeated} more than once")
        total = read[0].total
        short = total is not None and sum(shown.values()) < total
        return outcome(f"{sum(shown.values())} of {total}" if short else "")
