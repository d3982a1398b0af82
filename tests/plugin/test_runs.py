"""Whole runs: verdict, exit status, output, limits, effort, and what they leave behind."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from conformance._options import Effort
from conformance.checks import load_checks
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES, Level
from conformance.plugin.options import DEEP_EXAMPLES, Options, parse
from conformance.plugin.selection import quick
from conformance.reference.app import system_clock
from conformance.reference.serving.listener import served
from tests.checks.test_money import BalancesBehind, LastWriteStays
from tests.support.mistakes import NoSignatureCheck
from tests.support.running import (
    PATIENCE,
    ROOT,
    begun,
    cells,
    counted,
    executed,
    faulty,
    run,
    run_against,
    until,
    write_target,
)
from tests.variants.choice import compose


def test_embedded_run_conforms_and_says_what_it_did(tmp_path: Path) -> None:
    outcome = run("--rule", "auth.header-case", folder=tmp_path)
    assert outcome.status == 0, outcome.output
    assert "judging the embedded reference server, seed " in outcome.output
    assert cells(outcome, "failed", "warning", "inconclusive") == set()
    passed = {("auth.header-case", "createPayout"), ("auth.header-case", "listWallets")}
    assert passed <= cells(outcome, "passed")


def test_fault_on_one_operation_fails_the_run(tmp_path: Path) -> None:
    secrets: list[str] = []

    def remember(tables: Any) -> None:
        secrets.extend(tables[name]["secret"] for name in ("primary", "secondary"))

    outcome = run_against(tmp_path, "--rule auth.signature", NoSignatureCheck(), remember)
    assert outcome.status == 1, outcome.output
    failed = {cell for cell in cells(outcome, "failed") if cell[0] == "auth.signature"}
    assert failed == {("auth.signature", "getBeneficiary")}
    assert "auth.signature on getBeneficiary" in outcome.output
    written = [path.read_bytes() for path in outcome.folder.rglob("*") if path.is_file()]
    assert not any(
        secret.encode() in text for secret in secrets for text in (outcome.output.encode(), *written)
    )


@pytest.mark.parametrize("hours", [2, -30])
def test_clock_of_the_server_may_be_hours_off(hours: int, tmp_path: Path) -> None:
    """This run starts with a race."""
    options = "--rule idempotency.race --rule auth.nonce-race --operation createAccount --lanes 2"
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
        (["--target", "NOWHERE", "--wait", "0.5"], "did not answer within 0.5 s (--wait)"),
        ([], "--target embedded"),
    ],
)
def test_wrong_usage_is_one_paragraph(arguments: list[str], named: str, tmp_path: Path) -> None:
    """So is a run in CI without a target, and a server that is waited for in vain."""
    nowhere = write_target(tmp_path / "target.toml", faulty()[1]("http://127.0.0.1:1"))
    words = [word.replace("NOWHERE", str(nowhere)) for word in arguments]
    outcome = run(*words, folder=tmp_path, CI="" if arguments else "true")
    assert outcome.status == 4, outcome.output
    assert named in outcome.output
    for word in ("Traceback", "INTERNALERROR", "_positive"):
        assert word not in outcome.output


def test_collecting_alone_starts_no_server(tmp_path: Path) -> None:
    outcome = run("--collect-only", "-q", "--rule", "auth.accepts-valid", folder=tmp_path / "reports")
    assert outcome.status == 0
    assert not (tmp_path / "reports").exists()


@pytest.mark.skipif(not Path("/proc").exists(), reason="processes are looked up in /proc")
def test_embedded_server_ends_with_the_run(tmp_path: Path) -> None:
    """Even if the run is killed."""

    def alive(process: str) -> bool:
        with contextlib.suppress(OSError):
            return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        return False

    with begun("-m", "not fuzz", "-v", folder=tmp_path / "reports") as process:
        until(process, "PASSED")
        servers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert servers
    limit = time.monotonic() + PATIENCE
    while any(map(alive, servers)) and time.monotonic() < limit:
        os.sched_yield()
    assert not any(map(alive, servers))


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
    """The server stops answering after some requests, when the run's time is nearly over by its clock."""
    server, tables, requests = counted()
    over, handle = threading.Event(), server.handle

    def handled(request: Any) -> Any:
        if len(requests) > 300:
            over.wait(60)
        return handle(request)

    server.handle = handled
    with served(server, threads=True) as url:
        target = write_target(tmp_path / "target.toml", tables(url))
        words = (
            "-p tests.support.late_clock --operation listAccounts --rule auth.* --run-timeout 600 --lanes 1"
        )
        outcome = run("--target", str(target), *words.split(), folder=tmp_path / "reports")
        over.set()
    assert outcome.status == 6, outcome.output
    assert cells(outcome, "passed") and not cells(outcome, "failed")
    reasons = {cell["summary"] for cell in outcome.results["cells"] if cell["verdict"] == "inconclusive"}
    assert reasons == {"the run's time was over (600 s, --run-timeout)"}


