"""The hooks of the controlling process: progress, violations of the rules of every response, the end of the
run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance._options import Effort
from conformance._private import refresh_colour, terminal_writer
from conformance._text import count, duration, printable
from conformance.judge.findings import EVERY_RESPONSE, Finding
from conformance.judge.ledger import Ledger
from conformance.plugin.controller import Controller
from conformance.plugin.execution import Executor, by_share
from conformance.plugin.interruption import Interruption
from conformance.plugin.plan import Plan, bounded, in_part, judged_by, plan
from conformance.plugin.progress import Remaining
from conformance.report.terminal import summary

#: Outcome of a test -> pytest's category in the last line, letter, and word with markup.
CATEGORIES: dict[str, tuple[str, str, tuple[str, dict[str, bool]]]] = {
    "known": ("known failures", "k", ("KNOWN FAILURE", {"yellow": True})),
    "warning": ("warned", "w", ("WARNING", {"yellow": True})),
    "inconclusive": ("inconclusive", "?", ("INCONCLUSIVE", {"yellow": True})),
    "not applicable": ("not applicable", "-", ("NOT APPLICABLE", {"cyan": True})),
    "no occasion": ("without occasion", "-", ("NO OCCASION", {"cyan": True})),
    "observed": ("observed", ".", ("OBSERVED", {"green": True})),
}

_LEGEND = (
    "conformance: . passed or observed, F violation, w warning, ? inconclusive, k known failure, "
    "- not applicable or without occasion"
)

#: pytest-xdist's name of the phase of a test whose process died.
CRASHED = "???"

_INTERRUPTED = {
    pytest.ExitCode.INTERRUPTED: "by the user or the system",
    pytest.ExitCode.INTERNAL_ERROR: "by an error inside pytest",
}


class Run:
    """A plugin of the process that controls the run."""

    def __init__(
        self,
        config: pytest.Config,
        controller: Controller,
        executor: Callable[[], Executor | None],
        interruption: Interruption,
    ) -> None:
        self.config = config
        self.controller = controller
        self._interruption = interruption
        #: Returns the executor of this process; None if it ran no test.
        self._executor = executor
        self._announced = False
        self._others_failed = False
        self._selected = 0
        self._reporter: Any = config.pluginmanager.getplugin("terminalreporter")
        self._remaining = Remaining(self._reporter)

    # ------------------------------------------------------------------ before

    def pytest_report_header(self) -> list[str]:
        target, seed = self.controller.target, self.controller.options.seed
        where = "the embedded reference server" if self.controller.embedded else target.base_url
        lanes = self.controller.lanes
        at_once = f", {lanes} lanes" if lanes > 1 else ""
        return [printable(f"conformance: judging {where}, seed {seed}{at_once}")]

    def pytest_report_collectionfinish(self, items: list[pytest.Item]) -> list[str]:
        return self._announcement([item.nodeid for item in items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        if not self._announced:
            lines = self._announcement(ids)
            if self._reporter is not None and self.config.option.verbose >= 0:
                for line in lines:
                    self._reporter.write_line(line)

    def _announcement(self, nodeids: list[str]) -> list[str]:
        self._announced = True
        self._selected = len(nodeids)
        self._remaining.expect(nodeids)
        options = self.controller.options
        quick, workers = options.effort is Effort.QUICK, self.controller.processes * self.controller.lanes
        planned = plan(nodeids, options.examples, options.fuzz_time, quick, workers)
        planned = planned.on(self.controller.target)
        self.controller.announce(planned)
        if quick:
            self.controller.ledger.judged_in_part = in_part(nodeids)
        lines = [f"conformance: {count(len(nodeids), 'test')}: {self._about(planned)}"]
        return [*lines, *([_LEGEND] if self.config.option.verbose == 0 and nodeids else [])]

    def _about(self, planned: Plan) -> str:
        """The announcement in words: expected requests, upper bounds, and the time at a limited rate."""
        if not planned.total.requests and not planned.unknown:
            return "no requests"
        limit = self.controller.target.limits.max_requests
        options = self.controller.options
        told = bounded(planned, options.fuzz_time, limit)
        rate = self.controller.target.limits.requests_per_second
        return f"{told}; {duration(planned.total.requests / rate)} at {rate:.2g} a second" if rate else told

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Sends a process of pytest-xdist its data."""
        self.controller.workers = node.workerinput["workercount"]
        process = int(node.workerinput["workerid"].removeprefix("gw"))
        node.workerinput["conformance"] = self.controller.data_for(process)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        for totals in getattr(node, "workeroutput", {}).get("conformance", ()):
            self.controller.ledger.merge(Ledger.unpacked(totals))

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Assigns all tests at the start, unless the user chose another distribution: lanes run ahead of
        pytest, so must know their tests."""
        if config.getoption("dist") != "load":
            return None
        return by_share(config, log, self.controller.processes, self.controller.generated)

    # ------------------------------------------------------------------ while it runs

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        payload = getattr(report, "conformance", None)
        if payload is None and not (report.when == CRASHED and self._crashed(report)):
            self._others_failed = self._others_failed or report.failed
        if payload is None or "ledger" not in payload:
            return
        self.controller.unfinished.discard(report.nodeid)
        # pytest keeps reports in memory to the end.
        ledger = Ledger.unpacked(payload.pop("ledger"))
        if payload.get("error"):
            self.controller.ledger.errors.append(payload["error"])
        elif report.failed and (reason := self._all_known(ledger)):
            payload["shown"] = "known"
            report.outcome = "skipped"
            report.longrepr = (
                report.location[0],
                report.location[1] or 0,
                f"Skipped: known failure: {reason}",
            )
        self._remaining.done(report.nodeid, [row.p50 for row in ledger.latency.values() if row.p50])
        for finding in self.controller.take(ledger):
            if finding.verdict in self.controller.options.failing:
                self._report_passive(finding)

    def _crashed(self, report: pytest.TestReport) -> bool:
        """True if a test is the suite's own whose process died; it counts as inconclusive, and may run
        again."""
        if judged_by(report.nodeid) is None:
            return False
        self.controller.unfinished.add(report.nodeid)
        report.outcome = "skipped"
        report.longrepr = (report.location[0], 0, f"Skipped: {report.longrepr}")
        report.conformance = {"shown": "inconclusive"}  # type: ignore[attr-defined]
        return True

    def _all_known(self, ledger: Ledger) -> str:
        """The first reason, if all failures of a test are known; else empty."""
        reasons = [
            self.controller.known_reason(finding.rule, finding.operation)
            for finding in ledger.findings
            if finding.check != EVERY_RESPONSE and finding.verdict in self.controller.options.failing
        ]
        return reasons[0] if reasons and all(reasons) else ""

    def _report_passive(self, finding: Finding) -> None:
        """Reports a violation of a rule of every response as a test of its own, immediately."""
        known = self.controller.known_reason(finding.rule, finding.operation)
        location = ("every response", None, f"{finding.rule}[{finding.operation}]")
        report = pytest.TestReport(
            nodeid=f"every response::{finding.rule}[{finding.operation}]",
            location=location,
            keywords={},
            when="call",
            outcome="skipped" if known else "failed",
            longrepr=(location[0], 0, f"Skipped: known failure: {known}")
            if known
            else printable(finding.summary),
        )
        report.conformance = {"shown": "known" if known else "failed"}  # type: ignore[attr-defined]
        self.config.hook.pytest_runtest_logreport(report=report)
        # It was not collected, so it must not count in pytest's progress.
        getattr(self._reporter, "_progress_nodeids_reported", set()).discard(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:
        shown = getattr(report, "conformance", {}).get("shown", "")
        return CATEGORIES.get(shown) if shown == "known" or not report.failed else None

    # ------------------------------------------------------------------ the end

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        self._interruption.hold(interrupted=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        self._interruption.hold()
        self._remaining.close()
        if executor := self._executor():
            executor.stop()
            for totals in executor.totals():
                self.controller.ledger.merge(totals)
        self.controller.conclude()
        interrupted = _INTERRUPTED.get(pytest.ExitCode(exitstatus), "")
        # A run interrupted before its first test ended writes reports, too.
        if self.controller.ran or (interrupted and self._selected):
            self.controller.finish(interrupted)
            if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
                status = self.controller.exit_status
                session.exitstatus = 1 if self._others_failed and status in (0, 6) else status
        self._count_violations()
        self.controller.close()

    def _count_violations(self) -> None:
        """Hides the failures of tests unless verbose, since the verdict lists them; the last line counts
        cases, as reports do."""
        document = self.controller.document
        if self._reporter is None or document is None or self.config.option.verbose > 0:
            return
        stats = self._reporter.stats
        ours = [report for report in stats.get("failed", ()) if _violation(report)]
        if not ours:
            return
        stats["failed"] = [report for report in stats["failed"] if not _violation(report)]
        # pytest only counts the entries.
        stats["violations"] = [ours[0]] * document.verdict.failures
        refresh_colour(self._reporter)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        document = self.controller.document
        if document is None:
            if self._announced and not self._selected:
                terminalreporter.write_line(
                    "conformance: no test was selected, so nothing was judged. -k looks for words in the "
                    "names of tests, -m 'not fuzz' leaves generated requests out; --rule, --operation and "
                    "--section select by the catalogue, which `conformance rules` lists.",
                    yellow=True,
                )
            return
        writer = terminal_writer(terminalreporter)
        terminalreporter.section("conformance", sep="=")
        for text, markup in summary(
            document,
            folder=self.controller.folder,
            width=writer.fullwidth,
            verbose=self.config.option.verbose > 0,
        ):
            writer.line(printable(text), **markup)
        for written in self.controller.lists:
            writer.line(printable(written))
        for problem in self.controller.problems:
            writer.line(printable(problem), red=True)


def _violation(report: pytest.TestReport) -> bool:
    payload = getattr(report, "conformance", None)
    return payload is not None and not payload.get("error")
