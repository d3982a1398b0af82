"""The session of the controlling process: ledgers of tests as they come, the end of the run, the summary; and
beside pytest's progress how long the run has taken, and signals."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import Any

import pytest

from conformance._text import count, duration, milliseconds, printable
from conformance.judge.ledger import Ledger
from conformance.plugin.controller import Controller
from conformance.plugin.lanes import LEDGER, Runner
from conformance.plugin.worker import job_of
from conformance.report.document import Document
from conformance.report.terminal import Line, summary

#: pytest-xdist's name of the phase of a test whose process died.
CRASHED = "???"

#: The outcome of a test that violates rules which do not fail the run: pytest's category, letter and word.
WARNED = "warned", "w", ("WARNED", {"yellow": True})

_NOTHING = (
    "conformance: no test was selected, so nothing was judged. -k looks for words in the names of tests, -m "
    "'not fuzz' leaves generated requests out; --rule, --operation and --section select by the catalogue, "
    "which `conformance rules` lists."
)

_ENDED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)

#: Seconds between updates.
INTERVAL = 0.5

#: pytest captures standard output during tests.
TERMINAL = Path("/dev/tty")


class ControllerHooks:
    """A plugin of the process that controls the run. `tell` prints a line; `runner` returns the tests that
    this process runs, None if it runs none."""

    def __init__(
        self,
        config: pytest.Config,
        controller: Controller,
        interruption: Interruption,
        tell: Callable[[str], None],
        runner: Callable[[], Runner | None],
    ) -> None:
        self.controller = controller
        self._interruption = interruption
        self._runner, self._tell = runner, tell
        self._verbose = config.option.verbose > 0
        #: Numbers of selected tests, and of the suite's own that failed; None before the collection.
        self._selected: int | None = None
        self._failed = 0
        self._lines: list[Line] = []
        self._progress = Progress(config.pluginmanager.getplugin("terminalreporter"), self._pace)

    # ------------------------------------------------------------------ before

    def pytest_report_header(self) -> str:
        target, seed, lanes = self.controller.target, self.controller.options.seed, self.controller.lanes
        where = "the embedded reference server" if self.controller.embedded else target.base_url
        at_once = f", {lanes} lanes" if lanes > 1 else ""
        return printable(f"conformance: judging {where}, seed {seed}{at_once}")

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
        self.controller.processes = node.workerinput["workercount"]
        process = int(node.workerinput["workerid"].removeprefix("gw"))
        node.workerinput["conformance"] = self.controller.process_data(process)

    # ------------------------------------------------------------------ while it runs

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        with self.controller.noting(report.nodeid.rpartition("/")[2]):
            if report.when == CRASHED and (job := job_of(report.nodeid)) is not None:
                report.outcome = "skipped"
                report.longrepr = report.location[0], 0, f"Skipped: {self.controller.lose(job)}"
            packed: Any = dict(report.user_properties).get(LEDGER)
            if packed is None:
                return
            # Before other plugins see it, and pytest keeps it in memory to the end.
            report.user_properties[:] = [each for each in report.user_properties if each[0] != LEDGER]
            self._failed += report.failed
            ledger = Ledger.from_json(packed)
            # pytest-rerunfailures runs the test again.
            self.controller.take(ledger.without_cells() if str(report.outcome) == "rerun" else ledger)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:
        verdict = dict(getattr(report, "user_properties", ())).get("verdict")
        return WARNED if verdict == "warning" and report.when == "call" and report.passed else None

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        if packed := getattr(node, "workeroutput", {}).get(LEDGER):
            with self.controller.noting(f"process {node.gateway.id}"):
                self.controller.ledger.merge(Ledger.from_json(packed))

    def _pace(self, seconds: float) -> str:
        """The progress after so many seconds."""
        ledger = self.controller.ledger
        parts = [duration(seconds), count(ledger.sent, "request")]
        middle = sorted(row.p50 for row in list(ledger.latency.values()) if row.p50)
        if middle:
            parts.append(f"answers in {milliseconds(middle[len(middle) // 2])}")
        return ", ".join(parts)

    # ------------------------------------------------------------------ the end

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        self._interruption.hold(interrupted=True)
        self._tell("conformance: reporting what was measured, a moment (SIGKILL ends it at once)")

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        # That of another process is the repr of its traceback, with the exception last.
        lines = [line for line in str(excinfo.value).splitlines() if line.strip()] or [""]
        self.controller.fail(f"an error inside pytest: {excinfo.typename}: {lines[-1].strip()}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        self._interruption.hold()
        self._progress.close()
        interrupted = (
            "" if exitstatus in (*_ENDED, pytest.ExitCode.INTERNAL_ERROR) else "by the user or the system"
        )
        if runner := self._runner():
            self.controller.ledger.merge(runner.stop(bool(interrupted)))
        # A run interrupted before its first test ended writes reports, too.
        if self.controller.ran or (interrupted and self._selected):
            others_failed = session.testsfailed > self._failed
            session.exitstatus = self.controller.finish(interrupted, others_failed, self._render)
        self.controller.close()

    def _render(self, document: Document) -> None:
        self._lines = summary(
            document,
            folder=self.controller.folder,
            width=shutil.get_terminal_size().columns,
            verbose=self._verbose,
        )

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._selected == 0:
            terminalreporter.write_line(_NOTHING, yellow=True)
        if not self.controller.ran:
            return
        lines = self._lines or [(error, {"red": True}) for error in self.controller.ledger.errors]
        terminalreporter.section("conformance", sep="=")
        for text, markup in [*lines, (self.controller.written, {})]:
            if text or (text, markup) in lines:
                terminalreporter.write_line(printable(text), **markup)


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
        try:
            with TERMINAL.open("a", encoding="utf-8") as terminal:
                while not self._over.wait(INTERVAL):
                    print(
                        f"\x1b7  {self._text(time.monotonic() - begin)}\x1b[K\x1b8",
                        end="",
                        file=terminal,
                        flush=True,
                    )
                print("\x1b7\x1b[K\x1b8", end="", file=terminal, flush=True)
        except OSError:
            # There is no terminal, or no longer.
            return


# --------------------------------------------------------------------------- signals


class Interruption:
    """Handles the signals of one run, in the main thread; in other threads the embedding program does."""

    def __init__(self) -> None:
        self._previous: dict[signal.Signals, Any] = {}
        self._interrupted = False

    def begin(self) -> None:
        """Makes SIGTERM interrupt the run as SIGINT does."""
        self._handle(signal.SIGTERM, signal.default_int_handler)

    def hold(self, *, interrupted: bool = False) -> None:
        """Ignores further signals while results are written, which takes seconds."""
        self._interrupted = self._interrupted or interrupted
        for number in (signal.SIGINT, signal.SIGTERM):
            self._handle(number, signal.SIG_IGN)

    def end(self) -> None:
        """Restores the signal handlers, unless the process ends with an interrupted run."""
        if self._interrupted and _is_command():
            self._previous.clear()
        while self._previous:
            with contextlib.suppress(ValueError):
                signal.signal(*self._previous.popitem())

    def _handle(self, number: signal.Signals, handler: Any) -> None:
        with contextlib.suppress(ValueError):
            before = signal.signal(number, handler)
            self._previous.setdefault(number, before)


def _is_command() -> bool:
    """True if this process was started as pytest or as the suite's own command."""
    main = sys.modules["__main__"]
    name = getattr(getattr(main, "__spec__", None), "name", "") or ""
    started = PurePath(getattr(main, "__file__", None) or "").stem
    commands = ("pytest", "py.test", "conformance")
    return name.partition(".")[0] in commands or started in commands
