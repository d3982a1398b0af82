"""The process that controls a run: it prepares the target, merges the ledgers of tests, and writes the
results."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from conformance._files import InputError
from conformance._text import printable
from conformance.contract.rules import Level
from conformance.diagnosis.examination import Examination
from conformance.diagnosis.examine import at_once, latency, preflight, rate_limit
from conformance.judge.cells import Cell
from conformance.judge.ledger import Ledger
from conformance.judge.verdicts import Inconclusive
from conformance.plugin.options import EMBEDDED, Options
from conformance.plugin.selection import Job
from conformance.report.building import build as build_document
from conformance.report.document import Document
from conformance.report.known_failures import KnownFailures, write_known
from conformance.report.verdict import RunInfo
from conformance.target.environment import given
from conformance.target.file import Target, build, load
from conformance.wire.budget import Budget
from conformance.wire.transport import Transport
from conformance.world.samples import run_label

#: Seconds between attempts to reach a server that is starting, and the timeout of an attempt.
PAUSE, TRY = 0.2, 2.0

#: Processor time of a request in seconds; at a lower latency more lanes do not help.
OWN_TIME = 0.003

#: Minimum and maximum number of lanes on a user's server. Even with low latency several help under eventual
#: consistency, where a lane mostly waits for writes to show.
FEWEST, MOST = 4, 32

#: Requests a second; the run adopts a rate limit below this.
SLOW = 50

#: Seconds that the slowest of as many requests at once as there are lanes may take.
CALM = 3.0


def suggested(latency: float) -> int:
    """The number of lanes at a latency in seconds."""
    return max(FEWEST, min(MOST, round(latency / OWN_TIME)))


def share(target: Target, started: float, processes: int = 1) -> Budget:
    """The budget of one process of a run that began at `started` (Unix seconds), with its part of the
    rate."""
    timeout, rate = target.limits.run_timeout, target.limits.requests_per_second
    if timeout is None:
        return Budget(requests_per_second=rate / processes)
    over = f"the run's time was over ({timeout:g} s, --run-timeout)"
    return Budget(end=started + timeout, over=over, requests_per_second=rate / processes)


class Controller:
    """The run as a whole. Raises InputError if it cannot begin.

    `tell` shows a line immediately, since preparing may take a while before pytest prints anything.
    """

    def __init__(self, options: Options, environment: Mapping[str, str], tell: Callable[[str], None]) -> None:
        self.options = options
        self.started = time.time()
        self.known = KnownFailures.load(options.known_failures) if options.known_failures else None
        self.folder = Path(os.path.abspath(options.folder / options.report_dir))
        self._writable()
        self._temporary = Path(tempfile.mkdtemp(prefix="conformance-"))
        self._server: EmbeddedServer | None = None
        #: Latency and clock offset of the server in seconds, as measured before the first check.
        self._latency = self._ahead = 0.0
        self._lanes = 1
        #: Requests sent before the first check.
        self._examined = 0
        try:
            self.target = self._target(environment, tell)
        except BaseException:
            self.close()
            raise
        self.ledger = Ledger.of_catalogue(self.target)
        self.ledger.sent = self._examined
        self.ledger.narrowed = options.narrowed
        self.ledger.effort = str(options.effort)
        #: Number of processes of pytest-xdist, or 1.
        self.processes = 1
        #: True once a test has ended.
        self.ran = False
        #: The results document, once built.
        self.document: Document | None = None
        #: The list written at the user's request, in a sentence.
        self.written = ""

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
            first = share(target, self.started)
            if self.options.wait:
                wait_for(target, self.options.wait, first, tell)
            tell(printable(f"conformance: examining {target.base_url}"))
            examined = preflight(target, budget=first)
            self._latency, self._ahead = latency(examined), examined.clock.offset
            self._lanes = self.options.lanes or self._sustained(examined, tell)
            self._examined = first.admitted
            return target if target.limits.requests_per_second else self._paced(target, examined, tell)
        in_ci = environment.get("CI", "").strip().lower() not in ("", "0", "false", "no")
        if self.options.target is None and self.options.installed and in_ci:
            raise InputError(
                "no --target FILE and no --base-url URL is given, so that only the suite's own reference "
                "server would be judged; in CI (the environment variable CI is set) this is taken for a "
                "mistake. Name your server, or ask for the embedded one with --target embedded."
            )
        tell("conformance: starting the embedded reference server")
        self._server = EmbeddedServer(self._temporary / "embedded.log")
        return self._limited(build(self._server.tables(), "embedded server"))

    def _sustained(self, examined: Examination, tell: Callable[[str], None]) -> int:
        """The number of lanes by the server's latency, fewer where that rises with them."""
        lanes = suggested(self._latency)
        while lanes > 1 and lanes * self._latency > CALM and at_once(examined, lanes) > CALM:
            lanes //= 2
            tell(
                f"conformance: {2 * lanes} requests at once take longer than {CALM:g} s: the run keeps to "
                f"{lanes}; --lanes N sets another number"
            )
        return lanes

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
        limits = replace(target.limits, **self.options.limits)
        return replace(target, limits=limits)

    def close(self) -> None:
        """Stops the embedded server and removes temporary files; may be called twice."""
        if self._server is not None:
            self._server.stop()
        shutil.rmtree(self._temporary, ignore_errors=True)

    @property
    def lanes(self) -> int:
        """Number of lanes of each process."""
        if self.processes > 1:
            return 1
        return self.options.lanes or self._lanes

    def process_data(self, process: int = 0) -> dict[str, Any]:
        """The data for a process that runs tests, as JSON data."""
        return {
            "process": process,
            "processes": self.processes,
            "target": self.target.to_plain(),
            "folder": str(self.folder),
            "seed": self.options.seed,
            "lanes": self.lanes,
            "started": self.started,
            "label": run_label(),
            "ahead": self._ahead,
            "known": msgspec.to_builtins(self.known.entries) if self.known else [],
        }

    # ------------------------------------------------------------------ collecting

    def take(self, ledger: Ledger) -> None:
        """Merges the ledger of a test."""
        self.ran = True
        self.ledger.merge(ledger)

    def lose(self, job: Job) -> str:
        """Notes a test whose process died; returns the reason."""
        reason = "the process that ran the check died: it was killed, perhaps for its memory"
        stop = Inconclusive(reason, "Run it again.")
        for key in job.cells:
            self.ledger.add(Cell(*key).concluded(job.judged.name, stop))
        return reason

    @contextlib.contextmanager
    def noting(self, place: str) -> Iterator[None]:
        """Notes an exception of the suite in a place of the run, which goes on."""
        try:
            yield
        except Exception as error:
            self.fail(f"{place}: {type(error).__name__}: {error}")

    def fail(self, error: str) -> None:
        """Notes an error of the suite itself."""
        self.ran = True
        if error[:500] not in self.ledger.errors:
            self.ledger.errors.append(error[:500])

    # ------------------------------------------------------------------ writing

    def finish(self, interrupted: str, others_failed: bool, render: Callable[[Document], object]) -> int:
        """Writes the results and the files requested by options; returns the exit status of the run.

        `render` makes what the terminal shows. A format that cannot be made is an error of the suite: the
        verdict, which all formats state, is then decided again.
        """
        # Imported late, so that the first check begins sooner.
        from conformance.report.write import write_all

        while True:
            errors = len(self.ledger.errors)
            with self.noting("the verdict"):
                run = self._info(interrupted, others_failed)
                self.document = build_document(self.ledger, self.target, run)
                with self.noting("the terminal"):
                    render(self.document)
                with self.noting("--write-known-failures"):
                    self._write_list()
                for problem in write_all(self.document, self.folder):
                    self.fail(problem)
            if len(self.ledger.errors) == errors:
                break
        return self.document.verdict.exit_status if self.document else 3

    def _info(self, interrupted: str, others_failed: bool) -> RunInfo:
        return RunInfo(
            started=self.started,
            ended=time.time(),
            seed=self.options.seed,
            options=dict(self.options.given),
            embedded=self.embedded,
            interrupted=interrupted,
            others_failed=others_failed,
            workers=self.processes,
            fail_on=Level(self.options.fail_on),
            known=self.known,
            folder=self.folder,
            label=run_label(),
        )

    def _write_list(self) -> None:
        if path := self.options.write_known_failures:
            write_known(self.ledger, path, known=self.known)
            self.written = f"Known failures were written to {path}; give each entry its reason."


