"""`conformance test`: pytest on the suite, for those who have no other use for pytest."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

_LEFT_OUT = ("-p", "no:schemathesis", "-p", "no:hypothesispytest")

_HELP = """\
Options of its own:

  --watch               run again, what failed first, when files change or the server comes back
  --watch-path PATH     a file or folder to watch in the place of the current folder; repeatable

All others are those of pytest, the suite's (Financial Accounts API conformance) among them:
"""


def judge(arguments: Sequence[str]) -> int:
    """Runs the suite with options of pytest and its own, and returns the exit status of the run; with
    `--watch` again and again.

    Nothing is left in the user's folder but the reports. The plugins of schemathesis and hypothesis are left
    out: the suite does without them, and they take longer to import than its checks. `-p schemathesis` brings
    one back. What hypothesis remembers of Unicode goes to the user's cache.
    """
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(_cache() / "hypothesis"))
    if {"-h", "--help"} & set(arguments):
        print(_HELP)
    elif "--watch" in arguments:
        from conformance.cli.watch import watched

        return watched(arguments, _command)
    return int(pytest.main(_command(["-p", "no:cacheprovider", *arguments])))


def _cache() -> Path:
    """The user's folder for what can be made again."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    with contextlib.suppress(RuntimeError):
        return (
            Path(named) if Path(named).is_absolute() else Path.home() / ".cache"
        ) / "financial-accounts-conformance"
    return Path(tempfile.gettempdir()) / "financial-accounts-conformance"


def _command(arguments: Sequence[str]) -> list[str]:
    return ["--pyargs", "conformance", *_LEFT_OUT, *arguments]
