"""The controlling process of a pytest session: progress, synthetic tests of passive rules, verdict, exit status."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from conformance._text import printable
from conformance.contract.rules import Level
from conformance.judging.findings import Finding, Verdict
from conformance.plugin import costs, hooks, selection
from conformance.plugin.controller import Controller
from conformance.results.building import RunInfo

#: What a test is shown as -> pytest's category for its summary line, letter, and word with markup.
CATEGORIES: dict[str, tuple[str, str, tuple[str, dict[str, bool]]]] = {
    "known": ("known failures", "k", ("KNOWN FAILURE", {"yellow": True})),
    "warning": ("warned", "w", ("WARNING", {"yellow": True})),
    "inconclusive": ("inconclusive", "?", ("INCONCLUSIVE", {"yellow": True})),
    "not applicable": ("not applicable", "-", ("NOT APPLICABLE", {"cyan": True})),
    "no occasion": ("without occasion", "-", ("NO OCCASION", {"cyan": True})),
    "observed": ("observed", ".", ("OBSERVED", {"green": True})),
}


class Run:
    """Registered as a plugin in the process that controls the run, workers or not."""

    def __init__(
        self,
        config: pytest.Config,
        controller: Controller,
        *,
        seed: int,
        fail_on_implied: bool,
        known: Any,
        pinned: Any,
    ) -> None:
        self.config = config
        self.controller = controller
        self.seed = seed
        self.fail_on = Level.IMPLIED if fail_on_implied else Level.REQUIRED
        self.known, self.pinned = known, pinned
        self.workers = 1
        self._announced = False
        self._others_failed = False
        self._problems: list[str] = []
        controller.results.selection = selection.narrowed(config)

    # ------------------------------------------------------------------ before

    def pytest_report_header(self) -> list[str]:
        target = self.controller.target
        where = "the embedded reference server" if self.controller.embedded else target.base_url
        return [printable(f"conformance: judging {where}, seed {self.seed}")]

    def pytest_report_collectionfinish(self, items: list[pytest.Item]) -> str:
        self._announced = True
        return self._announcement(item.nodeid for item in items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        if not self._announced:
            self._announced = True
            reporter = self.config.pluginmanager.getplugin("terminalreporter")
            if reporter is not None and self.config.option.verbose >= 0:
                reporter.write_line(self._announcement(ids))

    def _announcement(self, nodeids: Iterable[str]) -> str:
        nodeids = list(nodeids)
        requests = costs.estimate(nodeids)
        generated = any(
            f"{name}::" in nodeid
            for nodeid in nodeids
            for name in ("test_fuzz.py", "test_model.py", "test_histories.py")
        )
        fixed = f"about {requests:,} requests on a conforming server" if requests else ""
        about = " and ".join(filter(None, [fixed, "generated ones" if generated else ""]))
        return f"conformance: {len(nodeids)} tests, {about or 'no requests'}"

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tells an xdist worker what it judges."""
        self.workers = node.workerinput["workercount"]
        node.workerinput["conformance"] = {
            "target": self.controller.target.to_plain(),
            "run_folder": str(self.controller.run_folder),
            "folder": str(self.controller.folder),
            "seed": self.seed,
        }

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        totals = getattr(node, "workeroutput", {}).get("conformance")
        if totals:
            self.controller.take_totals(totals)

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Keeps tests that share set-up in one worker, unless the user chose how to share out tests."""
        if config.getoption("dist") != "load":
            return None
        from xdist.scheduler import LoadScopeScheduling

        # pytest-xdist has no types.
        class ByScope(LoadScopeScheduling):  # type: ignore[misc]
            def _split_scope(self, nodeid: str) -> str:
                return selection.scope(nodeid)

        return ByScope(config, log)

    # ------------------------------------------------------------------ while it runs

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        payload = getattr(report, "conformance", None)
        if payload is None:
            if report.failed and not hasattr(report, "conformance_passive"):
                self._others_failed = True
            return
        if payload.get("error"):
            self.controller.results.errors.append(payload["error"])
        elif report.failed and (reason := self._all_known(payload["findings"])):
            payload["shown"] = "known"
            report.outcome = "skipped"
            report.longrepr = (
                report.location[0],
                report.location[1] or 0,
                f"Skipped: known failure: {reason}",
            )
        for finding in self.controller.take(payload):
            if finding.verdict is Verdict.FAILED or self.fail_on is Level.IMPLIED:
                self._report_passive(finding)

    def _all_known(self, findings: list[dict[str, Any]]) -> str:
        """The reason why all of a test's failures are known; empty if one is not."""
        if self.known is None:
            return ""
        failing = ("failed", "warning") if self.fail_on is Level.IMPLIED else ("failed",)
        reasons = [
            self.known.reason(one["rule"], one["operation"]) for one in findings if one["verdict"] in failing
        ]
        return reasons[0] if reasons and all(reasons) else ""

    def _report_passive(self, finding: Finding) -> None:
        """Shows a passive rule that was broken as a test of its own, at once."""
        known = self.known is not None and self.known.reason(finding.rule, finding.operation)
        text = printable(finding.summary)
        location = ("every response", None, f"{finding.rule}[{finding.operation}]")
        report = pytest.TestReport(
            nodeid=f"every response::{finding.rule}[{finding.operation}]",
            location=location,
            keywords={},
            when="call",
            outcome="skipped" if known else "failed",
            longrepr=(location[0], 0, f"Skipped: known failure: {known}") if known else text,
        )
        report.conformance_passive = "known" if known else "failed"  # type: ignore[attr-defined]
        self.config.hook.pytest_runtest_logreport(report=report)
        # It was not collected, so it must not count towards the share of tests that are done.
        reporter = self.config.pluginmanager.getplugin("terminalreporter")
        getattr(reporter, "_progress_nodeids_reported", set()).discard(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:
        payload = getattr(report, "conformance", None)
        shown = payload.get("shown") if payload else getattr(report, "conformance_passive", None)
        if shown == "known" or (payload and not report.failed and shown in CATEGORIES):
            return CATEGORIES[shown]
        return None

    # ------------------------------------------------------------------ the end

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if totals := hooks.totals(self.config):
            self.controller.take_totals(totals)
        self.controller.conclude()
        self.info = self._info(exitstatus)
        if self.controller.ran:
            self._problems = self.controller.write(self.info)
            self._write_files()
            if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
                session.exitstatus = self._status()
        self._shorten()
        self.controller.close()

    def _shorten(self) -> None:
        """Leaves violations to the verdict, which says each in three lines, unless the user wants to see all."""
        reporter = self.config.pluginmanager.getplugin("terminalreporter")
        if reporter is None or self.config.option.verbose > 0 or "failed" not in reporter.stats:
            return
        ours = [one for one in reporter.stats["failed"] if _violation(one)]
        reporter.stats["violations"] = ours
        reporter.stats["failed"] = [one for one in reporter.stats["failed"] if not _violation(one)]
        # The last line counts the categories that were known when its colour was last chosen.
        if hasattr(reporter, "_set_main_color"):
            reporter._set_main_color()

    def _status(self) -> int:
        status = self.info.outcome(self.controller.results).exit_status
        if self._others_failed and status in (0, 6):
            return 1
        return 3 if self._problems and status == 0 else status

    def _info(self, exitstatus: int) -> RunInfo:
        option = self.config.option
        names = {
            "fail-on": option.conformance_fail_on,
            "target": option.target,
            "base-url": self.config.getoption("base_url", None),
            "fuzz-examples": option.conformance_fuzz_examples,
            "fuzz-time": option.conformance_fuzz_time,
            "shard": option.conformance_shard,
            "rule": option.conformance_rule,
            "-k": option.keyword,
            "-m": option.markexpr,
        }
        options = {
            name: " ".join(value) if isinstance(value, list) else str(value)
            for name, value in names.items()
            if value
        }
        ends = {
            pytest.ExitCode.INTERRUPTED: "by the user or the system",
            pytest.ExitCode.INTERNAL_ERROR: "by an error inside pytest",
        }
        interrupted = ends.get(pytest.ExitCode(exitstatus), "")
        return RunInfo(
            started=self.controller.started,
            ended=time.time(),
            seed=self.seed,
            options=options,
            embedded=self.controller.embedded,
            interrupted=interrupted,
            workers=self.workers,
            fail_on=self.fail_on,
            known=self.known,
            pinned=self.pinned,
            folder=self.controller.folder,
        )

    def _write_files(self) -> None:
        """The files that the user asked for by option."""
        option = self.config.option
        try:
            if path := option.conformance_write_known_failures:
                from conformance.results.known_failures import write_known

                write_known(self.controller.results, Path(path))
            if path := option.conformance_write_pinned_choices:
                from conformance.results.pinned_choices import write_pinned

                write_pinned(self.controller.results, Path(path))
        except OSError as error:
            self._problems.append(f"{error.filename or 'a file'} could not be written: {error.strerror}.")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        document = self.controller.document
        if document is None:
            return
        from conformance.report.terminal import summary

        writer = terminalreporter._tw
        terminalreporter.section("conformance", sep="=")
        for text, markup in summary(
            document,
            folder=self.controller.folder,
            width=writer.fullwidth,
            verbose=self.config.option.verbose > 0,
        ):
            writer.line(printable(text), **markup)
        for problem in self._problems:
            writer.line(printable(problem), red=True)
        if os.environ.get("GITHUB_ACTIONS") == "true":
            from conformance.report.write import annotations

            for line in annotations(document):
                writer.line(line)


def _violation(report: pytest.TestReport) -> bool:
    payload = getattr(report, "conformance", None)
    return hasattr(report, "conformance_passive") or (payload is not None and not payload.get("error"))
