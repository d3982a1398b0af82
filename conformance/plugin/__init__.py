"""The pytest plugin: options, collection, the controller of a run and its workers.

Hooks translate; what is judged, and how, is not known here.

This module is what pytest loads in every run of an environment that has the suite, so it imports next to
nothing. The hooks are in conformance/plugin/hooks.py, imported from here because pytest rewrites the
assertions of all modules of a package that has a plugin: it would compile the whole suite anew wherever it
may not keep the result.
"""

from __future__ import annotations

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    from conformance import _private

    _private.import_as_compiled(pluginmanager, "conformance")
    from conformance.plugin import hooks

    # Named among the plugins by an older entry point, or by -p.
    if not pluginmanager.is_registered(hooks):
        pluginmanager.register(hooks, "conformance hooks")
