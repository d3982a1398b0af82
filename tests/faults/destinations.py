"""Servers that mask payout destinations wrongly, or create duplicate wallets."""

from __future__ import annotations

import copy
import re
from typing import Any

from conformance.reference.context import Context, Record
from tests.specification import HIDDEN

from .catalogue import Call, Row, faults, kind, seam, seams
from .races import NotAtomic, pause
from .rows import always, before, says, skipping, store, where

#: Kind -> part of a CLABE.
_OF_CLABE = {"the first": slice(0, 4), "without the control digit": slice(-5, -1)}


def _number(record: Record) -> str:
    return str(record.get("account_number") or "")


faults["destination.last4"] |= {
    "account_number_last4 is not the last four characters of the number.": where(
        "account_number_last4",
        lambda self, ctx, record: _number(record),
        lambda self, usual, ctx, record: self.value(_number(record)),
        each={
            "first four": lambda number: number[:4],
            "last three": lambda number: number[-3:],
            "last five": lambda number: number[-5:],
            "masked": lambda number: f"****{number[-4:]}",
            "none": lambda number: None,
            "constant": lambda number: "0000",
            "last four but one": lambda number: number[-5:-1],
            "empty": lambda number: "",
            "last four without leading zeros": lambda number: number.lstrip("0")[-4:],
        },
    ),
    "account_number_last4 is that of the IBAN, where there is one.": seam(
        "account_number_last4",
        lambda self, usual, ctx, record: usual() and str(record.get("iban") or record["account_number"])[-4:],
    ),
    "clabe_last4 is not the last four digits of the CLABE.": seam(
        "clabe_last4",
        lambda self, usual, ctx, record: usual() and _number(record)[self.value],
        each=_OF_CLABE,
    ),
    "account_number_last4 of a CLABE is not its last four digits.": where(
        "account_number_last4",
        lambda self, ctx, record: len(_number(record)) == 18,
        lambda self, usual, ctx, record: _number(record)[self.value],
        each=_OF_CLABE,
    ),
}

