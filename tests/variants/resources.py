"""Choices about resources, their states and their representation (sections 2 and 3)."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal
from conformance.reference.seams.base import PREFIXES
from tests.support.overrides import Usual, with_header

from .choice import choice, demand, times, varied

#: Destination fields that apply only to some types.
OF_SOME_TYPES = (
    "account_number_last4",
    "routing_number",
    "account_type",
    "clabe_last4",
    "iban_masked",
    "swift_code",
    "wallet_address_masked",
)


@choice("http.success-status", seam="success_status")
def accepted_for_later(self: Behaviour, usual: Usual, ctx: Context) -> int:
    """Answers payouts and payins with 202, and disabling with 201."""
    chosen = {"createPayout": 202, "createPayin": 202, "disableBeneficiary": 201}
    return chosen.get(ctx.operation) or usual(ctx)


@choice("http.extra-fields")
class FurtherFields(Behaviour):
    """Adds undocumented members to resources, list items, envelopes and errors."""

    def shape(self, ctx: Context, kind: str, document: dict[str, Any]) -> Mapping[str, Any]:
        return {
            "links": {"self": f"/v1/{kind}"},
            **super().shape(ctx, kind, document),
            "metadata": None,
            "version": 3,
        }

    def item(self, ctx: Context, kind: str, record: Record) -> Mapping[str, Any]:
        return {**super().item(ctx, kind, record), "etag": "abc", "position": 1.5}

    def list_document(self, ctx: Context) -> Any:
        return {**super().list_document(ctx), "has_more": False, "next": None}

    def error_document(self, ctx: Context, refusal: Refusal) -> Any:
        document = super().error_document(ctx, refusal)
        if isinstance(document, dict) and isinstance(document.get("error"), dict):
            document["error"].update(request_id=str(uuid.uuid4()), docs=None, details=[])
            document["trace"] = 12
        return document


@choice(seam="item")
def whole_list_items(
    self: Behaviour, usual: Usual, ctx: Context, kind: str, record: Record
) -> Mapping[str, Any]:
    """Shows whole resources as list items, except wallets' addresses and updated."""
    document = dict(self.resource(ctx, kind, record))
    if kind == "wallet":
        del document["addresses"], document["updated"]
    return document


@choice(seam="timestamp_text")
def nanoseconds(self: Behaviour, usual: Usual, ctx: Context, instant: int | None) -> str | None:
    """Shows timestamps in nanoseconds."""
    text = usual(ctx, instant)
    return text and f"{text[:-1]}000Z"


@choice()
class TrailingZeros(Behaviour):
    """Drops trailing zeros from the fractions of timestamps."""

    timestamp_digits = 3

    def timestamp_text(self, ctx: Context, instant: int | None) -> str | None:
        text = super().timestamp_text(ctx, instant)
        return text and re.sub(r"\.?0*Z", "Z", text)


@choice(seam="new_id")
def uuid_ids(self: Behaviour, usual: Usual, ctx: Context, kind: str) -> str:
    """Makes ids of prefix and UUID; accounts have the other documented prefix."""
    return ("acct_" if kind == "account" else PREFIXES[kind]) + str(uuid.uuid4())


@choice()
class ReferencesOfAnotherPrefix(Behaviour):
    """Refers to accounts by the other documented prefix than their id's, and finds both."""

    def find(self, ctx: Context, kind: str, identifier: str) -> Record | None:
        found = super().find(ctx, kind, identifier)
        if found is None and kind == "account":
            return super().find(ctx, kind, re.sub("^acct_", "acc_", identifier))
        return found

    def shape(self, ctx: Context, kind: str, document: dict[str, Any]) -> Mapping[str, Any]:
        shown = dict(super().shape(ctx, kind, document))
        for name in ("account_id", "id") if kind == "account_balances" else ("account_id",):
            if isinstance(shown.get(name), str):
                shown[name] = re.sub("^acc_", "acct_", shown[name])
        return shown


@choice(seam="new_id")
def numeric_ids(self: Behaviour, usual: Usual, ctx: Context, kind: str) -> str:
    """Numbers ids in ascending order."""
    number = ctx.store.query("SELECT COUNT(*) FROM resources")[0][0]
    return f"{PREFIXES[kind]}{number + 1000}"


@choice(seam="new_id")
def ulid_ids(self: Behaviour, usual: Usual, ctx: Context, kind: str) -> str:
    """Makes ids of upper-case letters and digits, as ULIDs."""
    return (
        PREFIXES[kind]
        + "01J"
        + "".join(secrets.choice("0123456789ABCDEFGHJKMNPQRSTVWXYZ") for _ in range(23))
    )


