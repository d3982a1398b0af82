"""Base of an example of the model: its own account, the model of it, and judged requests.

Replays (section 4.0) and requests for what belongs to others (section 5.5) are judged by their answers alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.contract.traits import TRAITS
from conformance.fuzz.engine.recorder import Recorder
from conformance.fuzz.stateful.reference_model import Document, Model, Payee, Post, Thing
from conformance.judge.expectations import (
    Authenticated,
    Expectation,
    Refused,
    SameAnswer,
    Status,
    predicate,
)
from conformance.judge.oracle import ValidBody
from conformance.wire.messages import Call, Exchange, to_json
from conformance.world.account import AccountFixture, call, unknown_like
from conformance.world.habits import eventually, found
from conformance.world.run_context import RunContext


class ExampleOver(Exception):
    """The contents of the account are not known any more: after a request without an answer, a 5xx, or an
    answer against the rules that was reported before. Ends the comparison with the model."""


@predicate(name="repeating.resource_of_its_own")
def resource_of_its_own(exchanges: Sequence[Exchange], account_id: str) -> str:
    """An organization's request, first, creates a resource in its account, other than the second exchange."""
    exchange, first = exchanges[:2]
    if not exchange.succeeded:
        return exchange.described()
    own = exchange.get("id") != first.get("id") and exchange.get("account_id") == account_id
    return "" if own else "the first organization's resource"


class Sender:
    """One example: an account of its own, which `begin` makes, and the model of what it holds.

    Each method that sends raises ExampleOver where the comparison ends."""

    def __init__(
        self,
        run: RunContext,
        recorder: Recorder,
        valid: Mapping[str, ValidBody],
        elsewhere: Mapping[str, AccountFixture],
    ) -> None:
        self.run, self.recorder, self.valid, self.elsewhere = run, recorder, valid, elsewhere
        self.model = Model()
        self.ids = {"customer_id": run.target.primary.customer_id}
        self._uninspected: list[Exchange] = []

    def begin(self) -> None:
        """Makes the account."""
        made = self.send(call("createAccount", self.ids, self.run.samples.account()), "an account of its own")
        if not made.succeeded or not isinstance(made.get("id"), str):
            raise ExampleOver
        self.ids["account_id"] = str(made.get("id"))

    def ids_of(self, payee: Payee | None) -> dict[str, str]:
        """The path parameters of the account, or of one of its beneficiaries."""
        return self.ids if payee is None else {**self.ids, "beneficiary_id": payee.id}

    # ------------------------------------------------------------------ sending and judging

    def send(self, request: Call, purpose: str, organization: str = "primary") -> Exchange:
        self.inspect()
        exchange = self.run.send(self.run.client(organization), request, purpose)
        self.recorder.count(exchange)
        self._keep(exchange)
        if exchange.refused_authentication:
            operation = str(request.operation)
            sent = (("auth.query-as-sent", request.query), ("auth.body-as-sent", request.body))
            rules = [rule for rule, given in sent if given and operation in RULES[rule].operations]
            signed = Authenticated("a correctly signed request")
            self.judge(rules[0] if rules else "auth.accepts-valid", operation, signed, exchange)
        return exchange

    def _keep(self, exchange: Exchange) -> None:
        """Takes an exchange into the example, which an answer that says nothing ends."""
        self.recorder.keep(exchange)
        self._uninspected.append(exchange)
        if exchange.throttled or exchange.status is None or exchange.status >= 500:
            self.inspect()
            raise ExampleOver

    def shown(self, request: Call, purpose: str, organization: str = "primary") -> Exchange:
        """Sends a request; a GET that is answered 404 again, for a bounded time, as reads may not know a new
        parent yet."""
        operation = str(request.operation)
        return eventually(self.run.cache, operation, lambda: self.send(request, purpose, organization), found)

    def inspect(self) -> None:
        """Judges the last answers by the rules of every response, after the rule at hand, which says more."""
        waiting, self._uninspected = self._uninspected, []
        self.recorder.inspect(*waiting)

    def judge(self, rule: str, operation: str, expectation: Expectation, *exchanges: Exchange) -> None:
        """As the recorder judges; a difference that was reported before ends the comparison."""
        if not self.recorder.judge(rule, operation, expectation, *exchanges):
            raise ExampleOver

    # ------------------------------------------------------------------ idempotency

    def replay(self, post: Post) -> None:
        """Sends an accepted POST again: the original answer, whatever has changed since."""
        exchange = self.send(post.call, "the same key and body again")
        changed = self.model.changes > post.at
        rule = "idempotency.replay-after-change" if changed else "idempotency.replay"
        operation = str(post.call.operation)
        self.judge(rule, operation, SameAnswer("the same key and body again"), post.answer, exchange)

    def conflict(self, post: Post, body: Document) -> None:
        """Sends an accepted POST's key with another body."""
        if to_json(body) == post.call.body:
            return
        exchange = self.send(post.call.with_json(body), "the same key, another body")
        conflict = Refused("a used key with another body", 0, "idempotency_error", "idempotency_key_conflict")
        self.judge("idempotency.conflict", str(post.call.operation), conflict, exchange, post.answer)
        self._refused(str(post.call.operation), body)

    def other_organization(self, post: Post) -> None:
        """Sends the same key and body for the other organization, which must create a resource of its own."""
        fixture = self.elsewhere.get("secondary")
        operation = str(post.call.operation)
        if fixture is None or operation not in ("createBeneficiary", "createVirtualAccount"):
            return
        target = OPERATIONS[operation].path.format(account_id=fixture.account_id)
        exchange = self.send(
            post.call.but(target=target), "another organization, the same key and body", "secondary"
        )
        own = resource_of_its_own("a resource of its own", account_id=fixture.account_id)
        self.judge("idempotency.other-organization", operation, own, exchange, post.answer)

    def bad_key(self, request: Call, key: str) -> None:
        """Sends a valid POST with a key that is not a UUID."""
        exchange = self.send(request.but(idempotency_key=key), "a key that is not a UUID")
        invalid = Refused(f"the key {key}", 0, "validation_error", "invalid_idempotency_key")
        self.judge("idempotency.key-invalid", str(request.operation), invalid, exchange)

    def _refused(self, operation: str, body: Document) -> None:
        """Expects that a refused request created nothing."""
        if isinstance(label := body.get("label"), str) and label:
            self.model.refused[label] = operation

    # ------------------------------------------------------------------ tenancy

    def foreign(self, request: Call) -> None:
        """The other organization sends a request for this account."""
        if "secondary" in self.elsewhere:
            exchange = self.shown(request, "another organization's request", "secondary")
            refused = Status("another organization's account", (403,))
            self.judge("tenancy.foreign-parent", str(request.operation), refused, exchange)

    def misplaced(self, operation: str, thing: Thing, parameter: str, where: str) -> None:
        """Asks for a child under a sibling account, or for one that does not exist."""
        if where == "sibling":
            rule, what = "tenancy.sibling-child", "a child of a sibling account: 404"
            ids = {**self.ids, parameter: thing.id, "account_id": self.elsewhere["sibling"].account_id}
        else:
            rule, what = "tenancy.missing-child", "an unknown child"
            ids = {**self.ids, parameter: unknown_like(thing.id)}
        body = {"note": "misplaced"} if TRAITS[operation].subset_of else None
        exchange = self.send(call(operation, ids, body), f"a child that is not there ({where})")
        self.judge(rule, operation, Status(what, (404,)), exchange)
