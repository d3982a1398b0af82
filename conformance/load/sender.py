"""Base of a session: sends and judges requests, and compares lists (section 8) with the model."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.contract.rules import RULES
from conformance.contract.traits import ADDS_TO
from conformance.judge import outcomes, paging
from conformance.judge.comparison import objects
from conformance.judge.oracle import ValidBody
from conformance.judge.outcomes import Got
from conformance.load.history import Recorder
from conformance.load.reference_model import Document, Model, Payee, Thing
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import Walk, repeated, walk
from conformance.world.account import Account, call
from conformance.world.habits import added
from conformance.world.lag import eventually, found
from conformance.world.run import Run

#: Maximum of pages that one walk reads.
MAX_PAGES = 12

#: A walk of a list, and the elements that the model expects in it, by id.
Reading = tuple[Walk, dict[str, Thing]]


class ExampleOver(Exception):
    """Ends the comparison with the model, as the contents of the account are unknown: after a request without
    an answer, a 5xx, or a violation."""


class Sender:
    """An account of its own, which `begin` creates, and its model.

    Each method that sends raises ExampleOver where the comparison ends."""

    def __init__(self, run: Run, valid: Mapping[str, ValidBody], elsewhere: Mapping[str, Account]) -> None:
        self.run, self.valid, self.elsewhere = run, valid, elsewhere
        self.recorder = Recorder()
        self.model = Model()
        self.ids = {"customer_id": run.target.primary.customer_id}

    def begin(self) -> None:
        """Creates the account."""
        made = self.send(call("createAccount", self.ids, self.run.samples.account()), "an account of its own")
        if not made.succeeded or not isinstance(made.get("id"), str):
            raise ExampleOver
        self.ids["account_id"] = str(made.get("id"))

    def ids_of(self, payee: Payee | None) -> dict[str, str]:
        """The path parameters of the account, or of one of its beneficiaries."""
        return self.ids if payee is None else {**self.ids, "beneficiary_id": payee.id}

    # ------------------------------------------------------------------ sending and judging

    def send(self, request: Call, purpose: str, organization: str = "primary") -> Exchange:
        exchange = self.run.send(self.run.client(organization), request, purpose)
        self.usable(exchange)
        if exchange.refused_authentication:
            operation = str(request.operation)
            sent = (("auth.query-as-sent", request.query), ("auth.body-as-sent", request.body))
            rules = [rule for rule, given in sent if given and operation in RULES[rule].operations]
            signed = outcomes.authenticated("a correctly signed request", exchange)
            self.expect(rules[0] if rules else "auth.accepts-valid", operation, *signed)
        return exchange

    def usable(self, exchange: Exchange) -> None:
        """Raises ExampleOver for a 429, a 5xx or no answer."""
        if exchange.throttled or exchange.status is None or exchange.status >= 500:
            raise ExampleOver

    def send_until_found(self, request: Call, purpose: str, organization: str = "primary") -> Exchange:
        """Sends a request; repeats a GET that is answered 404, for a bounded time (eventual consistency)."""
        operation = str(request.operation)
        return eventually(self.run.cache, operation, lambda: self.send(request, purpose, organization), found)

    def expect(self, rule: str, operation: str, expected: str, got: Got, *exchanges: Exchange) -> None:
        """Judges as the recorder does; raises ExampleOver for a violation."""
        if not self.recorder.expect(rule, operation, expected, got, *exchanges):
            raise ExampleOver

    def holds(self, rule: str, operation: str) -> None:
        """Counts a passed judgement."""
        self.recorder.entry(rule, operation).judged += 1

    def add_refused(self, operation: str, body: Document) -> None:
        """Stores the label of a refused create, which no list may show."""
        if isinstance(label := body.get("label"), str) and label:
            self.model.refused[label] = operation

    # ------------------------------------------------------------------ lists (section 8)

    def judge_list(self, operation: str, size: int, payee: Payee | None = None) -> None:
        """Walks a list until it agrees with the model, for a bounded time, and compares both: elements and
        totals may be eventually consistent."""
        done, expected = eventually(
            self.run.cache,
            operation,
            lambda: self._read(operation, size, payee),
            lambda seen: not seen[0].whole or _tells(*seen),
        )
        for exchange in done.exchanges:
            for rule, demanded in paging.demanded(operation, exchange, self.run.target.array_style):
                self.expect(rule, operation, *demanded)
        if done.whole:
            self._compare(operation, done, expected)

    def _read(self, operation: str, size: int, payee: Payee | None = None) -> Reading:
        """Walks a list; returns the walk and the expected elements."""
        things = self.model.listed(operation, payee)
        expected = {thing.id: thing for thing in things}
        listing = call(operation, self.ids_of(payee))
        read = walk(self.send_until_found, listing, size=size, most=MAX_PAGES, beyond_last=False)
        items = objects(read.items)
        own = added(self.run, operation, items, expected)
        for item in items:
            if item.get("id") in own and item.get("label") not in self.model.refused:
                expected[item["id"]] = Thing(ADDS_TO[operation], item["id"], item)
        rule = "list.walk" if things else "list.empty"
        for exchange in read.exchanges:
            self.expect(rule, operation, *outcomes.accepted("a valid query", exchange))
        return read, expected

    def _compare(self, operation: str, done: Walk, expected: dict[str, Thing]) -> None:
        rule, what, pages = "list.complete", "a list of what the requests made", done.page_exchanges
        items = objects(done.items)
        self.expect("list.walk", operation, *paging.listed("a list", [], pages, once=True))
        for extra in (item for item in items if item.get("id") not in expected):
            self._unexpected(operation, extra, done, expected)
        self.expect(rule, operation, *paging.listed("what the requests made", list(expected), pages))
        self.expect(rule, operation, *paging.number_is(what, done.pages[-1], "total", len(expected)))
        for item in items:
            if (thing := expected.get(str(item.get("id")))) is None:
                continue
            for name, value in thing.steady().items():
                if name in item:
                    known = paging.element_shows(pages, thing.id, name, value, thing.operation)
                    self.expect(rule, operation, *known, *thing.evidence_of(name, value))

    def _unexpected(self, operation: str, item: Document, done: Walk, expected: dict[str, Thing]) -> None:
        """Judges an element that the model does not have, by the rule of the request that created it."""
        label, pages = str(item.get("label")), done.page_exchanges
        if label in self.model.refused:
            nothing = paging.no_other_labelled("nothing of a refused request in the list", pages, label, [])
            self.expect("refusal.changes-nothing", self.model.refused[label], *nothing)
        twins = [
            post
            for post in self.model.posts
            if post.answer.get("label") == label and post.answer.get("id") != item.get("id")
        ]
        if twins:
            known = [str(post.answer.get("id")) for post in twins]
            once = paging.no_other_labelled("a replayed request done once", pages, label, known)
            self.expect("idempotency.replay", str(twins[0].call.operation), *once)
        what = "a list of what the requests made"
        nothing_else = paging.none_of_another(what, pages, expected, {}, exact=True)
        self.expect("list.complete", operation, *nothing_else)


def _tells(done: Walk, expected: Mapping[str, Thing]) -> bool:
    """True if a list has the elements of the model, and counts them on each page; or if a page shows one
    twice, which no delay explains."""
    counted = all(page.total == len(expected) for page in done.pages)
    agree = counted and sorted(done.ids) == sorted(expected)
    return agree or any(repeated(page.ids) for page in done.pages)