#: Choice -> characters of its ids behind the prefix, at the beginning and at the end of random ones.
OPAQUE = {
    "base64_ids": ("+/", "/+=="),
    "ids_with_colons": ("eu:west:", ""),
    "ids_with_signs": ("@eu,west;1!$", ""),
    "ids_with_quotes": ("it's (new)*&", "%2F?#[x]"),
    "ids_with_dots": ("..", ".json"),
    "ids_beyond_ascii": ("ä", "東"),
    "ids_of_200_characters": ("x" * 172, ""),
}


def _opaque(name: str, begin: str, end: str) -> None:
    def new_id(self: Behaviour, usual: Usual, ctx: Context, kind: str) -> str:
        prefix, _, rest = usual(ctx, kind).partition("_")
        return f"{prefix}_{begin}{rest}{end}"

    new_id.__name__, new_id.__doc__ = name, f"Makes ids with {begin} before and {end} behind random letters."
    choice(seam="new_id")(new_id)


for _name, _ends in OPAQUE.items():
    _opaque(_name, *_ends)


@choice("format.inapplicable-fields", seam="shape")
def inapplicable_left_out(
    self: Behaviour, usual: Usual, ctx: Context, kind: str, document: dict[str, Any]
) -> Mapping[str, Any]:
    """Omits inapplicable destination fields."""
    shaped = dict(usual(ctx, kind, document))
    if kind == "payout_destination":
        for name in OF_SOME_TYPES:
            if shaped.get(name) is None:
                shaped.pop(name, None)
    return shaped


@choice(seam="bank_details")
def sparse_bank_details(self: Behaviour, usual: Usual, ctx: Context) -> dict[str, Any]:
    """Shows incomplete bank details at first."""
    return {}


@choice(seam="account_balances")
def balances_from_the_start(self: Behaviour, usual: Usual, ctx: Context, record: Record) -> dict[str, Any]:
    """Shows a zero balance in dollars at the first read of an account's balances."""
    document = usual(ctx, record)
    if not document["balances"]:
        zero = dict.fromkeys(("available_balance", "pending_payout", "pending_payin", "total_balance"), "0")
        document["balances"] = [
            {
                "currency": "USD",
                "currency_type": "fiat",
                **zero,
                "updated_at": self.timestamp_text(ctx, ctx.now),
            }
        ]
    return document


@demand("destination.card", seam="check_destination_details")
def no_cards(self: Behaviour, ctx: Context) -> object:
    """Refuses card destinations."""
    return ctx.values.get("type") == "card"


@choice(seam="check_destination_currency")
def fiat_destinations_only(self: Behaviour, usual: Usual, ctx: Context, field: Any, value: str) -> None:
    """Accepts only ISO 4217 codes for wallet destinations, as literally specified."""
    self.check_currency(ctx, field, value)


@demand(seam="check_destination_details")
def details_demanded(self: Behaviour, ctx: Context) -> object:
    """Requires the fields of each destination type."""
    american = ctx.values.get("country") == "US"
    bank = "account_number routing_number account_type" if american else "iban swift_code"
    details = {"wallet": "wallet_address network", "bank_account": f"account_name {bank}"}
    names = details.get(str(ctx.values.get("type")), "").split()
    return any(ctx.values.get(name) is None for name in names)


@demand("payout.disabled-beneficiary", seam="check_beneficiary_usable")
def disabled_unpaid(self: Behaviour, ctx: Context, beneficiary: Record) -> object:
    """Refuses payouts to a disabled beneficiary."""
    return beneficiary["status"] != "active"


@choice("payout.insufficient-funds")
class FundsDemanded(Behaviour):
    """Requires funds for a payout."""

    def check_funds(self, ctx: Context) -> None:
        assert ctx.account is not None
        if not any(
            balance.currency == ctx.values.get("currency")
            for balance in ctx.store.balances(ctx.account["id"])
        ):
            raise Refusal("insufficient_funds")
        super().check_funds(ctx)


@choice("create.assigned", seam="assigned")
def shared_bank_details(self: Behaviour, usual: Usual, ctx: Context) -> dict[str, Any]:
    """Gives all virtual accounts the same IBAN, and all wallets the same address, each with another tag."""
    made = usual(ctx)
    details = {"iban": "DE89370400440532013000", "bic": "DEUTDEFF", "bank_name": "Example Bank"}
    known = {
        "bank_details": details,
        "reference": "REF0001",
        "addresses": [
            {"address": "4Nd1mYvTkE1UyYJzq6GVCL9i5XKYv6tYYj9m1Kq9Zt7p", "tag": f"{times(self, 'tags')}"}
        ],
    }
    return {name: known.get(name, value) for name, value in made.items()}


