"""`conformance test`: pytest on the suite, for those who have no other use for pytest."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
from pathlib import Path

import pytest

_ALWAYS = ("--pyargs", "conformance", "-p", "no:schemathesis", "-p", "no:hypothesispytest")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Makes pytest's usage begin with this command's name: this module is a plugin of its runs."""
    parser.prog = "conformance test"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares nothing: pytest reads all options, `--help` included."""


def run(options: argparse.Namespace) -> int:
    """Runs the suite with pytest's options, `words`, and returns the exit status of the run.

    Nothing is left in the user's folder but the reports. The plugins of schemathesis and hypothesis are left
    out: the suite does without them, and they take longer to import than its checks. `-p schemathesis` brings
    one back. Hypothesis's tables of Unicode go to the user's cache.
    """
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(_cache() / "hypothesis"))
    return int(
        pytest.main([*_ALWAYS, "-p", "no:cacheprovider", *options.words], plugins=[sys.modules[__name__]])
    )


def _cache() -> Path:
    """The user's folder for what can be made again."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    with contextlib.suppress(RuntimeError):
        return (
            Path(named) if Path(named).is_absolute() else Path.home() / ".cache"
        ) / "financial-accounts-conformance"
    return Path(tempfile.gettempdir()) / "financial-accounts-conformance"
