"""Servers that answer a repeated request, or another one with its key, wrongly (section 4.0)."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context, Record
from conformance.reference.core_messages import JSON_TYPE, Response
from conformance.reference.seams.resources import KINDS
from conformance.reference.seams.validation import FIELDS
from conformance.reference.store import Answer

from .catalogue import Faulty, Only, Row, fault, faults, seam, seams
from .nonces import Processes
from .rows import after, before, refusing, skipping, store, where
from .tenancy import caller_is


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


ALSO = ("idempotency.replay-after-change", "idempotency.race")

RULE = "idempotency.replay"

AFTER_CHANGE = "idempotency.replay-after-change"

#: Kind -> body in place of the original response's.
OTHER_ANSWERS: dict[str, Callable[[dict[str, Any]], Any] | Only] = {
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
    "an amount that went through a double": Only(
        lambda document: {**document, "amount": f"{float(document['amount']):.2f}"},
        ("createPayout", "createPayin"),
    ),
}

#: Operations whose answers show free texts.
_SHOWN = [operation for operation in OPERATION_SETS["post"] if operation != "createPayin"]

#: Kind -> change of the texts of a stored answer.
TEXTS: dict[str, Only] = {
    **{
        kind: Only(change, _SHOWN)
        for kind, change in {
            "three bytes at most": lambda text: re.sub("[^\0-\uffff]", "?", text),
            "composed": lambda text: unicodedata.normalize("NFC", text),
            "compatible": lambda text: unicodedata.normalize("NFKC", text),
            "quotes lost": lambda text: re.sub("['\"]", "", text),
            "backslashes lost": lambda text: text.replace("\\", ""),
            "two spaces are one": lambda text: text.replace("  ", " "),
        }.items()
    },
    "lines joined by spaces": Only(
        lambda text: text.replace("\n", " "), ("createBeneficiary", "disableBeneficiary", "createPayout")
    ),
    "escaped for HTML": Only(
        lambda text: text.replace("&", "&amp;"),
        {*OPERATION_SETS["create"]} - {"createPayin", "createBeneficiary"},
    ),
}


def answering(change: Callable[[Any, Any], Any], **options: Any) -> Row:
    """Makes a row that answers a repeated request with a changed document."""
    return seam(
        "replayed",
        lambda self, ctx, answer: Response.of(
            answer.status, change(self, json.loads(answer.body)), "replayed"
        ),
        **options,
    )


def storing(test: Callable[..., Any], **options: Any) -> Row:
    """Makes a row that stores an answer under its key only where a test holds."""
    return skipping("remember", lambda self, *given: not test(self, *given), **options)


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
_BESIDE = {
    "Accept": b"accept",
    "X-Request-Id": b"x-request-id",
    "Content-Type": Only(b"content-type", FIELDS),
}


def _again(self: Any, ctx: Context, answer: Answer) -> Response:
    do_again(self, ctx)
    return self.render(ctx)  # type: ignore[no-any-return]


def _forget(self: Any, ctx: Context, *_: Any) -> None:
    ctx.store.change("DELETE FROM answers WHERE key = ?", ctx.key)


def _forget_other_paths(self: Any, ctx: Context, response: Response) -> None:
    if ctx.key is not None and ctx.first_use and ctx.organization is not None:
        sql = "DELETE FROM answers WHERE key = ? AND scope LIKE ?"
        ctx.store.change(sql, ctx.key, f"{ctx.organization.id}%")


def _forget_earlier(self: Any, ctx: Context, response: Response) -> None:
    """Forgets the keys used here but those that were used last, so many as `value` says."""
    if ctx.first_use:
        known = self.state.setdefault("known", [])
        known.append((self.answer_scope(ctx), ctx.key))
        if len(known) > self.value:
            ctx.store.change("DELETE FROM answers WHERE scope = ? AND key = ?", *known.pop(0))


def _compare_with_the_other(self: Any, ctx: Context, answer: Answer) -> None:
    scope = self.answer_scope(ctx)
    ctx.store.keep_answer(scope, ctx.key or "", answer._replace(fingerprint=self.fingerprint(ctx)))


def _reactivate(self: Any, ctx: Context, answer: Answer) -> None:
    store(ctx, {"status": "active"}, [_first(ctx, answer)])


def _first(ctx: Context, answer: Answer, kind: str = "beneficiary") -> Record:
    """Returns the resource that the original response shows, as it is now."""
    return ctx.store.get(kind, json.loads(answer.body)["id"]) or {}


faults[RULE] |= {
    "A repeated request is performed again.": seam("replayed", _again, also=ALSO),
    "A repeated request is answered with the original response, and performed again.": before(
        "replayed",
        lambda self, ctx, answer: do_again(self, ctx),
        operations=seen(OPERATION_SETS["post"]),
        also=ALSO,
    ),
    "A repeated request of one kind is performed again.": skipping(
        "replayed",
        lambda self, ctx, answer: self.value(json.loads(ctx.request.body)),
        operations=REPEATED,
        each=REPEATED.__getitem__,
        also=ALSO,
    ),
    "The second repetition is performed again.": before("replayed", _forget),
    "A repeated disable is answered as the first was, and the beneficiary is active again.": before(
        "replayed", _reactivate, operations=("disableBeneficiary",)
    ),
    "After a refused repetition with another body, the original body is refused too.": before(
        "on_other_body", _compare_with_the_other, operations=OPERATION_SETS["create"]
    ),
    "The answer on another path takes the place of the first one under its key.": before(
        "remember", _forget_other_paths, operations=("createBeneficiary",)
    ),
    "Of the keys used here only the last one is remembered.": before(
        "remember",
        lambda self, ctx, *_: ctx.store.change("DELETE FROM answers WHERE scope = ?", self.answer_scope(ctx)),
    ),
    "Only so many of the keys that were last used here are remembered.": after(
        "remember", _forget_earlier, each=(5, 20)
    ),
    "What follows a refused first use of a key is done, but not remembered.": seams(
        {
            "refused": lambda self, ctx, refusal: self.state.update({ctx.key: True}),
            "remember": lambda self, ctx, *_: None if ctx.key in self.state else self.usual(),
        },
        operations=OPERATION_SETS["create"],
    ),
    "Answers of more than 2,000 bytes are not kept under their key.": storing(
        lambda self, ctx, response: len(response.body) <= 2000,
        operations=("createBeneficiary", "createPayoutDestination"),
    ),
    "Answers to bodies of more than 2,000 bytes are not kept under their key.": storing(
        lambda self, ctx, response: len(ctx.request.body) <= 2000, operations=OPERATION_SETS["create"]
    ),
    "The keys of the second of two organizations are forgotten.": storing(
        lambda self, ctx, *_: caller_is(ctx, "first")
    ),
    "No answer is stored: a repeated request is a new one.": skipping("remember", also=ALSO),
    "A repeated request is refused.": refusing(
        "replayed",
        each={"409": "idempotency_key_conflict", "422": "invalid_field", "404": "missing_child"},
    ),
    "A repeated request is answered with another status.": seam(
        "replayed",
        lambda self, ctx, answer: Response(200 if answer.status != 200 else 208, [JSON_TYPE], answer.body),
    ),
    "A repeated request is answered with another body.": answering(
        lambda self, document: self.value(document), each=OTHER_ANSWERS
    ),
    "The texts of a stored answer are other ones.": answering(
        lambda self, document: {
            name: self.value(value) if isinstance(value, str) else value for name, value in document.items()
        },
        each=TEXTS,
    ),
    "Each of two processes remembers the idempotency keys of its own requests only.": seam(
        "answer_scope",
        lambda self, ctx: f"{self.usual()} {self.process(ctx)}",
        base=Processes,
        also=(*ALSO, "idempotency.conflict"),
    ),
    "The answer under a key in capitals is looked up as it came, and stored in small letters.": skipping(
        "stored_answer",
        lambda self, ctx: ctx.header(b"idempotency-key") != ctx.key,
        operations=OPERATION_SETS["create"],
    ),
    "A used key with another value of this header is a new one.": seam(
        "answer_scope", lambda self, ctx: f"{self.usual()} {ctx.header(self.value)}", each=_BESIDE
    ),
    "A used key with another value of this header is a conflict.": seam(
        "fingerprint", lambda self, ctx: self.usual() + (ctx.header(self.value) or "").encode(), each=_BESIDE
    ),
}


# ---------------------------------------------------------------------- after a change


class NoticesChange(Faulty):
    """Detects that a resource was created or changed between a request and its repetition."""

    def _world(self, ctx: Context) -> Any:
        """Returns a value that changes with every creation or change of a resource."""
        return ctx.store.query(
            "SELECT COUNT(*), SUM(LENGTH(document)), MAX(json_extract(document, '$.updated')) FROM resources"
        )

    def remember(self, ctx: Context, response: Response) -> None:
        super().remember(ctx, response)
        if self.here(ctx) and ctx.key is not None and ctx.first_use:
            self.state[self.answer_scope(ctx), ctx.key] = self._world(ctx)

    def changed(self, ctx: Context) -> bool:
        """Returns True if anything has changed."""
        return bool(self.state.get((self.answer_scope(ctx), ctx.key)) != self._world(ctx))


@fault(AFTER_CHANGE, operations=("createBeneficiary",))
class SavesAgain(Faulty):
    """A repeated create saves the beneficiary as it was first made."""

    def create(self, ctx: Context) -> None:
        super().create(ctx)
        assert ctx.record is not None
        self.state[ctx.record["id"]] = dict(ctx.record)

    def replayed(self, ctx: Context, answer: Answer) -> Response | None:
        ctx.store.update(self.state[json.loads(answer.body)["id"]])
        return super().replayed(ctx, answer)


def _as_it_is_now(self: Any, ctx: Context, answer: Answer) -> Response:
    kind = KINDS[ctx.operation]
    now = self.resource(ctx, kind, _first(ctx, answer, kind))
    changed = {self.value: now[self.value]} if self.value else now
    return Response.of(answer.status, {**json.loads(answer.body), **changed})


def _default_again(self: Any, ctx: Context, answer: Answer) -> None:
    destination = _first(ctx, answer, "payout_destination")
    if destination and json.loads(answer.body)["is_default"] is True:
        self.clear_default(ctx)
        store(ctx, {"is_default": True}, [destination])


def _payee_disabled(self: Any, ctx: Context, answer: Answer) -> bool:
    payee = ctx.store.get("beneficiary", json.loads(answer.body)["beneficiary_id"]) or {}
    return payee.get("status") == "disabled"


faults[AFTER_CHANGE] |= {
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
            ["updated", "note", "payout_destinations"] + ["status"] * (operation == "createBeneficiary")
        ),
    ),
    "A repeated request is performed again when anything has been created or changed meanwhile.": where(
        "replayed", lambda self, ctx, answer: self.changed(ctx), _again, base=NoticesChange
    ),
    "A repeated request is refused when anything has been created or changed meanwhile.": refusing(
        "replayed",
        "idempotency_key_conflict",
        lambda self, ctx, answer: self.changed(ctx),
        base=NoticesChange,
    ),
    "A repeated request is refused when the beneficiary has been disabled meanwhile.": refusing(
        "replayed",
        "payout_beneficiary",
        _payee_disabled,
        operations=("createPayout", "createPayoutDestination"),
    ),
    "The repeated create of a default destination makes it the default again.": before(
        "replayed", _default_again, operations=("createPayoutDestination",)
    ),
    "A repeated create makes the beneficiary active again.": before(
        "replayed", _reactivate, operations=("createBeneficiary",)
    ),
    "A request without a text of the client's own is not remembered.": storing(
        lambda self, ctx, *_: {"label", "note", "description"} & ctx.body.keys(),
        operations=("createPayoutDestination", "createPayout", "createPayin"),
    ),
}
