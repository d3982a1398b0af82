"""A run leaves only its reports in a user's folder, and no open socket or file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.running import ROOT, environment, executed


def pytest_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs pytest as a user of the installed suite does, without options or settings of this checkout."""
    command = [sys.executable, "-m", "pytest", *arguments]
    return executed(command, folder, PYTHONPATH=str(ROOT), PYTHONDONTWRITEBYTECODE="1")


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


GENERATED = (
    "--pyargs", "conformance", "--target", "embedded", "-k", "test_schema_fuzzing and listWallets",
    "--fuzz-examples", "2",
)  # fmt: skip


@pytest.mark.parametrize(
    "more", [(), pytest.param(("-n", "2"), marks=pytest.mark.slow)], ids=["alone", "workers"]
)
def test_generated_requests_leave_nothing_beside_the_reports(more: tuple[str, ...], tmp_path: Path) -> None:
    done = pytest_in(tmp_path, *GENERATED, *more)
    assert done.returncode == 0, done.stdout + done.stderr
    assert names(tmp_path) - {".pytest_cache", ".hypothesis"} == {"reports"}


def test_nothing_is_left_open(tmp_path: Path) -> None:
    strict = [sys.executable, "-W", "error", "-X", "dev", "-m", "pytest", "--pyargs", "conformance"]
    scope = ["--target", "embedded", "--rule", "wallet.race", "--rule", "auth.header-case@listWallets"]
    reports = ["--report-dir", str(tmp_path / "reports"), "-p", "no:cacheprovider"]
    command = [*strict, *scope, *reports, "--lanes", "3"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=120, check=False
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    assert "Warning" not in output and "Exception ignored" not in output, output
