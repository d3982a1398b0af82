"""Whole runs: verdict, exit status and output."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from conformance.reference.app import system_clock
from tests.support.mistakes import NoSignatureCheck
from tests.support.running import begun, cells, run, run_against, until

ONE = "auth.accepts-valid@listAccounts"


def test_embedded_run_conforms_and_says_what_it_did(tmp_path: Path) -> None:
    outcome = run("--rule", "auth.header-case", folder=tmp_path)
    assert outcome.status == 0, outcome.output
    assert "judging the embedded reference server, seed " in outcome.output
    assert cells(outcome, "failed", "warning", "inconclusive") == set()
    passed = {("auth.header-case", "createPayout"), ("auth.header-case", "listWallets")}
    assert passed <= cells(outcome, "passed")


def test_fault_on_one_operation_fails_the_run(tmp_path: Path) -> None:
    secrets: list[str] = []
    rule, operation = "auth.signature", "getBeneficiary"

    def remember(tables: Any) -> None:
        secrets.extend(tables[name]["secret"] for name in ("primary", "secondary"))

    outcome = run_against(tmp_path, f"--rule {rule}", NoSignatureCheck(), remember)
    assert outcome.status == 1, outcome.output
    assert (rule, operation) in cells(outcome, "failed")
    assert {cell for cell in cells(outcome, "failed") if cell[0] == rule} == {(rule, operation)}
    assert rule in outcome.output and operation in outcome.output
    written = outcome.output + "".join(
        path.read_text("utf-8") for path in outcome.folder.rglob("*") if path.is_file()
    )
    assert not any(secret in written for secret in secrets)


@pytest.mark.parametrize("hours", [2, -30])
def test_clock_of_the_server_may_be_hours_off(hours: int, tmp_path: Path) -> None:
    """This run starts with a race."""
    options = "--rule idempotency.race --operation createAccount --lanes 2"
    off = hours * 3_600_000_000
    outcome = run_against(tmp_path, options, clock=lambda: system_clock() + off)
    assert outcome.status == 0, outcome.output
    assert not cells(outcome, "inconclusive")


@pytest.mark.parametrize(("declared", "status"), [(None, 6), (False, 0)])
def test_without_second_organization(declared: bool | None, status: int, tmp_path: Path) -> None:
    def change(tables: Any) -> None:
        del tables["secondary"]
        if declared is not None:
            tables["features"]["secondary"] = declared

    rules = "--rule tenancy.foreign-parent --rule tenancy.unknown-parent"
    outcome = run_against(tmp_path, rules, change=change)
    assert outcome.status == status, outcome.output
    assert cells(outcome, "passed") & {("tenancy.foreign-parent", "createPayout")} == set()
    if status == 6:
        assert "[secondary]" in outcome.output


@pytest.mark.parametrize("lanes", [1, 6])
def test_first_violation_stops_under_x(lanes: int, tmp_path: Path) -> None:
    outcome = run_against(tmp_path, f"--rule auth.signature -x --lanes {lanes}", NoSignatureCheck())
    assert outcome.status == 1 and "stopping after 1 failures" in outcome.output
    # Scheduling decides which tests run after the first violation.
    assert cells(outcome, "failed") == {("auth.signature", "getBeneficiary")}
    assert {rule for rule, _ in cells(outcome, "not run")} >= {"auth.signature"}


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--target", "missing.toml"], "missing.toml"),
        (["--base-url", "ftp://example.com"], "--base-url"),
        (["--rule", "auth.nonsense"], "--rule"),
        (["--rule", "wallet.duplicate@listAccounts"], "wallet.duplicate"),
        (["--fail-on", "open"], "--fail-on"),
        (["--fuzz-examples", "0"], "whole number from 1"),
        (["--wait", "soon"], "number of seconds"),
        (["--rate", "fast"], "a number of requests a second"),
        (["--run-timeout", "0"], "a number of seconds above 0"),
        (["--request-timeout", "-1"], "a number of seconds"),
        (["--seed", "x"], "--seed"),
        (["--known-failures", "missing.toml"], "missing.toml"),
        (["--report-dir", "/dev/null/reports"], "--report-dir"),
    ],
)
def test_wrong_usage_is_one_paragraph(arguments: list[str], named: str, tmp_path: Path) -> None:
    outcome = run(*arguments, folder=tmp_path)
    assert outcome.status == 4, outcome.output
    assert named in outcome.output
    for word in ("Traceback", "INTERNALERROR", "_positive"):
        assert word not in outcome.output


def test_collecting_alone_starts_no_server(tmp_path: Path) -> None:
    outcome = run("--collect-only", "-q", "--rule", "auth.accepts-valid", folder=tmp_path / "reports")
    assert outcome.status == 0
    assert not (tmp_path / "reports").exists()


def test_embedded_server_ends_with_the_run(tmp_path: Path) -> None:
    """Even if the run is killed."""
    with begun("-m", "not fuzz", "-v", folder=tmp_path / "reports") as process:
        until(process, "PASSED")
        servers = _children(process.pid)
    assert servers
    limit = time.monotonic() + 20
    while any(map(_alive, servers)) and time.monotonic() < limit:
        os.sched_yield()
    assert not any(map(_alive, servers))


def _children(parent: int) -> list[int]:
    if not Path("/proc").exists():
        pytest.skip("processes are looked up in /proc")
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(stat.parent.name))
        except (OSError, ValueError):
            continue
    return found


def _alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
