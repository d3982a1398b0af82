"""Path and command-line flags of an installed Chromium."""

from __future__ import annotations

import os
import shutil

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

#: Remedy if none is installed.
MISSING = "No Chromium is installed: `apt-get install chromium`, or name one in the variable CHROMIUM."


def chromium() -> str | None:
    """Returns the path of an installed Chromium, or the one that the variable CHROMIUM names."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)


def flags() -> list[str]:
    """Returns the command-line flags; Chromium starts as root, as in containers, only without its sandbox."""
    return ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
