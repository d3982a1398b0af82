"""The hooks of pytest: each translates, and delegates to the controller or the executor.

They leave sessions alone that do not collect the suite's checks. All sessions import this module, so imports
of what only the suite's runs need are inside functions.
"""

from __future__ import annotations

import functools
import gc
import os
import sys
from collections.abc import Collection, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance._files import TEST_FOLDERS, InputError
from conformance._options import Effort
from conformance._private import determine_root_again, has_hypothesis_output, option_names, set_cache_folder
from conformance.plugin import options, selection

if TYPE_CHECKING:
    from conformance.plugin.controller import Controller
    from conformance.plugin.execution import Executor
    from conformance.plugin.plan import Plan

_OPTIONS: pytest.StashKey[options.Options] = pytest.StashKey()
_CONTROLLER: pytest.StashKey[Controller] = pytest.StashKey()
_EXECUTOR: pytest.StashKey[Executor] = pytest.StashKey()
_PLAN: pytest.StashKey[Plan] = pytest.StashKey()
#: Names of options registered by other plugins.
_TAKEN: pytest.StashKey[Collection[str]] = pytest.StashKey()
_PAYLOAD: pytest.StashKey[dict[str, Any]] = pytest.StashKey()

#: Thresholds of the garbage collector while tests run. A run keeps most objects, so with the defaults it
#: spends a tenth of its time collecting.
_GARBAGE = 10_000, 10, 10

#: The environment variable for hypothesis's storage folder.
_STORAGE = "HYPOTHESIS_STORAGE_DIRECTORY"


class BrokenRule(AssertionError):
    """The server breaks a rule; the text is shown on the terminal. Derived from AssertionError so that other
    plugins report a failure, not an error."""


class Checks(pytest.Module):
    """A module of checks, collected regardless of a project's python_functions."""

    def funcnamefilter(self, name: str) -> bool:
        return name.startswith("test_")


# --------------------------------------------------------------------------- options


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    config = pluginmanager.get_plugin("pytestconfig")
    if config is None or not options.concerned(config):
        options.register(parser, short=config is None)
        if config is not None:
            options.explain_target(parser, config)
        return
    if options.autoload(config):
        # Other plugins first, so that they get contested short names in any order of installation.
        pluginmanager.load_setuptools_entrypoints("pytest11")
    config.stash[_TAKEN] = option_names(parser)
    options.register(parser, short=True, taken=config.stash[_TAKEN])


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    known = early_config.known_args_namespace
    if any(getattr(known, name, None) for name in options.FILES):
        determine_root_again(early_config)
    if folder := selection.alone(early_config):
        _move_caches(folder, early_config)


def _move_caches(folder: Path, config: pytest.Config) -> None:
    """Puts the caches of pytest and hypothesis into the report folder, not beside the user's files."""
    set_cache_folder(config, folder / ".pytest_cache")
    if _STORAGE not in os.environ:
        os.environ[_STORAGE] = str(folder / ".hypothesis")
        config.add_cleanup(_forget_storage)


def _forget_storage() -> None:
    os.environ.pop(_STORAGE, None)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "fuzz: a property-based test of the conformance suite")
    # Long generated texts are intended.
    config.addinivalue_line("filterwarnings", "ignore:Generating overly large repr")
    config.stash[_OPTIONS] = given = options.parse(config)
    if given.controls:
        options.refuse_taken(config, config.stash.get(_TAKEN, ()))
    if given.dry_run:
        # A dry run needs no processes.
        config.option.dist, config.option.tx = "no", []


