"""Servers that do not tell the time, lose characters, show too much of what they mask, or take the wrong kind
of currency."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from conformance.contract.rules import RULES
from conformance.reference.codes import WALLET_NETWORKS
from tests.specification import ADDRESS

from .catalogue import faults, seam
from .formats import balance
from .resources import keeping, showing

# --------------------------------------------------------------------------- timestamps


def shifted(text: str, **by: float) -> str:
    """A timestamp moved by some time, its fraction as it was."""
    moved = datetime.fromisoformat(text[:19]) + timedelta(**by)
    return moved.isoformat() + text[19:]


CREATES = [name for name in RULES["format.timestamp-current"].operations if name.startswith("create")]
UPDATED = [
    name
    for name in RULES["format.timestamp-current"].operations
    if name not in ("createPayin", "getAccountBalances")
]

#: Evaluated once, as a default in a class body would be.
STARTED = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000000Z")

faults["format.timestamp-current"] |= {
    "created is the time at which the process started.": showing(
        lambda self, ctx, document: {**document, "created": STARTED}, operations=CREATES
    ),
    "created is local time that calls itself UTC.": showing(
        lambda self, ctx, document: {**document, "created": shifted(document["created"], hours=self.value)},
        operations=CREATES,
        each=(2, -5),
    ),
    "updated lies some time before created.": showing(
        lambda self, ctx, document: {**document, "updated": shifted(document["created"], **self.value)},
        operations=UPDATED,
        each={"years": {"days": -800}, "two seconds": {"seconds": -2}},
    ),
    "updated is local time, hours ahead, that calls itself UTC.": showing(
        lambda self, ctx, document: {**document, "updated": shifted(document["updated"], hours=2)},
        operations=UPDATED,
    ),
    "initiated_at is local time that calls itself UTC.": showing(
        lambda self, ctx, document: {
            **document,
            "initiated_at": shifted(document["initiated_at"], hours=self.value),
        },
        operations=("createPayout",),
        each=(2, -5),
    ),
    "updated_at of a balance is local time, hours ahead, that calls itself UTC.": balance(
        lambda self, ctx, element: {**element, "updated_at": shifted(element["updated_at"], hours=2)},
        operations=("getAccountBalances",),
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
    "three bytes at most": lambda text: "".join(letter if ord(letter) < 0x10000 else "?" for letter in text),
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


def _address(fields: dict[str, Any], change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """The fields with their address changed."""
    return {**fields, "address": {**fields["address"], **change(fields["address"])}}


#: Kind -> what becomes of the fields of a beneficiary.
CONFUSIONS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "country_code is that of the address": lambda fields: {
        **fields,
        "country_code": fields["address"]["country"],
    },
    "the address is in the country of payouts": lambda fields: _address(
        fields, lambda address: {"country": fields["country_code"]}
    ),
    "city and region are swapped": lambda fields: _address(
        fields, lambda address: {"city": address["region"], "region": address["city"]}
    ),
    "the postal code is a number": lambda fields: _address(
        fields, lambda address: {"postal_code": address["postal_code"].lstrip("0")}
    ),
    "the address is in ASCII": lambda fields: _address(
        fields,
        lambda address: {name: value.encode("ascii", "ignore").decode() for name, value in address.items()},
    ),
    "a name that says null is none": lambda fields: {
        name: None if value == "Null" else value for name, value in fields.items()
    },
    "display_name is made of the names": lambda fields: {
        **fields,
        "display_name": f"{fields['first_name']} {fields['last_name']}",
    },
}

faults["create.echo"] |= {
    "A field of a beneficiary is taken for another one, or for something else.": keeping(
        lambda self, fields: self.value(fields), operations=("createBeneficiary",), each=CONFUSIONS
    ),
    "A text without a maximum length is cut.": keeping(
        lambda self, fields: {
            name: value[: self.value] if name in ("note", "label") and isinstance(value, str) else value
            for name, value in fields.items()
        },
        operations=("createBeneficiary", "createPayoutDestination"),
        each=(255, 512),
    ),
}

faults["beneficiary.update"] |= {
    "A PATCH of the address leaves this member as it was.": seam(
        "patched",
        lambda self, ctx, record: _address(
            self.usual(), lambda address: {self.value: record["address"].get(self.value)}
        ),
        each=ADDRESS,
    ),
    "A note that a PATCH names is cut.": seam(
        "patched",
        lambda self, ctx, record: {
            name: value[: self.value] if name == "note" and value else value
            for name, value in self.usual().items()
        },
        each=(255, 512),
    ),
    "A PATCH of several fields leaves this one as it was.": seam(
        "patched",
        lambda self, ctx, record: (
            {**self.usual(), self.value: record.get(self.value)} if len(ctx.values) > 1 else self.usual()
        ),
        each=("title", "middle_name", "display_name", "phone", "tax_id", "note"),
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
    "A bank account or payin in a cryptocurrency is taken.": seam(
        "check_assigned",
        lambda self, ctx, field, value, codes: None if value in WALLET_NETWORKS else self.usual(),
        operations=("createPayoutDestination", "createPayin"),
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
