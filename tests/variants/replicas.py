"""Eventual consistency: lists and reads from replicas and indexes with a lag."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conformance.reference.app import system_clock
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Listing, Record
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal
from conformance.reference.seams.resources import RECORD_KINDS
from conformance.reference.store import Answer, Condition
from tests.support.overrides import Usual

from .choice import choice, memory, other, times, varied

#: Lags of replicas that answer in turn, in microseconds.
_UNEVEN = (900_000, 0, 300_000, 600_000, 50_000)


def _turn(behaviour: Behaviour, lags: tuple[int, ...], name: str) -> int:
    """Returns the lag of the replica whose turn it is, in microseconds."""
    return lags[(times(behaviour, name) - 1) % len(lags)]


def _behind(ctx: Context, delay: int) -> Condition:
    """Returns the condition for records that a replica with this lag in microseconds has."""
    return Condition("created", "<=", ctx.now - delay)


class _ListsBehind(Behaviour):
    """Reads lists from indexes in turn, each with a lag."""

    #: Lag of each index in microseconds.
    lists_behind: tuple[int, ...] = (0,)

    def count(self, ctx: Context, listing: Listing) -> int:
        listing.conditions.append(_behind(ctx, _turn(self, self.lists_behind, "list delays")))
        return super().count(ctx, listing)


def _indexed(ctx: Context, listing: Listing) -> Listing:
    """Returns the list from an index with a lag of 1.5 seconds."""
    return replace(listing, conditions=[*listing.conditions, _behind(ctx, 1_500_000)])


@choice("read.delay")
class TotalsBehind(Behaviour):
    """Counts a list in an index with a lag, and reads its elements from the table."""

    def count(self, ctx: Context, listing: Listing) -> int:
        return super().count(ctx, _indexed(ctx, listing))

    def page_of(self, ctx: Context, listing: Listing) -> list[Record]:
        # SQLite knows no offset beyond 64 bits.
        offset = min(self.offset(ctx, listing), 2**62)
        return self.fetch(ctx, listing, limit=listing.size, offset=offset)


@choice("read.delay", seam="page_of")
def elements_behind(self: Behaviour, usual: Usual, ctx: Context, listing: Listing) -> list[Record]:
    """Counts a list in the table, and reads its elements from an index with a lag."""
    return usual(ctx, _indexed(ctx, listing))


@choice()
class ReadsBehind(Behaviour):
    """Answers 404 to reads of a resource for 1.5 seconds after its creation."""

    reads_behind = 1_500_000

    def show_beneficiary(self, ctx: Context) -> None:
        self._late(ctx.beneficiary, ctx)
        super().show_beneficiary(ctx)

    def show_virtual_account(self, ctx: Context) -> None:
        self._late(ctx.child, ctx)
        super().show_virtual_account(ctx)

    def _late(self, record: Record | None, ctx: Context) -> None:
        if record is not None and record["created"] > ctx.now - self.reads_behind:
            raise Refusal("missing_child")


@choice("read.delay", seam="count")
def filters_behind(self: Behaviour, usual: Usual, ctx: Context, listing: Listing) -> int:
    """Reads filtered lists from an index with a lag."""
    if listing.conditions:
        listing.conditions = _indexed(ctx, listing).conditions
    return usual(ctx, listing)


@choice("read.delay")
class BalancesUneven(Behaviour):
    """Reads balances from five replicas in turn, with different lags of less than a second."""

    #: Lag of each replica in microseconds.
    lags: tuple[int, ...] = _UNEVEN

    def create_payout(self, ctx: Context) -> None:
        assert ctx.account is not None
        before = super().balances(ctx, ctx.account)
        super().create_payout(ctx)
        # Account -> its balances before each payout, with the time of the payout.
        memory(self, "balances before").setdefault(ctx.account["id"], []).append((ctx.now, before))

    def balances(self, ctx: Context, record: Record) -> list[dict[str, Any]]:
        as_of = ctx.now - _turn(self, self.lags, "balance delays")
        for at, balances in memory(self, "balances before").get(record["id"], ()):
            if at > as_of:
                return list(balances)
        return super().balances(ctx, record)


@choice("read.delay")
class ReadsInTurn(Behaviour):
    """Reads beneficiaries and virtual accounts from two replicas in turn, one with a lag of two seconds; 404
    for those not replicated yet."""

    #: Lag of each replica in microseconds.
    turns: tuple[int, ...] = (2_000_000, 0)

    def create(self, ctx: Context) -> None:
        super().create(ctx)
        self._came(ctx)

    def write_beneficiary(self, ctx: Context, record: Record) -> None:
        super().write_beneficiary(ctx, record)
        self._came(ctx)

    def _came(self, ctx: Context) -> None:
        if ctx.record is not None and RECORD_KINDS[ctx.operation] in ("beneficiary", "virtual_account"):
            # Id -> each state, with the time of the change.
            memory(self, "states").setdefault(ctx.record["id"], []).append((ctx.now, ctx.record))

    def show_beneficiary(self, ctx: Context) -> None:
        super().show_beneficiary(ctx)
        self._from_replica(ctx)

    def show_virtual_account(self, ctx: Context) -> None:
        super().show_virtual_account(ctx)
        self._from_replica(ctx)

    def _from_replica(self, ctx: Context) -> None:
        assert ctx.record is not None
        states, as_of = (
            memory(self, "states").get(ctx.record["id"]),
            ctx.now - _turn(self, self.turns, "read delays"),
        )
        if states:
            old = [state for instant, state in states if instant <= as_of]
            if not old:
                raise Refusal("missing_child")
            ctx.record = {**old[-1], "as_of": as_of}

    def destinations(self, ctx: Context, record: Record) -> list[Mapping[str, Any]]:
        shown = super().destinations(ctx, record)
        there = ctx.store.select("payout_destination", record["id"])
        as_of = record.get("as_of", ctx.now)
        return [each for each, row in zip(shown, there, strict=True) if row["created"] <= as_of]


@choice("read.delay")
class ReadsFromReplicas(Behaviour):
    """Reads a beneficiary from a replica with a lag of 80 ms for changes."""

    copy_behind = 80_000

    def write_beneficiary(self, ctx: Context, record: Record) -> None:
        super().write_beneficiary(ctx, record)
        assert ctx.beneficiary is not None
        known = memory(self, "states before").get(ctx.beneficiary["id"])
        # During several changes the shown state stays until the last of them is old enough.
        shown = known[1] if known and known[0] > ctx.now - self.copy_behind else ctx.beneficiary
        memory(self, "states before")[ctx.beneficiary["id"]] = (ctx.now, shown)

    def show_beneficiary(self, ctx: Context) -> None:
        super().show_beneficiary(ctx)
        assert ctx.record is not None
        changed, before = memory(self, "states before").get(ctx.record["id"], (0, None))
        if before is not None and changed > ctx.now - self.copy_behind:
            ctx.record = before


@choice("read.delay")
class GetsFromReplica(Behaviour):
    """Answers every GET from a replica with a lag of 1.5 seconds, including the lookup of parents."""

    #: Lags of the replicas that answer in turn, in microseconds.
    gets_behind: tuple[int, ...] = (1_500_000,)

    _get_delay = 0

    def resolve(self, ctx: Context) -> Any:
        self._get_delay = _turn(self, self.gets_behind, "get delays")
        return super().resolve(ctx)

    def find(self, ctx: Context, kind: str, identifier: str) -> Record | None:
        record = super().find(ctx, kind, identifier)
        return None if record is not None and self._too_new(ctx, record) else record

    def _too_new(self, ctx: Context, record: Record) -> bool:
        return ctx.request.method == "GET" and bool(record["created"] > ctx.now - self._get_delay)

    def count(self, ctx: Context, listing: Listing) -> int:
        listing.conditions.append(_behind(ctx, self._get_delay))
        return super().count(ctx, listing)

    def destinations(self, ctx: Context, record: Record) -> list[Any]:
        shown = super().destinations(ctx, record)
        rows = ctx.store.select("payout_destination", record["id"])
        return [each for each, row in zip(shown, rows, strict=True) if not self._too_new(ctx, row)]


@choice("read.delay")
class CommitsLate(Behaviour):
    """Commits a create 30 ms after its answer; until then no request finds the resource."""

    #: In microseconds.
    commits_behind = 30_000

    def find(self, ctx: Context, kind: str, identifier: str) -> Record | None:
        record = super().find(ctx, kind, identifier)
        late = record is not None and record["created"] > ctx.now - self.commits_behind
        return None if late and kind != "customer" else record


@choice("idempotency.replay-delay")
class KeysLockedUntilCommit(Behaviour):
    """Commits 50 ms after its answer; until then a request with the same key is refused as still in
    progress."""

    #: Microseconds between answer and commit, and status of the refusal.
    commits_after, in_progress = 50_000, 409

    def stored_answer(self, ctx: Context) -> Answer | None:
        if ctx.now < memory(self, "commits of keys")[self.answer_scope(ctx), ctx.key]:
            code = "idempotency_key_in_use"
            raise other("idempotency_key_conflict", self.in_progress, "idempotency_error", code)
        return super().stored_answer(ctx)

    def remember(self, ctx: Context, response: Response) -> None:
        super().remember(ctx, response)
        if ctx.first_use:
            commit = system_clock() + self.commits_after
            memory(self, "commits of keys")[self.answer_scope(ctx), ctx.key] = commit


#: The same, but with the status for a request that comes too early.
KeysTooEarly = varied(
    "KeysTooEarly",
    "Refuses a repeated key with 425 until the first request is committed.",
    KeysLockedUntilCommit,
    "idempotency.replay-delay",
    in_progress=425,
    commits_after=1_200_000,
)


@choice("read.delay")
class DestinationsFromReplica(Behaviour):
    """Reads the destinations of a beneficiary, in answers to changes too, from a replica with a lag of 1.5
    seconds."""

    #: Lags of the replicas that answer in turn, in microseconds.
    destinations_behind: tuple[int, ...] = (1_500_000,)

    def destinations(self, ctx: Context, record: Record) -> list[Any]:
        shown, as_of = (
            super().destinations(ctx, record),
            ctx.now - _turn(self, self.destinations_behind, "destination delays"),
        )
        rows = ctx.store.select("payout_destination", record["id"])
        there = {row["id"] for row in rows if row["created"] <= as_of}
        return [each for each in shown if each["id"] in there]


#: Base and its attribute with the lags of replicas that answer in turn -> choice -> the lags, what it does.
_LAGS: dict[tuple[type[Behaviour], str], dict[str, tuple[tuple[int, ...], str]]] = {
    (_ListsBehind, "lists_behind"): {
        "ListsSoon": ((80_000,), "Reads lists with a lag of 80 ms."),
        "ListsLate": ((2_000_000,), "Reads lists with a lag of two seconds."),
        "ListsVeryLate": ((8_000_000,), "Reads lists with a lag that the target file declares."),
        "ListsInTurn": ((2_000_000, 0), "Reads lists from two replicas in turn, one of them late."),
        "ListsUneven": (_UNEVEN, "Reads lists from five replicas in turn, each less than a second late."),
    },
    (ReadsInTurn, "turns"): {"ReadsUneven": (_UNEVEN, "Reads from five replicas in turn.")},
    (GetsFromReplica, "gets_behind"): {"GetsUneven": (_UNEVEN, "Answers GET from five replicas in turn.")},
    (DestinationsFromReplica, "destinations_behind"): {
        "DestinationsInTurn": ((1_500_000, 0), "Reads the destinations in every other answer from it."),
        "DestinationsUneven": (_UNEVEN, "Reads the destinations from five replicas in turn."),
    },
}

for (base, attribute), choices in _LAGS.items():
    for name, (lags, sentence) in choices.items():
        varied(name, sentence, base, "read.delay", **{attribute: lags})
