"""The hooks of pytest: each translates, and delegates to the controller or the lanes.

They leave sessions alone that do not collect the suite's checks. All sessions import this module, so imports
of what only the suite's runs need are inside functions.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Collection, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance._files import TEST_FOLDERS, InputError
from conformance._private import determine_root_again, option_names
from conformance.plugin import options, selection

if TYPE_CHECKING:
    from conformance.plugin.controller import Controller
    from conformance.plugin.lanes import Runner

_OPTIONS: pytest.StashKey[options.Options] = pytest.StashKey()
_CONTROLLER: pytest.StashKey[Controller] = pytest.StashKey()
_RUNNER: pytest.StashKey[Runner] = pytest.StashKey()
#: Names of options registered by other plugins.
_TAKEN: pytest.StashKey[Collection[str]] = pytest.StashKey()


class Checks(pytest.Module):
    """A module of checks, collected regardless of a project's python_functions."""

    def funcnamefilter(self, name: str) -> bool:
        return name.startswith("test_")


# --------------------------------------------------------------------------- options


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    config = pluginmanager.get_plugin("pytestconfig")
    taken: Collection[str] = ()
    if config is not None and options.concerned(config):
        if options.autoload(config):
            # Other plugins first, so that they get contested short names in any order of installation.
            pluginmanager.load_setuptools_entrypoints("pytest11")
        taken = config.stash[_TAKEN] = option_names(parser)
    elif config is not None:
        taken = options.SHORT
    options.register(parser, taken)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    known = early_config.known_args_namespace
    if any(getattr(known, name, None) for name in options.FILES):
        determine_root_again(early_config)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "fuzz: a property-based test of the conformance suite")
    # Long generated texts are intended.
    config.addinivalue_line("filterwarnings", "ignore:Generating overly large repr")
    config.stash[_OPTIONS] = given = options.parse(config)
    if given.controls:
        options.refuse_taken(config, config.stash.get(_TAKEN, ()))


# --------------------------------------------------------------------------- the session


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    given = config.stash[_OPTIONS]
    if not given.controls:
        return
    # An earlier session of this process may have frozen what it kept.
    gc.unfreeze()
    reporter: Any = config.pluginmanager.getplugin("terminalreporter")

    def tell(text: str) -> None:
        if reporter is not None and given.verbosity >= 0:
            reporter.write_line(text)
            reporter.flush()

    tell("conformance: starting")
    from conformance.plugin.controller import Controller
    from conformance.plugin.session import ControllerHooks, Interruption

    try:
        controller = config.stash[_CONTROLLER] = Controller(given, os.environ, tell)
    except InputError as error:
        raise pytest.UsageError(str(error)) from None
    # With pytest-xdist, `tx` has an entry for each process that it will start.
    controller.processes = len(getattr(config.option, "tx", None) or ["this"])
    interruption = Interruption()
    config.add_cleanup(interruption.end)
    config.add_cleanup(controller.close)
    ours = ControllerHooks(config, controller, interruption, tell, lambda: config.stash.get(_RUNNER, None))
    config.pluginmanager.register(ours, "conformance session")
    interruption.begin()


def _runner(config: pytest.Config) -> Runner:
    """The tests of this process, made at its first one."""
    if _RUNNER not in config.stash:
        from conformance.plugin.lanes import Runner

        if hasattr(config, "workerinput"):
            data = config.workerinput["conformance"]
        else:
            data = config.stash[_CONTROLLER].process_data()
        config.stash[_RUNNER] = Runner(config.stash[_OPTIONS], data)
    return config.stash[_RUNNER]


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Starts the tests of this process. Where pytest-xdist hands them out one by one, these are checks that
    wait; those of them that look back on the run find at its end what is old enough."""
    config = session.config
    given = config.stash[_OPTIONS]
    jobs = {item.nodeid: job for item in session.items if (job := selection.job(item)) is not None}
    if given.worker:
        jobs = {nodeid: job for nodeid, job in jobs.items() if job.waits and not job.last}
    elif not given.controls or getattr(config.option, "tx", None):
        return
    if jobs and not session.testsfailed:
        _runner(config).begin(jobs)


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
        metafunc.parametrize("at", check.operations, ids=check.operations)
    elif exploration := getattr(metafunc.function, "conformance_exploration", None):
        values = [
            pytest.param(None, part, None, marks=pytest.mark.fuzz, id=part) for part in exploration.parts
        ]
        metafunc.parametrize(("run", "part", "settings"), values)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    given = config.stash[_OPTIONS]
    jobs = {item: selection.job(item) for item in items}
    left = [item for item, job in jobs.items() if job is not None and not job.selected(given)]
    for item in left:
        del jobs[item]
    if left:
        config.hook.pytest_deselected(items=left)
    # Tests of other projects come first.
    items[:] = sorted(jobs, key=lambda item: job.standing if (job := jobs[item]) else ())
    for item, job in jobs.items():
        item.user_properties += job.properties if job else []


# --------------------------------------------------------------------------- tests


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    job = selection.job(pyfuncitem)
    if job is None:
        return None
    _runner(pyfuncitem.config).run(pyfuncitem, job)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.when == "call" and selection.job(item) is not None:
        _runner(item.config).complete(item, report, call.excinfo.value if call.excinfo else None)
    return report


def pytest_unconfigure(config: pytest.Config) -> None:
    if _OPTIONS in config.stash and config.stash[_OPTIONS].selected:
        # The interpreter ends without looking through all that the run kept: a tenth of a quick run.
        gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Sends the last ledger of this process to the controller."""
    config = session.config
    hypothesis = config.pluginmanager.get_plugin("hypothesispytest")
    alone = config.stash[_OPTIONS].selected and not getattr(config.option, "tx", None)
    if alone and hypothesis is not None and "hypothesis" not in sys.modules:
        # It has nothing to print, and would import Hypothesis to find that out.
        config.pluginmanager.unregister(hypothesis)
    if hasattr(config, "workeroutput") and _RUNNER in config.stash:
        from conformance.plugin.lanes import LEDGER

        config.workeroutput[LEDGER] = config.stash[_RUNNER].stop().to_json()