# --------------------------------------------------------------------------- the session


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    given = config.stash[_OPTIONS]
    if not given.controls:
        return
    # An earlier session in this process may have frozen objects.
    gc.unfreeze()
    reporter = config.pluginmanager.getplugin("terminalreporter")

    def tell(text: str) -> None:
        if reporter is not None and given.verbosity >= 0:
            reporter.write_line(text)
            reporter.flush()

    tell("conformance: starting")
    from conformance.plugin.controller import Controller
    from conformance.plugin.interruption import Interruption
    from conformance.plugin.session import Run

    try:
        controller = Controller(given, os.environ, tell)
    except InputError as error:
        raise pytest.UsageError(str(error)) from None
    config.stash[_CONTROLLER] = controller
    # With pytest-xdist, `tx` has an entry for each process that it will start.
    controller.workers = len(getattr(config.option, "tx", None) or ["this"])
    interruption = Interruption(tell)
    config.add_cleanup(interruption.end)
    config.add_cleanup(controller.close)
    config.pluginmanager.register(
        Run(config, controller, lambda: config.stash.get(_EXECUTOR, None), interruption), "conformance run"
    )
    interruption.begin()


def _executor(config: pytest.Config) -> Executor:
    """The executor of this process, created at its first test."""
    if _EXECUTOR not in config.stash:
        from conformance.plugin.execution import Executor

        most = config.stash[_PLAN].most
        config.stash[_EXECUTOR] = Executor.of(config.stash[_OPTIONS], _process_data(config), most)
    return config.stash[_EXECUTOR]


