"""Runs checks in one thread against the target, and returns their findings as ledgers."""

from __future__ import annotations

import itertools
import operator
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from conformance.checks import presence
from conformance.checks.check import Check, run_check
from conformance.fuzz.exploration import DEFAULT_EXAMPLES, Exploration, FuzzSettings
from conformance.judge.exchanges import exchange_record
from conformance.judge.findings import Finding
from conformance.judge.invariants import LOST
from conformance.judge.ledger import Ledger
from conformance.plugin.options import Options
from conformance.plugin.selection import Scope
from conformance.report.transcript import failure_text
from conformance.target.file import Target
from conformance.wire.budget import Budget
from conformance.world.run_context import RunContext

#: Seconds a worker may spend on confirming failures.
CONFIRMATION_BUDGET = 30.0

#: Bytes of a response body kept in memory after its check.
KEPT_BODY = 64 * 1024

EVERYTHING = Scope()


def fuzz_settings(options: Options, folder: Path, worker: int, workers: int) -> FuzzSettings:
    """Budget and seed of the generated tests in one of several workers; `folder` has the reports."""
    return FuzzSettings(
        seed=options.seed,
        examples=options.examples or DEFAULT_EXAMPLES,
        seconds=options.fuzz_time,
        database=str(folder / "examples"),
        worker=worker,
        workers=workers,
    )


class Worker:
    """Runs checks and explorations in one thread, and returns ledgers of their findings. The server's clock
    is `ahead` by so many seconds."""

    def __init__(
        self,
        target: Target,
        *,
        index: int,
        workers: int,
        settings: FuzzSettings,
        scope: Scope = EVERYTHING,
        budget: Budget | None = None,
        ahead: float = 0.0,
    ) -> None:
        self.index = index
        self.run = RunContext(target, first_number=index * 1_000_000 + 1, budget=budget)
        # Calibrated before the first request, which may be part of a race, which is not retried.
        self.run.clock.offset = ahead
        self.settings = settings
        self.scope = scope
        #: What earlier ledgers contained: exchanges, created resources, numbers sent, and findings on the
        #: rules of every response.
        self._seen = self._created = 0
        self._sent = 0, 0, 0.0
        self._reported: dict[tuple[str, str], Finding] = {}
        #: Broken rules of every response: True if the violation only shows that an operation does not exist.
        self._absent: dict[tuple[str, str], bool] = {}
        self._confirming = CONFIRMATION_BUDGET

    # ------------------------------------------------------------------ running

    def run_check(self, check: Check, operation: str) -> tuple[list[Finding], list[int]]:
        """Runs a check; returns its findings on selected cases, and its exchanges. Violations are
        confirmed."""
        findings, exchanges = run_check(check, operation, self.run)
        findings = self._asked_for(presence.explained(self.run, findings, exchanges))
        failed = [finding for finding in findings if finding.verdict.is_violation]
        if failed:
            self._confirm(check, operation, failed)
        return findings, exchanges

    def _confirm(self, check: Check, operation: str, failed: Iterable[Finding]) -> None:
        """Runs a failed check once more, alone and in new accounts."""
        if self._confirming <= 0:
            return
        begin, alone = time.monotonic(), self.run.alone()
        again, _ = run_check(check, operation, alone)
        broken = {finding.rule for finding in again if finding.verdict.is_violation}
        for finding in failed:
            finding.confirmed = "confirmed" if finding.rule in broken else "not reproduced"
        self.run.include(alone)
        self._confirming -= time.monotonic() - begin

    def explore(self, exploration: Exploration, part: str) -> list[Finding]:
        """The findings of an exploration."""
        findings = exploration.function(self.run, part, self.settings)
        return self._asked_for(presence.explained(self.run, findings, ()))

    def _asked_for(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings on selected cases: a check may cite more rules."""
        return [finding for finding in findings if self.scope.covers(finding.rule, finding.operation)]

    # ------------------------------------------------------------------ handing on

    def text(self, findings: Iterable[Finding]) -> str:
        """The text of violations for a terminal."""
        return failure_text(findings, self.run.record.get, self.run.redactor)

    def ledger(self, findings: Iterable[Finding] = (), *, last: bool = False) -> Ledger:
        """The redacted ledger of everything since the last one; `last` completes the rules of every response,
        of which only new results are sent before."""
        ledger, run, clean = Ledger(), self.run, self.run.redactor.clean
        for finding in [*findings, *self._every_response(last)]:
            ledger.add(finding, clean)
        for finding in ledger.findings:
            shown = [run.record[number] for number in finding.exchanges if number in run.record]
            finding.seconds = round(sum(exchange.elapsed for exchange in shown), 6)
            ledger.exchanges |= {
                exchange.number: exchange_record(exchange, run.redactor) for exchange in shown
            }
        fresh = list(itertools.islice(reversed(run.record.values()), len(run.record) - self._seen))
        self._seen += len(fresh)
        for exchange in reversed(fresh):
            exchange.trim(KEPT_BODY)
            # Parsed documents take several times the memory of their text, and are seldom used again.
            exchange.forget()
            if exchange.attempts:
                ledger.measure(exchange)
        sent = run.sent, run.retry.waits, run.retry.waited
        ledger.sent, ledger.waits, ledger.waited = map(operator.sub, sent, self._sent)
        self._sent = sent
        ledger.lost = clean(run.lost)
        ledger.missing = {name: clean(said) for name, said in presence.found(run).items()}
        made = run.made.resources[self._created :]
        self._created += len(made)
        ledger.created = [replace(one, id=clean(one.id), path=clean(one.path)) for one in made]
        return ledger

    def _every_response(self, last: bool) -> Iterator[Finding]:
        """Findings on the rules of every response that were first judged, or first broken, since the last
        ledger; at the end all, less what was sent before."""
        tallies = self.run.invariants.tallies
        asked = self._absent.keys()
        while unasked := [
            key for key in self.run.invariants.broken - asked if self.scope.reports(*key, True)
        ]:
            # Asking sends a request, which is judged like any other: before the tallies are read.
            for key in unasked:
                violations = tallies[key].violations
                self._absent[key] = bool(violations) and bool(
                    presence.lacks(self.run, violations[0].exchanges[:1])
                )
        for key, entry in tallies.items():
            known, broken = self._reported.get(key), entry.broken > 0
            # A rate of lost requests can only be judged at the end.
            news = key[0] != LOST and (known is None or (broken and not known.violations))
            if not (last or news) or not self.scope.reports(*key, broken):
                continue
            if broken and self._absent[key]:
                # The first violation only shows that an operation does not exist.
                continue
            found = self._reported[key] = entry.finding()
            if known is not None:
                found = replace(
                    found,
                    probes=found.probes - known.probes,
                    violations=found.violations - known.violations,
                )
            yield found
