"""The pytest plugin: options, collection, the session that controls a run and the lanes that run its tests.

Hooks only translate; judging is elsewhere.

pytest loads this module in every run of an environment with the suite, so it imports next to nothing. The
hooks are in conformance/plugin/hooks.py and registered from here, because pytest rewrites the assertions of
all modules of a plugin's package, and would compile the whole suite again wherever it cannot cache.
"""

from __future__ import annotations

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> None:
    """Registers the options, as a conftest.py would: after those of all plugins, which so get contested short
    names in any order of installation."""
    from conformance import _private

    _private.disable_assertion_rewriting(early_config.pluginmanager, "conformance")
    from conformance.plugin import hooks, options

    early_config.pluginmanager.register(hooks, "conformance hooks")
    options.register(early_config, parser, args)
