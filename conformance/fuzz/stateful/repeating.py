"""Requests that come again, or from somebody else: sections 4.0 and 5.5."""

from __future__ import annotations

from conformance.contract.operations import OPERATIONS
from conformance.fixtures.account import call, unknown_like
from conformance.fuzz.stateful.model import Document, Post, Thing
from conformance.fuzz.stateful.sender import Sender
from conformance.judging.comparison import differences
from conformance.wire.messages import Call, to_json


class Repeater(Sender):
    """Replays, conflicts, keys and ids in other hands."""

    # ------------------------------------------------------------------ idempotency

    def replay(self, post: Post) -> None:
        """Sends an accepted POST again: the original answer, whatever has changed since."""
        if self.lost:
            return
        exchange = self.send(post.call, "the same key and body again", post.organization)
        if self.lost:
            return
        rule = "idempotency.replay-after-change" if self.model.changed_since(post) else "idempotency.replay"
        operation = str(post.call.operation)
        good = exchange.status == post.answer.status and not differences(
            operation, exchange.document, post.answer.document
        )
        self.judge(
            rule,
            str(post.call.operation),
            good,
            f"the original answer ({post.answer.described()})",
            exchange.described() if exchange.status != post.answer.status else "another body",
            exchange,
            post.answer,
        )

    def conflict(self, post: Post, body: Document) -> None:
        """Sends an accepted POST's key with another body."""
        if self.lost or to_json(body) == post.call.body:
            return
        exchange = self.send(post.call.with_json(body), "the same key, another body", post.organization)
        if self.lost:
            return
        good = exchange.refused and (exchange.error_type, exchange.error_code) == (
            "idempotency_error",
            "idempotency_key_conflict",
        )
        self.judge(
            "idempotency.conflict",
            str(post.call.operation),
            good,
            "a used key with another body: any 4xx idempotency_error/idempotency_key_conflict",
            exchange.described(),
            exchange,
            post.answer,
        )
        self._refused(str(post.call.operation), body)

    def other_organization(self, post: Post) -> None:
        """The other organization sends the same key and body: that is new, in an account of its own."""
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
        fresh = (
            exchange.succeeded
            and exchange.get("id") != post.answer.get("id")
            and exchange.get("account_id") == fixture.account_id
        )
        got = exchange.described() if not exchange.succeeded else "the first organization's resource"
        self.judge(
            "idempotency.other-organization",
            operation,
            fresh,
            "a resource of its own",
            got,
            exchange,
            post.answer,
        )

    def bad_key(self, request: Call, key: str) -> None:
        """Sends a sound POST with a key that is no UUID."""
        if self.lost:
            return
        exchange = self.send(request.but(idempotency_key=key), "a key that is no UUID")
        good = exchange.refused and (exchange.error_type, exchange.error_code) == (
            "validation_error",
            "invalid_idempotency_key",
        )
        self.judge(
            "idempotency.key-invalid",
            str(request.operation),
            good,
            f"the key {key}: any 4xx validation_error/invalid_idempotency_key",
            exchange.described(),
            exchange,
        )

    # ------------------------------------------------------------------ tenancy

    def foreign(self, request: Call) -> None:
        """The other organization sends a request for this account."""
        if self.lost or "secondary" not in self.elsewhere:
            return
        exchange = self.send(request, "another organization's request", "secondary")
        if not self.lost:
            self.judge(
                "tenancy.foreign-parent",
                str(request.operation),
                exchange.status == 403,
                "another organization's account: 403",
                exchange.described(),
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
        body = {"note": "misplaced"} if operation == "updateBeneficiary" else None
        exchange = self.send(call(operation, ids, body), f"a child that is not there ({where})")
        if not self.lost:
            self.judge(
                rule,
                operation,
                exchange.status == 404,
                f"a child of a {where} account: 404" if where == "sibling" else "an unknown child: 404",
                exchange.described(),
                exchange,
            )

    def _refused(self, operation: str, body: Document) -> None:
        """What a refused request asked for must be nowhere to be seen."""
        if isinstance(label := body.get("label"), str) and label:
            self.model.refused[label] = operation
