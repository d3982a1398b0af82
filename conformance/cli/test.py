"""`conformance test`: pytest on the suite, for those who have no other use for pytest."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

_LEFT_OUT = ("-p", "no:schemathesis", "-p", "no:hypothesispytest")


def judge(arguments: Sequence[str]) -> int:
    """Runs the suite with options of pytest and its own, and returns the exit status of the run; with
    `--watch` again and again.

    Nothing is left in the user's folder but the reports. The plugins of schemathesis and hypothesis are left
    out: the suite does without them, and they take longer to import than its checks. `-p schemathesis` brings
    one back.
    """
    if "--watch" in arguments:
        from conformance.cli.watch import watched

        return watched(arguments, _command)
    return int(pytest.main(_command(["-p", "no:cacheprovider", *arguments])))


def _command(arguments: Sequence[str]) -> list[str]:
    return ["--pyargs", "conformance", *_LEFT_OUT, *arguments]
