"""Servers that reveal credentials or masked numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from conformance.reference.context import Context
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal
from conformance.reference.seams.validation import FIELDS

from .authentication import first_organization
from .catalogue import Row, faults, of, seam
from .completeness import OF_DESTINATIONS
from .rows import adding, answer, succeeded, where
from .spellings import ReadsAtOtherPaths, open_reads

HIDDEN = ("account_number", "iban", "wallet_address")

_CREATE = ("createPayoutDestination",)

#: Operations that show one destination, or several in a beneficiary.
_SHOWING = (*_CREATE, "getBeneficiary", "updateBeneficiary", "disableBeneficiary")


def _secret(ctx: Context) -> str:
    return (ctx.organization or first_organization(ctx)).secret


def _body(ctx: Context) -> str:
    return ctx.request.body.decode("utf-8", "replace")


def telling(
    shown: Callable[[Any, Context], object],
    test: Callable[[Any, Refusal], object] = lambda self, refusal: refusal.kind == self.value,
    **options: Any,
) -> Row:
    """Makes a row that shows something in the message of a refusal; by default of the kind `value`."""
    return where(
        "error_message",
        lambda self, ctx, refusal: test(self, refusal),
        lambda self, ctx, refusal: f"{self.usual()} ({shown(self, ctx)})",
        **options,
    )


def _number_of_the_named(self: Any, ctx: Context) -> Any:
    """Returns the number of the destination that a payout names."""
    named = ctx.store.get("payout_destination", str(ctx.values.get("payout_destination_id"))) or {}
    return named.get("account_number")


def _with_secret(self: Any, ctx: Context, response: Response) -> Response:
    if self.value == "header":
        return response.with_header(b"x-debug", _secret(ctx).encode())
    return response.with_document({**response.document, "debug": {"key": [_secret(ctx)]}})


def _with_number(self: Any, ctx: Context, response: Response) -> Response:
    paid_to = ctx.store.get("payout_destination", str((ctx.record or {}).get("payout_destination_id"))) or {}
    number = paid_to.get(self.value)
    return response.with_document({**response.document, "paid_to": number}) if number else response


def _with_body(self: Any, ctx: Context, response: Response) -> Response:
    document = response.document if response.body else {}
    conflict = (document.get("error") or {}).get("code") == "idempotency_key_conflict"
    if ctx.replayed if self.value == "replay" else conflict:
        return response.with_document({**document, "request": _body(ctx)})
    return response


def revealing(members: Callable[[str, str], dict[str, Any]], each: Any, operations: Any = _SHOWING) -> Row:
    """Makes a row of destinations that show a number, whose name begins `value`; `members` is called with
    both."""
    return adding(
        "resource",
        lambda self, ctx, kind, record: members(self.value, record[self.value.split()[0]]),
        lambda self, ctx, kind, record: kind == "payout_destination" and record.get(self.value.split()[0]),
        operations=operations,
        each=each,
    )


def _grouped(number: str, by: str) -> str:
    return by.join(re.findall(".{1,4}", number))


def _unmasked(kind: str, number: str) -> dict[str, Any]:
    name, how = kind.split(maxsplit=1)
    forms = {"plain": number, "grouped": _grouped(number, " "), "reversed case": number.swapcase()}
    return {f"{name}_masked": forms[how]}


class WholeNumbersElsewhere(ReadsAtOtherPaths):
    """Shows destinations with their whole numbers at undocumented paths."""

    def admit(self, ctx: Context) -> None:
        self.authenticate(ctx)

    def document(self, ctx: Context) -> Any:
        record = ctx.store.get("payout_destination", ctx.path.decode().rpartition("/")[2])
        return None if super().document(ctx) is None else record


faults["secrets.hidden"] |= {
    "The message of an error shows the secret.": telling(
        lambda self, ctx: _secret(ctx),
        each=("invalid_signature", "nonce_replay", "timestamp_too_old", "unknown_parent"),
    ),
    "A success shows the secret.": where(
        "finish",
        lambda self, ctx, response: succeeded(response),
        _with_secret,
        each=("member", "header"),
    ),
    "The refusal of a payout shows the number of another beneficiary's destination in this place.": telling(
        _number_of_the_named,
        operations=("createPayout",),
        each={"its account": "payout_destination_owner", "another account": "payout_destination"},
    ),
    "The refusal of an invalid payout destination repeats the number.": telling(
        lambda self, ctx: ctx.body.get(self.value),
        lambda self, refusal: refusal.kind == "invalid_field",
        operations=_CREATE,
        each=HIDDEN,
    ),
    "The refusal of this field repeats the number.": telling(
        lambda self, ctx: [ctx.body.get(name) for name in HIDDEN],
        lambda self, refusal: refusal.field == self.value,
        operations=_CREATE,
        each=[field.name for field in FIELDS["createPayoutDestination"]],
    ),
    "The refusal repeats the whole body that was sent.": telling(
        lambda self, ctx: _body(ctx),
        operations=_CREATE,
        each=(
            *("missing_headers", "empty_header", "timestamp_too_old", "nonce_replay", "invalid_signature"),
            *("unknown_key", "unknown_parent", "foreign_parent", "missing_child", "missing_idempotency_key"),
        ),
    ),
    "A repeated create shows the body that was first sent.": answer(
        _with_body, operations=_CREATE, each=("replay", "conflict")
    ),
    "A payout shows the full number of its destination.": answer(
        _with_number, operations=("createPayout",), each=("account_number", "iban")
    ),
    "A header shows the full number of a new payout destination.": where(
        "finish",
        lambda self, ctx, response: succeeded(response) and ctx.body.get(self.value),
        lambda self, ctx, response: response.with_header(b"x-created", str(ctx.body[self.value]).encode()),
        operations=_CREATE,
        each=HIDDEN,
    ),
    "Destinations are shown with their whole numbers at a path that the specification does not have.": of(
        WholeNumbersElsewhere, operations=_CREATE, each=open_reads
    ),
    "account_number_last4 is the full number.": revealing(
        lambda kind, number: {"account_number_last4": _grouped(number, "-") if "grouped" in kind else number},
        ("account_number", "account_number grouped"),
        (*_SHOWING, "listPayoutDestinations"),
    ),
    "A payout destination shows the full number under the name it was sent by.": revealing(
        lambda name, number: {name: number}, HIDDEN
    ),
    "A masked member is the full value.": revealing(
        _unmasked,
        [f"{name} {how}" for name in HIDDEN[1:] for how in ("plain", "grouped", "reversed case")],
    ),
    "An item shows the full number under the name it was sent by.": adding(
        "item",
        lambda self, ctx, kind, record: {self.value: record[self.value]},
        lambda self, ctx, kind, record: record.get(self.value),
        operations=("listPayoutDestinations",),
        each=HIDDEN,
    ),
    "A wallet's IBAN is shown whole.": where(
        "iban_masked",
        lambda self, ctx, record: record.get("type") == "wallet",
        lambda self, ctx, record: record.get("iban"),
        operations=_CREATE,
    ),
    "A wallet address is masked where it is one of Ethereum.": where(
        "wallet_address_masked",
        lambda self, ctx, record: not str(record.get("wallet_address")).startswith("0x"),
        lambda self, ctx, record: record.get("wallet_address"),
        operations=_SHOWING,
    ),
    "A destination shows the number of its type, but for a bank account.": adding(
        "members",
        lambda self, ctx, kind, record: {"number": record.get("account_number")},
        lambda self, ctx, kind, record: record.get("type") == "card",
        operations=_CREATE,
    ),
    "A beneficiary shows the full numbers of destinations of some kind.": adding(
        "members",
        lambda self, ctx, kind, record: {name: record.get(name) for name in HIDDEN[:2]},
        lambda self, ctx, kind, record: kind == "payout_destination" and self.value(record),
        operations=_SHOWING[1:],
        each={
            **{kind: OF_DESTINATIONS[kind] for kind in ("letters beyond ASCII", "no label", "an IBAN alone")},
            "a card": lambda record: record.get("type") == "card",
        },
    ),
    "A payout destination without a label is called by its number.": seam(
        "kept_fields",
        lambda self, ctx: {"label": ctx.values.get(self.value), **self.usual()},
        operations=_CREATE,
        each=HIDDEN,
    ),
}
