"""The `conformance` command: its help."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.running import executed


def test_help_of_a_run_names_the_command_that_was_given(tmp_path: Path) -> None:
    done = executed([sys.executable, "-m", "conformance.cli", "test", "--help"], tmp_path)
    assert done.stdout.startswith("usage: conformance test [options]")
