"""The run as a whole, in the process that controls it: ledgers of tests as they come, signals, progress, the
results and the summary."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from conformance._files import TEST_FOLDERS, InputError, shortest
from conformance._text import count, duration, mistake, printable
from conformance.checks import note_left_out
from conformance.checks.check import CHECKS
from conformance.contract.rules import Level
from conformance.fuzz import load_tests
from conformance.fuzz.exploration import EXPLORATIONS
from conformance.judge.cells import Cell
from conformance.judge.ledger import Ledger
from conformance.judge.outcomes import Unclear
from conformance.judge.verdicts import Inconclusive
from conformance.plugin.lanes import LEDGER, Runner
from conformance.plugin.options import Options
from conformance.plugin.preparation import Tell, prepare
from conformance.plugin.selection import Job
from conformance.report.building import build as build_document
from conformance.report.document import RunRecord
from conformance.report.known_failures import KnownFailures, write_known
from conformance.report.terminal import Line, summary
from conformance.world.samples import run_label

#: pytest-xdist's name of the phase of a test whose process died.
CRASHED = "???"

_DIED = "the process that ran the check died: it was killed, perhaps for its memory"

#: Ends of pytest's session that are no interruption.
_ENDED = (
    pytest.ExitCode.OK,
    pytest.ExitCode.TESTS_FAILED,
    pytest.ExitCode.NO_TESTS_COLLECTED,
    pytest.ExitCode.INTERNAL_ERROR,
)

#: Seconds between updates of the progress.
INTERVAL = 0.5

#: pytest captures standard output during tests.
TERMINAL = Path("/dev/tty")


class Session:
    """A plugin of the process that controls the run. `server` is the embedded one, None for a user's; `tell`
    shows a line at once. Raises InputError if the run cannot begin."""

    def __init__(
        self,
        config: pytest.Config,
        options: Options,
        environment: Mapping[str, str],
        server: subprocess.Popen[str] | None,
        tell: Tell,
    ) -> None:
        self.options, self._tell = options, tell
        self.folder = _writable(Path(os.path.abspath(options.report_dir)))
        #: The run as known at its beginning.
        self.run = RunRecord(
            started=time.time(),
            seconds=0.0,
            seed=options.seed,
            options=dict(options.texts),
            embedded=server is not None,
            folder=shortest(self.folder),
            label=run_label(),
        )
        self.known = KnownFailures.load(options.known_failures) if options.known_failures else None
        self.server = prepare(options, environment, server, self.run.started, tell)
        self.ledger = Ledger.of_catalogue(self.server.target)
        self.ledger.sent = self.server.sent
        self.ledger.narrowed, self.ledger.effort = options.narrowed, str(options.effort)
        #: The tests of this process; None with pytest-xdist, which runs all in processes of their own.
        self.runner: Runner | None = None
        self.processes = 1
        #: True once a test has ended.
        self.ran = False
        #: Numbers of selected tests, and of the suite's own that failed; None before the collection.
        self._selected: int | None = None
        self._failed = 0
        #: The summary, once there are results.
        self._lines: list[Line] = []
        self._progress = Progress(config.pluginmanager.getplugin("terminalreporter"), self._pace)
        self._interruption = Interruption()
        config.add_cleanup(self._interruption.end)

    def process_data(self, process: int = 0) -> dict[str, Any]:
        """The data for a process that runs tests, as JSON data."""
        return {
            "process": process,
            "processes": self.processes,
            "target": self.server.target.to_plain(),
            "folder": str(self.folder),
            "seed": self.options.seed,
            "lanes": 1 if self.processes > 1 else self.server.lanes,
            "started": self.run.started,
            "label": self.run.label,
            "ahead": self.server.ahead,
            "known": msgspec.to_builtins(self.known.entries) if self.known else [],
        }

    # ------------------------------------------------------------------ before

    def pytest_report_header(self) -> str:
        where = "the embedded reference server" if self.run.embedded else self.server.target.base_url
        number = self.server.lanes or 1
        lanes = f", {number} lanes" if self.runner and number > 1 else ""
        return printable(f"conformance: judging {where}, seed {self.options.seed}{lanes}")

    def pytest_report_collectionfinish(self, items: list[pytest.Item]) -> None:
        self._begin(len(items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        self._begin(len(ids))

    def _begin(self, selected: int) -> None:
        if self._selected is None:
            self._selected = selected
            self._progress.begin()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Sends a process of pytest-xdist its data."""
        self.processes = node.workerinput["workercount"]
        process = int(node.workerinput["workerid"].removeprefix("gw"))
        node.workerinput["conformance"] = self.process_data(process)

    # ------------------------------------------------------------------ while it runs

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        with self._noting(report.nodeid.rpartition("/")[2]):
            if report.when == CRASHED:
                self.lose(report)
            packed: Any = dict(report.user_properties).get(LEDGER)
            if packed is None:
                return
            # Before other plugins see it, and pytest keeps it in memory to the end.
            report.user_properties[:] = [each for each in report.user_properties if each[0] != LEDGER]
            self._failed += report.failed
            self.ran = True
            ledger = Ledger.from_json(packed)
            # pytest-rerunfailures runs the test again.
            self.ledger.merge(ledger.without_cells() if str(report.outcome) == "rerun" else ledger)

    def lose(self, report: pytest.TestReport) -> None:
        """Notes a test whose process died: it is inconclusive."""
        if (job := job_named(report.nodeid)) is None:
            return
        self.ran = True
        report.outcome, report.longrepr = "skipped", (report.location[0], 0, f"Skipped: {_DIED}")
        for key in job.cells:
            self.ledger.add(
                Cell(*key).concluded(job.judged.name, Inconclusive(Unclear(_DIED, remedy="Run it again.")))
            )

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        if packed := getattr(node, "workeroutput", {}).get(LEDGER):
            with self._noting(f"process {node.gateway.id}"):
                self.ledger.merge(Ledger.from_json(packed))

    def _pace(self, seconds: float) -> str:
        """The progress after so many seconds."""
        return f"{duration(seconds)}, {count(self.ledger.sent, 'request')}"

    @contextlib.contextmanager
    def _noting(self, place: str) -> Iterator[None]:
        """Notes an exception of the suite in a place of the run, which goes on."""
        try:
            yield
        except Exception as error:
            self._fail(mistake(place, error))

    def _fail(self, error: str) -> None:
        """Notes an error of the suite itself."""
        self.ran = True
        if error[:500] not in self.ledger.errors:
            self.ledger.errors.append(error[:500])

    # ------------------------------------------------------------------ the end

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        self._interruption.hold(interrupted=True)
        self._tell("conformance: reporting what was measured, a moment (SIGKILL ends it at once)")

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        # That of another process is the repr of its traceback, with the exception last.
        lines = [line for line in str(excinfo.value).splitlines() if line.strip()] or [""]
        self._fail(f"an error inside pytest: {excinfo.typename}: {lines[-1].strip()}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        self._interruption.hold()
        self._progress.close()
        interrupted = "" if exitstatus in _ENDED else "by the user or the system"
        if self.runner is not None:
            self.ledger.merge(self.runner.stop(bool(interrupted)))
        # A run interrupted before its first test ended writes reports, too.
        if self.ran or (interrupted and self._selected):
            session.exitstatus = self._finish(interrupted, session.testsfailed > self._failed)

    def _finish(self, interrupted: str, others_failed: bool) -> int:
        """Makes the summary, and writes the results and the files requested by options; returns the exit
        status of the run.

        What cannot be made is an error of the suite: the verdict, which all formats state, is then decided
        again.
        """
        # Imported late, so that the first check begins sooner.
        from conformance.report.write import write_all

        if self.ledger.narrowed:
            note_left_out(self.ledger)
        while True:
            status, errors = int(pytest.ExitCode.INTERNAL_ERROR), len(self.ledger.errors)
            seconds = time.time() - self.run.started
            pace = self.runner.pace.described() if self.runner is not None else []
            run = replace(
                self.run, seconds=seconds, interrupted=interrupted, workers=self.processes, pace=pace
            )
            with self._noting("the verdict"):
                document = build_document(
                    self.ledger,
                    self.server.target,
                    run,
                    fail_on=Level(self.options.fail_on),
                    known=self.known,
                    others_failed=others_failed,
                )
                status = document.verdict.exit_status
                more: list[Line] = []
                with self._noting("--write-known-failures"):
                    if path := self.options.write_known_failures:
                        write_known(self.ledger, path, known=self.known)
                        more = [(f"Known failures were written to {path}; give each entry its reason.", {})]
                with self._noting("the terminal"):
                    width, verbose = shutil.get_terminal_size().columns, self.options.verbosity > 0
                    lines = summary(document, folder=self.folder, width=width, verbose=verbose)
                    self._lines = [*lines, *more]
                for problem in write_all(document, self.folder):
                    self._fail(problem)
            if len(self.ledger.errors) == errors:
                return status

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None, None, None]:
        """Writes the summary behind pytest's own, so that it is the last screen."""
        yield
        if lines := self._lines or [(error, {"red": True}) for error in self.ledger.errors]:
            terminalreporter.section("conformance", sep="=")
        for text, markup in lines:
            terminalreporter.write_line(printable(text), **markup)


