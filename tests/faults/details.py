"""Servers that break a rule of destinations, wallets, reads or balances: sections 2 and 4."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from conformance.judge.comparison import MOVING
from conformance.reference.context import Context, Record
from conformance.reference.seams.resources import KINDS
from tests.specification import ADDRESS, ANSWERS, RESOURCES

from .catalogue import Faulty, fault, faults, seam
from .resources import Shows, other, showing

# --------------------------------------------------------------------------- destinations

#: Kind -> what is shown of an account number.
LAST4: dict[str, Callable[[str], str | None]] = {
    "first four": lambda number: number[:4],
    "last three": lambda number: number[-3:],
    "last five": lambda number: number[-5:],
    "masked": lambda number: f"****{number[-4:]}",
    "none": lambda number: None,
    "constant": lambda number: "0000",
    "last four but one": lambda number: number[-5:-1],
    "empty": lambda number: "",
}


@fault("destination.last4", each=LAST4)
class OtherDigits(Faulty):
    """account_number_last4 is not the last four characters of the number."""

    def account_number_last4(self, ctx: Context, record: Record) -> str | None:
        number = record.get("account_number")
        return None if number is None else self.value(str(number))


#: Kind -> what is shown of an IBAN or a wallet address.
MASKS: dict[str, Callable[[str], Any]] = {
    "null": lambda text: None,
    "full": lambda text: text,
    "grouped": lambda text: " ".join(text[at : at + 4] for at in range(0, len(text), 4)),
    "number": lambda text: int(text[-1] if text[-1].isdigit() else 7),
    "object": lambda text: {"last4": text[-4:]},
    "full and more": lambda text: f"{text} (masked)",
    "small letters": lambda text: text.lower(),
}


@fault(
    "destination.masked",
    each=[f"{name} {how}" for name in ("iban", "wallet_address") for how in MASKS],
    also=("secrets.hidden", "format.fields"),
)
class OtherMasks(Faulty):
    """A masked member is no string, or shows the full value."""

    def masked_as(self, record: Record, name: str, valid: Any) -> Any:
        """What is shown of one of the two."""
        which, _, how = self.value.partition(" ")
        return MASKS[how](str(record[name])) if which == name and record.get(name) is not None else valid

    def iban_masked(self, ctx: Context, record: Record) -> Any:
        return self.masked_as(record, "iban", super().iban_masked(ctx, record))

    def wallet_address_masked(self, ctx: Context, record: Record) -> Any:
        return self.masked_as(record, "wallet_address", super().wallet_address_masked(ctx, record))


# --------------------------------------------------------------------------- wallets

#: Kind -> addresses that a wallet may not have.
ADDRESSES: dict[str, Any] = {
    "none": [],
    "texts": ["0x00"],
    "address a number": [{"address": 12345, "tag": None}],
    "address null": [{"address": None, "tag": None}],
    "address missing": [{"tag": None}],
    "tag a number": [{"address": "0x00", "tag": 12}],
    "tag missing": [{"address": "0x00"}],
    "an object": {"address": "0x00", "tag": None},
    "null": None,
    "second one broken": [{"address": "0x00", "tag": None}, {"address": "0x01"}],
}


faults["wallet.addresses"] |= {
    "The addresses of a new wallet are missing, or of another form.": seam(
        "addresses", lambda self, *_: copy.deepcopy(self.value), each=ADDRESSES
    ),
}


@fault("wallet.duplicate")
class ListsDuplicates(Faulty):
    """A second wallet of the same pair is refused, but it is there."""

    def on_duplicate_wallet(self, ctx: Context) -> None:
        self.create(ctx)
        super().on_duplicate_wallet(ctx)


@fault("wallet.duplicate")
class AnswersTheFirst(Faulty):
    """A second create of the same pair is answered with the first wallet."""

    def create_wallet(self, ctx: Context) -> None:
        if not self.claim_wallet_pair(ctx):
            same = {name: ctx.values[name] for name in ("currency", "network")}
            ctx.record = next(
                wallet
                for wallet in ctx.store.select("wallet", self.parent(ctx)["id"])
                if same.items() <= wallet.items()
            )
        else:
            self.create(ctx)


@fault("wallet.duplicate")
class ReplacesTheFirst(Faulty):
    """A second wallet of the same pair is refused, and the first one becomes inactive."""

    def on_duplicate_wallet(self, ctx: Context) -> None:
        for wallet in ctx.store.select("wallet", self.parent(ctx)["id"]):
            ctx.store.change("DELETE FROM resources WHERE id = ?", wallet["id"])
        self.create(ctx)
        super().on_duplicate_wallet(ctx)


faults["wallet.duplicate"] |= {
    "A second wallet of the same pair is created.": seam("on_duplicate_wallet", lambda *_: None),
    "A second wallet of the same pair is refused under the same label only.": seam(
        "claim_wallet_pair",
        lambda self, ctx: ctx.store.claim_wallet_pair(
            self.parent(ctx)["id"],
            str(ctx.values["currency"]),
            f"{ctx.values['network']} {ctx.values['label']}",
        ),
    ),
    "A wallet of another currency is refused on a network that has a wallet already.": seam(
        "claim_wallet_pair",
        lambda self, ctx: ctx.store.claim_wallet_pair(self.parent(ctx)["id"], "", str(ctx.values["network"])),
    ),
}


@fault("wallet.duplicate")
class OnlyTheLastPair(Faulty):
    """A second wallet of a pair is refused only until a wallet of another pair is created."""

    def claim_wallet_pair(self, ctx: Context) -> bool:
        ctx.store.change(
            "DELETE FROM wallet_pairs WHERE account = ? AND (currency, network) <> (?, ?)",
            self.parent(ctx)["id"],
            ctx.values["currency"],
            ctx.values["network"],
        )
        return super().claim_wallet_pair(ctx)


@fault("wallet.duplicate")
class ForgetsTheKey(Faulty):
    """After a refused duplicate, the first wallet's key does not bring the first answer again."""

    def on_duplicate_wallet(self, ctx: Context) -> None:
        ctx.store.change("DELETE FROM answers")
        super().on_duplicate_wallet(ctx)


