"""Servers that mask payout destinations wrongly, or create duplicate wallets."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from conformance.reference.context import Context, Record

from .catalogue import Faulty, fault, faults, seam

#: Kind -> shown part of an account number.
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


@fault("destination.last4", seam="account_number_last4", each=LAST4)
def _(self: Any, ctx: Context, record: Record) -> Any:
    """account_number_last4 is not the last four characters of the number."""
    number = record.get("account_number")
    return None if number is None else self.value(str(number))


faults["destination.last4"] |= {
    "account_number_last4 is that of the number without its leading zeros.": seam(
        "account_number_last4",
        lambda self, ctx, record: self.usual() and str(record["account_number"]).lstrip("0")[-4:],
    ),
    "account_number_last4 is that of the IBAN, where there is one.": seam(
        "account_number_last4",
        lambda self, ctx, record: self.usual() and str(record.get("iban") or record["account_number"])[-4:],
    ),
    "clabe_last4 is not the last four digits of the CLABE.": seam(
        "clabe_last4",
        lambda self, ctx, record: self.usual() and str(record["account_number"])[self.value],
        each={"the first": slice(0, 4), "without the control digit": slice(-5, -1)},
    ),
    "account_number_last4 of a CLABE is not its last four digits.": seam(
        "account_number_last4",
        lambda self, ctx, record: (
            str(record["account_number"])[self.value]
            if len(str(record.get("account_number") or "")) == 18
            else self.usual()
        ),
        each={"the first": slice(0, 4), "without the control digit": slice(-5, -1)},
    ),
}

#: Kind -> shown form of an IBAN or a wallet address.
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
        """Returns the shown form of the IBAN or wallet address."""
        which, _, how = self.value.partition(" ")
        return MASKS[how](str(record[name])) if which == name and record.get(name) is not None else valid

    def iban_masked(self, ctx: Context, record: Record) -> Any:
        return self.masked_as(record, "iban", super().iban_masked(ctx, record))

    def wallet_address_masked(self, ctx: Context, record: Record) -> Any:
        return self.masked_as(record, "wallet_address", super().wallet_address_masked(ctx, record))


#: Kind -> shown form of a value.
UNMASKED: dict[str, Callable[[str], str]] = {
    "all but the last": lambda text: text[:-1] + "*",
    "half": lambda text: text[: len(text) // 2] + "****",
    "the last half": lambda text: "****" + text[len(text) // 2 :],
}

faults["destination.masked-enough"] |= {
    "A refusal shows all but the first two digits of an account number.": seam(
        "error_message",
        lambda self, ctx, refusal: f"{self.usual()} Account **{str(ctx.body.get('account_number'))[2:]}.",
    ),
    "The refusal of an account type shows all but the first two digits of the account number.": seam(
        "error_message",
        lambda self, ctx, refusal: (
            f"{self.usual()} Account **{str(ctx.body.get('account_number'))[2:]}."
            if refusal.field == "account_type"
            else self.usual()
        ),
    ),
    "A mask hides too little.": seam(
        "masked", lambda self, ctx, value: None if value is None else self.value(str(value)), each=UNMASKED
    ),
}


@fault(
    "create.echo",
    seam="create_destination",
    operations=("createPayoutDestination",),
    each=("account_number", "iban", "wallet_address"),
)
def _(self: Any, ctx: Context) -> None:
    """A destination is looked up by the last four characters of its number, and created if there is none."""
    end = str(ctx.values.get(self.value) or "")[-4:]
    for other in ctx.store.select("payout_destination", self.parent(ctx)["id"]):
        if end and str(other.get(self.value) or "").endswith(end):
            ctx.record = other
            return
    self.usual()


@fault("destination.default", seam="clear_default")
def _(self: Any, ctx: Context) -> None:
    """A new default takes its place from the defaults of all beneficiaries of the account."""
    assert ctx.account is not None
    for beneficiary in ctx.store.select("beneficiary", ctx.account["id"]):
        for other in ctx.store.select("payout_destination", beneficiary["id"]):
            ctx.store.update({**other, "is_default": False})


@fault("destination.default", seam="create_destination")
def _(self: Any, ctx: Context) -> None:
    """Any new destination takes the default from the others."""
    self.clear_default(ctx)
    self.usual()


@fault(
    "destination.default",
    seam="create_destination",
    each={
        "left out": lambda body: "is_default" not in body,
        "null": lambda body: body.get("is_default", 0) is None,
        "left out, of a wallet": lambda body: body["type"] == "wallet" and "is_default" not in body,
        "left out, with an IBAN": lambda body: "iban" in body and "is_default" not in body,
    },
)
def _(self: Any, ctx: Context) -> None:
    """A new destination takes the default from the others where is_default says nothing."""
    if self.value(ctx.body):
        self.clear_default(ctx)
    self.usual()


faults["destination.masked"] |= {
    "Only addresses in hexadecimal are masked.": seam(
        "wallet_address_masked",
        lambda self, ctx, record: (
            record["wallet_address"]
            if not str(record.get("wallet_address") or "0x").startswith("0x")
            else self.usual()
        ),
    ),
    "Only IBANs of one country are masked.": seam(
        "iban_masked",
        lambda self, ctx, record: (
            record["iban"] if not str(record.get("iban") or "DE").startswith("DE") else self.usual()
        ),
    ),
    "Only IBANs without spaces are masked.": seam(
        "iban_masked",
        lambda self, ctx, record: record["iban"] if " " in str(record.get("iban")) else self.usual(),
    ),
    "The IBAN of a destination without a label is not masked.": seam(
        "iban_masked", lambda self, ctx, record: self.usual() if record.get("label") else record.get("iban")
    ),
    "An IBAN beside an account number is not kept.": seam(
        "iban_masked",
        lambda self, ctx, record: None if record.get("account_number") else self.usual(),
        also=("format.fields",),
    ),
    "An IBAN beside an account number is not masked.": seam(
        "iban_masked",
        lambda self, ctx, record: record.get("iban") if record.get("account_number") else self.usual(),
        also=("secrets.hidden", "destination.masked-enough"),
    ),
}


#: Kind -> invalid addresses of a wallet.
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
    "A new wallet of some network has no address.": seam(
        "addresses",
        lambda self, ctx: [] if ctx.values.get("network") == self.value else self.usual(),
        each=("ethereum", "bitcoin"),
    ),
}


@fault("wallet.duplicate", seam="on_duplicate_wallet")
def _(self: Any, ctx: Context) -> None:
    """A second wallet of the same pair is refused, but it is there."""
    self.create(ctx)
    self.usual()


@fault("wallet.duplicate", seam="create_wallet")
def _(self: Any, ctx: Context) -> None:
    """A second create of the same pair is answered with the first wallet."""
    if not self.claim_wallet_pair(ctx):
        same = {name: ctx.values[name] for name in ("currency", "network")}
        ctx.record = next(
            wallet
            for wallet in ctx.store.select("wallet", self.parent(ctx)["id"])
            if same.items() <= wallet.items()
        )
    else:
        self.create(ctx)


@fault("wallet.duplicate", seam="on_duplicate_wallet")
def _(self: Any, ctx: Context) -> None:
    """A second wallet of the same pair is refused, and the first one becomes inactive."""
    for wallet in ctx.store.select("wallet", self.parent(ctx)["id"]):
        ctx.store.change("DELETE FROM resources WHERE id = ?", wallet["id"])
    self.create(ctx)
    self.usual()


@fault("wallet.duplicate", seam="claim_wallet_pair")
def _(self: Any, ctx: Context) -> Any:
    """A second wallet of a pair is refused only until a wallet of another pair is created."""
    ctx.store.change(
        "DELETE FROM wallet_pairs WHERE account = ? AND (currency, network) <> (?, ?)",
        self.parent(ctx)["id"],
        ctx.values["currency"],
        ctx.values["network"],
    )
    return self.usual()


@fault("wallet.duplicate", seam="on_duplicate_wallet")
def _(self: Any, ctx: Context) -> None:
    """After a refused duplicate, the first wallet's key does not bring the first answer again."""
    ctx.store.change("DELETE FROM answers")
    self.usual()


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
    "A wallet of the same currency is refused on another network.": seam(
        "claim_wallet_pair",
        lambda self, ctx: ctx.store.claim_wallet_pair(
            self.parent(ctx)["id"], str(ctx.values["currency"]), ""
        ),
    ),
}


@fault(
    "wallet.duplicate",
    each={
        "in capitals": ("currency", str.upper),
        "without spaces": ("currency", str.strip),
        "the network in small letters": ("network", str.lower),
    },
)
class NormalizesTooLate(Faulty):
    """A pair is looked up as it was sent, and kept in a form of the server's own."""

    def check_wallet_pair(self, ctx: Context) -> None:
        name, form = self.value
        ctx.values[name] = form(ctx.values[name])
        super().check_wallet_pair(ctx)

    def claim_wallet_pair(self, ctx: Context) -> bool:
        pair = str(ctx.body["currency"]), str(ctx.body["network"])
        return ctx.store.claim_wallet_pair(self.parent(ctx)["id"], *pair)
