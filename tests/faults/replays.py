"""Servers that answer a repeated request, or another one with its key, wrongly (section 4.0)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.traits import TRAITS
from conformance.reference.context import Context, Record
from conformance.reference.core_messages import JSON_TYPE, Response
from conformance.reference.seams.resources import RECORD_KINDS
from conformance.reference.seams.validation import FIELDS
from conformance.reference.store import Answer
from conformance.world.other_values import other_end

from .catalogue import Call, Faulty, Only, Row, faults, kind, refuse, seam, seams
from .formats import PAYMENTS
from .nonces import process
from .rows import after, before, other, refusing, says, skipping, store
from .tenancy import caller_is
from .texts import CHANGES


def do_again(behaviour: Faulty, ctx: Context) -> None:
    """Performs the operation once more, without the checks that a second time would fail."""
    ctx.values, ctx.body = {}, {}
    behaviour.validate(ctx)
    if ctx.operation == "createWallet":
        behaviour.create(ctx)
    else:
        behaviour.act(ctx)


#: Operations whose result shows only in their answer.
UNSEEN = ("createBeneficiary", "createPayin")


def seen(operations: Iterable[str]) -> list[str]:
    return [operation for operation in operations if operation not in UNSEEN]


#: Creates that a list shows, of which an account takes several.
LISTED = tuple(
    name for name in seen(OPERATION_SETS["create"]) if TRAITS[name].listed_by and not TRAITS[name].unique_pair
)

ALSO = ("idempotency.replay-after-change", "idempotency.race")


def answering(change: Call | None = None, **options: Any) -> Row:
    """Makes a row that answers a repeated request with a changed document, by default changed by the kind."""
    changed = change or kind
    return seam(
        "replayed",
        lambda self, usual, ctx, answer: Response.of(
            answer.status, changed(self, json.loads(answer.body)), "replayed"
        ),
        **options,
    )


#: Operation -> kinds of bodies.
REPEATED = {
    "createBeneficiary": ["beneficiary_type=business"],
    "createPayoutDestination": ["iban", "type=wallet"],
    "createVirtualAccount": ["address"],
}

#: Headers that affect neither the key nor the body; disabling has no body whose type to declare.
_BESIDE = {
    "Accept": b"accept",
    "Accept-Language": b"accept-language",
    "User-Agent": b"user-agent",
    "X-Request-Id": b"x-request-id",
    "Content-Type": Only(b"content-type", FIELDS),
}


def _again(self: Any, usual: Any, ctx: Context, answer: Answer) -> Response:
    do_again(self, ctx)
    return self.render(ctx)


def _unless_older(self: Any, usual: Any, ctx: Context) -> Any:
    """Returns the stored answer of a key that was first used in the last seconds, so many as `value` says."""
    used: int = self.state.setdefault((self.answer_scope(ctx), ctx.key), ctx.now)
    return usual() if ctx.now - used < self.value * 1_000_000 else None


def _forget_earlier(self: Any, ctx: Context, response: Response) -> None:
    """Forgets the keys used here but those that were used last, so many as `value` says."""
    if ctx.first_use:
        known = self.state.setdefault("known", [])
        known.append((self.answer_scope(ctx), ctx.key))
        if len(known) > self.value:
            ctx.store.change("DELETE FROM answers WHERE scope = ? AND key = ?", *known.pop(0))


def _reactivate(self: Any, ctx: Context, answer: Answer) -> None:
    store(ctx, {"status": "active"}, [_first(ctx, answer)])


def _first(ctx: Context, answer: Answer, kind: str = "beneficiary") -> Record:
    """Returns the resource that the original response shows, as it is now."""
    return ctx.store.get(kind, json.loads(answer.body)["id"]) or {}


def _refused_first(self: Any, usual: Any, ctx: Context, response: Response) -> Any:
    """Answers the first request with a key as if it had not been performed, and forgets the key."""
    if self.state.setdefault((self.answer_scope(ctx), ctx.key), ctx) is not ctx:
        return usual()
    return None


def _unavailable(self: Any, usual: Any, ctx: Context, response: Response) -> Response:
    scope = self.answer_scope(ctx) if ctx.organization else ""
    if self.state.get((scope, ctx.key)) is not ctx or response.status >= 300:
        return response
    error = {"type": "api_error", "code": "unavailable", "message": "Try again."}
    return Response(self.value, [JSON_TYPE, (b"retry-after", b"0")], json.dumps({"error": error}).encode())


faults["idempotency.replay"] |= {
    "The first request with a key is refused for a time, but performed, and so is its repetition.": seams(
        {"remember": _refused_first, "finish": _unavailable},
        each={"429": 429, "503": 503},
        operations=(*LISTED, "createPayout"),
        also=("refusal.changes-nothing",),
    ),
    "A repeated request is performed again.": seam("replayed", _again, also=ALSO),
    "A repeated request is answered with the original response, and performed again.": before(
        "replayed",
        lambda self, ctx, *_: do_again(self, ctx),
        operations=seen(OPERATION_SETS["post"]),
        also=ALSO,
    ),
    "A repeated request of one kind is performed again.": skipping(
        "replayed",
        lambda self, ctx, *_: says(json.loads(ctx.request.body), self.value),
        operations=REPEATED,
        each=REPEATED.__getitem__,
        also=ALSO,
    ),
    "The second repetition is performed again.": before(
        "replayed", lambda self, ctx, *_: ctx.store.change("DELETE FROM answers WHERE key = ?", ctx.key)
    ),
    "A repeated disable is answered as the first was, and the beneficiary is active again.": before(
        "replayed", _reactivate, operations=("disableBeneficiary",)
    ),
    "After a refused repetition with another body, the original body is refused too.": before(
        "on_other_body",
        lambda self, ctx, answer: ctx.store.keep_answer(
            self.answer_scope(ctx), ctx.key, answer._replace(fingerprint=self.fingerprint(ctx))
        ),
        operations=OPERATION_SETS["create"],
    ),
    "The answer on another path takes the place of the first one under its key.": before(
        "remember",
        lambda self, ctx, *_: ctx.store.change(
            "DELETE FROM answers WHERE key = ? AND scope LIKE ?", ctx.key, f"{ctx.organization.id}%"
        ),
        lambda self, ctx, *_: ctx.first_use,
        operations=("createBeneficiary",),
    ),
    "Of the keys used here only the last one is remembered.": before(
        "remember",
        lambda self, ctx, *_: ctx.store.change("DELETE FROM answers WHERE scope = ?", self.answer_scope(ctx)),
    ),
    "A key is forgotten after so many seconds.": seam("stored_answer", _unless_older, each=(200,)),
    "Only the last keys, so many, are remembered.": after("remember", _forget_earlier, each=(5, 20)),
    "What follows a refused first use of a key is done, but not remembered.": seams(
        {
            "refused": lambda self, usual, ctx, *_: self.state.update({ctx.key: True}),
            "remember": lambda self, usual, ctx, *_: None if ctx.key in self.state else usual(),
        },
        operations=OPERATION_SETS["create"],
    ),
    "Some answers are not kept under their key.": skipping(
        "remember",
        None,
        each={
            "of more than 2,000 bytes": Only(
                lambda self, ctx, response: len(response.body) > 2000,
                ("createBeneficiary", "createPayoutDestination"),
            ),
            "to bodies of more than 2,000 bytes": Only(
                lambda self, ctx, *_: len(ctx.request.body) > 2000, OPERATION_SETS["create"]
            ),
            "to the second of two organizations": lambda self, ctx, *_: caller_is(ctx, "second"),
        },
    ),
    "No answer is stored: a repeated request is a new one.": skipping("remember", also=ALSO),
    "A repeated request is refused.": refusing(
        "replayed", each={"409": "idempotency_key_conflict", "422": "invalid_field", "404": "missing_child"}
    ),
    "A repeated request is answered with another status.": seam(
        "replayed",
        lambda self, usual, ctx, answer: Response(
            200 if answer.status != 200 else 208, [JSON_TYPE], answer.body
        ),
    ),
    "A repeated request is answered with another body.": answering(
        each={
            "empty": lambda self, document: {},
            "another id": lambda self, document: {**document, "id": other_end(document["id"])},
            "created moved": lambda self, document: {
                **document,
                "created": other("created", document["created"]),
            },
            "id only": lambda self, document: {"id": document["id"]},
            "wrapped": lambda self, document: {"data": document},
            "a text": lambda self, document: json.dumps(document),
            "last member missing": lambda self, document: dict(list(document.items())[:-1]),
            "an amount that went through a double": Only(
                lambda self, document: {**document, "amount": f"{float(document['amount']):.2f}"}, PAYMENTS
            ),
        }
    ),
    "The texts of a stored answer are other ones.": answering(
        lambda self, document: {
            name: self.value(text) if isinstance(text, str) else text for name, text in document.items()
        },
        each={
            kind: Only(CHANGES[kind], operations)
            for kinds, operations in {
                (
                    *("three bytes at most", "composed", "compatible", "quotes doubled"),
                    *("backslashes stripped", "two spaces are one"),
                ): {*OPERATION_SETS["post"]} - {"createPayin"},
                ("lines are joined",): ("createBeneficiary", "disableBeneficiary", "createPayout"),
                ("ampersands are escaped",): (
                    {*OPERATION_SETS["create"]} - {"createPayin", "createBeneficiary"}
                ),
            }.items()
            for kind in kinds
        },
    ),
    "Each of two processes remembers the idempotency keys of its own requests only.": seam(
        "answer_scope",
        lambda self, usual, ctx: f"{usual()} {process(self, ctx)}",
        also=(*ALSO, "idempotency.conflict"),
    ),
    "The answer under a key in capitals is looked up as it came, and stored in small letters.": skipping(
        "stored_answer",
        lambda self, ctx: ctx.header(b"idempotency-key") != ctx.key,
        operations=OPERATION_SETS["create"],
    ),
    "A used key with another value of this header is a new one.": seam(
        "answer_scope", lambda self, usual, ctx: f"{usual()} {ctx.header(self.value)}", each=_BESIDE
    ),
    "A used key with another value of this header is a conflict.": seam(
        "fingerprint",
        lambda self, usual, ctx: usual() + (ctx.header(self.value) or "").encode(),
        each=_BESIDE,
    ),
}


# ---------------------------------------------------------------------- after a change


def _world(ctx: Context) -> Any:
    """Returns a value that changes with every creation or change of a resource."""
    return ctx.store.query(
        "SELECT COUNT(*), SUM(LENGTH(document)), MAX(json_extract(document, '$.updated')) FROM resources"
    )


def _as_it_is_now(self: Any, usual: Any, ctx: Context, answer: Answer) -> Response:
    kind = RECORD_KINDS[ctx.operation]
    now = self.resource(ctx, kind, _first(ctx, answer, kind))
    changed = {self.value: now[self.value]} if self.value else now
    return Response.of(answer.status, {**json.loads(answer.body), **changed})


def _default_again(self: Any, ctx: Context, answer: Answer) -> None:
    destination = _first(ctx, answer, "payout_destination")
    if destination and json.loads(answer.body)["is_default"] is True:
        self.clear_default(ctx)
        store(ctx, {"is_default": True}, [destination])


faults["idempotency.replay-after-change"] |= {
    "A repeated create saves the beneficiary as it was first made.": seams(
        {
            "create": lambda self, usual, ctx: usual() or self.state.update({ctx.record["id"]: ctx.record}),
            "replayed": lambda self, usual, ctx, answer: (
                ctx.store.update(self.state[json.loads(answer.body)["id"]]) or usual()
            ),
        },
        operations=("createBeneficiary",),
    ),
    "A repeated request is answered with what the resource is now.": seam(
        "replayed",
        _as_it_is_now,
        operations=("createBeneficiary", "disableBeneficiary", "createPayoutDestination"),
    ),
    "A repeated request is answered with what one member of the beneficiary is now.": seam(
        "replayed",
        _as_it_is_now,
        operations=("createBeneficiary", "disableBeneficiary"),
        each=lambda operation: (
            ["updated", "note", "address", "payout_destinations"]
            + ["status"] * (operation == "createBeneficiary")
        ),
    ),
    "When anything has been created or changed meanwhile, a repeated request is no repetition.": seams(
        {
            "remember": lambda self, usual, ctx, *_: (
                usual(),
                self.state.setdefault((self.answer_scope(ctx), ctx.key), _world(ctx)),
            ),
            "replayed": lambda self, usual, ctx, answer: (
                usual()
                if self.state.get((self.answer_scope(ctx), ctx.key)) == _world(ctx)
                else self.value(self, usual, ctx, answer)
            ),
        },
        each={"performed again": _again, "refused": lambda *_: refuse("idempotency_key_conflict")},
    ),
    "A repeated request is refused when the beneficiary has been disabled meanwhile.": refusing(
        "replayed",
        "payout_beneficiary",
        lambda self, ctx, answer: says(
            ctx.store.get("beneficiary", json.loads(answer.body)["beneficiary_id"]) or {}, "status=disabled"
        ),
        operations=("createPayout", "createPayoutDestination"),
    ),
    "The repeated create of a default destination makes it the default again.": before(
        "replayed", _default_again, operations=("createPayoutDestination",)
    ),
    "A repeated create makes the beneficiary active again.": before(
        "replayed", _reactivate, operations=("createBeneficiary",)
    ),
    "A request without a text of the client's own is not remembered.": skipping(
        "remember",
        lambda self, ctx, *_: not {"label", "note", "description"} & ctx.body.keys(),
        operations=("createPayoutDestination", "createPayout", "createPayin"),
    ),
}
