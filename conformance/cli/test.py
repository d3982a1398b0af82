"""`conformance test`: runs pytest on the suite."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

import pytest

PASSES_ON = True

#: The command has imported the suite before pytest looks for assertions to rewrite, of which it has none.
_IMPORTED = "ignore:Module already imported so cannot be rewritten; conformance"

_ALWAYS = ("--pyargs", "conformance", "-W", _IMPORTED, "-p", "no:schemathesis", "-p", "no:hypothesispytest")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Sets the program name in pytest's usage; this module is registered as a plugin."""
    parser.prog = "conformance test"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds nothing: pytest parses all options, `--help` included."""


def run(options: argparse.Namespace) -> int:
    """Runs the suite with pytest's options, `words`, and returns the exit status of the run.

    Writes nothing but reports into the user's folder. The plugins of schemathesis and hypothesis are
    disabled, as the suite does not need them and they import slowly; `-p schemathesis` enables it again.
    Hypothesis's Unicode tables go to the user's cache.
    """
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(_cache() / "hypothesis"))
    return int(
        pytest.main([*_ALWAYS, "-p", "no:cacheprovider", *options.words], plugins=[sys.modules[__name__]])
    )


def _cache() -> Path:
    """The suite's folder in the user's cache."""
    folder = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not folder.is_absolute():
        try:
            folder = Path.home() / ".cache"
        except RuntimeError:
            folder = Path(tempfile.gettempdir())
    return folder / "financial-accounts-conformance"
