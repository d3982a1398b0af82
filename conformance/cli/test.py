"""`conformance test`: pytest on the suite, for those who have no other use for pytest."""

from __future__ import annotations

from collections.abc import Sequence

import pytest


def judge(arguments: Sequence[str]) -> int:
    """Runs the suite with options of pytest and its own, and returns the exit status of the run.

    Nothing is left in the user's folder but the reports.
    """
    return int(pytest.main(["--pyargs", "conformance", "-p", "no:cacheprovider", *arguments]))
