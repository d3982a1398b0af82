"""A run leaves no socket and no file open: nothing warns, also where every warning is an error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.running import ROOT, environment


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