faults["destination.masked-enough"] |= {
    "A refusal shows all but the first two digits of an account number.": where(
        "error_message",
        lambda self, ctx, refusal: self.value in (None, refusal.field),
        lambda self, usual, ctx, *_: f"{usual()} Account **{str(ctx.body.get('account_number'))[2:]}.",
        each={"any": None, "of the account type": "account_type"},
    ),
    "A mask hides too little.": where(
        "masked",
        lambda self, ctx, value: value is not None,
        lambda self, usual, ctx, value: self.value(str(value)),
        each={
            "all but the last": lambda text: text[:-1] + "*",
            "all but five": lambda text: text[:-5] + "****",
            "three quarters": lambda text: "****" + text[len(text) // 4 :],
            "four of nine": lambda text: "*" * (len(text) - 4) + text[-min(4, len(text) - 1) :],
        },
    ),
    "A mask shows what does not stand at the ends of the value.": where(
        "masked",
        lambda self, ctx, value: value is not None,
        lambda self, usual, ctx, value: self.value(str(value)),
        each={
            "other digits": lambda text: f"{text[:2]}****{int(text[-1] == '0')}",
            "the middle": lambda text: f"{text[5:9]}****",
            "four in the middle as the last": lambda text: f"****{text[-8:-4]}",
            "the first as the last": lambda text: f"****{text[:4]}",
        },
    ),
}


def _others(self: Any, ctx: Context) -> list[Record]:
    """Returns the destinations of the beneficiary, the oldest first."""
    return ctx.store.select("payout_destination", self.parent(ctx)["id"])


def _looked_up(part: slice) -> Call:
    """Finds a destination by a part of its number; creates one if there is none."""

    def create(self: Any, usual: Any, ctx: Context) -> None:
        sought = str(ctx.values.get(self.value) or "")[part]
        for one in _others(self, ctx):
            if sought and str(one.get(self.value) or "")[part] == sought:
                ctx.record = one
                return
        usual()

    return create


faults["create.echo"] |= {
    "A destination is looked up by the last four characters of its number, and created if missing.": seam(
        "create_destination",
        _looked_up(slice(-4, None)),
        operations=("createPayoutDestination",),
        each=HIDDEN,
    ),
    "A destination is looked up by all of its number but the last four characters.": seam(
        "create_destination",
        _looked_up(slice(None, -4)),
        operations=("createPayoutDestination",),
        each=HIDDEN,
    ),
}


def _clear_late(self: Any, usual: Any, ctx: Context) -> None:
    others = _others(self, ctx)
    pause()
    store(ctx, {"is_default": False}, others)


faults["destination.default"] |= {
    "A new default stands beside the old one.": skipping("clear_default"),
    "A new default takes its place from one that has this in common with it.": seam(
        "clear_default",
        lambda self, usual, ctx: store(
            ctx,
            {"is_default": False},
            [one for one in _others(self, ctx) if one.get(self.value) == ctx.values.get(self.value)],
        ),
        each=("type", "currency"),
    ),
    "A new default takes its place from the destination that was made last.": seam(
        "clear_default", lambda self, usual, ctx: store(ctx, {"is_default": False}, _others(self, ctx)[-1:])
    ),
    "Of defaults that are created at once each looks for the others before one is stored.": seam(
        "clear_default", _clear_late, base=NotAtomic
    ),
    "A new default takes its place from the defaults of all beneficiaries of the account.": seam(
        "clear_default",
        lambda self, usual, ctx: [
            store(ctx, {"is_default": False}, ctx.store.select("payout_destination", one["id"]))
            for one in ctx.store.select("beneficiary", ctx.account["id"])
        ],
    ),
    "A new destination takes the default from the others though it is none.": before(
        "create_destination",
        lambda self, ctx: self.clear_default(ctx),
        lambda self, ctx: says(ctx.body, self.value),
        each=(
            "type",
            "no is_default",
            "is_default=None",
            "no is_default, type=wallet",
            "no is_default, iban",
        ),
    ),
}


def masking(member: str, mask: Call | None, test: Call | None = always, **options: Any) -> Row:
    """Makes a row that shows what `mask` makes of an IBAN or address where a test of its record holds; one of
    both may be the kind."""
    holds = test or kind
    return where(
        f"{member}_masked",
        lambda self, ctx, record: record.get(member) is not None and holds(self, ctx, record),
        lambda self, usual, ctx, record: (mask or self.value)(str(record[member])),
        **options,
    )


faults["destination.masked"] |= {
    f"{member}_masked is no string, or shows the full value.": masking(
        member,
        None,
        each={
            "null": lambda text: None,
            "full": lambda text: text,
            "grouped": lambda text: " ".join(re.findall(".{1,4}", text)),
            "number": lambda text: int(text[-1] if text[-1].isdigit() else 7),
            "object": lambda text: {"last4": text[-4:]},
            "full and more": lambda text: f"{text} (masked)",
            "small letters": lambda text: text.lower(),
        },
        also=("secrets.hidden", "format.fields"),
    )
    for member in ("iban", "wallet_address")
}

faults["destination.masked"] |= {
    "An IBAN of some kind is not masked.": masking(
        "iban",
        lambda text: text,
        None,
        each={
            "but of one country": lambda self, ctx, record: not record["iban"].startswith("DE"),
            "with spaces": lambda self, ctx, record: " " in record["iban"],
            "without a label": lambda self, ctx, record: not record.get("label"),
            "beside an account number": lambda self, ctx, record: record.get("account_number"),
        },
        also=("secrets.hidden", "destination.masked-enough"),
    ),
    "An IBAN beside an account number is not kept.": masking(
        "iban",
        lambda text: None,
        lambda self, ctx, record: record.get("account_number"),
        also=("format.fields",),
    ),
    "The last four characters of a wallet address are shown, also of four.": masking(
        "wallet_address",
        lambda text: "*" * (len(text) - 4) + text[-4:],
        also=("destination.masked-enough",),
    ),
    "A wallet address is masked only in hexadecimal.": masking(
        "wallet_address",
        lambda text: text,
        lambda self, ctx, record: not record["wallet_address"].startswith("0x"),
    ),
}


# ---------------------------------------------------------------------- wallets

faults["wallet.addresses"] |= {
    "The addresses of a new wallet are missing, or of another form.": seam(
        "addresses",
        lambda self, *_: copy.deepcopy(self.value),
        each={
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
        },
    ),
    "A new wallet of some network has no address.": where(
        "addresses",
        lambda self, ctx: ctx.values.get("network") == self.value,
        lambda *_: [],
        each=("ethereum", "bitcoin"),
    ),
}


faults["wallet.own-address"] |= {
    "All wallets have one address.": seam(
        "addresses",
        lambda self, *_: [{"address": "0x00d1", "tag": self.value}],
        each={"without a tag": None, "with a tag": "1"},
    ),
}


def _first_wallet(self: Any, usual: Any, ctx: Context) -> None:
    """Answers a second create of a pair with the first wallet."""
    if self.claim_wallet_pair(ctx):
        self.create(ctx)
        return
    pair = {name: ctx.values[name] for name in ("currency", "network")}
    wallets = ctx.store.select("wallet", self.parent(ctx)["id"])
    ctx.record = next(wallet for wallet in wallets if pair.items() <= wallet.items())


def _claim(self: Any, ctx: Context, pair: tuple[str, str]) -> bool:
    return ctx.store.claim_wallet_pair(self.parent(ctx)["id"], *pair)


faults["wallet.duplicate"] |= {
    "A second wallet of the same pair is created.": skipping("on_duplicate_wallet"),
    "A second wallet of the same pair is refused, and something is done.": before(
        "on_duplicate_wallet",
        None,
        each={
            "it is created": lambda self, ctx: self.create(ctx),
            "it takes the place of the others": lambda self, ctx: (
                ctx.store.change(
                    "DELETE FROM resources WHERE kind = 'wallet' AND parent = ?", ctx.account["id"]
                ),
                self.create(ctx),
            ),
            "the first one's key is forgotten": lambda self, ctx: ctx.store.change("DELETE FROM answers"),
        },
    ),
    "A second create of a pair is answered with the first wallet.": seam("create_wallet", _first_wallet),
    "A second wallet of a pair is refused until another is made.": before(
        "claim_wallet_pair",
        lambda self, ctx: ctx.store.change(
            "DELETE FROM wallet_pairs WHERE account = ? AND (currency, network) <> (?, ?)",
            *(ctx.account["id"], ctx.values["currency"], ctx.values["network"]),
        ),
    ),
    "Something else than currency and network is unique in an account.": seam(
        "claim_wallet_pair",
        lambda self, usual, ctx: _claim(self, ctx, self.value(ctx.values)),
        each={
            "the label as well": lambda wallet: (
                wallet["currency"],
                f"{wallet['network']} {wallet['label']}",
            ),
            "the network alone": lambda wallet: ("", wallet["network"]),
            "the currency alone": lambda wallet: (wallet["currency"], ""),
        },
    ),
    "A pair is looked up as it was sent, and kept in a form of the server's own.": seams(
        {
            "check_wallet_pair": lambda self, usual, ctx: (
                ctx.values.update({self.value[0]: self.value[1](ctx.values[self.value[0]])}) or usual()
            ),
            "claim_wallet_pair": lambda self, usual, ctx: _claim(
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
