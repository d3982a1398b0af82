"""Plain `st run` on spec/openapi.yaml, with signing and ids of existing resources, for comparison."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from conformance.contract.rules import SPEC
from conformance.target.file import build
from conformance.world.run_context import RunContext
from tests.support.running import ROOT


def resources(tables: dict[str, Any]) -> dict[str, str]:
    """Creates resources; returns the path parameters that name them."""
    fixture = RunContext(build(tables, "benchmark")).account()
    return {
        name: getattr(fixture, name)
        for name in ("customer_id", "account_id", "beneficiary_id", "virtual_account_id")
    }


def run(tables: dict[str, Any], examples: int, seed: int) -> tuple[float, Counter[int | None]]:
    """Runs schemathesis's command line in its coverage and fuzzing phases. Returns CPU seconds from the first
    answer to the last, and cases by response status."""
    ids = resources(tables)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "SCHEMATHESIS_HOOKS": "tests.benchmarks.signing_hooks",
            "BENCHMARK_LOG": str(log),
            "BENCHMARK_API_KEY": tables["primary"]["api_key"],
            "BENCHMARK_SECRET": tables["primary"]["secret"],
            "BENCHMARK_IDS": json.dumps(ids),
        }
        (Path(folder) / "schemathesis.toml").write_text(
            "[generation]\nwith-security-parameters = false\n[phases.coverage]\nunexpected-methods = []\n"
        )
        command = [
            Path(sys.executable).with_name("st"),
            "run",
            str(SPEC / "openapi.yaml"),
            "--url",
            tables["base_url"],
            "--phases",
            "coverage,fuzzing",
            "-n",
            str(examples),
            "--seed",
            str(seed),
            "--workers",
            "1",
            "--no-color",
        ]
        subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            timeout=600,
            check=False,
        )
        noted = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    return noted[-1]["processor"] - noted[0]["processor"], Counter(one["status"] for one in noted)
