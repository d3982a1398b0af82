"""Servers whose answers show credentials, masked numbers, or what is another organization's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.operations import OPERATIONS
from conformance.reference.context import Context, Record
from conformance.reference.seams.validation import FIELDS
from tests.specification import HIDDEN
from tests.support.overrides import with_document, with_header

from .authentication import first_organization
from .catalogue import Call, Row, faults, of, seam, seams
from .completeness import OF_DESTINATIONS
from .destinations import masking
from .paths import ReadsAtOtherPaths, open_reads
from .rows import adding, document, says, succeeded, where
from .tenancy import foreign


def _of(ctx: Context, record: Record, what: str) -> Any:
    """Returns something that only the owner knows, from the resource or from its children."""
    if what != "name":
        return {**record}
    if own := next((record[name] for name in ("name", "display_name", "label") if record.get(name)), None):
        return own
    sql = "SELECT json_extract(document, '$.name') FROM resources WHERE parent = ?"
    return [row[0] for row in ctx.store.query(sql, record["id"])][:20]


def _remember(self: Any, usual: Any, ctx: Context, kind: Any, record: Record, *_: Any) -> Any:
    """Remembers something of another organization's resource, and refuses it."""
    if foreign(ctx, record):
        ctx.notes["leaked"] = _of(ctx, record, self.value)
    return usual()


_LEAKING = {"on_foreign_parent": _remember, "on_child_elsewhere": _remember}


def _shown(operation: str) -> list[str]:
    # For a customer nothing is documented except its accounts.
    return ["name", "everything"] if OPERATIONS[operation].path_parameters != ("customer_id",) else ["name"]


def _in_the_message(self: Any, usual: Any, ctx: Context, *_: Any) -> str:
    return f"{usual()} {ctx.notes['leaked']}" if "leaked" in ctx.notes else usual()


faults["tenancy.no-leak"] |= {
    "The refusal of a payout to another organization's beneficiary shows the beneficiary's country.": seams(
        {
            "on_payout_beneficiary": lambda self, usual, ctx, beneficiary: (
                ctx.notes.update(payee={"country_code": (beneficiary or {}).get("country_code")}) or usual()
            ),
            "error_document": lambda self, usual, ctx, *_: {**usual(), **ctx.notes.get("payee", {})},
        },
        operations=("createPayout",),
    ),
    "The message of a refusal shows something of another organization's resource.": seams(
        {**_LEAKING, "error_message": _in_the_message}, each=_shown
    ),
    "A member beside the error holds another organization's resource.": seams(
        {
            **_LEAKING,
            "error_document": lambda self, usual, ctx, *_: (
                {**usual(), "resource": ctx.notes["leaked"]} if "leaked" in ctx.notes else usual()
            ),
        },
        each=_shown,
    ),
    "The refusal of another organization's child, under one's own parent, shows something of it.": seams(
        {"on_child_elsewhere": _remember, "error_message": _in_the_message},
        operations=OPERATION_SETS["child"],
        each=("name", "everything"),
    ),
}


# ---------------------------------------------------------------------- credentials and numbers


_CREATE = ("createPayoutDestination",)

#: Operations that show one destination, or several in a beneficiary.
_SHOWING = (*_CREATE, "getBeneficiary", "updateBeneficiary", "disableBeneficiary")


def _secret(self: Any, ctx: Context, *_: Any) -> str:
    return (ctx.organization or first_organization(ctx)).secret


def _body(self: Any, ctx: Context, *_: Any) -> str:
    return ctx.request.body.decode("utf-8", "replace")


def telling(shown: Call, test: Call | None = None, **options: Any) -> Row:
    """Makes a row that shows something in the message of a refusal; by default of the kind `value`."""
    return where(
        "error_message",
        test or (lambda self, ctx, refusal: refusal.kind == self.value),
        lambda self, usual, ctx, refusal: f"{usual()} ({shown(self, ctx, refusal)})",
        **options,
    )


def _named(ctx: Context) -> dict[str, Any]:
    """Returns the destination that a payout names."""
    return ctx.store.get("payout_destination", str(ctx.values.get("payout_destination_id"))) or {}


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


class WholeNumbersElsewhere(ReadsAtOtherPaths):
    """Shows destinations with their whole numbers at undocumented paths."""

    def admit(self, ctx: Context) -> None:
        self.authenticate(ctx)

    def document(self, ctx: Context) -> Any:
        record = ctx.store.get("payout_destination", ctx.path.decode().rpartition("/")[2])
        return None if super().document(ctx) is None else record


