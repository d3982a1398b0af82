"""The pytest plugin: options, one test for each check and operation, outcomes, exit status.

It stays out of the way of sessions that do not collect the suite's checks.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance.plugin import selection
from conformance.results.shards import parse_shard

if TYPE_CHECKING:
    from conformance.harness.check import Check
    from conformance.harness.exploration import Exploration
    from conformance.judging.findings import Finding
    from conformance.plugin.controller import Controller
    from conformance.plugin.worker import Worker

_CONTROLLER: pytest.StashKey[Controller] = pytest.StashKey()
_WORKER: pytest.StashKey[Worker] = pytest.StashKey()
_STATE: pytest.StashKey[_State] = pytest.StashKey()
_PAYLOAD = pytest.StashKey[dict[str, Any]]()

#: The gravest first: what a test is shown as when its findings differ.
_SHOWN = ("failed", "error", "inconclusive", "warning", "observed", "passed", "not applicable")

#: Options whose values pytest mistakes for tests before it knows the options.
_FILES = (
    "target",
    "conformance_report_dir",
    "conformance_fuzz_database",
    "conformance_known_failures",
    "conformance_write_known_failures",
    "conformance_pinned_choices",
    "conformance_write_pinned_choices",
)


class Violation(Exception):
    """The server breaks a rule; the text is what a terminal shows."""


class _State:
    """What the plugin keeps for one session."""

    def __init__(self, config: pytest.Config) -> None:
        options, folder = config.option, config.invocation_params.dir
        pyargs = bool(options.pyargs)
        arguments = [str(one) for one in config.args]
        self.selected = selection.selects_checks(arguments, folder, pyargs)
        self.passing_by = bool(
            options.collectonly
            or getattr(options, "showfixtures", False)
            or getattr(options, "show_fixtures_per_test", False)
        )
        self.fail_on_implied = options.conformance_fail_on == "implied"
        self.seed: int = (
            options.conformance_seed
            if options.conformance_seed is not None
            else random.SystemRandom().randrange(2**32)
        )
        self.is_worker = hasattr(config, "workerinput")
        try:
            self.shard = parse_shard(options.conformance_shard) if options.conformance_shard else None
            self.rules = [selection.parse_rule(one) for one in options.conformance_rule or ()]
        except ValueError as error:
            raise pytest.UsageError(str(error)) from None


# --------------------------------------------------------------------------- options


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance", "Financial Accounts API conformance")
    group.addoption(
        "--target",
        metavar="FILE",
        default=os.environ.get("CONFORMANCE_TARGET") or None,
        help="the target file of the server to judge; --base-url beats its address (default: the embedded server)",
    )
    group.addoption(
        "--fail-on",
        dest="conformance_fail_on",
        choices=("required", "implied"),
        default="required",
        help="the lowest level of rules whose violation fails the run (default: required)",
    )
    group.addoption(
        "--report-dir",
        dest="conformance_report_dir",
        metavar="DIR",
        default=None,
        help="where the run writes its report (default: reports/)",
    )
    group.addoption(
        "--rule",
        dest="conformance_rule",
        metavar="RULE[@OPERATION]",
        action="append",
        help="run only the checks of this rule, on this operation if given (repeatable)",
    )
    group.addoption(
        "--shard",
        dest="conformance_shard",
        metavar="PART/PARTS",
        default=None,
        help="run one of several parts of the suite, such as 2/5",
    )
    group.addoption(
        "--seed",
        dest="conformance_seed",
        metavar="N",
        type=int,
        default=None,
        help="the seed of all generated cases (default: another one each run, printed)",
    )
    group.addoption(
        "--fuzz-examples",
        dest="conformance_fuzz_examples",
        metavar="N",
        type=_positive,
        default=None,
        help="generated cases for each part of the property-based tests",
    )
    group.addoption(
        "--fuzz-time",
        dest="conformance_fuzz_time",
        metavar="SECONDS",
        type=float,
        default=None,
        help="keep generating cases for so many seconds in all",
    )
    group.addoption(
        "--fuzz-database",
        dest="conformance_fuzz_database",
        metavar="WHERE",
        default=None,
        help="Hypothesis's examples: a folder, redis://HOST/, github:OWNER/REPOSITORY, or none (default: in the report's folder)",
    )
    group.addoption(
        "--known-failures",
        dest="conformance_known_failures",
        metavar="FILE",
        default=None,
        help="a TOML file of failures that do not fail the run",
    )
    group.addoption(
        "--write-known-failures",
        dest="conformance_write_known_failures",
        metavar="FILE",
        default=None,
        help="write the failures of this run as such a file",
    )
    group.addoption(
        "--pinned-choices",
        dest="conformance_pinned_choices",
        metavar="FILE",
        default=None,
        help="warn where the server no longer does what this file says of open questions",
    )
    group.addoption(
        "--write-pinned-choices",
        dest="conformance_write_pinned_choices",
        metavar="FILE",
        default=None,
        help="write what the server does where the specification is open",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    known = early_config.known_args_namespace
    if any(getattr(known, name, None) for name in _FILES):
        from conformance.plugin import rootdir

        rootdir.correct(early_config)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "fuzz: a property-based test of the conformance suite")
    config.stash[_STATE] = _State(config)


# --------------------------------------------------------------------------- the session


def _terminated(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    state = config.stash[_STATE]
    if not state.selected or state.is_worker or state.passing_by:
        return
    from conformance.plugin.controller import Controller, report_folder
    from conformance.plugin.session import Run
    from conformance.target.file import TargetError

    try:
        known, pinned = _lists(config)
        folder = report_folder(
            config.option.conformance_report_dir, os.environ, config.invocation_params.dir / "reports"
        )
        controller = Controller(config.option.target, config.getoption("base_url", None), os.environ, folder)
    except TargetError as error:
        raise pytest.UsageError(str(error)) from None
    config.stash[_CONTROLLER] = controller
    config.add_cleanup(controller.close)
    run = Run(
        config, controller, seed=state.seed, fail_on_implied=state.fail_on_implied, known=known, pinned=pinned
    )
    config.pluginmanager.register(run, "conformance run")
    try:
        signal.signal(signal.SIGTERM, _terminated)
    except ValueError:
        # Not the main thread: whoever embeds pytest there handles signals.
        pass


def _lists(config: pytest.Config) -> tuple[Any, Any]:
    """The known failures and pinned choices that the user names; raises TargetError."""
    from conformance.target.file import TargetError

    known = pinned = None
    try:
        if path := config.option.conformance_known_failures:
            from conformance.results.known_failures import KnownFailures

            known = KnownFailures.load(Path(path))
        if path := config.option.conformance_pinned_choices:
            from conformance.results.pinned_choices import PinnedChoices

            pinned = PinnedChoices.load(Path(path))
    except (ValueError, OSError) as error:
        raise TargetError(str(error)) from None
    return known, pinned


def _settings(config: pytest.Config, folder: Path, worker: int, workers: int) -> Any:
    from conformance.harness.exploration import DEFAULT_EXAMPLES, FuzzSettings

    option = config.option
    database = option.conformance_fuzz_database
    if database is None:
        database = str(folder / "examples")
    return FuzzSettings(
        seed=config.stash[_STATE].seed,
        examples=option.conformance_fuzz_examples or DEFAULT_EXAMPLES,
        seconds=option.conformance_fuzz_time,
        database=None if database == "none" else database,
        worker=worker,
        workers=workers,
        replay_folder=folder / "replays",
    )


def _worker(config: pytest.Config) -> Worker:
    """This process's worker, made at its first test."""
    if _WORKER not in config.stash:
        from conformance.plugin.worker import Worker
        from conformance.target.file import Target

        if hasattr(config, "workerinput"):
            given = config.workerinput["conformance"]
            target, folder = Target.from_plain(given["target"]), Path(given["folder"])
            index, workers = int(config.workerinput["workerid"][2:]), config.workerinput["workercount"]
            config.stash[_STATE].seed = given["seed"]
        else:
            controller = config.stash[_CONTROLLER]
            target, folder, index, workers = controller.target, controller.folder, 0, 1
        config.stash[_WORKER] = Worker(
            target,
            index=index,
            workers=workers,
            settings=_settings(config, folder, index, workers),
            replay_folder=folder / "replays",
        )
    return config.stash[_WORKER]


