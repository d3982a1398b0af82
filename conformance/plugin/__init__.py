"""The pytest plugin: options, collection, the controller of a run and its workers.

Hooks only translate; judging is elsewhere.

pytest loads this module in every run of an environment with the suite, so it imports next to nothing. The
hooks are in conformance/plugin/hooks.py and registered from here, because pytest rewrites the assertions of
all modules of a plugin's package, and would compile the whole suite again wherever it cannot cache.
"""

from __future__ import annotations

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    from conformance import _private

    _private.disable_assertion_rewriting(pluginmanager, "conformance")
    from conformance.plugin import hooks

    # An older entry point, or -p, may have registered it.
    if not pluginmanager.is_registered(hooks):
        pluginmanager.register(hooks, "conformance hooks")
