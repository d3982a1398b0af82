"""Servers that answer a repeated request, or another one with its key, otherwise: section 4.0."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from typing import Any

from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context
from conformance.reference.fields import FIELDS
from conformance.reference.messages import JSON_TYPE, Response
from conformance.reference.refusals import Refusal
from conformance.reference.seams.idempotency import Idempotency
from conformance.reference.seams.resources import KINDS
from conformance.reference.store import Answer

from .catalogue import Faulty, fault, faults, refusal, refuse, seam

# --------------------------------------------------------------------------- the replay


def do_again(behaviour: Faulty, ctx: Context) -> None:
    """Performs the operation once more, without any check that its being done again would fail."""
    ctx.values, ctx.body = {}, {}
    behaviour.validate(ctx)
    if ctx.operation == "createWallet":
        behaviour.create(ctx)
    else:
        behaviour.act(ctx)


@fault("idempotency.replay", also=("idempotency.replay-after-change", "idempotency.race"))
class PerformsAgain(Faulty):
    """A repeated request is performed again."""

    def replayed(self, ctx: Context, answer: Answer) -> Response | None:
        do_again(self, ctx)
        return self.render(ctx)


#: Operations of which nothing shows afterwards but their answer.
UNSEEN = ("createBeneficiary", "createPayin")


def _seen(operations: Iterable[str]) -> list[str]:
    return [operation for operation in operations if operation not in UNSEEN]


@fault(
    "idempotency.replay",
    operations=_seen(OPERATION_SETS["post"]),
    also=("idempotency.replay-after-change", "idempotency.race"),
)
class PerformsAgainUnseen(Faulty):
    """A repeated request is answered with the original response, and performed again."""

    def replayed(self, ctx: Context, answer: Answer) -> Response | None:
        do_again(self, ctx)
        return super().replayed(ctx, answer)


@fault("idempotency.replay")
class OnceOnly(Faulty):
    """The second repetition is performed again."""

    def replayed(self, ctx: Context, answer: Answer) -> Response | None:
        ctx.store.change("DELETE FROM answers WHERE key = ?", ctx.key)
        return super().replayed(ctx, answer)


@fault("idempotency.replay")
class LastKeyOnly(Faulty):
    """Of the keys used here only the last one is remembered."""

    def remember(self, ctx: Context, response: Response) -> None:
        ctx.store.change("DELETE FROM answers WHERE scope = ?", self.answer_scope(ctx))
        super().remember(ctx, response)


def _changed(document: dict[str, Any], how: str) -> Any:
    match how:
        case "empty":
            return {}
        case "another id":
            return {**document, "id": document["id"][:-1] + ("0" if document["id"][-1] != "0" else "1")}
        case "created moved":
            return {**document, "created": re.sub(r"T\d\d:", "T00:", document["created"])[:-2] + "7Z"}
        case "id only":
            return {"id": document["id"]}
        case "wrapped":
            return {"data": document}
        case "last member missing":
            return dict(list(document.items())[:-1])
        case "a text emptied":
            return {
                name: ""
                if isinstance(value, str)
                and name not in ("id", "object", "status", "created", "updated", "currency")
                and not name.endswith("_id")
                else value
                for name, value in document.items()
            }
    raise KeyError(how)


faults["idempotency.replay"] |= {
    "No answer is stored: a repeated request is a new one.": seam(
        "remember", lambda *_: None, also=("idempotency.replay-after-change", "idempotency.race")
    ),
    "A repeated request is refused.": seam(
        "replayed",
        lambda self, *_: refuse(Refusal(self.value.kind)),
        each={
            "409": Refusal("idempotency_key_conflict"),
            "422": Refusal("invalid_field"),
            "404": Refusal("missing_child"),
        },
    ),
    "A repeated request is answered with another status.": seam(
        "replayed",
        lambda self, ctx, answer: Response(200 if answer.status != 200 else 208, [JSON_TYPE], answer.body),
    ),
    "A repeated request is answered with another body.": seam(
        "replayed",
        lambda self, ctx, answer: Response.of(answer.status, _changed(json.loads(answer.body), self.value)),
        each=(
            "empty",
            "another id",
            "created moved",
            "id only",
            "wrapped",
            "last member missing",
        ),
    ),
}


@fault("idempotency.replay", operations=OPERATION_SETS["create"])
class ConflictReplacesAnswer(Faulty):
    """After a refused repetition with another body, the original body is refused too."""

    def on_other_body(self, ctx: Context, answer: Answer) -> Response | None:
        assert ctx.key is not None
        ctx.store.keep_answer(
            self.answer_scope(ctx), ctx.key, answer._replace(fingerprint=self.fingerprint(ctx))
        )
        return super().on_other_body(ctx, answer)


def _record(behaviour: Idempotency, ctx: Context, answer: Answer) -> dict[str, Any] | None:
    return ctx.store.get(KINDS[ctx.operation], json.loads(answer.body)["id"])


@fault(
    "idempotency.replay-after-change",
    operations=("createBeneficiary", "disableBeneficiary", "createPayoutDestination"),
)
class RendersAnew(Faulty):
    """A repeated request is answered with what the resource is now."""

    def replayed(self, ctx: Context, answer: Answer) -> Response | None:
        document = json.loads(answer.body)
        record = ctx.store.get(KINDS[ctx.operation], document["id"])
        assert record is not None
        return Response.of(answer.status, {**self.resource(ctx, KINDS[ctx.operation], record)})


@fault(
    "idempotency.replay-after-change",
    operations=("createBeneficiary", "disableBeneficiary"),
    each=lambda operation: (
        ["updated", "note", "payout_destinations"] + ["status"] * (operation == "createBeneficiary")
    ),
)
class RendersOneAnew(Faulty):
    """A repeated request is answered with what one member of the beneficiary is now."""

    def replayed(self, ctx: Context, answer: Answer) -> Response | None:
        document = json.loads(answer.body)
        record = ctx.store.get("beneficiary", document["id"])
        assert record is not None
        now = self.resource(ctx, "beneficiary", record)
        return Response.of(answer.status, {**document, self.value: now[self.value]})


def _world(ctx: Context) -> Any:
    """Something that differs after any resource was created or changed."""
    return ctx.store.query(
        "SELECT COUNT(*), SUM(LENGTH(document)), MAX(json_extract(document, '$.updated')) FROM resources"
    )


class NoticesChange(Faulty):
    """Knows of a repeated request whether anything has been created or changed since its first."""

    def remember(self, ctx: Context, response: Response) -> None:
        super().remember(ctx, response)
        if self.here(ctx) and ctx.key is not None and ctx.first_use:
            self.__dict__.setdefault("worlds", {})[self.answer_scope(ctx), ctx.key] = _world(ctx)

    def changed(self, ctx: Context) -> bool:
        """Whether anything has changed."""
        return bool(self.__dict__.get("worlds", {}).get((self.answer_scope(ctx), ctx.key)) != _world(ctx))


@fault("idempotency.replay-after-change")
class PerformsAgainAfterChange(NoticesChange):
    """A repeated request is performed again when anything has been created or changed meanwhile."""

    def replayed(self, ctx: Context, answer: Answer) -> Response | None:
        if not self.changed(ctx):
            return super().replayed(ctx, answer)
        do_again(self, ctx)
        return self.render(ctx)


@fault("idempotency.replay-after-change", operations=("createPayoutDestination",))
class BecomesTheDefaultAgain(Faulty):
    """The repeated create of a default destination makes it the default again."""

    def replayed(self, ctx: Context, answer: Answer) -> Response | None:
        document = json.loads(answer.body)
        destination = self.find(ctx, "payout_destination", document["id"])
        if destination is not None and document["is_default"] is True:
            self.clear_default(ctx)
            ctx.store.update({**destination, "is_default": True})
        return super().replayed(ctx, answer)


faults["idempotency.replay-after-change"] |= {
    "A repeated request is refused when anything has been created or changed meanwhile.": seam(
        "replayed",
        lambda self, ctx, *_: (
            refuse(Refusal("idempotency_key_conflict")) if self.changed(ctx) else self.usual()
        ),
        base=NoticesChange,
    ),
    "A repeated request is refused when the beneficiary has been disabled meanwhile.": seam(
        "replayed",
        lambda self, ctx, answer: (
            refuse(Refusal("payout_beneficiary"))
            if (self.find(ctx, "beneficiary", json.loads(answer.body)["beneficiary_id"]) or {})["status"]
            == "disabled"
            else self.usual()
        ),
        operations=("createPayout", "createPayoutDestination"),
    ),
}


# --------------------------------------------------------------------------- the conflict


@fault("refusal.changes-nothing", operations=_seen(OPERATION_SETS["create"]))
class PerformsOtherBodiesUnseen(Faulty):
    """A used key with another body is refused, and performed."""

    def on_other_body(self, ctx: Context, answer: Answer) -> Response | None:
        do_again(self, ctx)
        return super().on_other_body(ctx, answer)


def _document(ctx: Context) -> dict[str, Any]:
    try:
        document = json.loads(ctx.request.body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


#: Kind -> what is compared of two bodies.
FINGERPRINTS = {
    "length": lambda ctx: str(len(ctx.request.body)),
    "names of the fields": lambda ctx: sorted(_document(ctx)),
    "letters in any case": lambda ctx: ctx.request.body.lower().hex(),
    "letters of ASCII": lambda ctx: ctx.request.body.decode().encode("ascii", "replace"),
    "the first 128 bytes": lambda ctx: ctx.request.body[:128],
    "the last 64 bytes": lambda ctx: ctx.request.body[-64:],
    "the sum of the bytes": lambda ctx: sum(ctx.request.body),
}


def _without_member(ctx: Context, name: str) -> Any:
    """The body that was sent, without one member of its address, or with one only."""
    body = json.loads(ctx.request.body)
    address = body.get("address")
    if isinstance(address, dict):
        kept = (
            {"city"}
            if name.startswith("all but")
            else address.keys() - {name, "state" if name == "region" else name}
        )
        body["address"] = {member: address[member] for member in sorted(kept & address.keys())}
    return body


faults["idempotency.conflict"] |= {
    "A used key is answered with the stored response whatever the body is.": seam(
        "same_body", lambda *_: True
    ),
    "A used key with another body is a new request.": seam("on_other_body", lambda *_: None),
    "Two bodies that differ count as the same.": seam(
        "fingerprint",
        lambda self, ctx: hashlib.sha256(repr(self.value(ctx)).encode()).digest(),
        each=FINGERPRINTS,
    ),
    "Two bodies that differ in this member of the address only count as the same.": seam(
        "fingerprint",
        lambda self, ctx: hashlib.sha256(repr(_without_member(ctx, self.value)).encode()).digest(),
        operations=("createBeneficiary", "createVirtualAccount"),
        each=("address_line", "city", "region", "postal_code", "country", "all but the city"),
    ),
    "Two bodies that differ in this field only count as the same.": seam(
        "fingerprint",
        lambda self, ctx: hashlib.sha256(
            json.dumps({name: value for name, value in _document(ctx).items() if name != self.value}).encode()
        ).digest(),
        each=lambda operation: [field.name for field in FIELDS[operation]],
    ),
    "A used key with another body is refused with another type or code, or not with 4xx.": seam(
        "on_other_body",
        lambda self, *_: refuse(refusal(*self.value)),
        each={
            "type": (409, "validation_error", "idempotency_key_conflict"),
            "code": (409, "idempotency_error", "conflict"),
            "invalid": (400, "validation_error", "invalid_idempotency_key"),
            "success": (200, "idempotency_error", "idempotency_key_conflict"),
        },
    ),
}


faults["idempotency.conflict-no-body"] |= {
    "A used key without a body is answered with the stored response when it comes with one.": seam(
        "same_body", lambda *_: True
    ),
    "A used key without a body is performed again when it comes with one.": seam(
        "on_other_body", lambda *_: None
    ),
}
