"""Servers that mask payout destinations wrongly, or create duplicate wallets."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from conformance.reference.context import Context, Record

from .catalogue import Row, faults, seam, seams
from .rows import before, skipping, store, where

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
    "last four without leading zeros": lambda number: number.lstrip("0")[-4:],
}


#: Kind -> part of a CLABE.
_OF_CLABE = {"the first": slice(0, 4), "without the control digit": slice(-5, -1)}


def _number(record: Record) -> str:
    return str(record.get("account_number") or "")


faults["destination.last4"] |= {
    "account_number_last4 is not the last four characters of the number.": where(
        "account_number_last4",
        lambda self, ctx, record: _number(record),
        lambda self, ctx, record: self.value(_number(record)),
        each=LAST4,
    ),
    "account_number_last4 is that of the IBAN, where there is one.": seam(
        "account_number_last4",
        lambda self, ctx, record: self.usual() and str(record.get("iban") or record["account_number"])[-4:],
    ),
    "clabe_last4 is not the last four digits of the CLABE.": seam(
        "clabe_last4",
        lambda self, ctx, record: self.usual() and _number(record)[self.value],
        each=_OF_CLABE,
    ),
    "account_number_last4 of a CLABE is not its last four digits.": where(
        "account_number_last4",
        lambda self, ctx, record: len(_number(record)) == 18,
        lambda self, ctx, record: _number(record)[self.value],
        each=_OF_CLABE,
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


#: Kind -> shown form of a value.
UNMASKED: dict[str, Callable[[str], str]] = {
    "all but the last": lambda text: text[:-1] + "*",
    "half": lambda text: text[: len(text) // 2] + "****",
    "the last half": lambda text: "****" + text[len(text) // 2 :],
}

faults["destination.masked-enough"] |= {
    "A refusal shows all but the first two digits of an account number.": where(
        "error_message",
        lambda self, ctx, refusal: self.value in (None, refusal.field),
        lambda self, ctx, refusal: f"{self.usual()} Account **{str(ctx.body.get('account_number'))[2:]}.",
        each={"any": None, "of the account type": "account_type"},
    ),
    "A mask hides too little.": where(
        "masked",
        lambda self, ctx, value: value is not None,
        lambda self, ctx, value: self.value(str(value)),
        each=UNMASKED,
    ),
}


_NUMBERS = ("account_number", "iban", "wallet_address")


def _same_end(self: Any, ctx: Context) -> None:
    """Finds a destination by the last four characters of its number; creates one if there is none."""
    end = str(ctx.values.get(self.value) or "")[-4:]
    for one in ctx.store.select("payout_destination", self.parent(ctx)["id"]):
        if end and str(one.get(self.value) or "").endswith(end):
            ctx.record = one
            return
    self.usual()


faults["create.echo"] |= {
    "A destination is looked up by the last four characters of its number, and created if missing.": seam(
        "create_destination", _same_end, operations=("createPayoutDestination",), each=_NUMBERS
    )
}


def _clear_everywhere(self: Any, ctx: Context) -> None:
    assert ctx.account is not None
    for beneficiary in ctx.store.select("beneficiary", ctx.account["id"]):
        store(ctx, {"is_default": False}, ctx.store.select("payout_destination", beneficiary["id"]))


faults["destination.default"] |= {
    "A new default takes its place from the defaults of all beneficiaries of the account.": seam(
        "clear_default", _clear_everywhere
    ),
    "A new destination takes the default from the others though it is none.": before(
        "create_destination",
        lambda self, ctx: self.clear_default(ctx) if self.value(ctx.body) else None,
        each={
            "any": lambda body: True,
            "left out": lambda body: "is_default" not in body,
            "null": lambda body: body.get("is_default", 0) is None,
            "left out, of a wallet": lambda body: body["type"] == "wallet" and "is_default" not in body,
            "left out, with an IBAN": lambda body: "iban" in body and "is_default" not in body,
        },
    ),
}


def masking(
    name: str, mask: Callable[[str], Any] | None, test: Callable[[Record], Any] = bool, **options: Any
) -> Row:
    """Makes a row that shows an IBAN or address in another form, by default `self.value`, where a test of the
    record holds."""
    return where(
        f"{name}_masked",
        lambda self, ctx, record: record.get(name) is not None and test(record),
        lambda self, ctx, record: (mask or self.value)(str(record[name])),
        **options,
    )


for masked in ("iban", "wallet_address"):
    faults["destination.masked"] |= {
        "A masked member is no string, or shows the full value.": masking(
            masked,
            None,
            each={f"{masked} {how}": mask for how, mask in MASKS.items()},
            also=("secrets.hidden", "format.fields"),
        )
    }

faults["destination.masked"] |= {
    "Only addresses in hexadecimal are masked.": masking(
        "wallet_address", str, lambda record: not str(record["wallet_address"]).startswith("0x")
    ),
    "Only IBANs of one country are masked.": masking(
        "iban", str, lambda record: not str(record["iban"]).startswith("DE")
    ),
    "Only IBANs without spaces are masked.": masking("iban", str, lambda record: " " in str(record["iban"])),
    "The IBAN of a destination without a label is not masked.": masking(
        "iban", str, lambda record: not record.get("label")
    ),
    "An IBAN beside an account number is not kept.": masking(
        "iban", lambda text: None, lambda record: record.get("account_number"), also=("format.fields",)
    ),
    "An IBAN beside an account number is not masked.": masking(
        "iban",
        str,
        lambda record: record.get("account_number"),
        also=("secrets.hidden", "destination.masked-enough"),
    ),
}


# ---------------------------------------------------------------------- wallets

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
    "A new wallet of some network has no address.": where(
        "addresses",
        lambda self, ctx: ctx.values.get("network") == self.value,
        lambda *_: [],
        each=("ethereum", "bitcoin"),
    ),
}


def _first_wallet(self: Any, ctx: Context) -> None:
    """Answers a second create of a pair with the first wallet."""
    if self.claim_wallet_pair(ctx):
        self.create(ctx)
        return
    pair = {name: ctx.values[name] for name in ("currency", "network")}
    wallets = ctx.store.select("wallet", self.parent(ctx)["id"])
    ctx.record = next(wallet for wallet in wallets if pair.items() <= wallet.items())


def _replace(self: Any, ctx: Context) -> None:
    for wallet in ctx.store.select("wallet", self.parent(ctx)["id"]):
        ctx.store.change("DELETE FROM resources WHERE id = ?", wallet["id"])
    self.create(ctx)


def _free_others(self: Any, ctx: Context) -> None:
    """Frees the pairs of other wallets of the account."""
    sql = "DELETE FROM wallet_pairs WHERE account = ? AND (currency, network) <> (?, ?)"
    ctx.store.change(sql, self.parent(ctx)["id"], ctx.values["currency"], ctx.values["network"])


#: Kind -> what is unique in an account in place of currency and network.
UNIQUE: dict[str, Callable[[dict[str, str]], tuple[str, str]]] = {
    "the label as well": lambda wallet: (wallet["currency"], f"{wallet['network']} {wallet['label']}"),
    "the network alone": lambda wallet: ("", wallet["network"]),
    "the currency alone": lambda wallet: (wallet["currency"], ""),
}


def _claim(self: Any, ctx: Context, pair: tuple[str, str]) -> bool:
    return ctx.store.claim_wallet_pair(self.parent(ctx)["id"], *pair)


def _check_normalized(self: Any, ctx: Context) -> None:
    name, form = self.value
    ctx.values[name] = form(ctx.values[name])
    self.usual()


faults["wallet.duplicate"] |= {
    "A second wallet of the same pair is created.": skipping("on_duplicate_wallet"),
    "A second wallet of the same pair is refused, but it is there.": before(
        "on_duplicate_wallet", lambda self, ctx: self.create(ctx)
    ),
    "A second wallet of the same pair is refused, and takes the place of the others.": before(
        "on_duplicate_wallet", _replace
    ),
    "After a refused duplicate, the first wallet's key does not bring the first answer again.": before(
        "on_duplicate_wallet", lambda self, ctx: ctx.store.change("DELETE FROM answers")
    ),
    "A second create of the same pair is answered with the first wallet.": seam(
        "create_wallet", _first_wallet
    ),
    "A second wallet of a pair is refused only until a wallet of another pair is created.": before(
        "claim_wallet_pair", _free_others
    ),
    "Something else than currency and network is unique in an account.": seam(
        "claim_wallet_pair", lambda self, ctx: _claim(self, ctx, self.value(ctx.values)), each=UNIQUE
    ),
    "A pair is looked up as it was sent, and kept in a form of the server's own.": seams(
        {
            "check_wallet_pair": _check_normalized,
            "claim_wallet_pair": lambda self, ctx: _claim(
                self, ctx, (str(ctx.body["currency"]), str(ctx.body["network"]))
            ),
        },
        each={
            "in capitals": ("currency", str.upper),
            "without spaces": ("currency", str.strip),
            "the network in small letters": ("network", str.lower),
        },
    ),
}
