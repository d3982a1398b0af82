"""Compares lists with the model: section 8. conformance.wire.pages walks them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from conformance.contract.traits import ADDS_TO
from conformance.fuzz.stateful.reference_model import Document, Payee, Thing
from conformance.fuzz.stateful.sender import Sender
from conformance.judge import paging, queries
from conformance.judge.comparison import alike, objects, show
from conformance.judge.expectations import Accepted, At
from conformance.judge.paging import Listed, element_shows, no_other_labelled, none_of_another, number_is
from conformance.wire.messages import Exchange
from conformance.wire.pages import Parameters, Walk, walk
from conformance.world.account import call
from conformance.world.habits import added, eventually

#: Most pages that one walk reads.
MAX_PAGES = 12


@dataclass
class Reading:
    """A list as it was read, page by page."""

    walk: Walk
    #: Elements that the model expects in it.
    expected: dict[str, Thing]

    @property
    def items(self) -> list[Document]:
        return objects(self.walk.items)

    @property
    def pages(self) -> list[Exchange]:
        return self.walk.page_exchanges

    @property
    def whole(self) -> bool:
        """True if each answer was a page."""
        return bool(self.walk.pages) and self.walk.broken is None

    @property
    def agrees(self) -> bool:
        """True if it holds the elements of the model, and counts them on each page."""
        counted = all(page.total == len(self.expected) for page in self.walk.pages)
        return counted and sorted(self.walk.ids) == sorted(self.expected)


class Walker(Sender):
    """Reads lists, whole or filtered, page by page."""

    def judge_list(self, operation: str, size: int, filters: Parameters, payee: Payee | None = None) -> None:
        """Walks a list and compares it with the model, for a bounded time until both agree: lists may be
        eventually consistent, in their elements and in their totals."""

        def readings() -> Iterator[Reading]:
            while True:
                yield self._read(operation, size, filters, payee)
                if any(name.startswith("status") for name, _ in filters):
                    # A job may have given an element another status meanwhile.
                    self.learn(operation, payee)

        read = functools.partial(next, readings())
        reading = eventually(self.run.cache, operation, read, lambda seen: not seen.whole or seen.agrees)
        for exchange in reading.walk.exchanges:
            style = self.run.target.array_style
            for rule, demanded in paging.demanded(operation, exchange.call.query, style):
                self.judge(rule, operation, demanded, exchange)
        if reading.whole:
            self._compare(operation, reading, filters)

    def learn(self, operation: str, payee: Payee | None = None) -> None:
        """Copies each element's status into the model, and `created` in the precision of lists."""
        reading = eventually(
            self.run.cache,
            operation,
            lambda: self._read(operation, 100, [], payee),
            lambda seen: not seen.whole or set(seen.expected) <= set(seen.walk.ids),
        )
        if not reading.whole:
            return
        for item in reading.items:
            thing = reading.expected.get(str(item.get("id")))
            created = item.get("created")
            if thing is not None and alike(thing.operation, "created", created, thing.shown.get("created")):
                moved: Document = {name: item[name] for name in ("created", "status") if name in item}
                # The answer to the create stays as it is: a replay is compared with it.
                thing.shown = {**thing.shown, **moved}
                thing.listed = True

    def _read(self, operation: str, size: int, filters: Parameters, payee: Payee | None = None) -> Reading:
        """Reads a list from its first page to its last."""
        things = self.model.listed(operation, payee)
        expected = {thing.id: thing for thing in things if queries.keeps(filters, thing.shown)}
        listing = call(operation, self.ids_of(payee))
        read = walk(self.shown, listing, size=size, filters=filters, most=MAX_PAGES, beyond_last=False)
        items = objects(read.items)
        own = added(self.run, operation, items, expected)
        for item in items:
            if item.get("id") in own and item.get("label") not in self.model.refused:
                expected[item["id"]] = Thing(ADDS_TO[operation], item["id"], item)
        rule = next(iter(queries.rules_of(filters)), "list.walk") if things else "list.empty"
        for exchange in read.exchanges:
            self.judge(rule, operation, Accepted("a valid query"), exchange)
        return Reading(read, expected)

    def _compare(self, operation: str, reading: Reading, filters: Parameters) -> None:
        rules = queries.rules_of(filters)
        rule = "list.complete" if not rules else rules[0] if len(rules) == 1 else "list.filters-combine"
        expected, last = reading.expected, reading.pages[-1]
        self.judge("list.walk", operation, Listed("a list", [], once=True), *reading.pages)
        for extra in (item for item in reading.items if item.get("id") not in expected):
            self._unexpected(operation, extra, rule, reading)
        self.judge(rule, operation, Listed("what the requests made", list(expected)), *reading.pages)
        self.judge(
            rule, operation, number_is("a list of what the requests made", "total", len(expected)), last
        )
        for item in reading.items:
            thing = expected.get(str(item.get("id")))
            known = thing.steady() if thing is not None else {}
            for name in (name for name in known if name in item and thing is not None):
                answer = thing.told_by(name, known[name]) if thing else None
                as_known = element_shows(
                    f"{name} {show(known[name])}",
                    identifier=str(item.get("id")),
                    name=name,
                    value=At(name) if answer else known[name],
                    operation=thing.operation if thing else "",
                )
                told = [answer] if answer else []
                self.judge("list.complete", operation, as_known, *told, *reading.pages)

    def _unexpected(self, operation: str, item: Document, rule: str, reading: Reading) -> None:
        """Judges an element that the model does not have, by the rule about the request that made it."""
        label, shown = str(item.get("label")), reading.pages
        if label in self.model.refused:
            nothing = no_other_labelled("nothing of a refused request in the list", label=label, known=[])
            self.judge("refusal.changes-nothing", self.model.refused[label], nothing, *shown)
        twins = [
            post
            for post in self.model.posts
            if post.answer.get("label") == label and post.answer.get("id") != item.get("id")
        ]
        if twins:
            known = [str(post.answer.get("id")) for post in twins]
            once = no_other_labelled("a replayed request done once", label=label, known=known)
            self.judge("idempotency.replay", str(twins[0].call.operation), once, *shown)
        belongs = none_of_another(
            "a list of what the requests made: only elements that were created there",
            created=[each for each in reading.expected if each in reading.walk.ids],
            strangers=[],
            exact=True,
        )
        self.judge(rule, operation, belongs, *shown)

    def final(self, operation: str, payee: Payee | None = None) -> None:
        """Walks a list whole, then from and up to the moment in which one element was created."""
        self.learn(operation, payee)
        self.judge_list(operation, 100, [], payee)
        things = self.model.listed(operation, payee)
        if things and all(thing.listed for thing in things):
            created = str(things[self.model.changes % len(things)].shown.get("created"))
            self.judge_list(operation, 100, [("start_date", created)], payee)
            self.judge_list(operation, 100, [("end_date", created)], payee)
