"""Merges the reports of load processes, compares ids across them, and writes the run's report."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from conformance._text import count, printable
from conformance.judge.exchanges import exchange_record
from conformance.judge.invariants import Invariants
from conformance.judge.ledger import Ledger
from conformance.load.process import Report
from conformance.load.settings import Settings
from conformance.report.building import build
from conformance.report.document import Document
from conformance.report.verdict import RunInfo
from conformance.report.write import finish
from conformance.wire.messages import Exchange
from conformance.world.run import Run

#: Maximum number of recent ids in memory, for ten processes (see CREATES), and of created resources in the
#: report.
IDS, LISTED = 10_000, 2_000

#: Retrieves exchanges by worker and number, as far as workers still keep them.
Find = Callable[[Sequence[tuple[str, int]]], list[Exchange]]


class LoadController:
    """The run as a whole: one ledger, and the ids of created resources. `find` retrieves exchanges of
    workers."""

    def __init__(self, settings: Settings, find: Find) -> None:
        self.settings, self.target = settings, settings.target
        self.folder = Path(settings.folder)
        self.started = time.time()
        self.ledger = Ledger.of_catalogue(self.target)
        self.ledger.narrowed = [settings.selection]
        self.unable: Counter[str] = Counter()
        self.document: Document | None = None
        #: Worker -> why it lost the server; empty if it did not.
        self._lost: dict[str, str] = {}
        self._find = find
        self._created = 0
        self._ids: dict[str, tuple[str, int, int]] = {}
        self._made: dict[str, None] = {}

    # ------------------------------------------------------------------ merging

    def take(self, data: bytes, worker: str) -> None:
        """Merges a report of a worker."""
        report = msgspec.msgpack.decode(data, type=Report)
        ledger, self._lost[worker] = report.ledger, report.ledger.lost
        ledger.lost = ""
        self.unable.update(report.unable)
        ledger.created = self._listed(ledger)
        self.ledger.merge(ledger)
        for identifier, number, origin in report.ids:
            self._seen(identifier, worker, number, origin)
        named = {number for cell in self.ledger.cells for number in cell.exchanges}
        for number in self.ledger.exchanges.keys() - named:
            del self.ledger.exchanges[number]

    def _listed(self, ledger: Ledger) -> list[Any]:
        """The created resources for the report, at most LISTED; all of them go to created.jsonl, once."""
        # Sessions that repeat a key are answered with what others created.
        new = {made.id: made for made in ledger.created if made.id not in self._made}
        self._made |= dict.fromkeys(new)
        while len(self._made) > IDS:
            del self._made[next(iter(self._made))]
        if new:
            with (self.folder / "created.jsonl").open("ab" if self._created else "wb") as file:
                file.writelines(msgspec.json.encode(made) + b"\n" for made in new.values())
        first, self._created = self._created, self._created + len(new)
        return list(new.values())[: max(0, LISTED - first)]

    # ------------------------------------------------------------------ comparing

    def _seen(self, identifier: str, worker: str, number: int, origin: int) -> None:
        """Judges whether the id of a created resource is unique; keeps exchanges if it is not."""
        first = self._ids.setdefault(identifier, (worker, number, origin))
        if len(self._ids) > IDS:
            del self._ids[next(iter(self._ids))]
        if first[2] == origin:
            return
        run = Run(self.target)
        run.record = {exchange.number: exchange for exchange in self._find([first[:2], (worker, number)])}
        creates = [run.record[one] for one in (first[1], number) if one in run.record]
        if len(creates) < 2:
            return
        rules = Invariants(self.target)
        for create in creates:
            rules.inspect(create)
        tally = rules.tallies.get(("format.id-unique", str(creates[1].operation)))
        if tally is None:
            return
        for violation in tally.violations:
            violation.exchanges = tuple(dict.fromkeys([*violation.exchanges, *run.record]))
            self.ledger.exchanges |= {
                one: exchange_record(exchange, run.redactor) for one, exchange in run.record.items()
            }
        self.ledger.add(tally.concluded(), run.redactor.clean)

    # ------------------------------------------------------------------ the end

    def finish(self, interrupted: str, workers: int) -> int:
        """Writes the report and prints its summary; returns the exit status of the run."""
        self.ledger.lost = next(filter(None, self._lost.values()), "")
        info = RunInfo(
            self.started,
            time.time(),
            options=dict(self.settings.options),
            interrupted=interrupted,
            workers=workers,
            fail_on=self.settings.fail_on,
            folder=self.folder,
            label=self.settings.label,
        )
        self.document = build(self.ledger, self.target, info)
        status = finish(self.document, self.folder)
        for reason, times in self.unable.most_common(3):
            print(printable(f"conformance: {count(times, 'session')} could not go on: {reason}"))
        return status
