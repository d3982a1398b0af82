"""Catches each mistake of a server of three processes in each of several runs.

The server is three processes over one SQLite file; the mistakes are typical implementation errors. Each run
is a default run over HTTP in its own process; it must end with exit status 1 and name the rule. The server
without mistakes must conform.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from conformance.reference.behaviour import Behaviour
from tests.prove import selection
from tests.support.mistakes import (
    DisableStands,
    EndInclusive,
    FloatAmounts,
    HalfSignatures,
    KeyBeforeTransaction,
    KeysOfAll,
    NoncesByPath,
    NoncesOfEachProcess,
    NumberInError,
    OffsetIgnored,
    OnePageMore,
    RepetitionReads,
    RoundedAmounts,
    SecondDisable,
    TotalsKept,
    TypeReset,
)
from tests.support.running import run, write_target
from tests.variants.serving import several_processes

#: Timeout of a run in seconds.
LONGEST = 1500.0


#: Mistake -> rule that the report must name.
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
    parser.add_argument(
        "--mistake", default="", metavar="TEXT", help="only mistakes whose name contains TEXT"
    )
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="runs on each server (3)")
    parser.add_argument(
        "--option", action="append", default=[], metavar="WORD", help="a further option of the run"
    )


def prove(options: argparse.Namespace) -> bool:
    """Runs the suite on each server; returns True if each mistake is caught and no other rule is named."""
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
    """Describes the mistakes in the outcome of a run on three processes of a server; empty if there are
    none."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with several_processes(folder, behaviour()) as tables:
            file = write_target(folder / "target.toml", tables)
            outcome = run(f"--target={file}", *more, folder=folder / "reports", timeout=LONGEST)
        rule = MISTAKES.get(behaviour)
        broken = [cause["rule"] for cause in outcome.results["causes"]]
    if rule is None:
        return f"exit status {outcome.status}, {broken}" if outcome.status else ""
    return "" if outcome.status == 1 and rule in broken else f"exit status {outcome.status}, causes {broken}"
