"""Uses of private parts of other libraries, one function each, with its assumption.

Where an assumption fails, the function does nothing or falls back; then a test in
tests/unit/test_private_parts.py fails.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

# ---------------------------------------------------------------------- pytest


def determine_root_again(config: pytest.Config) -> None:
    """Lets pytest determine its root folder again, now that all options are registered.

    Before plugins register options, pytest takes the value of an unknown option for a path to tests: `pytest
    --target /etc/api/target.toml` would make /etc/api the root folder, with its settings and cache. Assumes
    _pytest.config.findpaths.determine_setup and the attributes in which a Config stores the result; without
    them the first root folder stays.
    """
    try:
        from _pytest.config.findpaths import determine_setup

        known = config.known_args_namespace
        root, settings, values, *_ = determine_setup(
            inifile=known.inifilename,
            override_ini=known.override_ini,
            args=known.file_or_dir,
            rootdir_cmd_arg=known.rootdir or None,
            invocation_dir=config.invocation_params.dir,
        )
        if (root, settings) == (config.rootpath, config.inipath):
            return
        inside = "_inicfg" if hasattr(config, "_inicfg") else "inicfg"
        if not all(hasattr(config, name) for name in ("_rootpath", "_inipath", inside, "_inicache")):
            return
    except (ImportError, AttributeError, TypeError, ValueError):
        return
    config._rootpath, config._inipath = root, settings
    setattr(config, inside, values)
    config._inicache.clear()


def disable_assertion_rewriting(pluginmanager: pytest.PytestPluginManager, package: str) -> None:
    """Keeps pytest from rewriting the assertions of a package.

    pytest rewrites every package with a plugin. The suite's assertions are not tests, and where no cache can
    be written (a read-only environment, PYTHONDONTWRITEBYTECODE) each run would compile the whole package.
    Assumes `_must_rewrite` of the import hook; without it the package is rewritten.
    """
    marked = getattr(getattr(pluginmanager, "rewrite_hook", None), "_must_rewrite", None)
    if isinstance(marked, set):
        marked.discard(package)


def set_cache_folder(config: pytest.Config, folder: Path) -> None:
    """Makes pytest write its cache into a folder, unless its settings name one; call it before plugins are
    configured. Assumes _inicache, the cache of settings; without it the cache is in the root folder."""
    remembered = getattr(config, "_inicache", None)
    with contextlib.suppress(KeyError, ValueError):
        if isinstance(remembered, dict) and config.getini("cache_dir") == ".pytest_cache":
            remembered["cache_dir"] = str(folder)


def option_names(parser: pytest.Parser) -> frozenset[str]:
    """The names of all options of a parser. Assumes its groups; without them the set is empty, and pytest
    rejects duplicate names."""
    groups = [*getattr(parser, "_groups", ()), getattr(parser, "_anonymous", None)]
    return frozenset(
        name for group in groups for option in getattr(group, "options", ()) for name in option.names()
    )


# ---------------------------------------------------------------------- Python


def serialize_parsing() -> None:
    """Serializes `ast.parse` among the threads of this process; pytest calls it for imports, hypothesis for
    its messages. Before Python 3.12.2 (and 3.11.8) threads share one recursion counter
    (python/cpython#106905), which raises SystemError. Assumes that callers use the attribute of the module;
    without it some runs end with an internal error."""
    parse, lock = ast.parse, threading.RLock()
    if sys.version_info >= (3, 12, 2) or hasattr(parse, "__wrapped__"):
        return

    @functools.wraps(parse)
    def one_at_a_time(*arguments: Any, **options: Any) -> Any:
        with lock:
            return parse(*arguments, **options)

    ast.parse = one_at_a_time