# --------------------------------------------------------------------------- reads


faults["read.equals-create"] |= {
    "This member is read as another than the create answered.": showing(
        lambda self, ctx, document: {**document, self.value: other(self.value, document[self.value])},
        each=lambda operation: [
            name
            for name in RESOURCES[ANSWERS[operation]]
            if name not in ("id", "object", "payout_destinations", *MOVING)
        ],
    ),
    "This member of the address is read as another than the create answered.": showing(
        lambda self, ctx, document: {**document, "address": {**document["address"], self.value: "Elsewhere"}},
        operations=("getBeneficiary",),
        each=ADDRESS,
    ),
    "A member of bank_details is read as another than the create answered, or not at all.": showing(
        lambda self, ctx, document: {
            **document,
            "bank_details": {
                name: value for name, value in document["bank_details"].items() if name != self.value
            },
        },
        operations=("getVirtualAccount",),
        each=("iban", "bic", "bank_name"),
    ),
}


@fault("read.equals-create")
class ReadsAnotherOne(Faulty):
    """The read answers another resource of the same account."""

    def success_document(self, ctx: Context) -> Any:
        kind = KINDS[ctx.operation]
        assert ctx.account is not None
        return self.resource(ctx, kind, ctx.store.select(kind, ctx.account["id"])[0])


@fault("read.equals-create")
class ReadsNullForOptional(Shows):
    """Optional texts are read as null."""

    def shown(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        if ctx.operation == "getVirtualAccount":
            return {**document, "label": document["label"].strip()[:8]}
        return {**document, **dict.fromkeys(("title", "middle_name", "tax_id", "note"))}


@fault("balances.of-account", each=("customer's id", "another id"))
class BalancesOfAnother(Faulty):
    """The balances carry another id than the account's."""

    def account_balances(self, ctx: Context, record: Record) -> dict[str, Any]:
        document = super().account_balances(ctx, record)
        another = (
            record["parent"].replace("cus_", "acc_")
            if self.value == "customer's id"
            else document["id"][::-1].replace("_cca", "")
        )
        return {**document, "id": another if another.startswith("acc_") else f"acc_{another}"}


@fault("balances.of-account")
class BalancesOfTheCustomer(Faulty):
    """The balances are those of all accounts of the customer."""

    def balances(self, ctx: Context, record: Record) -> list[dict[str, Any]]:
        accounts = ctx.store.select("account", record["parent"])
        return [self.balance(ctx, held) for account in accounts for held in ctx.store.balances(account["id"])]


@fault("balances.of-account")
class CurrencyTwice(Faulty):
    """A currency has two balances."""

    def account_balances(self, ctx: Context, record: Record) -> dict[str, Any]:
        document = super().account_balances(ctx, record)
        made = document["balances"][:1] or [
            {
                "currency": "USD",
                "currency_type": "fiat",
                "available_balance": "0.00",
                "pending_payout": "0.00",
                "pending_payin": "0.00",
                "total_balance": "0.00",
                "updated_at": self.timestamp_text(ctx, ctx.now),
            }
        ]
        return {**document, "balances": [*made, *made, *document["balances"][1:]]}
