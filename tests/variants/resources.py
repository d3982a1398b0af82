"""Choices about resources, their states and their representation (sections 2 and 3)."""

from __future__ import annotations

import hashlib
import re
import secrets
import uuid
from collections.abc import Mapping
from typing import Any

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal
from conformance.reference.seams.base import PREFIXES

from .choice import choice

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


@choice("http.success-status")
class AlwaysOk(Behaviour):
    """Answers every success with 200."""

    def success_status(self, ctx: Context) -> int:
        return 200


@choice("http.success-status")
class AcceptedForLater(Behaviour):
    """Answers payouts and payins with 202, and disabling with 201."""

    def success_status(self, ctx: Context) -> int:
        chosen = {"createPayout": 202, "createPayin": 202, "disableBeneficiary": 201}
        return chosen.get(ctx.operation) or super().success_status(ctx)


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


@choice()
class WholeListItems(Behaviour):
    """Shows whole resources as list items, except wallets' addresses and updated."""

    def item(self, ctx: Context, kind: str, record: Record) -> Mapping[str, Any]:
        document = dict(self.resource(ctx, kind, record))
        if kind == "wallet":
            del document["addresses"], document["updated"]
        return document


@choice()
class WholeSeconds(Behaviour):
    """Shows timestamps in whole seconds."""

    timestamp_digits = 0


@choice()
class Milliseconds(Behaviour):
    """Shows timestamps in milliseconds."""

    timestamp_digits = 3


@choice()
class Nanoseconds(Behaviour):
    """Shows timestamps in nanoseconds."""

    def timestamp_text(self, ctx: Context, instant: int | None) -> str | None:
        text = super().timestamp_text(ctx, instant)
        return text and f"{text[:-1]}000Z"


@choice()
class TrailingZeros(Behaviour):
    """Drops trailing zeros from the fractions of timestamps."""

    timestamp_digits = 3

    def timestamp_text(self, ctx: Context, instant: int | None) -> str | None:
        text = super().timestamp_text(ctx, instant)
        return text and re.sub(r"\.?0*Z", "Z", text)


@choice()
class UuidIds(Behaviour):
    """Makes ids of prefix and UUID; accounts have the other documented prefix."""

    def new_id(self, ctx: Context, kind: str) -> str:
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


@choice()
class NumericIds(Behaviour):
    """Numbers ids in ascending order."""

    def new_id(self, ctx: Context, kind: str) -> str:
        number = ctx.store.query("SELECT COUNT(*) FROM resources")[0][0]
        return f"{PREFIXES[kind]}{number + 1000}"


@choice()
class UlidIds(Behaviour):
    """Makes ids of upper-case letters and digits, as ULIDs."""

    def new_id(self, ctx: Context, kind: str) -> str:
        return (
            PREFIXES[kind]
            + "01J"
            + "".join(secrets.choice("0123456789ABCDEFGHJKMNPQRSTVWXYZ") for _ in range(23))
        )


@choice("format.inapplicable-fields")
class InapplicableLeftOut(Behaviour):
    """Omits inapplicable destination fields."""

    def shape(self, ctx: Context, kind: str, document: dict[str, Any]) -> Mapping[str, Any]:
        shaped = dict(super().shape(ctx, kind, document))
        if kind == "payout_destination":
            for name in OF_SOME_TYPES:
                if shaped.get(name) is None:
                    shaped.pop(name, None)
        return shaped


@choice()
class SparseBankDetails(Behaviour):
    """Shows incomplete bank details at first."""

    def bank_details(self, ctx: Context) -> dict[str, Any]:
        return {}


@choice()
class BalancesFromTheStart(Behaviour):
    """Shows a zero balance in dollars at the first read of an account's balances."""

    def account_balances(self, ctx: Context, record: Record) -> dict[str, Any]:
        document = super().account_balances(ctx, record)
        if not document["balances"]:
            zero = dict.fromkeys(
                ("available_balance", "pending_payout", "pending_payin", "total_balance"), "0"
            )
            document["balances"] = [
                {
                    "currency": "USD",
                    "currency_type": "fiat",
                    **zero,
                    "updated_at": self.timestamp_text(ctx, ctx.now),
                }
            ]
        return document


@choice("destination.card")
class NoCards(Behaviour):
    """Refuses card destinations."""

    def check_destination_details(self, ctx: Context) -> None:
        super().check_destination_details(ctx)
        if ctx.values.get("type") == "card":
            raise Refusal("invalid_field", "Cards are not supported.", "type", "unsupported")


@choice("destination.second-default")
class SeveralDefaults(Behaviour):
    """Keeps the old default destination beside a new one."""

    def clear_default(self, ctx: Context) -> None:
        return None


@choice()
class FiatDestinationsOnly(Behaviour):
    """Accepts only ISO 4217 codes for wallet destinations, as literally specified."""

    def check_destination_currency(self, ctx: Context, field: Any, value: str) -> None:
        self.check_currency(ctx, field, value)


