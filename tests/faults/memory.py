"""Servers that forget too soon, or count only so far: what only deep runs see (sections 4.0, 5.4 and 8)."""

from __future__ import annotations

from conformance.reference.context import Context, Listing, Record
from conformance.reference.messages import Response
from conformance.reference.store import Answer

from .catalogue import Faulty, fault, faults, seam
from .lists import Fetches

#: Seconds of a memory that is too short: each ends before another of the times after which a deep run asks.
SECONDS = (20, 45, 180)

#: Elements beyond which a long list is another one.
FAR = (150, 500)

faults["auth.nonce-replay"] |= {
    "A nonce is remembered for some seconds only.": seam(
        "nonce_expiry", lambda self, ctx, *_: ctx.now + self.value * 1_000_000, each=SECONDS
    ),
}


@fault("idempotency.replay", each=SECONDS)
class ForgetsKeys(Faulty):
    """A key is remembered for some seconds only."""

    def remember(self, ctx: Context, response: Response) -> None:
        super().remember(ctx, response)
        self.__dict__.setdefault("kept", {}).setdefault(ctx.key, ctx.now)

    def stored_answer(self, ctx: Context) -> Answer | None:
        since = ctx.now - self.__dict__.get("kept", {}).get(ctx.key, ctx.now)
        return super().stored_answer(ctx) if since < self.value * 1_000_000 else None


_LONG = ("listPayoutDestinations", "listVirtualAccounts")


@fault("list.walk", operations=_LONG, each=FAR)
class CountsSoFar(Faulty):
    """total counts no further than to a number."""

    def list_records(self, ctx: Context) -> None:
        super().list_records(ctx)
        assert ctx.listing is not None
        ctx.listing.total = min(ctx.listing.total, self.value)


@fault("list.walk", operations=_LONG, each=FAR)
class ShowsSoFar(Fetches):
    """What lies further back than a number of elements is shown on no page."""

    def fetched(self, ctx: Context, listing: Listing) -> list[Record]:
        records = super(Fetches, self).page_of(ctx, listing)
        return records[: max(0, self.value - (listing.page - 1) * listing.size)]
