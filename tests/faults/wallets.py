"""Servers that create duplicate wallets, or with a wrong address."""

from __future__ import annotations

import copy
from typing import Any

from conformance.reference.context import Context

from .catalogue import Faulty, fault, faults, seam

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


@fault("wallet.duplicate", each={"in capitals": str.upper, "without spaces": str.strip})
class NormalizesTooLate(Faulty):
    """A pair is looked up as it was sent, and kept in a form of the server's own."""

    def check_wallet_pair(self, ctx: Context) -> None:
        ctx.values["currency"] = self.value(ctx.values["currency"])
        super().check_wallet_pair(ctx)

    def claim_wallet_pair(self, ctx: Context) -> bool:
        pair = str(ctx.body["currency"]), str(ctx.body["network"])
        return ctx.store.claim_wallet_pair(self.parent(ctx)["id"], *pair)


@fault("wallet.duplicate")
class NormalizesNetworksTooLate(Faulty):
    """A network is kept in small letters, after its pair was looked up as it was sent."""

    def check_wallet_pair(self, ctx: Context) -> None:
        ctx.values["network"] = str(ctx.values["network"]).lower()
        super().check_wallet_pair(ctx)

    def claim_wallet_pair(self, ctx: Context) -> bool:
        pair = str(ctx.body["currency"]), str(ctx.body["network"])
        return ctx.store.claim_wallet_pair(self.parent(ctx)["id"], *pair)