faults["secrets.hidden"] |= {
    "The message of an error shows the secret.": telling(
        _secret, each=("invalid_signature", "nonce_replay", "timestamp_too_old", "unknown_parent")
    ),
    "A success shows the secret in a member.": where(
        "finish",
        succeeded,
        lambda self, usual, ctx, response: with_document(
            response, {**response.document, "debug": [_secret(self, ctx)]}
        ),
    ),
    "A success shows the secret in a header.": where(
        "finish",
        succeeded,
        lambda self, usual, ctx, response: with_header(response, b"x-debug", _secret(self, ctx).encode()),
    ),
    "The refusal of a payout shows the number of another beneficiary's destination in this place.": telling(
        lambda self, ctx, *_: _named(ctx).get("account_number"),
        operations=("createPayout",),
        each={"its account": "payout_destination_owner", "another account": "payout_destination"},
    ),
    "The refusal of an invalid payout destination repeats the number.": telling(
        lambda self, ctx, *_: ctx.body.get(self.value),
        lambda self, ctx, refusal: refusal.kind == "invalid_field",
        operations=_CREATE,
        each=HIDDEN,
    ),
    "The refusal of this field repeats the number.": telling(
        lambda self, ctx, *_: [ctx.body.get(name) for name in HIDDEN],
        lambda self, ctx, refusal: refusal.field == self.value,
        operations=_CREATE,
        each=[field.name for field in FIELDS["createPayoutDestination"]],
    ),
    "The refusal of a number quotes the value that it refuses.": telling(
        lambda self, ctx, refusal: ctx.body.get(refusal.field),
        lambda self, ctx, refusal: (
            refusal.field in HIDDEN and isinstance(ctx.body.get(refusal.field), self.value)
        ),
        operations=_CREATE,
        each={"in an array": list, "a text that is too long": str},
    ),
    "The refusal repeats the whole body that was sent.": telling(
        _body,
        operations=_CREATE,
        each=(
            *("missing_headers", "empty_header", "timestamp_too_old", "nonce_replay", "invalid_signature"),
            *("unknown_key", "unknown_parent", "foreign_parent", "missing_child", "missing_idempotency_key"),
        ),
    ),
    "A repeated create shows the body that was first sent.": where(
        "finish",
        None,
        lambda self, usual, ctx, response: with_document(
            response, {**response.document, "request": _body(self, ctx)}
        ),
        operations=_CREATE,
        each={
            "replay": lambda self, ctx, *_: ctx.replayed,
            "conflict": lambda self, ctx, response: response.status == 409,
        },
    ),
    "A payout shows the full number of its destination.": document.sets(
        lambda self, ctx, *_: {"paid_to": _named(ctx).get(self.value)},
        operations=("createPayout",),
        each=HIDDEN[:2],
    ),
    "A header shows the full number of a new payout destination.": where(
        "finish",
        lambda self, ctx, response: succeeded(response) and ctx.body.get(self.value),
        lambda self, usual, ctx, response: with_header(
            response, b"x-created", str(ctx.body[self.value]).encode()
        ),
        operations=_CREATE,
        each=HIDDEN,
    ),
    "Destinations are shown with their whole numbers at an undocumented path.": of(
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
        lambda kind, number: {
            f"{kind.split()[0]}_masked": {
                "plain": number,
                "grouped": _grouped(number, " "),
                "reversed": number.swapcase(),
            }[kind.split()[1]]
        },
        [f"{name} {how}" for name in HIDDEN[1:] for how in ("plain", "grouped", "reversed")],
    ),
    "An item shows the full number under the name it was sent by.": adding(
        "item",
        lambda self, ctx, kind, record: {self.value: record[self.value]},
        lambda self, ctx, kind, record: record.get(self.value),
        operations=("listPayoutDestinations",),
        each=HIDDEN,
    ),
    "An IBAN is shown whole that a mask of sixteen characters does not fit.": masking(
        "iban",
        lambda text: text,
        lambda self, ctx, record: self.value(record["iban"]),
        operations=_SHOWING,
        each={
            "a shorter one": lambda text: len(text) < 16,
            "a longer one": lambda text: len(text) > 28,
            "one in groups": lambda text: " " in text,
            "one in small letters": lambda text: text != text.upper(),
        },
    ),
    "A wallet address is shown whole that is of another length than that of Ethereum.": masking(
        "wallet_address",
        lambda text: text,
        lambda self, ctx, record: self.value(len(record["wallet_address"])),
        operations=_SHOWING,
        each={
            "a shorter one": lambda length: length < 30,
            "a longer one": lambda length: 50 < length < 80,
            "the longest": lambda length: length > 80,
        },
    ),
    "A wallet's IBAN is shown whole.": masking(
        "iban",
        lambda text: text,
        lambda self, ctx, record: says(record, "type=wallet"),
        operations=_CREATE,
    ),
    "A wallet address is masked where it is one of Ethereum.": masking(
        "wallet_address",
        lambda text: text,
        lambda self, ctx, record: not record["wallet_address"].startswith("0x"),
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
        lambda self, usual, ctx: {"label": ctx.values.get(self.value), **usual()},
        operations=_CREATE,
        each=HIDDEN,
    ),
}
