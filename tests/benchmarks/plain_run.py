"""Plain `st run` on spec/openapi.yaml, with signing and with ids of resources that exist, to compare with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.contract.rules import SPEC
from conformance.target.file import build
from conformance.world.run_context import RunContext

ROOT = Path(__file__).parents[2]


@dataclass
class PlainRun:
    """One run: answers by status, the failures that it reports, and how long it took (seconds, start-up
    included)."""

    seconds: float
    statuses: Counter[int] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    #: Failure -> seconds until it was first seen.
    first: dict[str, float] = field(default_factory=dict)
    #: Seconds, and processor seconds of the client, from the first answer to the last: without start-up.
    sending: float = 0.0
    processor: float = 0.0
    output: str = ""

    @property
    def cases(self) -> int:
        return sum(self.statuses.values())


def resources(tables: dict[str, Any]) -> dict[str, str]:
    """Path parameters that name resources of the target; they are made for it."""
    fixture = RunContext(build(tables, "benchmark")).account()
    return {
        name: getattr(fixture, name)
        for name in ("customer_id", "account_id", "beneficiary_id", "virtual_account_id")
    }


def run(tables: dict[str, Any], examples: int, seed: int, operation: str | None = None) -> PlainRun:
    """Runs schemathesis's own command line in its coverage and fuzzing phases."""
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
        command += ["--include-operation-id", operation] if operation else []
        begin = time.time()
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=600,
            check=False,
        )
        result = PlainRun(time.time() - begin, output=done.stdout.decode("utf-8", "replace"))
        times, used = [], []
        for line in log.read_text("utf-8").splitlines() if log.exists() else ():
            noted = json.loads(line)
            if "status" in noted:
                result.statuses[noted["status"]] += 1
                times.append(noted["at"])
                used.append(noted["processor"])
            else:
                kind = f"{noted['failure']}: {noted['message']}"
                result.failures[kind] += 1
                result.first.setdefault(kind, noted["at"] - begin)
        result.sending = times[-1] - times[0] if times else 0.0
        result.processor = used[-1] - used[0] if used else 0.0
    return result
