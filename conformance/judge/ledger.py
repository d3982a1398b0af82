"""The ledger: a cell for each rule on each operation, with the exchanges that they name, and what was sent.

The controller adds up the ledgers of workers; the results document is the sum with run and verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Annotated

import msgspec
from msgspec.structs import replace

from conformance._records import says
from conformance._text import clean
from conformance.contract.needs import UNBUILT
from conformance.contract.rules import ALL_RULES, CLIENT_RULES, RULES, Level, Side
from conformance.judge.cells import Cell
from conformance.judge.exchanges import ExchangeRecord
from conformance.judge.latency import Latency
from conformance.judge.verdicts import Verdict
from conformance.judge.waits import LIMITS, SLOW, Wait, joined
from conformance.target.applicability import absent
from conformance.target.file import Target
from conformance.wire.messages import Exchange


class CreatedRecord(msgspec.Struct, frozen=True):
    """A resource that the run created."""

    organization: Annotated[str, says("Whose credentials created it.")]
    operation: Annotated[str, says("The operation that creates it; empty if the contract has no such path.")]
    id: Annotated[str, says("Its id.")]
    path: Annotated[str, says("The path of the request that created it.")]


class Ledger(msgspec.Struct, dict=True, omit_defaults=True):
    """The record of a run, or of a part of it: judged, sent, created. Two ledgers add up to one."""

    cells: list[Cell] = []
    #: Side whose rules were judged.
    side: Side = Side.SERVER
    #: Exchanges that cells name, by number.
    exchanges: dict[int, ExchangeRecord] = {}
    #: Operation, or "" -> latency of its answers.
    latency: dict[str, Latency] = {}
    created: list[CreatedRecord] = []
    errors: list[str] = []
    #: Reason why the run gave the server up; empty if it did not.
    lost: str = ""
    #: Number of requests, and what was waited for: rate limits, and answers that came late or not at all.
    sent: int = 0
    waits: dict[str, Wait] = {}
    #: quick, full or deep; the options that narrowed the run, with their values.
    effort: str = "full"
    narrowed: list[str] = []

    @property
    def selection(self) -> str:
        """Options that narrowed the run, as on a command line; empty for a whole run."""
        return " ".join(self.narrowed)

    @classmethod
    def of_catalogue(cls, target: Target | None, side: Side = Side.SERVER) -> Ledger:
        """A ledger with a cell for each rule of a side on each operation; what the target file declares
        absent is not applicable."""
        ledger = cls(side=side)
        for rule in (RULES if side is Side.SERVER else CLIENT_RULES).values():
            for operation in rule.operations:
                cell = ledger.cell(rule.id, operation)
                if target is not None and (reason := absent(rule, operation, target)):
                    cell.not_applicable = reason
                    cell.decide()
        return ledger

    @classmethod
    def from_json(cls, text: str) -> Ledger:
        """Decodes a ledger."""
        return msgspec.json.decode(text, type=cls)

    def to_json(self) -> str:
        """Encodes the ledger."""
        return msgspec.json.encode(self).decode()

    def without_cells(self) -> Ledger:
        """The ledger of what was sent and created, and of errors."""
        return replace(self, cells=[], exchanges={})

    @cached_property
    def _by_key(self) -> dict[tuple[str, str], Cell]:
        return {cell.key: cell for cell in self.cells}

    def cell(self, rule: str, operation: str) -> Cell:
        """The cell of a rule on an operation, added if missing."""
        cell = self._by_key.get((rule, operation))
        if cell is None:
            cell = self._by_key[rule, operation] = Cell(rule, operation)
            self.cells.append(cell)
        return cell

    def add(self, cell: Cell, text: Callable[[str], str] = clean) -> None:
        """Adds the judgements of a check, with `text` (`Redactor.clean`) applied to their texts."""
        self.cell(*cell.key).add(cell.cleaned(text))

    def measure(self, exchange: Exchange) -> None:
        """Adds an exchange to the latency of its operation, and a slow one to the waits."""
        operation = exchange.operation or ""
        self.latency.setdefault(operation, Latency(operation)).add(exchange)
        if exchange.elapsed >= SLOW:
            what = operation or f"{exchange.method} requests"
            how = "that did not come" if exchange.status is None else "that came late"
            self.waited(f"answers to {what} {how}", (exchange.started, exchange.arrived))

    def measure_limits(self, spans: Iterable[tuple[int, float, float]]) -> None:
        """Adds waits after a status, as `Retry.take` returns them."""
        for status, begin, end in spans:
            self.waited(LIMITS.get(status, LIMITS[429]), (begin, end))

    def waited(self, what: str, *spans: tuple[float, float]) -> None:
        """Adds waits, from and to in Unix seconds."""
        if spans:
            self.waits.setdefault(what, Wait()).add(Wait(len(spans), joined(spans)))

    def merge(self, other: Ledger) -> None:
        """Adds the ledger of another part of the run."""
        for cell in other.cells:
            own = self.cell(*cell.key)
            own.add(cell)
            # Of a rule that held, only the first is shown.
            for number in other.exchanges.keys() & {*own.exchanges, *own.proof}:
                self.exchanges[number] = other.exchanges[number]
        for operation, row in other.latency.items():
            self.latency.setdefault(operation, Latency(operation)).merge(row)
        self.created += other.created
        self.errors += other.errors
        self.lost = self.lost or other.lost
        self.sent += other.sent
        for what, wait in other.waits.items():
            self.waits.setdefault(what, Wait()).add(wait)
        for operation, row in self.latency.items():
            unbuilt = self._by_key.get((UNBUILT, operation))
            # Under eventual consistency an early 404 may mislead a worker.
            if unbuilt is not None and unbuilt.violations and row.succeeded:
                unbuilt.broken, unbuilt.violations = 0, []
                unbuilt.decide()

    def with_verdict(self, *verdicts: Verdict, levels: Iterable[Level] = tuple(Level)) -> list[Cell]:
        """Cells with one of these verdicts, in catalogue order."""
        levels = set(levels)
        return [
            cell for cell in self.cells if cell.verdict in verdicts and ALL_RULES[cell.rule].level in levels
        ]
