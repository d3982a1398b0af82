"""One process's part of a run: it runs checks against the target and hands on what they found as plain
data."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from conformance._records import to_plain
from conformance.harness import presence
from conformance.harness.check import Check, run_check
from conformance.harness.exploration import DEFAULT_EXAMPLES, Exploration, FuzzSettings
from conformance.judge.exchanges import exchange_record
from conformance.judge.findings import Finding
from conformance.judge.invariants import Tally
from conformance.plugin.options import Options
from conformance.plugin.selection import Scope
from conformance.report.failure import failure_text
from conformance.target.file import Target
from conformance.wire.allowance import Allowance
from conformance.wire.messages import Exchange
from conformance.wire.throttle import Pace
from conformance.world.made import Made
from conformance.world.run_context import RunContext, Wanted, everything

#: Exchanges that a failed, and any other, finding takes along into the results.
FAILED_EVIDENCE, OTHER_EVIDENCE = 12, 1

#: Seconds that a worker spends on running failed checks again.
CONFIRMATION_BUDGET = 30.0

#: Exchanges before one that breaks a rule of every response that may bear on it.
AROUND = 40

#: Bytes of a response body that stay in memory after its check.
KEPT_BODY = 64 * 1024

EVERYTHING = Scope()


def fuzz_settings(options: Options, folder: Path, worker: int, workers: int) -> FuzzSettings:
    """Budget and seed of the property-based tests in one of several workers; `folder` is the report's."""
    database = options.fuzz_database or str(folder / "examples")
    return FuzzSettings(
        seed=options.seed,
        examples=options.examples or DEFAULT_EXAMPLES,
        seconds=options.fuzz_time,
        database=None if database == "none" else database,
        worker=worker,
        workers=workers,
        replay_folder=folder / "replays",
    )


