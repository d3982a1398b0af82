"""Sends the model's requests and compares every answer with what the model says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance import timestamps
from conformance.contract import OPERATIONS
from conformance.exchange import Call, Exchange, to_json
from conformance.fields import documented
from conformance.fuzz import queries
from conformance.fuzz.bodies import Sound, judge_body
from conformance.fuzz.ledger import Ledger
from conformance.fuzz.model import INITIAL, RESTLESS, Document, Filters, Model, Payee, Post, Thing
from conformance.fuzz.scenery import pairs_are_free
from conformance.passive import HIDDEN_FIELDS
from conformance.rules import RULES
from conformance.suite import Suite
from conformance.trial import same, show
from conformance.verdict import Inconclusive, NotApplicable
from conformance.world import Scene, call, unknown_like

#: Most pages that one walk reads.
MAX_PAGES = 12


class Driver:
    """One example: an account of its own, the model of what it holds, and requests that change both.

    A request whose outcome cannot be known (no answer, 5xx, an answer against the rules that was reported before)
    ends the comparison: `lost` is set, and every further method does nothing.
    """

    def __init__(self, suite: Suite, ledger: Ledger, sound: Mapping[str, Sound], elsewhere: Mapping[str, Scene]) -> None:
        self.suite, self.ledger, self.sound, self.elsewhere = suite, ledger, sound, elsewhere
        self.model = Model()
        self.lost = False
        self._uninspected: list[Exchange] = []
        customer = suite.target.primary.customer_id
        self.ids = {"customer_id": customer}
        account = self.send(call("createAccount", self.ids, suite.samples.account()), "an account of its own")
        self.lost = self.lost or not account.succeeded or not isinstance(account.get("id"), str)
        self.ids["account_id"] = str(account.get("id"))

    # ------------------------------------------------------------------ sending and judging

    def send(self, request: Call, purpose: str, organization: str = "primary") -> Exchange:
        self.inspect()
        exchange = self.suite.send(self.suite.client(organization), request, purpose)
        self.ledger.count(exchange)
        self.ledger.keep(exchange)
        self._uninspected.append(exchange)
        if exchange.throttled or exchange.status is None or exchange.status >= 500:
            self.inspect()
            self.lost = True
        elif exchange.refused_authentication:
            operation = str(request.operation)
            rules = [rule for rule, given in (("auth.query-as-sent", request.query), ("auth.body-as-sent", request.body))
                     if given and operation in RULES[rule].operations]
            self.judge(rules[0] if rules else "auth.accepts-valid", operation, False,
                       "a correctly signed request accepted by authentication", exchange.described(), exchange)
        return exchange

    def inspect(self) -> None:
        """Judges what came by the passive rules; later than by the rule at hand, which says more."""
        waiting, self._uninspected = self._uninspected, []
        if not self.lost:
            self.lost = True
            self.ledger.inspect(*waiting)
            self.lost = False

    def judge(self, rule: str, operation: str, good: bool, expected: str, got: str, *exchanges: Exchange) -> bool:
        """As the ledger judges; a difference that was reported before ends the comparison."""
        lost, self.lost = self.lost, True  # whatever is raised, nothing more is compared
        if self.ledger.judge(rule, operation, good, expected, got, *exchanges):
            self.lost = lost
        return good

    # ------------------------------------------------------------------ creating

    def create(self, operation: str, body: Document, payee: Payee | None = None) -> Exchange | None:
        """Sends a create; whether it must be refused is judged from its bytes."""
        if self.lost:
            return None
        ids = self.ids if payee is None else {**self.ids, "beneficiary_id": payee.id}
        request = call(operation, ids, body)
        verdict = judge_body(operation, request.body, self.sound.get(operation))
        exchange = self.send(request, f"create, {'plain' if verdict.plain else 'spoilt' if verdict.refusals else 'odd'}")
        if self.lost:
            return exchange
        if verdict.refusals:
            reason = min(verdict.refusals, key=lambda one: one.rule == "fields.optional-type")
            self.judge(reason.rule, operation, exchange.refused, f"{reason.what}: a refusal (4xx)", exchange.described(), exchange)
        elif operation == "createWallet" and self.model.has_wallet(body.get("currency"), body.get("network")):
            self.judge("wallet.duplicate", operation, exchange.refused, "a second wallet of a pair: a refusal (4xx)",
                       exchange.described(), exchange)
        elif verdict.plain and operation != "createPayout" and (operation != "createWallet" or pairs_are_free(self.suite)):
            self._accepted(operation, exchange)
        if exchange.refused:
            self._refused(operation, body)
        elif exchange.succeeded and isinstance(exchange.document, dict):
            self._created(operation, body, exchange, payee, plain=verdict.plain)
        return exchange

    def _accepted(self, operation: str, exchange: Exchange) -> None:
        rule = "idempotency.key-accepted" if exchange.error_code == "invalid_idempotency_key" else "fields.accepts-valid"
        self.judge(rule, operation, exchange.succeeded, "a request that keeps every stated limit: accepted (2xx)", exchange.described(), exchange)

    def _refused(self, operation: str, body: Document) -> None:
        if isinstance(label := body.get("label"), str) and label:
            self.model.refused[label] = operation

    def _created(self, operation: str, body: Document, exchange: Exchange, payee: Payee | None, *, plain: bool) -> None:
        for name, value in body.items():
            if plain and name in documented(operation) and name not in HIDDEN_FIELDS and not isinstance(value, dict) and name != "amount":
                self.judge("create.echo", operation, same(exchange.get(name), value), f"{name} {show(value)}", show(exchange.get(name)), exchange)
        number = body.get("account_number")
        if plain and operation == "createPayoutDestination" and isinstance(number, str):
            self.judge("destination.last4", operation, exchange.get("account_number_last4") == number[-4:],
                       f"account_number_last4 {number[-4:]}", show(exchange.get("account_number_last4")), exchange)
        for name, value in INITIAL[operation].items():
            self.judge("create.initial-state", operation, same(exchange.get(name), value), f"{name} {show(value)}", show(exchange.get(name)), exchange)
        self.model.created(operation, exchange.document, payee, at=exchange.started + exchange.elapsed)
        self.model.posts.append(Post(exchange.call, "primary", exchange, self.model.changes))

    # ------------------------------------------------------------------ idempotency

    def replay(self, post: Post) -> None:
        """Sends an accepted POST again: the original answer, whatever has changed since."""
        if self.lost:
            return
        exchange = self.send(post.call, "the same key and body again", post.organization)
        if self.lost:
            return
        rule = "idempotency.replay-after-change" if self.model.changed_since(post) else "idempotency.replay"
        good = exchange.status == post.answer.status and same(exchange.document, post.answer.document)
        self.judge(rule, str(post.call.operation), good, f"the original answer ({post.answer.described()})",
                   exchange.described() if exchange.status != post.answer.status else "another body", exchange, post.answer)

    def conflict(self, post: Post, body: Document) -> None:
        """Sends an accepted POST's key with another body."""
        if self.lost or to_json(body) == post.call.body:
            return
        exchange = self.send(post.call.with_json(body), "the same key, another body", post.organization)
        if self.lost:
            return
        good = exchange.refused and (exchange.error_type, exchange.error_code) == ("idempotency_error", "idempotency_key_conflict")
        self.judge("idempotency.conflict", str(post.call.operation), good,
                   "a used key with another body: any 4xx idempotency_error/idempotency_key_conflict", exchange.described(), exchange, post.answer)
        self._refused(str(post.call.operation), body)

    def other_organization(self, post: Post) -> None:
        """The other organization sends the same key and body: that is new, in an account of its own."""
        scene = self.elsewhere.get("secondary")
        operation = str(post.call.operation)
        if self.lost or scene is None or operation not in ("createBeneficiary", "createVirtualAccount"):
            return
        target = OPERATIONS[operation].path.format(account_id=scene.account_id)
        exchange = self.send(post.call.but(target=target), "another organization, the same key and body", "secondary")
        if self.lost:
            return
        fresh = exchange.succeeded and exchange.get("id") != post.answer.get("id") and exchange.get("account_id") == scene.account_id
        got = exchange.described() if not exchange.succeeded else "the first organization's resource"
        self.judge("idempotency.other-organization", operation, fresh, "a resource of its own", got, exchange, post.answer)

    def bad_key(self, request: Call, key: str) -> None:
        """Sends a sound POST with a key that is no UUID."""
        if self.lost:
            return
        exchange = self.send(request.but(idempotency_key=key), "a key that is no UUID")
        good = exchange.refused and (exchange.error_type, exchange.error_code) == ("validation_error", "invalid_idempotency_key")
        self.judge("idempotency.key-invalid", str(request.operation), good,
                   f"the key {key}: any 4xx validation_error/invalid_idempotency_key", exchange.described(), exchange)

    # ------------------------------------------------------------------ tenancy

    def foreign(self, request: Call) -> None:
        """The other organization sends a request for this account."""
        if self.lost or "secondary" not in self.elsewhere:
            return
        exchange = self.send(request, "another organization's request", "secondary")
        if not self.lost:
            self.judge("tenancy.foreign-parent", str(request.operation), exchange.status == 403,
                       "another organization's account: 403", exchange.described(), exchange)

    def misplaced(self, operation: str, thing: Thing, parameter: str, where: str) -> None:
        """Asks for a child under a sibling account, or for one that does not exist."""
        if self.lost:
            return
        ids = {**self.ids, parameter: thing.id}
        rule = "tenancy.missing-child"
        if where == "sibling":
            ids["account_id"], rule = self.elsewhere["sibling"].account_id, "tenancy.sibling-child"
        else:
            ids[parameter] = unknown_like(thing.id)
        body = {"note": "misplaced"} if operation == "updateBeneficiary" else None
        exchange = self.send(call(operation, ids, body), f"a child that is not there ({where})")
        if not self.lost:
            self.judge(rule, operation, exchange.status == 404, f"a child of a {where} account: 404" if where == "sibling" else
                       "an unknown child: 404", exchange.described(), exchange)

    # ------------------------------------------------------------------ beneficiaries

    def update(self, payee: Payee, changes: Document) -> None:
        """Sends a PATCH."""
        if self.lost:
            return
        request = call("updateBeneficiary", {**self.ids, "beneficiary_id": payee.id}, changes)
        verdict = judge_body("updateBeneficiary", request.body, self.sound["updateBeneficiary"])
        exchange = self.send(request, "change a beneficiary")
        if self.lost:
            return
        if verdict.refusals:
            reason = verdict.refusals[0]
            self.judge(reason.rule, "updateBeneficiary", exchange.refused, f"{reason.what}: a refusal (4xx)", exchange.described(), exchange)
        elif verdict.plain:
            self._accepted("updateBeneficiary", exchange)
        if exchange.succeeded:
            if verdict.plain and changes:
                self._moved(payee, exchange, "beneficiary.update-moves-updated", "updateBeneficiary")
            if verdict.plain or not changes:
                self.model.updated(payee, changes)
                self._shows(payee, exchange, "updateBeneficiary", "beneficiary.update" if changes else "beneficiary.update-empty")
            elif isinstance(exchange.document, dict):
                # What an odd value is kept as is open; that it is shown the same from now on is not.
                self.model.updated(payee, {name: exchange.get(name) for name in changes if name in exchange.document})

    def disable(self, payee: Payee) -> None:
        """Disables a beneficiary; what a second time does is open."""
        if self.lost:
            return
        request = call("disableBeneficiary", {**self.ids, "beneficiary_id": payee.id})
        exchange = self.send(request, "disable")
        if self.lost or (payee.disabled and exchange.refused):
            return
        if not payee.disabled:
            self.judge("idempotency.key-accepted", "disableBeneficiary", exchange.succeeded, "disabling: accepted (2xx)", exchange.described(), exchange)
        if exchange.succeeded:
            if not payee.disabled:
                self._moved(payee, exchange, "beneficiary.disable-moves-updated", "disableBeneficiary")
            self.model.disabled(payee)
            self._shows(payee, exchange, "disableBeneficiary", "beneficiary.disable")
            self.model.posts.append(Post(exchange.call, "primary", exchange, self.model.changes))

    def _moved(self, payee: Payee, exchange: Exchange, rule: str, operation: str) -> None:
        """A change moves updated, where the server's clock is fine enough to have moved on meanwhile."""
        before, after = payee.shown.get("updated"), exchange.get("updated")
        step, first, second = timestamps.step(before), timestamps.parse(before), timestamps.parse(after)
        if first is None or second is None or step is None or exchange.started - payee.at <= step:
            return
        good = second > first if rule.endswith("update-moves-updated") else second != first
        self.judge(rule, operation, good, f"an updated after {before}", show(after), exchange)

    def read(self, payee: Payee) -> None:
        """Reads a beneficiary."""
        if self.lost:
            return
        exchange = self.send(call("getBeneficiary", {**self.ids, "beneficiary_id": payee.id}), "read a beneficiary")
        if not self.lost:
            self._shows(payee, exchange, "getBeneficiary", "read.equals-create")

    def _shows(self, payee: Payee, exchange: Exchange, operation: str, rule: str) -> None:
        """The beneficiary in an answer is the model's, its destinations included."""
        rule = payee.rule if operation == "getBeneficiary" else rule
        on = "getBeneficiary" if rule == "read.equals-create" else {"beneficiary.disable": "disableBeneficiary"}.get(rule, "updateBeneficiary")
        if not self.judge(rule, on, exchange.succeeded, "the beneficiary: accepted (2xx)", exchange.described(), exchange):
            return
        payee.shown = {**payee.shown, "updated": exchange.get("updated")}
        payee.at = exchange.started + exchange.elapsed
        for name, value in payee.shown.items():
            if name not in RESTLESS:
                self.judge(rule, on, same(exchange.get(name), value), f"{name} {show(value)}", show(exchange.get(name)), exchange)
        held = exchange.get("payout_destinations")
        ids = sorted(str(one.get("id")) for one in held if isinstance(one, dict)) if isinstance(held, list) else []
        expected = sorted(one.id for one in payee.destinations)
        self.judge("beneficiary.destinations", operation, ids == expected, f"{len(expected)} payout destinations",
                   f"{len(ids)}" if len(ids) != len(expected) else "others", exchange)

    # ------------------------------------------------------------------ lists

    def walk(self, operation: str, size: int, filters: Filters, payee: Payee | None = None) -> None:
        """Walks a list from its first page to its last and compares it with the model."""
        if self.lost:
            return
        things = [one for one in self.model.listed(operation, payee) if filters.keeps(one.shown)]
        ids = self.ids if payee is None else {**self.ids, "beneficiary_id": payee.id}
        seen: list[Exchange] = []
        items: list[Any] = []
        for page in range(1, MAX_PAGES + 1):
            exchange = self.send(call(operation, ids).with_query(self._query(operation, page, size, filters)), f"page {page}")
            if self.lost:
                return
            rule = next(iter(filters.rules()), "list.walk") if things else "list.empty"
            if not self.judge(rule, operation, exchange.succeeded, "a sound query: accepted (2xx)", exchange.described(), exchange):
                return
            query = queries.read(exchange.call.query)
            for one in queries.judge_page(operation, query, exchange, self.suite.target.array_style):
                self.judge(one.rule, operation, one.good, one.expected, one.got, exchange)
            seen.append(exchange)
            shown = exchange.get("items")
            items += shown if isinstance(shown, list) else []
            if not isinstance(exchange.get("pages"), int) or page >= exchange.get("pages"):
                break
        self._compare(operation, things, [one for one in items if isinstance(one, dict)], filters, seen)

    def _query(self, operation: str, page: int, size: int, filters: Filters) -> list[tuple[str, Any]]:
        style = "statuses[]" if self.suite.target.array_style == "brackets" else "statuses"
        status = "status" if operation == "listWallets" else style
        pairs: list[tuple[str, Any]] = [(status, filters.status), ("currency", filters.currency),
                                        ("start_date", filters.start_date), ("end_date", filters.end_date)]
        return [("page", page), ("size", size), *(pair for pair in pairs if pair[1])]

    def _compare(self, operation: str, things: list[Thing], items: list[Document], filters: Filters, seen: list[Exchange]) -> None:
        rules = filters.rules()
        rule = "list.complete" if not rules else rules[0] if len(rules) == 1 else "list.filters-combine"
        ids = [str(one.get("id")) for one in items]
        last = seen[-1]
        self.judge("list.walk", operation, len(set(ids)) == len(ids), "every element once", "one of them twice", last, *seen[:-1])
        expected = {one.id: one for one in things}
        for extra in (one for one in items if one.get("id") not in expected):
            self._unexpected(operation, extra, rule, last)
        missing = [identifier for identifier in expected if identifier not in ids]
        self.judge(rule, operation, not missing, f"{len(expected)} elements", f"{len(missing)} of them missing", last, *seen[:-1])
        self.judge(rule, operation, last.get("total") == len(expected), f"total {len(expected)}", f"total {last.get('total')}", last)
        for item in items:
            thing = expected.get(str(item.get("id")))
            for name, value in item.items() if thing is not None else ():
                if thing is not None and name in thing.shown and name not in RESTLESS:
                    self.judge("list.complete", operation, same(value, thing.shown[name]), f"{name} {show(thing.shown[name])}", show(value), last)

    def _unexpected(self, operation: str, item: Document, rule: str, exchange: Exchange) -> None:
        """An element that the model does not have there: of which request it is says which rule is broken."""
        label = str(item.get("label"))
        if label in self.model.refused:
            self.judge("refusal.changes-nothing", self.model.refused[label], False, "nothing of a refused request in the list",
                       f"an element labelled {show(label)}", exchange)
        twins = [post for post in self.model.posts if post.answer.get("label") == label and post.answer.get("id") != item.get("id")]
        if twins:
            self.judge("idempotency.replay", str(twins[0].call.operation), False, "a replayed request done once",
                       f"two elements labelled {show(label)}", exchange, twins[0].answer)
        self.judge(rule, operation, False, "only what belongs there", f"another element, {show(item.get('id'))}", exchange)

    def balances(self) -> None:
        """Reads the account's balances."""
        if self.lost:
            return
        exchange = self.send(call("getAccountBalances", self.ids), "read the balances")
        if not self.lost and exchange.succeeded:
            self.judge("balances.of-account", "getAccountBalances", exchange.get("id") == self.ids["account_id"],
                       f"id {self.ids['account_id']}", show(exchange.get("id")), exchange)

    def virtual_account(self, thing: Thing) -> None:
        """Reads a virtual account."""
        if self.lost:
            return
        exchange = self.send(call("getVirtualAccount", {**self.ids, "virtual_account_id": thing.id}), "read a virtual account")
        if self.lost:
            return
        if self.judge("read.equals-create", "getVirtualAccount", exchange.succeeded, "the virtual account: accepted (2xx)", exchange.described(), exchange):
            for name, value in thing.shown.items():
                if name not in RESTLESS:
                    self.judge("read.equals-create", "getVirtualAccount", same(exchange.get(name), value), f"{name} {show(value)}",
                               show(exchange.get(name)), exchange)

    def conclude(self) -> None:
        """At the end everything that can be read is what the model says, whole and cut at one of its elements."""
        for payee in self.model.payees[:4]:
            self.read(payee)
            if payee.destinations:
                self.final("listPayoutDestinations", payee)
        self.final("listVirtualAccounts")
        self.final("listWallets")
        self.inspect()

    def final(self, operation: str, payee: Payee | None = None) -> None:
        """Walks a list as it is at the end, then from and up to the moment in which one element was created."""
        self.walk(operation, 100, Filters(), payee)
        things = self.model.listed(operation, payee)
        if things:
            created = str(things[self.model.changes % len(things)].shown.get("created"))
            self.walk(operation, 100, Filters(start_date=created), payee)
            self.walk(operation, 100, Filters(end_date=created), payee)


def elsewhere(suite: Suite) -> dict[str, Scene]:
    """What examples share and only read: a sibling account, and an account of the other organization if there is one.

    Raises Inconclusive when the server does not let the sibling be made.
    """
    scenes = {"sibling": suite.shared()}
    scenes["sibling"].account_id  # noqa: B018 - made now, not within an example
    try:
        scenes["secondary"] = suite.shared("secondary")
        scenes["secondary"].account_id  # noqa: B018
    except (Inconclusive, NotApplicable):
        scenes.pop("secondary", None)
    return scenes
