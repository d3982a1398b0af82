"""Servers that reveal credentials or masked numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal
from conformance.reference.seams.validation import FIELDS

from .authentication import first_organization
from .catalogue import Faulty, fault, faults, hook, refuse, seam
from .completeness import ELEMENTS
from .places import Finishes, answer, succeeded
from .spellings import ReadsAtOtherPaths, open_reads


class ShowsSecret(Faulty):
    """Reveals the caller's signing secret."""

    def secret(self, ctx: Context) -> str:
        return (ctx.organization or first_organization(ctx)).secret


@fault(
    "secrets.hidden",
    seam="error_message",
    base=ShowsSecret,
    each=("invalid_signature", "nonce_replay", "timestamp_too_old", "unknown_parent"),
)
def _(self: Any, ctx: Context, refusal: Refusal) -> Any:
    """The message of an error shows the secret."""
    message = self.usual()
    return f"{message} ({self.secret(ctx)})" if refusal.kind == self.value else message


@fault("secrets.hidden", seam="finish", base=ShowsSecret, each=("member", "header"))
def _(self: Any, ctx: Context, response: Response) -> Any:
    """A success shows the secret."""
    if not succeeded(response):
        return response
    if self.value == "header":
        return response.with_header(b"x-debug", self.secret(ctx).encode())
    return response.with_document({**response.document, "debug": {"key": [self.secret(ctx)]}})


class ShowsNumber(Faulty):
    """Reveals a masked number of a payout destination by `shown`."""

    def shown(self, text: str) -> str:
        return text

    def reveal(self, document: dict[str, Any], name: str, record: Record) -> dict[str, Any]:
        return document

    def resource(self, ctx: Context, kind: str, record: Record) -> Mapping[str, Any]:
        document = super().resource(ctx, kind, record)
        name = self.value.split()[0]
        if self.here(ctx) and kind == "payout_destination" and record.get(name):
            return self.reveal(dict(document), name, record)
        return document


revealing = hook(ShowsNumber, "reveal")

HIDDEN = ("account_number", "iban", "wallet_address")

SHOWING = (
    "createPayoutDestination",
    "listPayoutDestinations",
    "getBeneficiary",
    "updateBeneficiary",
    "disableBeneficiary",
)


@fault("secrets.hidden", operations=("listPayoutDestinations",), each=HIDDEN)
class NumberInItem(ShowsNumber):
    """An item shows the full number under the name it was sent by."""

    def reveal(self, document: dict[str, Any], name: str, record: Record) -> dict[str, Any]:
        return {**document, name: record[name]}

    def item_fields(self, ctx: Context, kind: str) -> list[str]:
        return [*super().item_fields(ctx, kind), *HIDDEN]


@fault(
    "secrets.hidden",
    seam="reveal",
    base=ShowsNumber,
    operations=SHOWING,
    each=("account_number", "account_number grouped"),
)
def _(self: Any, document: dict[str, Any], name: str, record: Record) -> Any:
    """account_number_last4 is the full number."""
    number = record[name]
    shown = "-".join(re.findall(".{1,4}", number)) if "grouped" in self.value else number
    return {**document, "account_number_last4": shown}


@fault(
    "secrets.hidden",
    seam="finished",
    base=Finishes,
    operations=("createPayout",),
    each=("account_number", "iban"),
)
def _(self: Any, ctx: Context, response: Response) -> Any:
    """A payout shows the full number of its destination."""
    record = ctx.store.get("payout_destination", str((ctx.record or {}).get("payout_destination_id")))
    if record is None or not record.get(self.value):
        return response
    return response.with_document({**response.document, "paid_to": record[self.value]})


@fault(
    "secrets.hidden",
    seam="error_message",
    operations=("createPayout",),
    each={"its account": "payout_destination_owner", "another account": "payout_destination"},
)
def _(self: Any, ctx: Context, refusal: Refusal) -> Any:
    """The refusal of a payout shows the number of a destination of another beneficiary in this place."""
    named = ctx.store.get("payout_destination", str(ctx.values.get("payout_destination_id"))) or {}
    message = self.usual()
    return f"{message} {named.get('account_number')}" if refusal.kind == self.value else message


@fault("secrets.hidden", seam="error_message", operations=("createPayoutDestination",), each=HIDDEN)
def _(self: Any, ctx: Context, refusal: Refusal) -> Any:
    """The refusal of an invalid payout destination repeats the number."""
    message = self.usual()
    return f"{message} {ctx.body.get(self.value)}" if refusal.kind == "invalid_field" else message


@fault(
    "secrets.hidden",
    seam="error_message",
    operations=("createPayoutDestination",),
    each=("missing_headers", "invalid_signature", "unknown_parent"),
)
def _(self: Any, ctx: Context, refusal: Refusal) -> Any:
    """The refusal repeats the whole body that was sent."""
    message = self.usual()
    return (
        f"{message} {ctx.request.body.decode('utf-8', 'replace')}" if refusal.kind == self.value else message
    )


