"""Chromium, where one is installed: its path and what it is started with."""

from __future__ import annotations

import os
import shutil

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

#: Remedy where none is installed.
MISSING = "No Chromium is installed: `apt-get install chromium`, or name one in the variable CHROMIUM."


def chromium() -> str | None:
    """The path of an installed Chromium; CHROMIUM names another one."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)


def flags() -> list[str]:
    """Command-line flags of Chromium: as root, as in containers, it starts only without its sandbox."""
    return ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
