"""Servers that answer a repeated request, or another one with its key, wrongly (section 4.0)."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from typing import Any

from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context
from conformance.reference.core_messages import JSON_TYPE, Response
from conformance.reference.refusals import Refusal
from conformance.reference.seams.resources import KINDS
from conformance.reference.seams.validation import FIELDS
from conformance.reference.store import Answer

from .again import do_again, seen
from .catalogue import Faulty, fault, faults, of, refuse, seam
from .nonces import Processes
from .tenancy import caller_is


@fault("idempotency.replay", also=("idempotency.replay-after-change", "idempotency.race"))
class PerformsAgain(Faulty):
    """A repeated request is performed again."""

    def replayed(self, ctx: Context, answer: Answer) -> Response | None:
        do_again(self, ctx)
        return self.render(ctx)


@fault(
    "idempotency.replay",
    seam="replayed",
    operations=seen(OPERATION_SETS["post"]),
    also=("idempotency.replay-after-change", "idempotency.race"),
)
def _(self: Any, ctx: Context, answer: Answer) -> Any:
    """A repeated request is answered with the original response, and performed again."""
    do_again(self, ctx)
    return self.usual()


@fault("idempotency.replay", seam="replayed")
def _(self: Any, ctx: Context, answer: Answer) -> Any:
    """The second repetition is performed again."""
    ctx.store.change("DELETE FROM answers WHERE key = ?", ctx.key)
    return self.usual()


@fault("idempotency.replay", seam="remember", operations=("createBeneficiary",))
def _(self: Any, ctx: Context, response: Response) -> None:
    """The answer on another path takes the place of the first one under its key."""
    if ctx.key is not None and ctx.first_use and ctx.organization is not None:
        ctx.store.change(
            "DELETE FROM answers WHERE key = ? AND scope LIKE ?", ctx.key, f"{ctx.organization.id}%"
        )
    self.usual()


@fault("idempotency.replay", seam="remember", operations=("createBeneficiary", "createPayoutDestination"))
def _(self: Any, ctx: Context, response: Response) -> None:
    """Answers of more than 2,000 bytes are not kept under their key."""
    if len(response.body) <= 2000:
        self.usual()


@fault("idempotency.replay", seam="remember")
def _(self: Any, ctx: Context, response: Response) -> None:
    """Of the keys used here only the last one is remembered."""
    ctx.store.change("DELETE FROM answers WHERE scope = ?", self.answer_scope(ctx))
    self.usual()


#: Kind -> body in place of the original response's.
OTHER_ANSWERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "empty": lambda document: {},
    "another id": lambda document: {
        **document,
        "id": document["id"][:-1] + ("0" if document["id"][-1] != "0" else "1"),
    },
    "created moved": lambda document: {
        **document,
        "created": re.sub(r"T\d\d:", "T00:", document["created"])[:-2] + "7Z",
    },
    "id only": lambda document: {"id": document["id"]},
    "wrapped": lambda document: {"data": document},
    "a text": json.dumps,
    "last member missing": lambda document: dict(list(document.items())[:-1]),
}


@fault("idempotency.replay", seam="on_other_body", operations=OPERATION_SETS["create"])
def _(self: Any, ctx: Context, answer: Answer) -> Any:
    """After a refused repetition with another body, the original body is refused too."""
    assert ctx.key is not None
    ctx.store.keep_answer(self.answer_scope(ctx), ctx.key, answer._replace(fingerprint=self.fingerprint(ctx)))
    return self.usual()


@fault("idempotency.replay", seam="remember", each=(5, 20))
def _(self: Any, ctx: Context, response: Response) -> None:
    """Only so many of the keys that were last used here are remembered."""
    self.usual()
    if ctx.first_use:
        known = self.state.setdefault("known", [])
        known.append((self.answer_scope(ctx), ctx.key))
        if len(known) > self.value:
            ctx.store.change("DELETE FROM answers WHERE scope = ? AND key = ?", *known.pop(0))


@fault("idempotency.replay", operations=OPERATION_SETS["create"])
class ForgetsAfterRefusal(Faulty):
    """What follows a refused first use of a key is done, but not remembered."""

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        super().refused(ctx, refusal)
        if ctx.key is not None:
            self.state.setdefault("failed", set()).add(ctx.key)

    def remember(self, ctx: Context, response: Response) -> None:
        if ctx.key not in self.state.get("failed", ()):
            super().remember(ctx, response)


@fault(
    "idempotency.replay-after-change",
    seam="replayed",
    operations=("createBeneficiary", "disableBeneficiary", "createPayoutDestination"),
)
def _(self: Any, ctx: Context, answer: Answer) -> Any:
    """A repeated request is answered with what the resource is now."""
    document = json.loads(answer.body)
    record = ctx.store.get(KINDS[ctx.operation], document["id"])
    assert record is not None
    return Response.of(answer.status, {**self.resource(ctx, KINDS[ctx.operation], record)})


@fault(
    "idempotency.replay-after-change",
    seam="replayed",
    operations=("createBeneficiary", "disableBeneficiary"),
    each=lambda operation: (
        ["updated", "note", "payout_destinations"] + ["status"] * (operation == "createBeneficiary")
    ),
)
def _(self: Any, ctx: Context, answer: Answer) -> Any:
    """A repeated request is answered with what one member of the beneficiary is now."""
    document = json.loads(answer.body)
    record = ctx.store.get("beneficiary", document["id"])
    assert record is not None
    now = self.resource(ctx, "beneficiary", record)
    return Response.of(answer.status, {**document, self.value: now[self.value]})


@fault("idempotency.replay", seam="replayed", operations=("disableBeneficiary",))
def _(self: Any, ctx: Context, answer: Answer) -> Any:
    """A repeated disable is answered as the first was, and the beneficiary is active again."""
    record = ctx.store.get("beneficiary", json.loads(answer.body)["id"])
    assert record is not None
    ctx.store.update({**record, "status": "active"})
    return self.usual()


def _world(ctx: Context) -> Any:
    """Returns a value that changes with every creation or change of a resource."""
    return ctx.store.query(
        "SELECT COUNT(*), SUM(LENGTH(document)), MAX(json_extract(document, '$.updated')) FROM resources"
    )


class NoticesChange(Faulty):
    """Detects that a resource was created or changed between a request and its repetition."""

    def remember(self, ctx: Context, response: Response) -> None:
        super().remember(ctx, response)
        if self.here(ctx) and ctx.key is not None and ctx.first_use:
            self.state.setdefault("worlds", {})[self.answer_scope(ctx), ctx.key] = _world(ctx)

    def changed(self, ctx: Context) -> bool:
        """Returns True if anything has changed."""
        return bool(self.state.get("worlds", {}).get((self.answer_scope(ctx), ctx.key)) != _world(ctx))


@fault("idempotency.replay-after-change", seam="replayed", base=NoticesChange)
def _(self: Any, ctx: Context, answer: Answer) -> Any:
    """A repeated request is performed again when anything has been created or changed meanwhile."""
    if not self.changed(ctx):
        return self.usual()
    do_again(self, ctx)
    return self.render(ctx)


@fault("idempotency.replay-after-change", seam="replayed", operations=("createPayoutDestination",))
def _(self: Any, ctx: Context, answer: Answer) -> Any:
    """The repeated create of a default destination makes it the default again."""
    document = json.loads(answer.body)
    destination = self.find(ctx, "payout_destination", document["id"])
    if destination is not None and document["is_default"] is True:
        self.clear_default(ctx)
        ctx.store.update({**destination, "is_default": True})
    return self.usual()


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


@fault(
    "idempotency.replay-after-change",
    seam="remember",
    operations=("createPayoutDestination", "createPayout", "createPayin"),
)
def _(self: Any, ctx: Context, response: Response) -> None:
    """A request without a text of the client's own is not remembered."""
    if {"label", "note", "description"} & ctx.body.keys():
        self.usual()


