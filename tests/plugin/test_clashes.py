"""The suite beside other plugins, options, fixtures and settings: no conflicts in either direction."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance._options import OPTIONS
from tests.support.running import executed, run, run_against

RULE = "auth.header-case@listAccounts"

#: All short option names of the suite.
SHORT = [f"--{name}" for name in OPTIONS]


def started(
    folder: Path, *arguments: str, path: str = "", last: str = ""
) -> subprocess.CompletedProcess[str]:
    """Runs pytest in a folder, with `path` first and `last` last on PYTHONPATH."""
    code = "import sys, pytest; sys.path += sys.argv[1:2]; sys.exit(pytest.main(sys.argv[2:]))"
    paths = ":".join(filter(None, [path, os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-c", code, last, "-p", "no:cacheprovider", *arguments]
    return executed(command, folder, PYTHONPATH=paths)


# ---------------------------------------------------------------------- option names


def test_other_peoples_tests_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text("def test_own():\n    assert True\n")
    done = started(tmp_path)
    assert done.returncode == 0
    assert "conformance:" not in done.stdout
    # pytest-benchmark, if installed, leaves a folder in every run.
    theirs = {"__pycache__", ".benchmarks"}
    assert {path.name for path in tmp_path.iterdir()} - theirs == {"test_own.py"}


def test_short_names_are_left_to_others_where_a_run_does_not_select_the_suite(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        f"def pytest_addoption(parser):\n    for name in {SHORT}:\n        parser.addoption(name)\n"
    )
    names = [name.lstrip("-") for name in SHORT]
    (tmp_path / "test_own.py").write_text(
        "def test_own(pytestconfig):\n"
        f"    assert {{pytestconfig.getoption('--' + name) for name in {names}}} == {{'theirs'}}\n"
    )
    done = started(tmp_path, *(f"{name}=theirs" for name in SHORT))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with a plugin that defines --target itself."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "theirs.py").write_text("def pytest_addoption(parser):\n    parser.addoption('--target')\n")
    information = folder / "theirs-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[pytest11]\ntheirs = theirs\n")
    return str(folder)


@pytest.mark.parametrize("order", ["path", "last"])
def test_another_plugin_keeps_its_short_names_whoever_is_loaded_first(
    order: str, plugin: str, tmp_path: Path
) -> None:
    """Such as pytest-embedded, which has --target."""
    where = {order: plugin}
    suite = ("--pyargs", "conformance", "--report-dir", str(tmp_path / "reports"), "--rule", RULE)
    done = started(tmp_path, *suite, "--conformance-target", "embedded", "--target", "theirs", **where)
    assert done.returncode == 0, done.stdout + done.stderr
    done = started(tmp_path, *suite, "--target", "embedded", **where)
    assert done.returncode == 4
    assert "--target belongs to another plugin" in done.stderr
    assert "Write --conformance-target" in done.stderr and "Traceback" not in done.stdout + done.stderr


# ---------------------------------------------------------------------- projects with tests of their own

OWN_CONFTEST = """
import pytest


@pytest.fixture(autouse=True)
def database():
    yield


@pytest.fixture(scope="session")
def client():
    return "their client"


target = suite = base_url = ctx = client


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    return (yield)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    yield
"""

OWN_TEST = """
import logging


def check_own(client, target, suite, base_url):
    logging.getLogger().debug("theirs")
    assert {client, target, suite, base_url} == {"their client"}
"""

OWN_SETTINGS = """
[pytest]
python_files = check_*.py
python_functions = check_*
testpaths = own
xfail_strict = true
log_cli = true
log_cli_level = DEBUG
filterwarnings = error
"""


def test_a_project_with_tests_and_settings_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "conftest.py").write_text(OWN_CONFTEST)
    (tmp_path / "own" / "check_own.py").write_text(OWN_TEST)
    (tmp_path / "pytest.ini").write_text(OWN_SETTINGS)
    seen: list[dict[str, Any]] = []
    outcome = run_against(tmp_path, f"--rule {RULE} own", change=seen.append, cwd=tmp_path)
    assert outcome.status == 0, outcome.output
    assert "check_own" in outcome.output and "2 passed" in outcome.output
    assert not any(seen[0][name]["secret"] in outcome.output for name in ("primary", "secondary"))


@pytest.mark.parametrize(
    "flags",
    [
        "--strict-markers --strict-config --import-mode=importlib --noconftest --tb=no -rA -s -W error",
        "-p no:base_url -p no:schemathesis -p no:hypothesispytest -p no:anyio -x",
        pytest.param("-n 2 --dist loadfile --maxprocesses 2", marks=pytest.mark.slow),
    ],
)
def test_flags_of_pytest(flags: str, tmp_path: Path) -> None:
    assert run("--rule", RULE, *flags.split(), folder=tmp_path / "reports", cwd=tmp_path).status == 0