@fault(
    "secrets.hidden",
    seam="finished",
    base=Finishes,
    operations=("createPayoutDestination",),
    each=("replay", "conflict"),
)
def _(self: Any, ctx: Context, response: Response) -> Any:
    """A repeated create shows the body that was first sent."""
    document = response.document if response.body else {}
    conflict = (document.get("error") or {}).get("code") == "idempotency_key_conflict"
    if ctx.replayed if self.value == "replay" else conflict:
        return response.with_document({**document, "request": ctx.request.body.decode("utf-8", "replace")})
    return response


@fault("secrets.hidden", operations=("createPayoutDestination",), each=open_reads)
class WholeNumbersElsewhere(ReadsAtOtherPaths):
    """Destinations are shown with their whole numbers at a path that the specification does not have."""

    def admit(self, ctx: Context) -> None:
        self.authenticate(ctx)

    def _document(self, ctx: Context) -> Any:
        record = ctx.store.get("payout_destination", ctx.path.decode().rpartition("/")[2])
        return None if super()._document(ctx) is None else record


def _quoting(kind: str) -> Callable[..., Any]:
    """Refuses a request with a message that quotes its body."""
    return lambda self, ctx, *_: refuse(Refusal(kind, f"Refused: {ctx.request.body.decode()}"))


faults["secrets.hidden"] |= {
    "A wallet's IBAN is shown whole.": seam(
        "iban_masked",
        lambda self, ctx, record: record.get("iban") if record.get("type") == "wallet" else self.usual(),
        operations=("createPayoutDestination",),
    ),
    "A payout destination shows the full number under the name it was sent by.": revealing(
        lambda self, document, name, record: {**document, name: record[name]},
        operations=[operation for operation in SHOWING if operation != "listPayoutDestinations"],
        each=HIDDEN,
    ),
    "A masked member is the full value.": revealing(
        lambda self, document, name, record: (
            {
                **document,
                f"{name}_masked": {
                    "plain": record[name],
                    "grouped": " ".join(re.findall(".{1,4}", record[name])),
                    "reversed case": record[name].swapcase(),
                }[self.value.split(maxsplit=1)[1]],
            }
        ),
        operations=[operation for operation in SHOWING if operation != "listPayoutDestinations"],
        each=[f"{name} {how}" for name in HIDDEN[1:] for how in ("plain", "grouped", "reversed case")],
    ),
    "A header shows the full number of a new payout destination.": answer(
        lambda self, ctx, response: (
            response.with_header(b"x-created", str(ctx.body[self.value]).encode())
            if succeeded(response) and ctx.body.get(self.value)
            else response
        ),
        operations=("createPayoutDestination",),
        each=HIDDEN,
    ),
    "The refusal of a request for an unknown beneficiary repeats the body.": seam(
        "on_missing_child", _quoting("missing_child"), operations=("createPayoutDestination",)
    ),
    "The refusal of a request for another organization's account repeats the body.": seam(
        "on_foreign_parent", _quoting("foreign_parent"), operations=("createPayoutDestination",)
    ),
    "A failure of authentication repeats the body.": seam(
        "error_message",
        lambda self, ctx, refusal: (
            f"{self.usual()} ({ctx.request.body.decode()})" if refusal.kind == self.value else self.usual()
        ),
        operations=("createPayoutDestination",),
        each=("nonce_replay", "unknown_key", "empty_header", "missing_headers", "timestamp_too_old"),
    ),
    "A destination shows the number of its type, but for a bank account.": seam(
        "members",
        lambda self, ctx, kind, record: {
            **self.usual(),
            **({"number": record.get("account_number")} if record.get("type") == "card" else {}),
        },
        operations=("createPayoutDestination",),
    ),
    "A wallet address is masked where it is one of Ethereum.": seam(
        "wallet_address_masked",
        lambda self, ctx, record: (
            self.usual()
            if str(record.get("wallet_address")).startswith("0x")
            else record.get("wallet_address")
        ),
        operations=("createPayoutDestination", "getBeneficiary", "updateBeneficiary", "disableBeneficiary"),
    ),
    "The refusal of a request without a key repeats the body.": seam(
        "on_missing_key", _quoting("missing_idempotency_key"), operations=("createPayoutDestination",)
    ),
    "The refusal of this field repeats the number.": seam(
        "error_message",
        lambda self, ctx, refusal: (
            f"{self.usual()} ({[ctx.body.get(name) for name in HIDDEN]})"
            if refusal.field == self.value
            else self.usual()
        ),
        operations=("createPayoutDestination",),
        each=[field.name for field in FIELDS["createPayoutDestination"]],
    ),
    "A beneficiary shows the full numbers of destinations of some kind.": seam(
        "members",
        lambda self, ctx, kind, record: {
            **self.usual(),
            **(
                {name: record.get(name) for name in ("account_number", "iban")}
                if kind == "payout_destination" and self.value(record)
                else {}
            ),
        },
        operations=("getBeneficiary", "updateBeneficiary", "disableBeneficiary"),
        each={
            kind: ELEMENTS["listPayoutDestinations"][kind]
            for kind in ("letters beyond ASCII", "no label", "an IBAN alone")
        }
        | {"a card": lambda record: record.get("type") == "card"},
    ),
    "A payout destination without a label is called by its number.": seam(
        "kept_fields",
        lambda self, ctx: {"label": ctx.values.get(self.value), **self.usual()},
        operations=("createPayoutDestination",),
        each=("account_number", "iban", "wallet_address"),
    ),
}
