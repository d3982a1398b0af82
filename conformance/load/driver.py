"""Sends and judges the requests of a session, and compares answers and lists (section 8) with the model."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.contract import timestamps
from conformance.contract.fields import documented
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.contract.traits import ADDS_TO, TRAITS
from conformance.fuzz.fixtures import pairs_are_free
from conformance.judge import outcomes, paging
from conformance.judge.comparison import alike, objects, same, same_ids
from conformance.judge.hidden_numbers import HIDDEN_FIELDS
from conformance.judge.oracle import ValidBody
from conformance.judge.outcomes import Got
from conformance.load.history import Recorder
from conformance.load.reference_model import Document, Model, Payee, Thing
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import Walk, repeated, walk
from conformance.world.account import Account, call
from conformance.world.habits import added
from conformance.world.lag import eventually, found, within
from conformance.world.run import Run

#: Maximum of pages that one walk reads.
MAX_PAGES = 12

#: A walk of a list, and the elements that the model expects in it, by id.
Reading = tuple[Walk, dict[str, Thing]]


class SessionOver(Exception):
    """Ends the comparison with the model, as the contents of the account are unknown: after a request without
    an answer, a 5xx, or a violation."""


class Driver:
    """An account of its own, which `begin` creates, and the requests that change it and its model.

    Each method that sends raises SessionOver where the comparison ends."""

    def __init__(self, run: Run, valid: Mapping[str, ValidBody], elsewhere: Mapping[str, Account]) -> None:
        self.run, self.valid, self.elsewhere = run, valid, elsewhere
        self.recorder = Recorder()
        self.model = Model()
        self.ids = {"customer_id": run.target.primary.customer_id}

    def begin(self) -> None:
        """Creates the account."""
        made = self.send(call("createAccount", self.ids, self.run.samples.account()), "an account of its own")
        if not made.succeeded or not isinstance(made.get("id"), str):
            raise SessionOver
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
        """Raises SessionOver for a 429, a 5xx or no answer."""
        if exchange.throttled or exchange.status is None or exchange.status >= 500:
            raise SessionOver

    def send_until_found(self, request: Call, purpose: str, organization: str = "primary") -> Exchange:
        """Sends a request; repeats a GET that is answered 404, for a bounded time (eventual consistency)."""
        operation = str(request.operation)
        return eventually(self.run.cache, operation, lambda: self.send(request, purpose, organization), found)

    def expect(self, rule: str, operation: str, expected: str, got: Got, *exchanges: Exchange) -> None:
        """Judges as the recorder does; raises SessionOver for a violation."""
        if not self.recorder.expect(rule, operation, expected, got, *exchanges):
            raise SessionOver

    def holds(self, rule: str, operation: str) -> None:
        """Counts a passed judgement."""
        self.recorder.cell(rule, operation).judged += 1

    def add_refused(self, operation: str, body: Document) -> None:
        """Stores the label of a refused create, which no list may show."""
        if isinstance(label := body.get("label"), str) and label:
            self.model.refused[label] = operation

    # ------------------------------------------------------------------ creating

    def create(self, operation: str, body: Document, payee: Payee | None = None) -> None:
        """Sends a create; the oracle judges a refusal that is due, the model the rest."""
        traits, due = TRAITS[operation], OPERATIONS[operation].required_fields - body.keys()
        exchange = self.send(call(operation, self.ids_of(payee), body), "create")
        if traits.unique_pair and self.model.has_wallet(body.get("currency"), body.get("network")):
            refused = outcomes.refused("a second wallet of a pair", exchange)
            self.expect("wallet.duplicate", operation, *refused)
        elif not due and (not traits.unique_pair or pairs_are_free(self.run)):
            self._judge_accepted(operation, exchange, payee)
        if exchange.refused:
            self.add_refused(operation, body)
        elif exchange.succeeded and isinstance(exchange.document, dict):
            self.judge_created(operation, body, exchange, payee)

    def _judge_accepted(self, operation: str, exchange: Exchange, payee: Payee | None = None) -> None:
        if exchange.refused and self._may_refuse(operation, payee):
            return
        no_key = exchange.error_code == "invalid_idempotency_key"
        rule = "idempotency.key-accepted" if no_key else "fields.accepts-valid"
        what = "a request that keeps every stated limit"
        self.expect(rule, operation, *outcomes.accepted(what, exchange))

    def _may_refuse(self, operation: str, payee: Payee | None) -> bool:
        """True if a valid request may be refused: the beneficiary is disabled. Raises SessionOver at a quota,
        which refuses the sample as well."""
        if payee is not None and payee.disabled:
            return True
        if not TRAITS[operation].creates or TRAITS[operation].unique_pair:
            return False
        sample = Account(self.run, account_id=self.ids["account_id"]).body(operation)
        again = self.send(call(operation, self.ids_of(payee), sample), "is the valid request accepted?")
        if again.refused:
            raise SessionOver
        return False

    def judge_created(self, operation: str, body: Document, exchange: Exchange, payee: Payee | None) -> None:
        self.holds("create.echo", operation)
        # Which of several destinations is the default is open (destination.second-default).
        left_out = {*HIDDEN_FIELDS, "amount", "is_default"}
        for name, value in body.items():
            if name in left_out or isinstance(value, dict) or name not in documented(operation):
                continue
            if not same(exchange.get(name), value):
                echo = outcomes.equal(name, exchange.get(name), value, exchange)
                self.expect("create.echo", operation, *echo)
        number = body.get("account_number")
        if TRAITS[operation].creates == "payout_destination" and isinstance(number, str):
            name = "account_number_last4"
            last4 = outcomes.equal(name, exchange.get(name), number[-4:], exchange)
            self.expect("destination.last4", operation, *last4)
        for name, value in TRAITS[operation].initial.items():
            initially = outcomes.equal(name, exchange.get(name), value, exchange)
            self.expect("create.initial-state", operation, *initially)
        self.model.created(operation, exchange, payee)

    # ------------------------------------------------------------------ beneficiaries

    def update(self, payee: Payee, changes: Document) -> None:
        """Sends a PATCH of valid values."""
        exchange = self.send(call("updateBeneficiary", self.ids_of(payee), changes), "change a beneficiary")
        self._judge_accepted("updateBeneficiary", exchange, payee)
        if exchange.succeeded:
            self._judge_moved(payee, exchange, "beneficiary.update-moves-updated", "updateBeneficiary")
            self.model.updated(payee, changes)
            self._judge_beneficiary(payee, exchange, "updateBeneficiary", "beneficiary.update")
            payee.answers.append(exchange)

    def disable(self, payee: Payee) -> None:
        """Disables a beneficiary; a second time may be refused."""
        request = call("disableBeneficiary", self.ids_of(payee))
        exchange = self.send(request, "disable")
        if payee.disabled and exchange.refused:
            return
        if not payee.disabled:
            accepted = outcomes.accepted("disabling", exchange)
            self.expect("idempotency.key-accepted", "disableBeneficiary", *accepted)
        if exchange.succeeded:
            if not payee.disabled:
                self._judge_moved(payee, exchange, "beneficiary.disable-moves-updated", "disableBeneficiary")
            earlier = payee.rule
            self.model.disabled(payee, exchange)
            # Its answer may show that an earlier change was lost.
            rule = earlier if exchange.get("status") == "disabled" else payee.rule
            self._judge_beneficiary(payee, exchange, "disableBeneficiary", rule)

    def _judge_moved(self, payee: Payee, exchange: Exchange, rule: str, operation: str) -> None:
        """Judges that a change moves `updated`, unless the server's clock is too coarse."""
        before, after = payee.members.get("updated"), exchange.get("updated")
        step, first, second = timestamps.step(before), timestamps.parse(before), timestamps.parse(after)
        if first is None or second is None or step is None or exchange.started - payee.at <= step:
            return
        self.expect(rule, operation, *outcomes.later("updated", exchange, "updated", before))

    def read(self, payee: Payee) -> None:
        """Reads a beneficiary."""
        exchange = self.read_resource("getBeneficiary", payee, "beneficiary_id")
        self._judge_beneficiary(payee, exchange, "getBeneficiary", payee.rule)

    def read_resource(self, operation: str, thing: Thing, parameter: str) -> Exchange:
        """Reads a resource until it agrees with the model, for a bounded time."""
        request = call(operation, {**self.ids, parameter: thing.id})
        return eventually(
            self.run.cache,
            operation,
            lambda: self.send(request, "read a resource"),
            lambda seen: agrees(thing, seen),
        )

    def _judge_beneficiary(self, payee: Payee, exchange: Exchange, operation: str, rule: str) -> None:
        """Judges that a beneficiary in an answer is that of the model, destinations included."""
        # A read may show that an earlier operation, whose rule it is, was lost.
        on = operation if operation in RULES[rule].operations else RULES[rule].operations[0]
        self.expect(rule, on, *outcomes.accepted("the beneficiary", exchange))
        payee.members = {**payee.members, "updated": exchange.get("updated")}
        payee.at = exchange.arrived
        self.judge_members(payee, exchange, rule, on)
        held, expected = _destinations(exchange), sorted(destination.id for destination in payee.destinations)
        late = exchange.started - within(self.run.cache)
        if exchange.method != "GET" and any(
            identifier not in held and self.run.made.latest(identifier) > late for identifier in expected
        ):
            # Unlike a read, this request cannot be repeated until they show.
            return
        name = "payout_destinations"
        exactly = outcomes.equal(name, exchange.get(name), expected, exchange, alike=same_ids)
        self.expect("beneficiary.destinations", operation, *exactly)

    def judge_members(self, thing: Thing, exchange: Exchange, rule: str, operation: str) -> None:
        """Judges that a resource in an answer is that of the model; member by member only if one differs."""
        if agrees(thing, exchange):
            self.holds(rule, operation)
            return
        for name, value in thing.steady().items():
            answers = thing.evidence_of(name, value)
            what = "as an earlier answer shows it" if answers else "as earlier requests left it"
            self.expect(rule, operation, *outcomes.member(what, exchange, name, value), *answers)

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


def agrees(thing: Thing, exchange: Exchange) -> bool:
    """True if an answer agrees with the model of a resource."""
    members = exchange.succeeded and all(
        alike(thing.operation, name, exchange.get(name), value) for name, value in thing.steady().items()
    )
    if not members or not isinstance(thing, Payee):
        return members
    return _destinations(exchange) == sorted(destination.id for destination in thing.destinations)


def _destinations(exchange: Exchange) -> list[str]:
    """The sorted ids of a beneficiary's destinations."""
    return sorted(str(destination.get("id")) for destination in objects(exchange.get("payout_destinations")))


def _tells(done: Walk, expected: Mapping[str, Thing]) -> bool:
    """True if a list has the elements of the model, and counts them on each page; or if a page shows one
    twice, which no delay explains."""
    counted = all(page.total == len(expected) for page in done.pages)
    agree = counted and sorted(done.ids) == sorted(expected)
    return agree or any(repeated(page.ids) for page in done.pages)
