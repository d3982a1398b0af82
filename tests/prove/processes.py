"""Catches each mistake of a server of three processes in each of several runs.

The server is three processes over one SQLite file. The mistakes are those of an engineer who wrote such a
server from the specification. Each run is a default run over HTTP in a process of its own; it must end with
exit status 1 and name the rule. The server without mistakes must conform.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Listing, Record
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal
from conformance.reference.store import Answer
from tests.faults.races import pause
from tests.prove import selection
from tests.support.running import run, write_target
from tests.variants.processes import several_processes

#: Seconds that a run may take.
LONGEST = 1500.0


class KeyBeforeTransaction(Behaviour):
    """The idempotency key is looked up before the transaction that performs the request."""

    def transaction(self, ctx: Context) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext()

    def act(self, ctx: Context) -> None:
        pause(0.25)
        with ctx.store.transaction():
            super().act(ctx)


class TotalsKept(Behaviour):
    """Each process counts a list once in 60 s."""

    def count(self, ctx: Context, listing: Listing) -> int:
        known: dict[Any, tuple[int, int]] = self.__dict__.setdefault("known", {})
        asked = (ctx.operation, self.list_parent(ctx), repr(listing.conditions))
        if asked not in known or ctx.now - known[asked][0] > 60_000_000:
            known[asked] = ctx.now, super().count(ctx, listing)
        return known[asked][1]


class NoncesByPath(Behaviour):
    """A nonce is used up on its path only."""

    def nonce_scope(self, ctx: Context) -> str:
        return super().nonce_scope(ctx) + ctx.path.decode("latin-1")


class TypeReset(Behaviour):
    """A PATCH puts beneficiary_type back to its default."""

    def patched(self, ctx: Context, record: Record) -> Record:
        return {**super().patched(ctx, record), "beneficiary_type": "individual", **ctx.values}


class OffsetIgnored(Behaviour):
    """The offset of a date is ignored."""

    def parameter(self, ctx: Context, query: Any, name: str) -> str | None:
        text = super().parameter(ctx, query, name)
        return text[:-6] + "Z" if text and name.endswith("_date") and text[-6:-5] in "+-" else text


class NumberInError(Behaviour):
    """An error shows the account number that was sent."""

    def error_message(self, ctx: Context, refusal: Refusal) -> str:
        number = ctx.body.get("account_number")
        return f"{super().error_message(ctx, refusal)} Account {number}."


class SecondDisable(Behaviour):
    """A second disable makes the beneficiary inactive."""

    def disabled(self, ctx: Context, record: Record) -> Record:
        status = "inactive" if record["status"] == "disabled" else "disabled"
        return {**super().disabled(ctx, record), "status": status}


class OnePageMore(Behaviour):
    """`pages` is total // size + 1."""

    def pages(self, ctx: Context, listing: Listing) -> int:
        return listing.total // listing.size + 1


class FloatAmounts(Behaviour):
    """Amounts pass through a float."""

    def amount_text(self, ctx: Context, record: Record) -> Any:
        return repr(float(record["amount"]))


class RoundedAmounts(Behaviour):
    """Amounts have two decimals."""

    def amount_text(self, ctx: Context, record: Record) -> Any:
        return format(Decimal(record["amount"]).quantize(Decimal("0.01")), "f")


class HalfSignatures(Behaviour):
    """The first 32 digits of a signature are compared."""

    def signatures_equal(self, ctx: Context, expected: str, presented: str) -> bool:
        return super().signatures_equal(ctx, expected[:32], presented[:32])


class NoncesOfEachProcess(Behaviour):
    """Each process remembers the nonces of its own requests."""

    def nonce_scope(self, ctx: Context) -> str:
        return f"{super().nonce_scope(ctx)} {os.getpid()}"


class KeysOfAll(Behaviour):
    """Organizations share idempotency keys."""

    def answer_scope(self, ctx: Context) -> str:
        return ctx.operation


class RepetitionReads(Behaviour):
    """A repetition reads the beneficiary again."""

    def replayed(self, ctx: Context, answer: Answer) -> Response | None:
        response = super().replayed(ctx, answer)
        if response is None or ctx.operation != "createBeneficiary":
            return response
        record = ctx.store.get("beneficiary", response.document["id"])
        return response.with_document(self.resource(ctx, "beneficiary", record)) if record else response


class EndInclusive(Behaviour):
    """`end_date` is inclusive."""

    def end_date_condition(self, ctx: Context, query: Any) -> Any:
        condition = super().end_date_condition(ctx, query)
        return condition and condition._replace(operator="<=")


class DisableStands(Behaviour):
    """Disabling leaves `updated` as it was."""

    def disabled(self, ctx: Context, record: Record) -> Record:
        return {**super().disabled(ctx, record), "updated": record["updated"]}


#: Mistake -> the rule that the report names.
MISTAKES: dict[type[Behaviour], str] = {
    KeyBeforeTransaction: "idempotency.race",
    TotalsKept: "list.complete",
    NoncesByPath: "auth.nonce-replay",
    TypeReset: "beneficiary.update",
    OffsetIgnored: "list.date-offset",
    NumberInError: "secrets.hidden",
    SecondDisable: "beneficiary.disable",
    OnePageMore: "list.pages",
    FloatAmounts: "format.money",
    RoundedAmounts: "create.amount-exact",
    HalfSignatures: "auth.signature",
    NoncesOfEachProcess: "auth.nonce-replay",
    KeysOfAll: "idempotency.other-organization",
    RepetitionReads: "idempotency.replay",
    EndInclusive: "list.end-date",
    DisableStands: "beneficiary.disable-moves-updated",
}


def options(parser: argparse.ArgumentParser) -> None:
    """Declares what the command line takes."""
    parser.add_argument("--mistake", default="", metavar="TEXT", help="only mistakes with this in their name")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="runs on each server (3)")
    parser.add_argument(
        "--option", action="append", default=[], metavar="WORD", help="a further option of the run"
    )


def prove(options: argparse.Namespace) -> bool:
    """Runs the suite on each server; returns True where all mistakes are caught and no other is named."""
    known: list[type[Behaviour]] = [Behaviour, *MISTAKES]
    servers = [behaviour for behaviour in known if options.mistake in behaviour.__name__]
    wrong = 0
    for behaviour in selection.some(servers, "mistake"):
        for number in range(options.runs):
            told = judged(behaviour, options.option)
            wrong += bool(told)
            print(f"{behaviour.__name__}, run {number + 1}: {told or 'as it should be'}", flush=True)
    print(f"{len(servers)} servers, {options.runs} runs each: {wrong} runs ended otherwise")
    return not wrong


def judged(behaviour: type[Behaviour], more: list[str]) -> str:
    """Mistakes in the outcome of a run on three processes of a server; empty for none."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with several_processes(folder, behaviour()) as tables:
            file = write_target(folder / "target.toml", tables)
            outcome = run("--target", str(file), *more, folder=folder / "reports", timeout=LONGEST)
        rule = MISTAKES.get(behaviour)
        broken = [cause["rule"] for cause in outcome.results["causes"]]
    if rule is None:
        return f"exit status {outcome.status}, {broken}" if outcome.status else ""
    return "" if outcome.status == 1 and rule in broken else f"exit status {outcome.status}, causes {broken}"