# --------------------------------------------------------------------------- the server


def named_target(options: Options, environment: Mapping[str, str]) -> Target | None:
    """The target that options and environment name; None for the embedded server. Raises InputError."""
    file, base_url = options.target, options.base_url
    if file == EMBEDDED or not (file or base_url or given(environment)):
        return None
    return load(Path(file) if file else None, environment, base_url)


class EmbeddedServer:
    """The reference server in a child process, which also ends when this process does. `log` is a file for
    its errors."""

    def __init__(self, log: Path) -> None:
        self._log = log
        module = "conformance.reference.serving.embedded"
        paths = filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")])
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            )

    def tables(self) -> dict[str, Any]:
        """The tables of the server's target file, once it accepts requests. Raises InputError."""
        assert self._process.stdout is not None
        with self._process.stdout as output:
            line = output.readline()
        if not line:
            tail = self._log.read_text("utf-8", "replace").strip().splitlines()[-1:]
            raise InputError(f"The embedded reference server did not start: {''.join(tail)}.")
        tables: dict[str, Any] = json.loads(line)
        return tables

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def wait_for(target: Target, seconds: float, budget: Budget, tell: Callable[[str], None]) -> None:
    """Waits until the server answers anything. Raises InputError after so many seconds."""
    end = time.monotonic() + seconds
    hasty = replace(target, limits=replace(target.limits, request_timeout=TRY))
    with Transport(target.tls) as transport:
        examination = Examination(hasty, transport, budget=budget)
        while (answer := examination.listed(target.primary)).status is None:
            if len(examination.exchanges) == 1:
                tell(printable(f"conformance: waiting at most {seconds:g} s for {target.base_url}"))
            if time.monotonic() + PAUSE > end:
                raise InputError(
                    printable(
                        f"{target.base_url} did not answer within {seconds:g} s (--wait): {answer.error}."
                    )
                )
            time.sleep(PAUSE)
