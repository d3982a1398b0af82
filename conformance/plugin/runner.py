"""Runs the tests of one process for pytest, and packs what they found into pytest's reports."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance._private import serialize_parsing
from conformance.fuzz.exploration import DEFAULT_EXAMPLES, FuzzSettings
from conformance.judge.ledger import Ledger
from conformance.plugin.controller import share
from conformance.plugin.lanes import Lanes
from conformance.plugin.options import Options
from conformance.plugin.worker import Job, JobOutcome, Worker
from conformance.report.document import KnownFailureRecord
from conformance.report.known_failures import KnownFailures
from conformance.report.transcript import failure_text
from conformance.target.file import Target
from conformance.target.redaction import Redactor
from conformance.world.lag import Lag
from conformance.world.samples import label_run

#: Thresholds of the garbage collector while tests run. A run keeps most objects: with Python's own thresholds
#: it takes 8 % longer.
_GARBAGE = 10_000, 10, 10

#: Numbers of workers of a process, so that those of all processes differ.
WORKERS = 64

#: The property of a test's report that has its ledger, until the controller takes it.
LEDGER = "conformance ledger"

#: The exceptions by which a test tells its outcome; any other is an error of the suite.
_OUTCOMES = (pytest.skip.Exception, pytest.xfail.Exception)


class BrokenRule(AssertionError):
    """The server breaks a rule; the text is shown on the terminal. Derived from AssertionError so that other
    plugins report a failure, not an error."""


class Runner:
    """The tests of this process, run by lanes with the controller's data (see `Controller.process_data`)."""

    def __init__(self, options: Options, data: Mapping[str, Any]) -> None:
        self._options = options
        self._garbage = gc.get_threshold()
        gc.set_threshold(*_GARBAGE)
        target, folder = Target.from_plain(data["target"]), Path(data["folder"])
        self._redactor = Redactor(target)
        self._known = KnownFailures(msgspec.convert(data["known"], list[KnownFailureRecord]))
        label_run(data["label"])
        budget = share(target, data["started"], data["processes"])
        workers = data["processes"] * data["lanes"]
        lag = Lag(target.limits.shows_within)

        def make(number: int) -> Worker:
            index = data["process"] * WORKERS + number
            return Worker(
                target,
                index=index,
                settings=FuzzSettings(
                    seed=options.seed,
                    examples=options.examples or DEFAULT_EXAMPLES,
                    seconds=options.fuzz_time,
                    database=str(folder / "examples"),
                    workers=workers,
                ),
                scope=options.scope,
                budget=budget,
                ahead=data["ahead"],
                lag=lag,
            )

        if data["lanes"] > 1:
            serialize_parsing()
        self._lanes = Lanes(make, data["lanes"])
        #: Node id -> outcome of its last run.
        self._outcomes: dict[str, JobOutcome] = {}

    def begin(self, jobs: Mapping[str, Job]) -> None:
        """Starts jobs, by node id in the order of the run."""
        self._lanes.begin(jobs)

    def run(self, item: pytest.Item, job: Job) -> None:
        """Runs a test, or takes its outcome. Raises BrokenRule, pytest's skip or xfail, or the suite's own
        error."""
        outcome = self._outcomes[item.nodeid] = self._lanes.outcome(item.nodeid, job)
        if outcome.error is not None:
            raise outcome.error
        item.user_properties[:] = [each for each in item.user_properties if each[0] != "verdict"]
        item.user_properties.append(("verdict", outcome.verdict))
        failures = outcome.failures(self._options.failing)
        reasons = [self._known.reason(*cell.key) for cell in failures]
        if failures and all(reasons):
            # Does nothing under --runxfail.
            pytest.xfail(f"known failure: {reasons[0]}")
        if failures:
            raise BrokenRule(failure_text(failures, outcome.ledger.exchanges, self._options.verbosity > 0))
        if outcome.gap:
            pytest.skip(outcome.gap)

    def complete(self, item: pytest.Item, report: pytest.TestReport, error: BaseException | None) -> None:
        """Completes the report of a test that ended with an exception or None: the ledger, the time of the
        test instead of that of its turn, and where it stands."""
        outcome = self._outcomes.pop(item.nodeid, JobOutcome(Ledger()))
        report.duration = outcome.seconds or report.duration
        if isinstance(error, BrokenRule):
            report.longrepr = str(error)
        elif isinstance(error, _OUTCOMES) and isinstance(report.longrepr, tuple):
            path, line, _ = item.location
            report.longrepr = str(path), (line or 0) + 1, report.longrepr[2]
        elif error is not None and not isinstance(error, _OUTCOMES) and not outcome.ledger.errors:
            outcome.ledger.errors.append(self._described(item, error))
        try:
            packed = outcome.ledger.to_json()
        except Exception as problem:
            report.outcome = "failed"
            report.longrepr = text = self._described(item, problem)
            packed = Ledger(errors=[text]).to_json()
        report.user_properties.append((LEDGER, packed))

    def stop(self) -> Ledger:
        """Ends all tests; returns the ledger of what no report told."""
        gc.set_threshold(*self._garbage)
        try:
            return self._lanes.stop()
        except Exception as error:
            return Ledger(errors=[f"the end of the run: {type(error).__name__}: {error}"[:500]])

    def _described(self, item: pytest.Item, error: BaseException) -> str:
        return self._redactor.clean(f"{item.nodeid.rpartition('/')[2]}: {type(error).__name__}: {error}")[
            :500
        ]