def _replayed(change: Callable[[Any], Any]) -> Callable[..., Response]:
    def replayed(self: Any, ctx: Context, answer: Answer) -> Response:
        body = json.dumps(change(json.loads(answer.body)), ensure_ascii=False).encode()
        return Response(answer.status, [JSON_TYPE], body, "replayed")

    return replayed


def _escaped(document: Any) -> Any:
    return {
        name: value.replace("&", "&amp;") if isinstance(value, str) else value
        for name, value in document.items()
    }


class AnswersOtherTexts(Faulty):
    """Answers a repeated request with its texts changed by `value`."""

    def replayed(self, ctx: Context, answer: Answer) -> Response | None:
        document = json.loads(answer.body)
        texts = {name: self.value(text) for name, text in document.items() if isinstance(text, str)}
        return Response.of(answer.status, document | texts, "replayed")


#: Operations whose answers show free texts.
SHOWN_TEXTS = [operation for operation in OPERATION_SETS["post"] if operation != "createPayin"]


#: Operation -> kind of request -> predicate of bodies.
REPEATED: dict[str, dict[str, Callable[[dict[str, Any]], bool]]] = {
    "createBeneficiary": {"business": lambda body: body.get("beneficiary_type") == "business"},
    "createPayoutDestination": {
        "IBAN": lambda body: "iban" in body,
        "wallet": lambda body: body.get("type") == "wallet",
    },
    "createVirtualAccount": {"address": lambda body: "address" in body},
}