class Worker:
    """Runs checks and explorations in one process; `plain` in its answers means what execnet can send."""

    def __init__(
        self,
        target: Target,
        *,
        index: int,
        workers: int,
        settings: FuzzSettings,
        scope: Scope = EVERYTHING,
        replay_folder: Path | None = None,
        allowance: Allowance | None = None,
        read_only: bool = False,
        wanted: Wanted = everything,
    ) -> None:
        pace = Pace(allowance, target.limits.retry_seconds) if allowance is not None else None
        self.index = index
        self.run = RunContext(
            target, first_number=index * 1_000_000 + 1, pace=pace, read_only=read_only, wanted=wanted
        )
        self.settings = settings
        self.scope = scope
        self._replay_folder = replay_folder
        self._seen = self._told = 0
        self._reported: dict[tuple[str, str], bool] = {}
        self._confirming = CONFIRMATION_BUDGET

    # ------------------------------------------------------------------ running

    def run_check(self, check: Check, operation: str) -> tuple[list[Finding], list[int]]:
        """Runs a check; returns its findings on cases that the run is about, and its exchanges. Failed ones
        are confirmed, and have replay files."""
        findings, exchanges = run_check(check, operation, self.run)
        findings = self._asked_for(presence.explained(self.run, findings, exchanges))
        failed = [finding for finding in findings if finding.verdict.is_violation]
        if failed and not check.waits:
            self._confirm(check, operation, failed)
        for finding in failed:
            finding.replay = finding.replay or self._replay_of(finding, exchanges, self.run)
        return findings, exchanges

    def _confirm(self, check: Check, operation: str, failed: Iterable[Finding]) -> None:
        """Runs a failed check once more, alone in accounts of its own. Where it fails again, the replay file
        is made from that run, in which no other check has had a part."""
        if self._confirming <= 0:
            return
        begin, alone = time.monotonic(), self.run.alone()
        again, exchanges = run_check(check, operation, alone)
        broken = {finding.rule: finding for finding in again if finding.verdict.is_violation}
        for finding in failed:
            finding.confirmed = "confirmed" if finding.rule in broken else "not reproduced"
            if finding.rule in broken:
                finding.replay = self._replay_of(broken[finding.rule], exchanges, alone)
        self.run.include(alone)
        self._confirming -= time.monotonic() - begin

    def explore(self, exploration: Exploration, part: str) -> list[Finding]:
        """An exploration's findings."""
        return self._asked_for(
            presence.explained(self.run, exploration.function(self.run, part, self.settings), ())
        )

    def _asked_for(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings on cases that the run is about: a check may cite more rules."""
        return [finding for finding in findings if self.scope.covers(finding.rule, finding.operation)]

    def _replay_of(self, finding: Finding, numbers: Iterable[int], run: RunContext) -> str:
        """Saves the replay file of a finding; its path relative to the folder of the report. `numbers` are
        those of the exchanges of the check, in the record of the run."""
        if self._replay_folder is None:
            return ""
        # Imported with the first failure: most runs have none.
        from conformance.replay import save

        exchanges = [run.record[number] for number in numbers if number in run.record]
        path = save(finding, exchanges, run, self._replay_folder)
        return f"{self._replay_folder.name}/{path.name}" if path is not None else ""

    # ------------------------------------------------------------------ handing on

    def text(self, findings: Iterable[Finding]) -> str:
        """What a terminal shows of failed findings."""
        return failure_text(findings, self.run.record.get, self.run.redactor)

    def payload(self, check: str, findings: list[Finding]) -> dict[str, Any]:
        """What the controller needs of a check that has just ended."""
        evidence: dict[int, dict[str, Any]] = {}
        redactor = self.run.redactor
        plain = []
        for finding in findings:
            finding.exchanges = finding.exchanges[
                : FAILED_EVIDENCE if finding.verdict.is_violation else OTHER_EVIDENCE
            ]
            self._keep(finding.exchanges, evidence)
            plain.append(redactor.data(finding.to_plain()))
        tallies = self._new_tallies()
        for tally in tallies:
            self._keep(tally["exchanges"], evidence)
        fresh = list(itertools.islice(self.run.record.values(), self._seen, None))
        self._seen += len(fresh)
        for exchange in fresh:
            exchange.trim(KEPT_BODY)
        return {
            "worker": self.index,
            "check": check,
            "findings": plain,
            "exchanges": list(evidence.values()),
            "tallies": redactor.data(tallies),
            **self._sent(),
            "timings": [_timing(exchange) for exchange in fresh if exchange.attempts],
            "lost": redactor.text(self.run.lost),
            "missing": redactor.data(presence.found(self.run)),
            "made": redactor.data([asdict(made) for made in self._newly_made()]),
        }

    def totals(self) -> dict[str, Any]:
        """What the controller needs when the worker ends."""
        tallies = [
            _tally_to_plain(key, tally)
            for key, tally in self.run.invariants.tallies.items()
            if self.scope.covers(*key)
            and not (tally.broken and presence.lacks(self.run, tally.exchanges[:1]))
        ]
        return {
            "worker": self.index,
            "tallies": self.run.redactor.data(tallies),
            **self._sent(),
        }

    def _sent(self) -> dict[str, Any]:
        """What has been sent, and how often and how long a rate limit was waited out."""
        pace = self.run.pace
        return {"sent": self.run.sent, "waits": pace.waits, "waited": pace.waited}

    def _newly_made(self) -> list[Made]:
        made = self.run.made.resources[self._told :]
        self._told += len(made)
        return made

    def _keep(self, numbers: Iterable[int], evidence: dict[int, dict[str, Any]]) -> None:
        for number in numbers:
            exchange = self.run.record.get(number)
            if exchange is not None and number not in evidence:
                evidence[number] = to_plain(exchange_record(exchange, self.run.redactor))

    def _new_tallies(self) -> list[dict[str, Any]]:
        """The invariants that were first judged, or first broken, since the last time."""
        fresh = []
        for key, tally in self.run.invariants.tallies.items():
            broken = tally.broken > 0
            if not self.scope.covers(*key) or (broken and presence.lacks(self.run, tally.exchanges[:1])):
                continue
            if key not in self._reported or broken > self._reported[key]:
                self._reported[key] = broken
                if broken:
                    around = _around(tally.witnesses)
                    tally.replay = self._replay_of(tally.violation(*key), around, self.run)
                fresh.append(_tally_to_plain(key, tally))
        return fresh


def _around(numbers: list[int]) -> range:
    """The numbers of exchanges before and between some, in which what bears on them is looked for."""
    return range(min(numbers) - AROUND, max(numbers) + 1)


def _timing(exchange: Exchange) -> tuple[int, str | None, int | None, float, float, int]:
    return (
        exchange.number,
        exchange.operation,
        exchange.status,
        exchange.started,
        exchange.elapsed,
        exchange.attempts,
    )


def _tally_to_plain(key: tuple[str, str], tally: Tally) -> dict[str, Any]:
    return {"rule": key[0], "operation": key[1], **asdict(tally)}
