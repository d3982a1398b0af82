"""Servers that do not tell the time, lose characters, show too much of what they mask, or take the wrong kind
of currency."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from conformance.contract.rules import RULES
from conformance.reference.codes import WALLET_NETWORKS

from .catalogue import faults, seam
from .resources import keeping, showing

# --------------------------------------------------------------------------- timestamps


def shifted(text: str, **by: float) -> str:
    """A timestamp moved by some time, its fraction as it was."""
    moved = datetime.fromisoformat(text[:19]) + timedelta(**by)
    return moved.isoformat() + text[19:]


CREATES = [name for name in RULES["format.timestamp-current"].operations if name.startswith("create")]
UPDATED = [name for name in RULES["format.timestamp-current"].operations if name != "createPayin"]

faults["format.timestamp-current"] |= {
    "created is local time that calls itself UTC.": showing(
        lambda self, ctx, document: {**document, "created": shifted(document["created"], hours=self.value)},
        operations=CREATES,
        each=(2, -5),
    ),
    "updated lies years before created.": showing(
        lambda self, ctx, document: {**document, "updated": shifted(document["created"], days=-800)},
        operations=UPDATED,
    ),
}


# --------------------------------------------------------------------------- filters

faults["list.date-offset"] |= {
    "The offset of a date is ignored.": seam(
        "parameter",
        lambda self, ctx, query, name: (
            text and re.sub("[+-][0-9]{2}:[0-9]{2}$", "Z", text)
            if name.endswith("_date") and isinstance(text := self.usual(), str)
            else self.usual()
        ),
    ),
}


# --------------------------------------------------------------------------- texts

#: Kind -> what becomes of a text that is stored.
LOSSES: dict[str, Callable[[str], str]] = {
    "three bytes at most": lambda text: "".join(one if ord(one) < 0x10000 else "?" for one in text),
    "composed": lambda text: unicodedata.normalize("NFC", text),
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "compatible": lambda text: unicodedata.normalize("NFKC", text),
}

faults["create.text-exact"] |= {
    "Texts are stored with other characters.": keeping(
        lambda self, fields: {
            name: self.value(value) if isinstance(value, str) else value for name, value in fields.items()
        },
        each=LOSSES,
    ),
}


# --------------------------------------------------------------------------- masks

#: Kind -> what is shown of a value.
MASKS: dict[str, Callable[[str], str]] = {
    "all but the last": lambda text: text[:-1] + "*",
    "half": lambda text: text[: len(text) // 2] + "****",
    "the last half": lambda text: "****" + text[len(text) // 2 :],
}

faults["destination.masked-enough"] |= {
    "A mask hides too little.": seam(
        "masked", lambda self, ctx, value: None if value is None else self.value(str(value)), each=MASKS
    ),
}


# --------------------------------------------------------------------------- the wrong kind


def _any_pair(self: Any, ctx: Any) -> None:
    if ctx.values.get("currency") in WALLET_NETWORKS:
        self.usual()


faults["fields.currency-kind"] |= {
    "A virtual account in a cryptocurrency is taken.": seam(
        "check_currency",
        lambda self, ctx, field, value: None if value in WALLET_NETWORKS else self.usual(),
        operations=("createVirtualAccount",),
    ),
    "A wallet in a fiat currency is taken.": seam(
        "check_wallet_pair", _any_pair, operations=("createWallet",)
    ),
}

faults["fields.payin-amount-positive"] |= {
    "A payin of nothing or less is taken.": seam(
        "check_amount",
        lambda self, ctx, field, value: None if self.value(value) else self.usual(),
        each={
            "zero": lambda value: re.fullmatch("[0.]+", value),
            "negative": lambda value: re.fullmatch("-[0-9.]+", value),
        },
    ),
}

faults["beneficiary.update-company-name"] |= {
    "A PATCH may leave a business without company_name.": seam("check_state", lambda self, ctx: None),
}
