"""Limits of requests and time: a run keeps them, and what is not judged for that is inconclusive."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from conformance.reference.serving.listener import served
from tests.support.running import Outcome, cells, counted, run, write_target


def limited(folder: Path, *options: str, limits: dict[str, float] | None = None) -> tuple[Outcome, int]:
    """Runs with options and [limits] of the target file; returns the outcome and the number of requests
    received."""
    server, tables, requests = counted()
    with served(server, threads=True) as url:
        target = write_target(folder / "target.toml", {**tables(url), "limits": limits or {}})
        outcome = run("--target", str(target), *options, folder=folder / "reports")
    return outcome, len(requests)


@pytest.mark.parametrize(
    ("options", "limits"),
    [
        (("--max-requests", "60", "-n", "2"), {}),
        (("--max-requests", "60", "--lanes", "2"), {"max_requests": 5}),
    ],
    ids=["processes", "lanes, an option beats the target file"],
)
def test_run_sends_no_more_than_it_may(
    options: tuple[str, ...], limits: dict[str, Any], tmp_path: Path
) -> None:
    outcome, received = limited(
        tmp_path, "--operation", "listAccounts", "--rule", "auth.*", *options, limits=limits
    )
    assert outcome.status == 6, outcome.output
    # Processes divide the number, and a race is sent whole or not at all.
    assert received == outcome.results["run"]["requests"] and 50 < received <= 60
    assert outcome.results["target"]["limits"]["max_requests"] == 60
    assert not cells(outcome, "failed")
    reasons = {case["summary"] for case in outcome.results["cells"] if case["verdict"] == "inconclusive"}
    assert reasons == {"the 60 requests that the run may send were used up (--max-requests)"}
    assert "Raise the limit" in outcome.output


def test_limit_that_is_reached_among_generated_requests_keeps_what_was_found(tmp_path: Path) -> None:
    outcome, received = limited(tmp_path, "-k", "test_fuzz and listWallets", "--max-requests", "70")
    assert outcome.status == 6, outcome.output
    assert received == 70
    assert ("http.success-json", "listWallets") in cells(outcome, "inconclusive")
    assert ("auth.accepts-valid", "listWallets") in cells(outcome, "passed")


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
    reasons = {case["summary"] for case in outcome.results["cells"] if case["verdict"] == "inconclusive"}
    assert reasons == {"the run's time was over (6 s, --run-timeout)"}
