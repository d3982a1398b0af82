"""Load runs on conforming and faulty servers, in one process and in several."""

from __future__ import annotations

import contextlib
import fnmatch
import importlib.util
import json
import time
from pathlib import Path

import pytest

from conformance.reference.serving.listener import served
from tests.load.faults import fault
from tests.load.runs import PATIENCE, command, load_run
from tests.load.serve import server
from tests.proofs import parametrize, selected
from tests.support.programs import Program
from tests.support.running import counted, executed, sandbox, write_target
from tests.support.wire import reserved

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("locust") is None, reason="Locust is not installed: pip install '.[load]'"
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "program" in metafunc.fixturenames:
        parametrize(metafunc, selected(metafunc.config, fault.values()))


#: All users start at once.
USERS = ("--users", "8", "--spawn-rate", "8")

#: Requests that a limit of 30 a second may admit at once.
SLACK = 30


@pytest.mark.parametrize("name", ["SignaturesSkipped", "AccountKeysRaced"])
def test_a_fault_is_named_by_its_rule(name: str, tmp_path: Path) -> None:
    with (
        server(name, tmp_path) as target,
        load_run(target, tmp_path / "reports", "--headless", *USERS) as run,
    ):
        run.until(lambda: bool(run.announced))
        assert run.end() == 1, run.log
    log = " ".join(run.log.split())
    assert log.rindex("Exit status 1") > log.rindex("Aggregated"), "the verdict comes last"
    assert all(any(fnmatch.fnmatch(broken, rule) for rule in fault[name].rules) for broken in run.broken)
    names = {path.name for path in run.folder.iterdir()}
    assert {"report.html", "created.jsonl", "locust_stats.csv", "locust.html"} <= names
    secret = json.dumps(target.read_text("utf-8").partition('secret = "')[2].partition('"')[0])[1:-1]
    written = [path.read_bytes() for path in run.folder.rglob("*") if path.is_file()]
    assert not any(secret.encode() in content for content in written)


def test_the_death_of_a_worker_ends_its_users_and_not_the_run(tmp_path: Path) -> None:
    with contextlib.ExitStack() as running:
        port = str(running.enter_context(reserved()))
        worker = ("--worker", "--master-port", port)
        master = ("--master", "--expect-workers", "2", "--master-bind-port", port, "--headless", *USERS)
        target = running.enter_context(server("reference", tmp_path))
        workers = [
            running.enter_context(load_run(target, tmp_path / f"worker{number}", *worker))
            for number in range(2)
        ]
        run = running.enter_context(load_run(target, tmp_path / "reports", *master))
        run.until(lambda: run.created > 0)
        workers[0].process.kill()
        run.until(lambda: "failed to send heartbeat" in run.log)
        before = run.created
        run.until(lambda: run.created > before)
        assert run.end() == 0, run.log
    assert run.results["run"]["workers"] == 2
    assert run.broken == {}


def test_a_server_that_comes_back_is_judged_on(tmp_path: Path) -> None:
    file = tmp_path / "target.toml"
    options = ["--database", str(tmp_path / "database"), "--write-target", str(file)]
    with contextlib.ExitStack() as running:
        options += ["--port", str(running.enter_context(reserved()))]
        with sandbox(*options) as (process, _):
            run = running.enter_context(load_run(file, tmp_path / "reports", "--headless", *USERS))
            run.until(lambda: run.created > 0)
            process.terminate()
            process.wait(PATIENCE)
        run.until(lambda: "conformance: lost http://" in run.log)
        with sandbox(*options):
            before = run.created
            run.until(lambda: run.created > before + 5000)
            assert run.end() == 0, run.log
    assert run.broken == {}


def test_limits_hold_over_all_processes(tmp_path: Path) -> None:
    made, tables, requests = counted()
    own = tmp_path / "own.py"
    own.write_text(
        "from conformance.load.locustfile import *\n"
        "del Administrator, Careless, Creator, Payer, Reader\n"
        "class Hasty(ConformanceUser):\n"
        "    tasks = checks_of({'idempotency.race': 1})\n"
    )
    words = ("--locustfile", str(own), "--headless", *USERS, "--processes", "2")
    with served(made) as url:
        target = write_target(tmp_path / "target.toml", tables(url))
        begin = time.monotonic()
        with load_run(target, tmp_path / "reports", *words, "--rate", "30") as run:
            # So many that twice the rate would show, though the processes take seconds to start.
            run.until(lambda: len(requests) > 240)
            # From before the start: a slow machine makes it longer, and what was admitted arrives in bursts.
            assert len(requests) <= 30 * (time.monotonic() - begin) + SLACK
            assert run.end() == 0, run.log
    assert run.broken == {}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rate", "-5"], "argument --rate"),
        (["--users", "many"], "conformance load: error: argument -u/--users"),
        (["--bogus"], "conformance load: error: unrecognized arguments: --bogus"),
        (["--locustfile", "missing.py"], "Could not find 'missing.py'"),
    ],
)
def test_wrong_options_end_with_exit_status_4(tmp_path: Path, words: list[str], said: str) -> None:
    made, tables, requests = counted()
    with served(made) as url:
        target = write_target(tmp_path / "target.toml", tables(url))
        done = executed(command(target, tmp_path / "reports", "--headless", *words), tmp_path)
    assert (done.returncode, said in done.stderr) == (4, True), done.stderr
    assert all(request.method == "GET" for request in requests)


def test_a_target_that_cannot_be_used_ends_with_exit_status_4(tmp_path: Path) -> None:
    words = command(tmp_path / "none.toml", tmp_path / "reports", "--headless")
    done = executed(words, tmp_path)
    assert done.returncode == 4
    assert "there is no such target file" in done.stderr


#: Conforming servers that stress load most: rate-limited, busy, with replication lag, slow, pre-populated.
CONFORMING = (
    "reference", "rate limited", "limited behind authentication", "busy", "slow", "one at a time",
    "others pay", "late", "lists in turn", "reads in turn", "furnished later",
)  # fmt: skip


@pytest.mark.slow
def test_a_rare_fault_is_found(program: Program, tmp_path: Path) -> None:
    users = ("--users", "30", "--spawn-rate", "30", "--headless")
    with server(program.name, tmp_path) as target, load_run(target, tmp_path / "reports", *users) as run:
        # A fault may break more than its own rule, such as what names a resource whose id another one got.
        run.until(lambda: any(fnmatch.filter(run.announced, rule) for rule in program.rules), 300)
        run.end()


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFORMING)
def test_no_conforming_server_is_blamed(name: str, tmp_path: Path) -> None:
    users = ("--users", "30", "--spawn-rate", "30", "--headless", "--run-time", "60s")
    with server(name, tmp_path) as target, load_run(target, tmp_path / "reports", *users) as run:
        assert run.process.wait(180) == 0, run.log
    assert run.broken == {}
