"""Replays of requests, and requests of another organization: sections 4.0 and 5.5."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS
from conformance.fuzz.stateful.reference_model import Document, Post, Thing
from conformance.fuzz.stateful.sender import Sender
from conformance.judge.expectations import Refused, SameAnswer, Status, predicate
from conformance.wire.messages import Call, Exchange, to_json
from conformance.world.account import call, unknown_like


@predicate
def resource_of_its_own(exchanges: Sequence[Exchange], account_id: str) -> str:
    """An organization's request, first, creates a resource in its account, other than the second exchange."""
    exchange, first = exchanges[:2]
    if not exchange.succeeded:
        return exchange.described()
    own = exchange.get("id") != first.get("id") and exchange.get("account_id") == account_id
    return "" if own else "the first organization's resource"


class Repeater(Sender):
    """Sends replays, conflicts, invalid keys, and requests for resources of others."""

    # ------------------------------------------------------------------ idempotency

    def replay(self, post: Post) -> None:
        """Sends an accepted POST again: the original answer, whatever has changed since."""
        if self.lost:
            return
        exchange = self.send(post.call, "the same key and body again")
        if self.lost:
            return
        rule = "idempotency.replay-after-change" if self.model.changed_since(post) else "idempotency.replay"
        operation = str(post.call.operation)
        self.judge(rule, operation, SameAnswer("the same key and body again"), post.answer, exchange)

    def conflict(self, post: Post, body: Document) -> None:
        """Sends an accepted POST's key with another body."""
        if self.lost or to_json(body) == post.call.body:
            return
        exchange = self.send(post.call.with_json(body), "the same key, another body")
        if self.lost:
            return
        conflict = Refused("a used key with another body", 0, "idempotency_error", "idempotency_key_conflict")
        self.judge("idempotency.conflict", str(post.call.operation), conflict, exchange, post.answer)
        self._refused(str(post.call.operation), body)

    def other_organization(self, post: Post) -> None:
        """Sends the same key and body for the other organization, which must create a resource of its own."""
        fixture = self.elsewhere.get("secondary")
        operation = str(post.call.operation)
        if self.lost or fixture is None or operation not in ("createBeneficiary", "createVirtualAccount"):
            return
        target = OPERATIONS[operation].path.format(account_id=fixture.account_id)
        exchange = self.send(
            post.call.but(target=target), "another organization, the same key and body", "secondary"
        )
        if self.lost:
            return
        own = resource_of_its_own("a resource of its own", account_id=fixture.account_id)
        self.judge("idempotency.other-organization", operation, own, exchange, post.answer)

    def bad_key(self, request: Call, key: str) -> None:
        """Sends a valid POST with a key that is not a UUID."""
        if self.lost:
            return
        exchange = self.send(request.but(idempotency_key=key), "a key that is not a UUID")
        invalid = Refused(f"the key {key}", 0, "validation_error", "invalid_idempotency_key")
        self.judge("idempotency.key-invalid", str(request.operation), invalid, exchange)

    # ------------------------------------------------------------------ tenancy

    def foreign(self, request: Call) -> None:
        """The other organization sends a request for this account."""
        if self.lost or "secondary" not in self.elsewhere:
            return
        exchange = self.shown(request, "another organization's request", "secondary")
        if not self.lost:
            self.judge(
                "tenancy.foreign-parent",
                str(request.operation),
                Status("another organization's account", (403,)),
                exchange,
            )

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
        body = {"note": "misplaced"} if TRAITS[operation].subset_of else None
        exchange = self.send(call(operation, ids, body), f"a child that is not there ({where})")
        if not self.lost:
            self.judge(
                rule,
                operation,
                Status(
                    f"a child of a {where} account: 404" if where == "sibling" else "an unknown child", (404,)
                ),
                exchange,
            )

    def _refused(self, operation: str, body: Document) -> None:
        """Expects that a refused request created nothing."""
        if isinstance(label := body.get("label"), str) and label:
            self.model.refused[label] = operation
