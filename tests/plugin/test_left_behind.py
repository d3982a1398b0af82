"""A run leaves reports in a user's folder, beside the caches of pytest and Hypothesis; nothing stays open."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.running import ROOT, executed

SUITE = ("-m", "pytest", "--pyargs", "conformance", "--target", "embedded")
GENERATED = ("-k", "test_schema_fuzzing and listWallets", "--fuzz-examples", "2")


@pytest.mark.parametrize(
    "more", [(), pytest.param(("-n", "2"), marks=pytest.mark.slow)], ids=["alone", "workers"]
)
def test_generated_requests_leave_nothing_beside_the_reports(more: tuple[str, ...], tmp_path: Path) -> None:
    """As a user of the installed suite runs it, without options or settings of this checkout."""
    command = [sys.executable, *SUITE, *GENERATED, *more]
    done = executed(command, tmp_path, PYTHONPATH=str(ROOT), PYTHONDONTWRITEBYTECODE="1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {path.name for path in tmp_path.iterdir()} - {".pytest_cache", ".hypothesis"} == {"reports"}


def test_nothing_is_left_open(tmp_path: Path) -> None:
    scope = ["--rule", "wallet.race", "--rule", "auth.header-case@listWallets", "--lanes", "3"]
    reports = ["--report-dir", str(tmp_path / "reports"), "-p", "no:cacheprovider"]
    strict = [sys.executable, "-W", "error", "-X", "dev", *SUITE, *scope, *reports]
    done = executed(strict, ROOT, together=True)
    assert done.returncode == 0, done.stdout
    assert "Warning" not in done.stdout and "Exception ignored" not in done.stdout, done.stdout