@choice("wallet.pair-elsewhere", seam="claim_wallet_pair")
def pair_once_per_organization(self: Behaviour, usual: Usual, ctx: Context) -> bool:
    """Limits a pair of currency and network to one wallet for each organization."""
    assert ctx.organization is not None
    currency, network = str(ctx.values.get("currency")), str(ctx.values.get("network"))
    return ctx.store.claim_wallet_pair(ctx.organization.id, currency, network)


@demand("beneficiary.disable-twice", seam="check_state")
def disabled_once(self: Behaviour, ctx: Context) -> object:
    """Refuses a second disable."""
    again = ctx.operation == "disableBeneficiary" and ctx.beneficiary
    return again and again["status"] == "disabled"


@choice(seam="masked")
def stored_masks(self: Behaviour, usual: Usual, ctx: Context, value: Any) -> str | None:
    """Shows only the last two characters in masks."""
    return None if value is None else "*" * 12 + str(value)[-2:]


@choice(seam="masked")
def masked_as_usual(self: Behaviour, usual: Usual, ctx: Context, value: Any) -> str | None:
    """Shows the first and last four characters, of a short value the last ones alone."""
    text = "" if value is None else str(value)
    return None if value is None else f"{text[:4]}****{text[-4:]}" if len(text) > 13 else usual(ctx, value)


@choice(seam="masked")
def masked_in_groups(self: Behaviour, usual: Usual, ctx: Context, value: Any) -> str | None:
    """Hides every character of the middle by an X, and shows the value in groups of four."""
    if value is None:
        return None
    text = "".join(str(value).split())
    ends = min(4, len(text) // 6)
    hidden = text[:ends] + "X" * (len(text) - 2 * ends) + text[len(text) - ends :]
    return " ".join(re.findall(".{1,4}", hidden))


@choice(seam="new_record")
def updated_after_created(self: Behaviour, usual: Usual, ctx: Context) -> Record:
    """Updates each resource once more after its creation."""
    record = usual(ctx)
    return {**record, "updated": self.touched(ctx, record)}


@choice("list.order", seam="fetch")
def order_of_hashes(
    self: Behaviour, usual: Usual, ctx: Context, listing: Any, *, limit: int = -1, offset: int = 0
) -> list[Record]:
    """Orders lists by a hash of the id."""
    records = usual(ctx, listing)
    records.sort(key=lambda record: hashlib.sha256(record["id"].encode()).digest())
    return records[offset:] if limit < 0 else records[offset : offset + limit]


# ---------------------------------------------------------------------- representation of answers


@choice(seam="finish")
def charset_declared(self: Behaviour, usual: Usual, ctx: Context, response: Response) -> Response:
    """Declares a charset in upper case."""
    return with_header(usual(ctx, response), b"content-type", b"Application/JSON; Charset=UTF-8")


@choice(seam="finish")
def ascii_answers(self: Behaviour, usual: Usual, ctx: Context, response: Response) -> Response:
    """Indents answers and escapes non-ASCII characters, in replays too."""
    response = usual(ctx, response)
    return replace(
        response, body=json.dumps(response.document, indent=2, sort_keys=ctx.replayed).encode() + b"\n"
    )


@choice(seam="finish")
def replays_marked(self: Behaviour, usual: Usual, ctx: Context, response: Response) -> Response:
    """Marks replayed answers with a header."""
    response = usual(ctx, response)
    return with_header(response, b"idempotency-replayed", b"true") if ctx.replayed else response


#: Choice -> the attribute or seam that answers always the same, the answer, what it does, and its rules.
_CONSTANT: dict[str, tuple[str, Any, str, *tuple[str, ...]]] = {
    "NewestFirst": ("newest_first", True, "Lists the newest elements first.", "list.order"),
    "WholeSeconds": ("timestamp_digits", 0, "Shows timestamps in whole seconds."),
    "Milliseconds": ("timestamp_digits", 3, "Shows timestamps in milliseconds."),
    "SmallBodies": ("body_limit", 4096, "Refuses bodies of more than 4 KB before authentication."),
    "always_ok": ("success_status", lambda *_: 200, "Answers success with 200.", "http.success-status"),
    "payouts_on_credit": ("check_funds", lambda *_: None, "Pays out on credit.", "payout.insufficient-funds"),
    "no_date": ("common_headers", lambda *_: [], "Sends no Date header; the clock is right."),
}

for name, (attribute, answer, sentence, *rules) in _CONSTANT.items():
    varied(name, sentence, Behaviour, *rules, **{attribute: answer})