def job_named(nodeid: str) -> Job | None:
    """The job of a test of the suite by its node id; None for other tests."""
    path, _, rest = nodeid.partition("::")
    function, _, parameter = rest.partition("[")
    module = Path(path)
    if module.parent.name not in {folder.name for folder in TEST_FOLDERS}:
        return None
    load_tests()
    name = f"{module.stem}.{function}"
    judged = CHECKS.get(name) or EXPLORATIONS.get(name)
    return Job(judged, parameter.rstrip("]")) if judged else None


def _writable(folder: Path) -> Path:
    """The folder of the reports, created. Raises InputError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise InputError(
            f"--report-dir {folder}: nothing can be written there ({error.strerror or error}); name a folder "
            "that this user may write to."
        ) from None


# --------------------------------------------------------------------------- progress


class Progress:
    """Writes `text(seconds)` to the right of the cursor, without moving it, from `begin` to `close`."""

    def __init__(self, reporter: Any, text: Callable[[float], str]) -> None:
        self._text = text
        self._watched = getattr(reporter, "isatty", False) and getattr(reporter, "hasmarkup", False)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tick, name="conformance progress", daemon=True)

    def begin(self) -> None:
        """Starts the clock."""
        if self._watched and os.environ.get("TERM", "dumb") != "dumb":
            self._thread.start()

    def close(self) -> None:
        """Clears the text."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _tick(self) -> None:
        begin = time.monotonic()
        # There may be no terminal, or no longer.
        with contextlib.suppress(OSError), TERMINAL.open("a", encoding="utf-8") as terminal:
            while not self._over.wait(INTERVAL):
                terminal.write(f"\x1b7  {self._text(time.monotonic() - begin)}\x1b[K\x1b8")
                terminal.flush()
            terminal.write("\x1b7\x1b[K\x1b8")


# --------------------------------------------------------------------------- signals


class Interruption:
    """The signals of one run, in the main thread; in other threads the embedding program handles them.

    From its beginning SIGTERM interrupts the run as SIGINT does.
    """

    def __init__(self) -> None:
        self._after = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        _handle({signal.SIGTERM: signal.default_int_handler})

    def hold(self, *, interrupted: bool = False) -> None:
        """Ignores further signals while results are written, which takes seconds."""
        _handle(dict.fromkeys(self._after, signal.SIG_IGN))
        if interrupted:
            self._after = dict.fromkeys(self._after, _exit)

    def end(self) -> None:
        """Restores the handlers; after an interruption, though, a further signal ends the process."""
        _handle(self._after)


def _handle(handlers: Mapping[signal.Signals, Any]) -> None:
    with contextlib.suppress(ValueError):
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _exit(*_: object) -> None:
    """Ends the process as an interrupted run does."""
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        sys.stdout.flush()
    os._exit(pytest.ExitCode.INTERRUPTED)
