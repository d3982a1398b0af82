"""Undoes a mix-up: pytest takes the value of an option that it does not know yet for a path to tests.

`pytest --target /etc/api/target.toml` would make /etc/api the root folder, look for settings there and write its
cache there, because plugins' options are learnt only after the root folder was chosen.
"""

from __future__ import annotations

import pytest


def correct(config: pytest.Config) -> None:
    """Chooses the root folder and the settings file again, now that all options are known.

    There is no public way to do so; where pytest changed inside, its first choice stays.
    """
    try:
        from _pytest.config.findpaths import determine_setup

        known = config.known_args_namespace
        root, settings, values, *rest = determine_setup(
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