#: Headers that affect neither the key nor the body; disabling has no body whose type to declare.
_BESIDE = {"Accept": b"accept", "X-Request-Id": b"x-request-id", "Content-Type": b"content-type"}


def _beside(operation: str) -> dict[str, bytes]:
    return {name: key for name, key in _BESIDE.items() if operation in FIELDS or name != "Content-Type"}


faults["idempotency.replay"] |= {
    "The keys of the second of two organizations are forgotten.": seam(
        "remember", lambda self, ctx, *_: None if caller_is(ctx, "second") else self.usual()
    ),
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
        lambda self, ctx, answer: Response.of(answer.status, self.value(json.loads(answer.body))),
        each=OTHER_ANSWERS,
    ),
    "Each of two processes remembers the idempotency keys of its own requests only.": seam(
        "answer_scope",
        lambda self, ctx: f"{self.usual()} {self.process(ctx)}",
        base=Processes,
        also=("idempotency.replay-after-change", "idempotency.race", "idempotency.conflict"),
    ),
    "The amount of a repeated request went through a double.": seam(
        "replayed",
        _replayed(lambda document: {**document, "amount": f"{float(document['amount']):.2f}"}),
        operations=("createPayout", "createPayin"),
    ),
    "The answer under a key in capitals is looked up as it came, and stored in small letters.": seam(
        "stored_answer",
        lambda self, ctx: self.usual() if ctx.header(b"idempotency-key") == ctx.key else None,
        operations=OPERATION_SETS["create"],
    ),
    "Some characters of a stored answer's texts are other ones.": of(
        AnswersOtherTexts,
        operations=SHOWN_TEXTS,
        each={
            "three bytes at most": lambda text: re.sub("[^\0-\uffff]", "?", text),
            "composed": lambda text: unicodedata.normalize("NFC", text),
            "compatible": lambda text: unicodedata.normalize("NFKC", text),
            "quotes lost": lambda text: re.sub("['\"]", "", text),
            "backslashes lost": lambda text: text.replace("\\", ""),
            "two spaces are one": lambda text: text.replace("  ", " "),
        },
    ),
    "The lines of a stored answer's texts are joined.": of(
        AnswersOtherTexts,
        operations=("createBeneficiary", "disableBeneficiary", "createPayout"),
        each={"by spaces": lambda text: text.replace("\n", " ")},
    ),
    "The texts of a stored answer are escaped for HTML.": seam(
        "replayed",
        _replayed(_escaped),
        operations=[
            operation
            for operation in OPERATION_SETS["create"]
            if operation not in ("createPayin", "createBeneficiary")
        ],
    ),
    "A repeated request of one kind is performed again.": seam(
        "replayed",
        lambda self, ctx, answer: None if self.value(json.loads(ctx.request.body)) else self.usual(),
        operations=REPEATED,
        each=REPEATED.__getitem__,
        also=("idempotency.replay-after-change", "idempotency.race"),
    ),
    "A used key with another value of this header is a new one.": seam(
        "answer_scope", lambda self, ctx: f"{self.usual()} {ctx.header(self.value)}", each=_beside
    ),
    "A used key with another value of this header is a conflict.": seam(
        "fingerprint", lambda self, ctx: self.usual() + (ctx.header(self.value) or "").encode(), each=_beside
    ),
    "Answers to bodies of more than 2,000 bytes are not kept under their key.": seam(
        "remember",
        lambda self, ctx, response: self.usual() if len(ctx.request.body) <= 2000 else None,
        operations=OPERATION_SETS["create"],
    ),
}


@fault("idempotency.replay-after-change", seam="replayed", operations=("createBeneficiary",))
def _(self: Any, ctx: Context, answer: Answer) -> Any:
    """A repeated create makes the beneficiary active again."""
    made = ctx.store.get("beneficiary", json.loads(answer.body)["id"]) or {}
    ctx.store.update({**made, "status": "active"})
    return self.usual()


@fault("idempotency.replay-after-change", operations=("createBeneficiary",))
class SavesAgain(Faulty):
    """A repeated create saves the beneficiary as it was first made."""

    def create(self, ctx: Context) -> None:
        super().create(ctx)
        assert ctx.record is not None
        self.state.setdefault("first", {})[ctx.record["id"]] = dict(ctx.record)

    def replayed(self, ctx: Context, answer: Answer) -> Response | None:
        ctx.store.update(self.state["first"][json.loads(answer.body)["id"]])
        return super().replayed(ctx, answer)
