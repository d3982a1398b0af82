"""Merges the reports of load processes, compares ids across sessions, and writes the run's report."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from conformance._files import shortest
from conformance._text import count, printable
from conformance.contract.rules import RULES
from conformance.contract.traits import traits_of
from conformance.judge.cells import Cell, Violation
from conformance.judge.exchanges import ExchangeRecord
from conformance.judge.ledger import CreatedRecord, Ledger
from conformance.judge.verdicts import VIOLATIONS
from conformance.load.process import Created, Report
from conformance.load.settings import Settings
from conformance.report.building import build
from conformance.report.document import Document, RunRecord
from conformance.report.write import finish

#: Maximum number of recent ids in memory, and of created resources in the report.
IDS, LISTED = 10_000, 2_000

#: Maximum length of a line about a violation, in characters.
LINE = 500


class LoadController:
    """The run as a whole: one ledger, and the ids of created resources."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.target = settings, settings.target
        self.folder = Path(settings.folder)
        self.started = time.time()
        self.ledger = Ledger.of_catalogue(self.target)
        self.ledger.narrowed = [settings.selection]
        self.unable: Counter[str] = Counter()
        self.document: Document | None = None
        #: Worker -> why it lost the server; empty if it did not.
        self._lost: dict[str, str] = {}
        #: Id -> the first create that was answered with it.
        self._ids: dict[str, Created] = {}
        #: Ids that created.jsonl has.
        self._known: dict[str, None] = {}
        #: Violations that the terminal has shown, by rule and operation.
        self._announced: set[tuple[str, str]] = set()
        #: Number of created resources, and of payouts among them.
        self._created = self._payouts = 0

    # ------------------------------------------------------------------ merging

    def take(self, data: bytes, worker: str) -> None:
        """Merges a report of a worker; prints each violation when it is first found, and a loss
        of the server."""
        report = msgspec.msgpack.decode(data, type=Report)
        ledger, lost = report.ledger, report.ledger.lost
        if lost and not any(self._lost.values()):
            print(f"conformance: lost {self.target.base_url}; users try again every second", flush=True)
        self._lost[worker], ledger.lost = lost, ""
        self.unable.update(report.unable)
        ledger.created = self._listed_of([each.resource for each in report.created])
        self.ledger.merge(ledger)
        for created in report.created:
            self._compare(created)
        for cell in self.ledger.with_verdict(*VIOLATIONS):
            if cell.key not in self._announced:
                self._announced.add(cell.key)
                print(printable(f"conformance: broken: {cell.summary}"[:LINE]), flush=True)
        named = {number for cell in self.ledger.cells for number in cell.exchanges}
        for number in self.ledger.exchanges.keys() - named:
            del self.ledger.exchanges[number]

    def _listed_of(self, created: list[CreatedRecord]) -> list[CreatedRecord]:
        """The created resources for the report, at most LISTED; all of them go to created.jsonl, once."""
        # Repetitions of a request are answered with what it created.
        new = {each.id: each for each in created if each.id not in self._known}
        self._known |= dict.fromkeys(new)
        _bound(self._known)
        if new:
            with (self.folder / "created.jsonl").open("ab" if self._created else "wb") as file:
                file.writelines(msgspec.json.encode(each) + b"\n" for each in new.values())
        first, self._created = self._created, self._created + len(new)
        self._payouts += sum(traits_of(each.operation).draws_on_funds for each in new.values())
        return list(new.values())[: max(0, LISTED - first)]

    def _compare(self, created: Created) -> None:
        """Judges that no other session has created a resource with this id; each judges its own."""
        identifier, operation = created.resource.id, created.resource.operation
        first = self._ids.setdefault(identifier, created)
        _bound(self._ids)
        same = first.session == created.session or first.origin == created.origin
        if same or operation not in RULES["format.id-unique"].operations:
            return
        records = [msgspec.msgpack.decode(one.exchange, type=ExchangeRecord) for one in (created, first)]
        self.ledger.exchanges |= {record.number: record for record in records}
        cell = Cell("format.id-unique", operation)
        got = f"id {identifier[:60]!r} was already given to another resource"
        numbers = tuple(record.number for record in records)
        cell.add_violation(Violation("an id that no other resource has", got, numbers))
        self.ledger.add(cell.concluded())

    # ------------------------------------------------------------------ the end

    def finish(self, interrupted: str, workers: int) -> int:
        """Writes the report and prints its summary; returns the exit status of the run."""
        self.ledger.lost = next(filter(None, self._lost.values()), "")
        run = RunRecord(
            self.started,
            time.time() - self.started,
            options=dict(self.settings.options),
            interrupted=interrupted,
            workers=workers,
            folder=shortest(self.folder),
            label=self.settings.label,
        )
        document = build(self.ledger, self.target, run, fail_on=self.settings.fail_on)
        # Of many not all are listed.
        run = replace(document.run, created=self._created, payouts=self._payouts)
        self.document = replace(document, run=run)
        status = finish(self.document, self.folder)
        for reason, times in self.unable.most_common(3):
            print(printable(f"conformance: {count(times, 'check')} could not judge: {reason}"))
        return status


def _bound(recent: dict[str, Any]) -> None:
    """Drops the oldest entries of more than IDS."""
    while len(recent) > IDS:
        del recent[next(iter(recent))]
