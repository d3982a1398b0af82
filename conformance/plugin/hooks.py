"""The hooks of pytest in every session: its beginning, and collection of the suite's checks.

They leave sessions alone that do not collect the suite's checks. All sessions import this module, so imports
of what only the suite's runs need are inside functions.
"""

from __future__ import annotations

import functools
import gc
import glob
import importlib
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance._files import TEST_FOLDERS, InputError
from conformance.plugin import embedded
from conformance.plugin.options import Options, parse

_OPTIONS: pytest.StashKey[Options] = pytest.StashKey()


# --------------------------------------------------------------------------- the session


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "fuzz: a property-based test of the conformance suite")
    # Long generated texts are intended.
    config.addinivalue_line("filterwarnings", "ignore:Generating overly large repr")
    # The checks are collected even if a project's python_files excludes them.
    for folder in TEST_FOLDERS:
        config.addinivalue_line("python_files", str(Path(glob.escape(str(folder)), "test_*.py")))
    config.stash[_OPTIONS] = parse(config)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Registers what controls the run, or runs tests in a process of pytest-xdist, or both."""
    config = session.config
    options = config.stash[_OPTIONS]
    if not options.selected:
        return
    if options.idle:
        _read_contract(options)
        return
    if options.worker:
        from conformance.plugin.lanes import Runner

        config.pluginmanager.register(Runner(options, config.workerinput["conformance"]))  # type: ignore[attr-defined]
        return
    # An earlier session of this process may have frozen what it kept.
    gc.unfreeze()
    reporter: Any = config.pluginmanager.getplugin("terminalreporter")

    def tell(text: str) -> None:
        if reporter is not None and options.verbosity >= 0:
            reporter.write_line(text)
            reporter.flush()

    tell("conformance: starting")
    server = None
    try:
        if options.judges_embedded(os.environ):
            # First, as it starts beside the imports.
            server = embedded.start()
            config.add_cleanup(functools.partial(embedded.stop, server))
        from conformance.plugin.lanes import Runner
        from conformance.plugin.session import Session

        _read_contract(options)
        controls = Session(config, options, os.environ, server, tell)
    except InputError as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(controls, "conformance session")
    if not getattr(config.option, "tx", None):
        controls.runner = Runner(options, controls.process_data())
        config.pluginmanager.register(controls.runner)


def _read_contract(options: Options) -> None:
    """Imports what of collection reads the contract. Raises pytest.UsageError if that cannot be read, or has
    no cell of those that options name."""
    try:
        importlib.import_module("conformance.world.bodies")
        _ = options.scope
    except InputError as error:
        raise pytest.UsageError(str(error)) from None


def pytest_unconfigure(config: pytest.Config) -> None:
    if _OPTIONS in config.stash and config.stash[_OPTIONS].selected:
        # The interpreter ends without looking through all that the run kept: a tenth of a quick run.
        gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Keeps Hypothesis from being imported only to find out that it has nothing to print."""
    plugins = session.config.pluginmanager
    hypothesis = plugins.get_plugin("hypothesispytest")
    if session.config.stash[_OPTIONS].selected and hypothesis and "hypothesis" not in sys.modules:
        plugins.unregister(hypothesis)


# --------------------------------------------------------------------------- collection


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    if module_path.parent in TEST_FOLDERS:
        from conformance.plugin.selection import Checks

        return Checks.from_parent(parent, path=module_path)
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    options = config.stash[_OPTIONS]
    if not options.selected:
        return
    from conformance.plugin.selection import Test

    others, selected, left = list[pytest.Item](), list[Test](), list[pytest.Item]()
    for item in items:
        if not isinstance(item, Test):
            others.append(item)
        elif item.job.selected(options):
            selected.append(item)
        else:
            left.append(item)
    if left:
        config.hook.pytest_deselected(items=left)
    # Tests of other projects come first.
    items[:] = [*others, *sorted(selected, key=lambda test: test.job.standing)]
    for test in selected:
        test.user_properties += test.job.properties