@pytest.mark.slow
@pytest.mark.parametrize("lag", [(), (BalancesBehind,)], ids=["at once", "late"])
@pytest.mark.parametrize("options", ["--lanes=4", "-n 2"])
def test_lost_updates_are_found(options: str, lag: tuple[type, ...], tmp_path: Path) -> None:
    """Beside all that pays from the same account."""
    paying = "-m 'not fuzz' --operation createPayout --operation getAccountBalances --fail-on implied"
    outcome = run_against(tmp_path, f"{paying} {options}", compose(*lag, LastWriteStays))
    assert ("payout.race", "createPayout") in cells(outcome, "warning")


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


REQUIRED = {rule.id for rule in RULES.values() if rule.level is Level.REQUIRED}


def test_a_quick_run_has_each_check_on_one_operation_and_all_operations_have_their_turn() -> None:
    there = [name for name, operation in quick() if operation != "createPayin"]
    assert Counter(there) == Counter({name: 1 for name, check in load_checks().items() if not check.waits})
    assert {operation for _, operation in quick()} == set(OPERATIONS)


@pytest.mark.parametrize(
    "spread",
    [
        pytest.param((), marks=pytest.mark.slow),
        ("--lanes", "4"),
        pytest.param(("-n", "2"), marks=pytest.mark.slow),
    ],
    ids=["one", "lanes", "processes"],
)
def test_a_quick_run_exercises_every_required_rule(spread: tuple[str, ...], tmp_path: Path) -> None:
    outcome = run("--effort", "quick", *spread, folder=tmp_path)
    assert outcome.status == 0, outcome.output
    assert {rule for rule, _ in cells(outcome, "passed")} >= REQUIRED
    results = outcome.results
    assert results["run"]["requests"] < 4000
    assert (results["run"]["effort"], results["verdict"]["name"]) == ("quick", "partial")
    assert cells(outcome, "not run")
    written = [(outcome.folder / name).read_text("utf-8") for name in ("report.html", "summary.md")]
    for text in (outcome.output, *written):
        assert "that was run (--effort quick)" in " ".join(text.replace("\\", "").split())


def test_only_deep_runs_have_deep_checks(tmp_path: Path) -> None:
    listed = {
        level: run("--effort", level, "--collect-only", "-q", "-m", "not fuzz", folder=tmp_path).output
        for level in ("full", "deep")
    }
    deep = [check.name.partition(".")[2] for check in load_checks().values() if check.deep]
    assert deep
    for name in deep:
        assert f"::{name}[" in listed["deep"] and f"::{name}[" not in listed["full"]


@pytest.mark.parametrize(
    ("options", "examples"),
    [
        ({"effort": "deep"}, DEEP_EXAMPLES),
        ({"effort": "deep", "fuzz_examples": 3}, 3),
        ({"effort": "deep", "fuzz_time": 9.0}, None),
        ({"effort": "full"}, None),
    ],
)
def test_deep_runs_generate_more_unless_a_number_or_a_time_is_given(
    options: dict[str, Any], examples: int | None, pytestconfig: pytest.Config
) -> None:
    usual = vars(parse(pytestconfig)) | {"fuzz_examples": None, "fuzz_time": None}
    assert Options(**(usual | options | {"effort": Effort(options["effort"])})).examples == examples