def _process_data(config: pytest.Config) -> dict[str, Any]:
    """The controller's data for this process: target, seed, lanes and more; empty without a controller."""
    if hasattr(config, "workerinput"):
        data: dict[str, Any] = config.workerinput.get("conformance", {})
        return data
    controller = config.stash.get(_CONTROLLER, None)
    return controller.data_for() if controller is not None else {}


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Starts the lanes with the tests of this process; a dry run runs nothing."""
    config = session.config
    given = config.stash[_OPTIONS]
    if given.dry_run:
        return True
    tests = [(item, ours) for item in session.items if (ours := selection.ours(item)) is not None]
    judges = given.selected and not given.idle and not session.testsfailed
    if not tests or not judges or _only_distributes(config):
        return None
    config.add_cleanup(functools.partial(gc.set_threshold, *gc.get_threshold()))
    gc.set_threshold(*_GARBAGE)
    executor = _executor(config)
    if executor.lanes > 1 or given.effort is Effort.DEEP:
        if hasattr(config, "workerinput"):
            from conformance.plugin.execution import share

            chosen = share([item.nodeid for item in session.items], *_process_data(config)["place"])
            mine = {session.items[index].nodeid for index in chosen}
            tests = [(item, ours) for item, ours in tests if item.nodeid in mine]
        executor.begin({item.nodeid: ours for item, ours in tests})
    return None


def _workers(config: pytest.Config) -> int:
    """The number of workers of the run, in all processes and lanes."""
    data = _process_data(config)
    return int(data["place"][1] * data["lanes"]) if data else 1


def _only_distributes(config: pytest.Config) -> bool:
    """True if this process only distributes tests to those of pytest-xdist."""
    return bool(getattr(config.option, "tx", None)) and not hasattr(config, "workerinput")


# --------------------------------------------------------------------------- collection


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Collects the checks even if a project's python_files excludes them."""
    if not selection.is_test_module(file_path):
        return None
    if any(file_path.match(pattern) for pattern in parent.config.getini("python_files")):
        return None
    return Checks.from_parent(parent, path=file_path)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    return Checks.from_parent(parent, path=module_path) if module_path.parent in TEST_FOLDERS else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if check := getattr(metafunc.function, "conformance_check", None):
        metafunc.parametrize("ctx", check.operations, ids=check.operations)
    elif exploration := getattr(metafunc.function, "conformance_exploration", None):
        values = [
            pytest.param(None, part, None, marks=pytest.mark.fuzz, id=part) for part in exploration.parts
        ]
        metafunc.parametrize(("run", "part", "settings"), values)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    given = config.stash[_OPTIONS]
    if given.effort is not Effort.DEEP:
        # Not reported as deselected, since they belong only to deep runs.
        items[:] = [item for item in items if not selection.deep(item)]
    if given.selected:
        items.sort(key=selection.standing)
    if given.scope.cases is None and given.effort is not Effort.QUICK:
        return
    left = [item for item in items if not selection.wanted(item, given)]
    if given.effort is Effort.QUICK:
        from conformance.plugin.plan import fitting

        ours = [item for item in items if selection.wanted(item, given) and selection.ours(item)]
        fit = fitting([item.nodeid for item in ours], _workers(config))
        left += [item for item in ours if item.nodeid not in fit]
    gone = set(left)
    items[:] = [item for item in items if item not in gone]
    if left:
        config.hook.pytest_deselected(items=left)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Plans the requests of the selected tests; the plan bounds the run."""
    given = session.config.stash[_OPTIONS]
    if given.selected:
        from conformance.plugin.plan import plan

        nodeids = [item.nodeid for item in session.items if selection.ours(item)]
        quick, workers = given.effort is Effort.QUICK, _workers(session.config)
        session.config.stash[_PLAN] = plan(nodeids, given.examples, given.fuzz_time, quick, workers)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    given = config.stash[_OPTIONS]
    if given.dry_run and _PLAN in config.stash:
        from conformance.plugin.embedded_server import named_target
        from conformance.plugin.plan import listing

        try:
            target = named_target(given, os.environ)
        except InputError as error:
            raise pytest.UsageError(str(error)) from None
        for line in listing(config.stash[_PLAN], given, target):
            terminalreporter.write_line(line)


# --------------------------------------------------------------------------- tests


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    ours = selection.ours(pyfuncitem)
    if ours is None:
        return None
    executed = _executor(pyfuncitem.config).run(pyfuncitem.nodeid, ours)
    payload = pyfuncitem.stash[_PAYLOAD] = {"ledger": executed.ledger}
    if executed.error is not None:
        raise executed.error
    shown = payload["shown"] = executed.shown
    failing = [
        finding
        for finding in executed.findings
        if finding.verdict in pyfuncitem.config.stash[_OPTIONS].failing
    ]
    if failing:
        raise BrokenRule(executed.worker.text(failing))
    if shown in ("no occasion", "inconclusive", "not applicable"):
        pytest.skip(executed.reason)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.when == "call" and _PAYLOAD in item.stash:
        payload = item.stash[_PAYLOAD]
        error = call.excinfo.value if call.excinfo else None
        if isinstance(error, BrokenRule):
            report.longrepr = str(error)
        elif error is not None and not isinstance(error, pytest.skip.Exception):
            redactor = item.config.stash[_EXECUTOR].own.run.redactor
            payload["error"] = redactor.text(f"{item.nodeid}: {type(error).__name__}: {error}")[:500]
        if hasattr(item.config, "workerinput"):
            payload["ledger"] = payload["ledger"].packed()
        report.conformance = payload  # type: ignore[attr-defined]
    return report


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Sends the final ledgers of this process's workers to the controller."""
    config = session.config
    if config.stash[_OPTIONS].selected:
        _unregister_hypothesis(config)
        # The process is about to end: collecting garbage would take a second.
        gc.freeze()
    if hasattr(config, "workeroutput") and _EXECUTOR in config.stash:
        config.stash[_EXECUTOR].stop()
        config.workeroutput["conformance"] = [ledger.packed() for ledger in config.stash[_EXECUTOR].totals()]


def _unregister_hypothesis(config: pytest.Config) -> None:
    """Unregisters hypothesis's plugin if it has nothing to print: for that it would import hypothesis, which
    takes as long as judging a rule."""
    plugin = config.pluginmanager.get_plugin("hypothesispytest")
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if plugin is not None and "hypothesis" not in sys.modules and not has_hypothesis_output(reporter):
        config.pluginmanager.unregister(plugin)