@choice()
class DetailsDemanded(Behaviour):
    """Requires the fields of each destination type."""

    def check_destination_details(self, ctx: Context) -> None:
        super().check_destination_details(ctx)
        values = ctx.values
        details: dict[str, tuple[str, ...]] = {"wallet": ("wallet_address", "network")}
        wanted = details.get(str(values.get("type")), ())
        if values.get("type") == "bank_account":
            wanted = (
                ("account_name", "account_number", "routing_number", "account_type")
                if values.get("country") == "US"
                else ("account_name", "iban", "swift_code")
            )
        for name in wanted:
            if values.get(name) is None:
                raise Refusal("invalid_field", f"{name} is required.", name, "missing_field")


@choice("payout.disabled-beneficiary")
class DisabledUnpaid(Behaviour):
    """Refuses payouts to a disabled beneficiary."""

    def check_beneficiary_usable(self, ctx: Context, beneficiary: Record) -> None:
        if beneficiary["status"] != "active":
            raise Refusal("invalid_field", "The beneficiary is not active.", "beneficiary_id", "disabled")


@choice("payout.insufficient-funds")
class PayoutsOnCredit(Behaviour):
    """Pays out without funds."""

    def check_funds(self, ctx: Context) -> None:
        return None


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


@choice("create.assigned")
class SharedBankDetails(Behaviour):
    """Gives all virtual accounts the same IBAN, and all wallets the same address."""

    def assigned(self, ctx: Context) -> dict[str, Any]:
        made = super().assigned(ctx)
        details = {"iban": "DE89370400440532013000", "bic": "DEUTDEFF", "bank_name": "Example Bank"}
        known = {
            "bank_details": details,
            "reference": "REF0001",
            "addresses": [{"address": "4Nd1mYvTkE1UyYJzq6GVCL9i5XKYv6tYYj9m1Kq9Zt7p", "tag": "7"}],
        }
        return {name: known.get(name, value) for name, value in made.items()}


@choice("wallet.pair-elsewhere")
class PairOncePerOrganization(Behaviour):
    """Limits a pair of currency and network to one wallet for each organization."""

    def claim_wallet_pair(self, ctx: Context) -> bool:
        assert ctx.organization is not None
        currency, network = str(ctx.values.get("currency")), str(ctx.values.get("network"))
        return ctx.store.claim_wallet_pair(ctx.organization.id, currency, network)


@choice("beneficiary.disable-twice")
class DisabledOnce(Behaviour):
    """Refuses a second disable."""

    def check_state(self, ctx: Context) -> None:
        super().check_state(ctx)
        if (
            ctx.operation == "disableBeneficiary"
            and ctx.beneficiary
            and ctx.beneficiary["status"] == "disabled"
        ):
            raise Refusal("invalid_field", "The beneficiary is disabled.", "status", "already_disabled")


@choice()
class StoredMasks(Behaviour):
    """Shows only the last two characters in masks."""

    def masked(self, ctx: Context, value: Any) -> str | None:
        return None if value is None else "*" * 12 + str(value)[-2:]


@choice()
class UpdatedAfterCreated(Behaviour):
    """Updates each resource once more after its creation."""

    def new_record(self, ctx: Context) -> Record:
        record = super().new_record(ctx)
        return {**record, "updated": self.touched(ctx, record)}


@choice("list.order")
class OrderOfHashes(Behaviour):
    """Orders lists by a hash of the id."""

    def fetch(self, ctx: Context, listing: Any, *, limit: int = -1, offset: int = 0) -> list[Record]:
        records = super().fetch(ctx, listing)
        records.sort(key=lambda record: hashlib.sha256(record["id"].encode()).digest())
        return records[offset:] if limit < 0 else records[offset : offset + limit]


# ---------------------------------------------------------------------- representation of answers


@choice()
class CharsetDeclared(Behaviour):
    """Declares a charset in upper case."""

    def finish(self, ctx: Context, response: Response) -> Response:
        return super().finish(ctx, response).with_header(b"content-type", b"Application/JSON; Charset=UTF-8")


@choice()
class AsciiAnswers(Behaviour):
    """Indents answers and escapes non-ASCII characters, in replays too."""

    def finish(self, ctx: Context, response: Response) -> Response:
        import json
        from dataclasses import replace

        response = super().finish(ctx, response)
        return replace(
            response, body=json.dumps(response.document, indent=2, sort_keys=ctx.replayed).encode() + b"\n"
        )


@choice()
class ReplaysMarked(Behaviour):
    """Marks replayed answers with a header."""

    def finish(self, ctx: Context, response: Response) -> Response:
        response = super().finish(ctx, response)
        return response.with_header(b"idempotency-replayed", b"true") if ctx.replayed else response


@choice()
class NoDate(Behaviour):
    """Sends no Date header; the clock is right."""

    def common_headers(self, ctx: Context) -> list[tuple[bytes, bytes]]:
        return []
