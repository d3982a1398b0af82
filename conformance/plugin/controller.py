"""The process that decides about a run: it prepares the target, collects what workers found, and writes the results."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.diagnosis.examine import preflight
from conformance.judging.findings import Finding, Verdict
from conformance.judging.invariants import CHECK, Tally
from conformance.plugin.embedded import EmbeddedError, EmbeddedServer
from conformance.results import codec
from conformance.results.document import Document, ExchangeRecord
from conformance.results.model import Results, Timing
from conformance.target.environment import given
from conformance.target.file import Target, TargetError, build, load

if TYPE_CHECKING:
    from conformance.results.building import RunInfo


class Controller:
    """The run as a whole. Raises TargetError, with one paragraph, when it cannot begin."""

    def __init__(
        self, target_file: str | None, base_url: str | None, environment: Mapping[str, str], folder: Path
    ) -> None:
        self.folder = folder
        self.started = time.time()
        self._writable()
        self.run_folder = Path(tempfile.mkdtemp(prefix="conformance-"))
        self._server: EmbeddedServer | None = None
        try:
            self.target = self._target(target_file, base_url, environment)
        except BaseException:
            self.close()
            raise
        self.results = Results(self.target)
        self.ran = 0
        #: The results document, once it was made.
        self.document: Document | None = None
        self._sent: dict[int, int] = {}
        #: (rule, operation) -> worker -> its tally.
        self._tallies: dict[tuple[str, str], dict[int, Tally]] = {}
        self._broken: set[tuple[str, str]] = set()

    @property
    def embedded(self) -> bool:
        """Whether the run judges the suite's own reference server."""
        return self._server is not None

    # ------------------------------------------------------------------ beginning and end

    def _writable(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            raise TargetError(
                f"--report-dir {self.folder}: nothing can be written there ({error.strerror or error}); "
                "name a folder that this user may write to."
            ) from None

    def _target(
        self, target_file: str | None, base_url: str | None, environment: Mapping[str, str]
    ) -> Target:
        if target_file or base_url or given(environment):
            target = load(Path(target_file) if target_file else None, environment, base_url)
            preflight(target)
            return target
        self._server = EmbeddedServer(self.run_folder)
        try:
            return build(self._server.tables(), "embedded server")
        except EmbeddedError as error:
            raise TargetError(str(error)) from None

    def close(self) -> None:
        """Stops the embedded server and removes what the run needed; may be called twice."""
        if self._server is not None:
            self._server.stop()
        shutil.rmtree(self.run_folder, ignore_errors=True)

    # ------------------------------------------------------------------ collecting

    def take(self, payload: Mapping[str, Any]) -> list[Finding]:
        """Takes in what a worker found; returns the passive rules that were first seen broken by it."""
        self.ran += 1
        for plain in payload["exchanges"]:
            exchange = codec.from_json(ExchangeRecord, plain)
            self.results.exchanges[exchange.number] = exchange
        for plain in payload["findings"]:
            self.results.add(Finding.from_plain(plain))
        for number, *timing in payload["timings"]:
            self.results.timings[number] = Timing(*timing)
        if payload["lost"] and not self.results.lost:
            self.results.lost = payload["lost"]
        return list(self._take_tallies(payload))

    def take_totals(self, totals: Mapping[str, Any]) -> None:
        """Takes in a worker's last word."""
        for _ in self._take_tallies(totals):
            pass

    def _take_tallies(self, payload: Mapping[str, Any]) -> Iterator[Finding]:
        worker = payload["worker"]
        self._sent[worker] = payload["sent"]
        self.results.sent = sum(self._sent.values())
        for plain in payload["tallies"]:
            fields = dict(plain)
            key = fields.pop("rule"), fields.pop("operation")
            self._tallies.setdefault(key, {})[worker] = Tally(**fields)
            if fields["broken"] and key not in self._broken:
                self._broken.add(key)
                yield self._passive_finding(key)

    def _passive_finding(self, key: tuple[str, str]) -> Finding:
        """All workers' tallies of a passive rule on an operation as one finding."""
        rule, operation = key
        tallies = list(self._tallies[key].values())
        probes = sum(tally.judged for tally in tallies)
        broken = [tally for tally in tallies if tally.broken]
        if not broken:
            return Finding(rule, operation, Verdict.PASSED, CHECK, probes=probes)
        finding = broken[0].violation(rule, operation)
        times = sum(tally.broken for tally in broken)
        told = [text for tally in broken for text in (tally.got, *tally.further) if text != finding.got]
        finding.probes = probes
        finding.exchanges = [number for tally in broken for number in tally.exchanges][:6]
        finding.further = list(dict.fromkeys(told))[:10]
        finding.summary += f" ({times} of {probes} responses)"
        return finding

    def conclude(self) -> None:
        """Turns the passive rules' tallies into findings; nothing is taken in afterwards."""
        for key in self._tallies:
            self.results.add(self._passive_finding(key))
        self._tallies.clear()

    # ------------------------------------------------------------------ writing

    def write(self, run: RunInfo) -> list[str]:
        """Writes all formats of the results; returns what went wrong, a sentence each."""
        from conformance.report.write import write_all
        from conformance.results.building import build as build_document

        try:
            self.document = build_document(self.results, self.target, run)
            written = write_all(self.document, self.folder)
        except OSError as error:
            return [f"The report could not be written to {self.folder}: {error}."]
        return [str(one) for one in written if isinstance(one, Exception)]


def report_folder(option: str | None, environment: Mapping[str, str], default: Path) -> Path:
    """Where the run writes, by option, CONFORMANCE_REPORT_DIR, or default."""
    chosen = option or environment.get("CONFORMANCE_REPORT_DIR")
    return Path(os.path.abspath(chosen)) if chosen else default
