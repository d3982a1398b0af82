"""`python -m tests.benchmarks.growing EXCHANGES`: a run of so many exchanges on a server in this process,
each handed on as a worker does, and its report; prints bytes as JSON."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from conformance.fuzz.exploration import FuzzSettings
from conformance.judge.findings import Finding, Verdict
from conformance.judge.ledger import Ledger
from conformance.plugin.worker import Worker
from conformance.report.building import RunInfo, build
from conformance.report.write import write_all
from tests.support.runs import run_on

#: Exchanges of one test.
EACH = 50


def main() -> None:
    """Measures."""
    number, run = int(sys.argv[1]), run_on()
    worker = Worker(run.target, index=0, workers=1, settings=FuzzSettings(1))
    worker.run = run
    results, call = Ledger.of_catalogue(run.target), run.account().call("listAccounts")
    begin = time.time()
    for _ in range(number // EACH):
        exchanges = [run.send(run.client(), call, "one of many").number for _ in range(EACH)]
        finding = Finding(
            "list.walk", "listAccounts", Verdict.FAILED, "growing", "broken", exchanges=exchanges, probes=EACH
        )
        results.merge(worker.ledger([finding]))
    with tempfile.TemporaryDirectory() as folder:
        write_all(build(results, run.target, RunInfo(begin, time.time())), Path(folder))
        sizes = {name: (Path(folder) / name).stat().st_size for name in ("results.json", "report.html")}
    print(json.dumps(sizes))


if __name__ == "__main__":
    main()
