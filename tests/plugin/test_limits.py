"""Limits of rate and time: a run keeps them, and what is not judged for that is inconclusive."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from conformance.reference.serving.listener import served
from tests.support.running import cells, counted, run, write_target


def test_an_option_beats_the_target_file(tmp_path: Path) -> None:
    server, tables, requests = counted()
    with served(server, threads=True) as url:
        target = write_target(tmp_path / "target.toml", {**tables(url), "limits": {"requests_per_second": 1}})
        words = ("--rule", "auth.header-case@listWallets", "--rate", "500")
        outcome = run("--target", str(target), *words, folder=tmp_path / "reports")
    assert outcome.status == 0, outcome.output
    assert outcome.results["target"]["limits"]["requests_per_second"] == 500
    # Those of the preflight are counted, too.
    assert outcome.results["run"]["requests"] == len(requests)


def test_run_ends_in_time_and_reports_what_it_found(tmp_path: Path) -> None:
    """The server stops answering after some requests: without the limit the run would take minutes."""
    server, tables, requests = counted()
    over, handle = threading.Event(), server.handle

    def handled(request: Any) -> Any:
        if len(requests) > 40:
            over.wait(60)
        return handle(request)

    server.handle = handled
    with served(server, threads=True) as url:
        target = write_target(tmp_path / "target.toml", tables(url))
        outcome = run(
            "--target", str(target), "--operation", "listAccounts", "--rule", "auth.*", "--run-timeout", "6",
            "--lanes", "1",
            folder=tmp_path / "reports",
        )  # fmt: skip
        over.set()
    assert outcome.status == 6, outcome.output
    assert cells(outcome, "passed") and not cells(outcome, "failed")
    reasons = {cell["summary"] for cell in outcome.results["cells"] if cell["verdict"] == "inconclusive"}
    assert reasons == {"the run's time was over (6 s, --run-timeout)"}
