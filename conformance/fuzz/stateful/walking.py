"""Walks lists and compares them with the model: section 8."""

from __future__ import annotations

from typing import Any

from conformance.fixtures.account import call
from conformance.fuzz.stateful.model import RESTLESS, Document, Filters, Payee, Thing
from conformance.fuzz.stateful.sender import Sender
from conformance.judging import queries
from conformance.judging.comparison import same, show
from conformance.wire.messages import Exchange

#: Most pages that one walk reads.
MAX_PAGES = 12


class Walker(Sender):
    """Reads lists, whole or filtered, page by page."""

    def walk(self, operation: str, size: int, filters: Filters, payee: Payee | None = None) -> None:
        """Walks a list from its first page to its last and compares it with the model."""
        if self.lost:
            return
        things = [one for one in self.model.listed(operation, payee) if filters.keeps(one.shown)]
        ids = self.ids if payee is None else {**self.ids, "beneficiary_id": payee.id}
        seen: list[Exchange] = []
        items: list[Any] = []
        for page in range(1, MAX_PAGES + 1):
            exchange = self.send(
                call(operation, ids).with_query(self._query(operation, page, size, filters)), f"page {page}"
            )
            if self.lost:
                return
            rule = next(iter(filters.rules()), "list.walk") if things else "list.empty"
            if not self.judge(
                rule,
                operation,
                exchange.succeeded,
                "a sound query: accepted (2xx)",
                exchange.described(),
                exchange,
            ):
                return
            query = queries.read(exchange.call.query)
            for one in queries.judge_page(operation, query, exchange, self.run.target.array_style):
                self.judge(one.rule, operation, one.good, one.expected, one.got, exchange)
            seen.append(exchange)
            shown = exchange.get("items")
            items += shown if isinstance(shown, list) else []
            if not isinstance(exchange.get("pages"), int) or page >= exchange.get("pages"):
                break
        self._compare(operation, things, [one for one in items if isinstance(one, dict)], filters, seen)

    def _query(self, operation: str, page: int, size: int, filters: Filters) -> list[tuple[str, Any]]:
        style = "statuses[]" if self.run.target.array_style == "brackets" else "statuses"
        status = "status" if operation == "listWallets" else style
        pairs: list[tuple[str, Any]] = [
            (status, filters.status),
            ("currency", filters.currency),
            ("start_date", filters.start_date),
            ("end_date", filters.end_date),
        ]
        return [("page", page), ("size", size), *(pair for pair in pairs if pair[1])]

    def _compare(
        self,
        operation: str,
        things: list[Thing],
        items: list[Document],
        filters: Filters,
        seen: list[Exchange],
    ) -> None:
        rules = filters.rules()
        rule = "list.complete" if not rules else rules[0] if len(rules) == 1 else "list.filters-combine"
        ids = [str(one.get("id")) for one in items]
        last = seen[-1]
        self.judge(
            "list.walk",
            operation,
            len(set(ids)) == len(ids),
            "every element once",
            "one of them twice",
            last,
            *seen[:-1],
        )
        expected = {one.id: one for one in things}
        for extra in (one for one in items if one.get("id") not in expected):
            self._unexpected(operation, extra, rule, last)
        missing = [identifier for identifier in expected if identifier not in ids]
        self.judge(
            rule,
            operation,
            not missing,
            f"{len(expected)} elements",
            f"{len(missing)} of them missing",
            last,
            *seen[:-1],
        )
        self.judge(
            rule,
            operation,
            last.get("total") == len(expected),
            f"total {len(expected)}",
            f"total {last.get('total')}",
            last,
        )
        for item in items:
            thing = expected.get(str(item.get("id")))
            for name, value in item.items() if thing is not None else ():
                if thing is not None and name in thing.shown and name not in RESTLESS:
                    self.judge(
                        "list.complete",
                        operation,
                        same(value, thing.shown[name]),
                        f"{name} {show(thing.shown[name])}",
                        show(value),
                        last,
                    )

    def _unexpected(self, operation: str, item: Document, rule: str, exchange: Exchange) -> None:
        """An element that the model does not have there: of which request it is says which rule is broken."""
        label = str(item.get("label"))
        if label in self.model.refused:
            self.judge(
                "refusal.changes-nothing",
                self.model.refused[label],
                False,
                "nothing of a refused request in the list",
                f"an element labelled {show(label)}",
                exchange,
            )
        twins = [
            post
            for post in self.model.posts
            if post.answer.get("label") == label and post.answer.get("id") != item.get("id")
        ]
        if twins:
            self.judge(
                "idempotency.replay",
                str(twins[0].call.operation),
                False,
                "a replayed request done once",
                f"two elements labelled {show(label)}",
                exchange,
                twins[0].answer,
            )
        self.judge(
            rule,
            operation,
            False,
            "only what belongs there",
            f"another element, {show(item.get('id'))}",
            exchange,
        )

    def final(self, operation: str, payee: Payee | None = None) -> None:
        """Walks a list as it is at the end, then from and up to the moment in which one element was
        created."""
        self.walk(operation, 100, Filters(), payee)
        things = self.model.listed(operation, payee)
        if things:
            created = str(things[self.model.changes % len(things)].shown.get("created"))
            self.walk(operation, 100, Filters(start_date=created), payee)
            self.walk(operation, 100, Filters(end_date=created), payee)
