"""Uses of private parts of other libraries; each does nothing where what it assumes fails (a test tells)."""

from __future__ import annotations

import contextlib
import importlib
import sys
from typing import Any


def determine_root_again(config: Any) -> None:
    """Lets pytest determine its root folder again once all options are registered: before, it takes the value
    of `--target /etc/api/target.toml` for a path to tests, and so /etc/api for the root."""
    with contextlib.suppress(ImportError, AttributeError, TypeError, ValueError):
        from _pytest.config.findpaths import determine_setup

        known, inside = config.known_args_namespace, "_inicfg" if hasattr(config, "_inicfg") else "inicfg"
        root, settings, values, *_ = determine_setup(
            inifile=known.inifilename,
            override_ini=known.override_ini,
            args=known.file_or_dir,
            rootdir_cmd_arg=known.rootdir or None,
            invocation_dir=config.invocation_params.dir,
        )
        config._inicache.clear()
        config._rootpath, config._inipath = root, settings
        setattr(config, inside, values)


def disable_assertion_rewriting(pluginmanager: Any, package: str) -> None:
    """Keeps pytest from rewriting the assertions of a plugin's package, and so from compiling all of it."""
    getattr(getattr(pluginmanager, "rewrite_hook", None), "_must_rewrite", set()).discard(package)


def option_names(parser: Any) -> frozenset[str]:
    """The names of all options of pytest's parser; none where its groups are unknown."""
    groups = [*getattr(parser, "_groups", ()), getattr(parser, "_anonymous", None)]
    return frozenset(name for group in groups if group for option in group.options for name in option.names())


def import_httpx_without_its_command() -> None:
    """Imports httpx, but not what only its command line needs: rich and click, 40 ms and 4 MB, which are
    there where schemathesis is."""
    command = "httpx._main"
    if "httpx" in sys.modules:
        return
    # An import of it fails, as where they are not installed.
    sys.modules[command] = None  # type: ignore[assignment]
    try:
        importlib.import_module("httpx")
    finally:
        del sys.modules[command]