# --------------------------------------------------------------------------- tests


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Collects the checks also where a project's python_files would leave them out."""
    if file_path.parent != selection.CHECKS or not (
        file_path.name.startswith("test_") and file_path.suffix == ".py"
    ):
        return None
    if any(file_path.match(pattern) for pattern in parent.config.getini("python_files")):
        return None
    return pytest.Module.from_parent(parent, path=file_path)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if check := getattr(metafunc.function, "conformance_check", None):
        metafunc.parametrize("ctx", check.operations, ids=check.operations)
    elif one := getattr(metafunc.function, "conformance_exploration", None):
        values = [pytest.param(None, part, None, marks=pytest.mark.fuzz, id=part) for part in one.parts]
        metafunc.parametrize(("run", "part", "settings"), values)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    state = config.stash[_STATE]
    if state.shard is None and not state.rules:
        return
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        ours = _ours(item)
        good = ours is None or (
            (state.shard is None or selection.in_shard(item.nodeid, state.shard))
            and (not state.rules or selection.wanted(item.function, ours[1], state.rules))  # type: ignore[attr-defined]
        )
        (kept if good else left).append(item)
    items[:] = kept
    if left:
        config.hook.pytest_deselected(items=left)


def _ours(item: pytest.Item) -> tuple[Check | Exploration, str] | None:
    """The check or exploration that a test is, and its operation or part; None for other tests."""
    function = getattr(item, "function", None)
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    if check := getattr(function, "conformance_check", None):
        return check, parameters.get("ctx", "")
    if one := getattr(function, "conformance_exploration", None):
        return one, parameters.get("part", "")
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    ours = _ours(pyfuncitem)
    if ours is None:
        return None
    from conformance.harness.check import Check
    from conformance.plugin.progress import Counter

    one, parameter = ours
    worker = _worker(pyfuncitem.config)
    findings: list[Finding] = []
    try:
        if isinstance(one, Check):
            findings = worker.run_check(one, parameter)[0]
        else:
            reporter = pyfuncitem.config.pluginmanager.getplugin("terminalreporter")
            with Counter(reporter, lambda: worker.run.sent, parameter):
                findings = worker.explore(one, parameter)
    finally:
        # What was sent counts, whatever became of the check.
        pyfuncitem.stash[_PAYLOAD] = worker.payload(one.name, findings)
    state = pyfuncitem.config.stash[_STATE]
    shown = _shown(findings)
    pyfuncitem.stash[_PAYLOAD]["shown"] = shown
    failing = [
        finding
        for finding in findings
        if finding.verdict == "failed" or (state.fail_on_implied and finding.verdict == "warning")
    ]
    if failing:
        raise Violation(worker.text(failing))
    if shown == "no occasion":
        pytest.skip(findings[0].summary)
    if shown in ("inconclusive", "not applicable"):
        pytest.skip(
            next(finding.summary for finding in findings if finding.verdict == shown and finding.exercised)
        )
    return True


def _shown(findings: list[Finding]) -> str:
    """What a test is shown as: by the gravest of what it had occasion to judge."""
    verdicts = {str(finding.verdict) for finding in findings if finding.exercised}
    if findings and not verdicts:
        return "no occasion"
    return next((one for one in _SHOWN if one in verdicts), "passed")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.when == "call" and _PAYLOAD in item.stash:
        payload = item.stash[_PAYLOAD]
        error = call.excinfo.value if call.excinfo else None
        if isinstance(error, Violation):
            report.longrepr = str(error)
        elif error is not None and not isinstance(error, pytest.skip.Exception):
            payload["error"] = item.config.stash[_WORKER].run.redactor.text(
                f"{item.nodeid}: {type(error).__name__}: {error}"
            )[:500]
        report.conformance = payload  # type: ignore[attr-defined]
    return report


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hands a worker's last word to the controller."""
    config = session.config
    if hasattr(config, "workeroutput") and _WORKER in config.stash:
        config.workeroutput["conformance"] = config.stash[_WORKER].totals()


def totals(config: pytest.Config) -> dict[str, Any] | None:
    """The last word of the worker in this process; None where no test ran in it."""
    return config.stash[_WORKER].totals() if _WORKER in config.stash else None
