"""The process that controls a run: it prepares the target, merges the ledgers of workers, and writes the
results."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import httpx

from conformance._files import InputError
from conformance._options import Effort
from conformance._text import printable
from conformance.contract.rules import Level
from conformance.diagnosis.examination import Examination
from conformance.diagnosis.examine import latency, preflight, rate_limit
from conformance.judge.findings import EVERY_RESPONSE, Finding, Inconclusive
from conformance.judge.ledger import Entry, Ledger
from conformance.plugin.embedded_server import EmbeddedServer, named_target
from conformance.plugin.lanes import FEWEST, generated_time, suggested
from conformance.plugin.options import Options
from conformance.plugin.plan import QUICK_WORKERS, Plan, budget, cases, judged_by
from conformance.report.building import RunInfo
from conformance.report.building import build as build_document
from conformance.report.document import Document
from conformance.report.known_failures import KnownFailures, write_known
from conformance.target.file import NO_FILES, Target, Tls, build
from conformance.wire.budget import Quantity
from conformance.wire.client import USER_AGENT
from conformance.wire.transport import Transport
from conformance.world.samples import run_label

#: Seconds between attempts to reach a server that is starting, and the timeout of an attempt.
PAUSE, TRY = 0.2, 2.0

#: Requests a second; the run adopts a rate limit below this.
SLOW = 50


class Controller:
    """The run as a whole. Raises InputError if it cannot begin.

    `tell` shows a line immediately, since preparing may take a while before pytest prints anything.
    """

    def __init__(self, options: Options, environment: Mapping[str, str], tell: Callable[[str], None]) -> None:
        self.options = options
        self.started = time.time()
        known = options.known_failures
        self.known = KnownFailures.load(known) if known else None
        self.folder = Path(os.path.abspath(options.folder / options.report_dir))
        self._writable()
        self.run_folder = Path(tempfile.mkdtemp(prefix="conformance-"))
        self._server: EmbeddedServer | None = None
        #: Latency and clock offset of the server in seconds, as measured before the first check.
        self._latency = self._ahead = 0.0
        #: Requests sent before the first check.
        self._spent = 0
        try:
            self.target = self._target(environment, tell)
        except BaseException:
            self.close()
            raise
        self.ledger = Ledger.of_catalogue(self.target)
        self.ledger.sent = self._spent
        self.ledger.narrowed = options.narrowed
        self.ledger.effort = str(options.effort)
        self.ran = 0
        #: Number of processes of pytest-xdist, or 1.
        self.workers = 1
        #: The results document, once built.
        self.document: Document | None = None
        #: Problems of writing reports, a sentence each.
        self.problems: list[str] = []
        #: The lists written at the user's request, a sentence each.
        self.lists: list[str] = []
        self._broken: set[tuple[str, str]] = set()
        #: Node ids of tests whose process died, until another process has run them.
        self.unfinished: set[str] = set()

    @property
    def embedded(self) -> bool:
        """True if the run judges the suite's own reference server."""
        return self._server is not None

    # ------------------------------------------------------------------ beginning and end

    def _writable(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            raise InputError(
                f"--report-dir {self.folder}: nothing can be written there ({error.strerror or error}); "
                "name a folder that this user may write to."
            ) from None

    def _target(self, environment: Mapping[str, str], tell: Callable[[str], None]) -> Target:
        if named := named_target(self.options, environment):
            target = self._limited(named)
            if self.options.wait:
                wait_for(target.base_url, self.options.wait, tell, target.tls)
            tell(printable(f"conformance: examining {target.base_url}"))
            first = budget(target.limits, self.started)
            examined = preflight(target, budget=first)
            self._latency, self._ahead = latency(examined), examined.clock.offset
            paced = target if target.limits.requests_per_second else self._paced(target, examined, tell)
            self._spent = first.used[Quantity.REQUESTS]
            return paced
        in_ci = environment.get("CI", "").strip().lower() not in ("", "0", "false", "no")
        if self.options.target is None and self.options.installed and in_ci:
            raise InputError(
                "no --target FILE and no --base-url URL is given, so that only the suite's own reference "
                "server would be judged; in CI (the environment variable CI is set) this is taken for a "
                "mistake. Name your server, or ask for the embedded one with --target embedded."
            )
        tell("conformance: starting the embedded reference server")
        self._server = EmbeddedServer(self.run_folder)
        return self._limited(build(self._server.tables(), "embedded server"))

    def _paced(self, target: Target, examined: Examination, tell: Callable[[str], None]) -> Target:
        """The target, limited to the rate of a slow rate limiter if one was measured."""
        rate = rate_limit(examined)
        if not 0 < rate < SLOW:
            return target
        tell(
            f"conformance: the server limits requests (429): the run keeps to {rate:.2g} a second, as "
            "measured; --rate N sets another rate"
        )
        return replace(target, limits=replace(target.limits, requests_per_second=rate))

    def _limited(self, target: Target) -> Target:
        """The target with the limits given by options."""
        limits = replace(target.limits, **self.options.limits)  # type: ignore[arg-type]
        return replace(target, limits=limits)

    def announce(self, planned: Plan) -> None:
        """Records the announcement of the run."""
        self.ledger.announced = astuple(planned.total)

    def close(self) -> None:
        """Stops the embedded server and removes temporary files; may be called twice."""
        if self._server is not None:
            self._server.stop()
        shutil.rmtree(self.run_folder, ignore_errors=True)

    @property
    def lanes(self) -> int:
        """Number of lanes of each process."""
        quick, near = self.options.effort is Effort.QUICK, suggested(self._latency) == FEWEST
        if self.options.lanes is None and (self.embedded or (quick and near)):
            return 1
        if quick:
            return max(1, min(self.options.lanes or 2, QUICK_WORKERS // self.processes))
        return self.options.lanes or suggested(self._latency, self.workers)

    @property
    def processes(self) -> int:
        """Number of processes that run tests."""
        return min(self.workers, QUICK_WORKERS) if self.options.effort is Effort.QUICK else self.workers

    @property
    def generated(self) -> float | None:
        """The cost of a generated request relative to one of a check (see `execution.share`), scaled by
        --fuzz-examples; None under --fuzz-time, where all processes generate."""
        if self.options.fuzz_time is not None:
            return None
        return cases(self.options.examples) * generated_time(self._latency)

    def data_for(self, process: int = 0) -> dict[str, Any]:
        """The data for a process that runs tests, as JSON data."""
        return {
            "place": (process, self.processes, self.generated),
            "target": self.target.to_plain(),
            "folder": str(self.folder),
            "seed": self.options.seed,
            "lanes": self.lanes,
            "started": self.started,
            "label": run_label(),
            "spent": self._spent,
            "ahead": self._ahead,
        }

    def known_reason(self, rule: str, operation: str) -> str:
        """The reason listed for a known violation; empty if it is not known."""
        return self.known.reason(rule, operation) if self.known else ""

    # ------------------------------------------------------------------ collecting

    def take(self, ledger: Ledger) -> list[Finding]:
        """Merges the ledger of a test; returns new violations of the rules of every response."""
        self.ran += 1
        self.ledger.merge(ledger)
        found = [
            finding
            for finding in ledger.findings
            if finding.check == EVERY_RESPONSE
            and finding.violations
            and (finding.rule, finding.operation) not in self._broken
        ]
        self._broken |= {(finding.rule, finding.operation) for finding in found}
        return found

    def conclude(self) -> None:
        """Completes the ledger with the tests that no process finished."""
        for nodeid in sorted(self.unfinished):
            for finding in _not_finished(nodeid):
                self.ledger.add(finding)

    # ------------------------------------------------------------------ writing

    def finish(self, interrupted: str) -> None:
        """Writes all formats of the results, and the files requested by options."""
        # Imported late, so that the first check begins sooner.
        from conformance.report.write import write_all

        try:
            self.document = build_document(self.ledger, self.target, self._info(interrupted))
            _, problems = write_all(self.document, self.folder)
            self.problems += problems
        except OSError as error:
            self.problems.append(f"The report could not be written to {self.folder}: {error}.")
        try:
            if self.ran:
                self._write_lists()
        except OSError as error:
            self.problems.append(f"{error.filename or 'a file'} could not be written: {error.strerror}.")

    def _info(self, interrupted: str) -> RunInfo:
        return RunInfo(
            started=self.started,
            ended=time.time(),
            seed=self.options.seed,
            options=dict(self.options.given),
            embedded=self.embedded,
            interrupted=interrupted,
            workers=self.workers,
            fail_on=Level(self.options.fail_on),
            known=self.known,
            folder=self.folder,
            label=run_label(),
        )

    def _write_lists(self) -> None:
        if path := self.options.write_known_failures:
            write_known(self.ledger, path, known=self.known)
            self.lists.append(f"Known failures were written to {path}; give each entry its reason.")

    @property
    def exit_status(self) -> int:
        """The exit status of the finished run."""
        return self.document.exit_status(self.problems) if self.document else 3


def _not_finished(nodeid: str) -> list[Finding]:
    """Inconclusive findings of a check whose process died."""
    check, operation = judged_by(nodeid) or (None, "")
    if check is None:
        return []
    reason = "the process that ran the check died: it was killed, perhaps for its memory"
    stop = Inconclusive(reason, "Run it again.")
    return [Entry(rule.id, operation, check.name).finding(stop) for rule in check.rules_on(operation)]


def wait_for(base_url: str, seconds: float, tell: Callable[[str], None], files: Tls = NO_FILES) -> None:
    """Waits until anything answers HTTP at an address. Raises InputError after so many seconds."""
    end, told = time.monotonic() + seconds, False
    named = {"User-Agent": USER_AGENT}
    with httpx.Client(
        transport=Transport(files), timeout=TRY, follow_redirects=False, headers=named
    ) as client:
        while True:
            try:
                with client.stream("GET", base_url):
                    return
            except httpx.HTTPError as error:
                reason = f"{type(error).__name__}: {error}"
            if time.monotonic() + PAUSE > end:
                raise InputError(
                    printable(f"{base_url} did not answer within {seconds:g} s (--wait): {reason}.")
                )
            if not told:
                tell(printable(f"conformance: waiting at most {seconds:g} s for {base_url}"))
                told = True
            time.sleep(PAUSE)
