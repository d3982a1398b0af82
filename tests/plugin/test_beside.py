"""The suite beside other plugins, options, fixtures, settings and tests: no conflicts in either direction."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance._options import OPTIONS
from tests.support.mistakes import AnySignature
from tests.support.running import executed, run, run_against

RULE = "auth.header-case@listAccounts"

#: All short option names of the suite.
SHORT = [f"--{name}" for name in OPTIONS]


def started(folder: Path, *arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    """Runs pytest in a folder, with `path` first on PYTHONPATH."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    paths = ":".join(filter(None, [path, os.environ.get("PYTHONPATH", "")]))
    return executed(command, folder, PYTHONPATH=paths)


# ---------------------------------------------------------------------- option names


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


def test_another_plugin_keeps_its_short_names(plugin: str, tmp_path: Path) -> None:
    """Such as pytest-embedded, which has --target."""
    suite = ("--pyargs", "conformance", "--report-dir", str(tmp_path / "reports"), "--rule", RULE)
    words = ("--conformance-target", "embedded", "--target", "theirs")
    done = started(tmp_path, *suite, *words, path=plugin)
    assert done.returncode == 0, done.stdout + done.stderr
    done = started(tmp_path, *suite, "--target", "embedded", path=plugin)
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


READING_CONFTEST = """
def pytest_collection_modifyitems(items):
    for item in items:
        if "slow" in item.module.__name__ or "database" in item.fixturenames or item.cls:
            item.add_marker("theirs")
        assert item.obj is item.function and item.function.__module__ == item.module.__name__
        assert item.originalname == item.function.__name__
"""


def test_a_conftest_that_reads_the_functions_of_tests(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(READING_CONFTEST)
    words = ("--pyargs", "conformance", "--target", "embedded", "--rule", RULE, "--collect-only", "-v")
    done = started(tmp_path, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "A request with its four headers' names in lower case" in done.stdout


def test_trace_stops_before_a_check(tmp_path: Path) -> None:
    """Without a terminal the debugger ends the run where it stops."""
    words = ("--pyargs", "conformance", "--report-dir", str(tmp_path / "reports"), "--rule", RULE)
    done = started(tmp_path, *words, "--target", "embedded", "--trace")
    assert "PDB set_trace" in done.stdout and "self.judge(self)" in done.stdout


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


#: Modules of the plugins in the extra `plugins`.
FOREIGN = [
    "allure_pytest", "pytest_asyncio", "pytest_benchmark", "pytest_cov", "pytest_django", "pytest_html",
    "pytest_jsonreport", "pytest_mock", "pytest_order", "pytest_playwright", "pytest_profiling",
    "pytest_randomly", "pytest_repeat", "pytest_rerunfailures", "pytest_rich", "pytest_split", "pytest_sugar",
    "pytest_timeout", "xprocess",
]  # fmt: skip

with_all = pytest.mark.skipif(
    any(importlib.util.find_spec(module) is None for module in FOREIGN),
    reason="other people's plugins are not installed: pip install '.[plugins]'",
)


@with_all
@pytest.mark.parametrize("mode", ["load", "loadgroup", "worksteal"])
def test_all_plugins_at_once_however_work_is_shared(mode: str, tmp_path: Path) -> None:
    outcome = run("--rule", RULE, "-n", "2", "--dist", mode, folder=tmp_path / "reports", cwd=tmp_path)
    assert outcome.status == 0, outcome.output


@with_all
@pytest.mark.parametrize(
    "flags",
    [
        "--timeout 60 --reruns 1 --html own.html --self-contained-html --json-report --alluredir allure",
        "--cov=tests --count 2 --splits 1 --group 1 --order-scope module --benchmark-disable",
        "--rich -p no:sugar",
    ],
)
def test_plugins_with_their_options(flags: str, tmp_path: Path) -> None:
    outcome = run("--rule", RULE, *flags.split(), folder=tmp_path / "reports", cwd=tmp_path)
    assert outcome.status == 0, outcome.output


@with_all
def test_a_violation_is_a_failure_in_other_peoples_reports(tmp_path: Path) -> None:
    """Reported as failed, not as an error."""
    theirs = "--reruns 1 --json-report --html own.html --self-contained-html --alluredir allure"
    options = f"--rule auth.signature@listAccounts {theirs}"
    outcome = run_against(tmp_path, options, AnySignature(), cwd=tmp_path)
    assert outcome.status == 1, outcome.output
    allure = [json.loads(path.read_text("utf-8")) for path in (tmp_path / "allure").glob("*-result.json")]
    assert allure and {result["status"] for result in allure} == {"failed"}
    summary = json.loads((tmp_path / ".report.json").read_text("utf-8"))["summary"]
    assert summary["failed"] >= 1 and "error" not in summary
    assert "auth.signature" in (tmp_path / "own.html").read_text("utf-8")


#: Modules of the suite that a session of other projects' tests may import.
LIGHT = {
    "conformance", "conformance._files", "conformance._options", "conformance._private", "conformance._text",
    "conformance.plugin", "conformance.plugin.embedded", "conformance.plugin.hooks",
    "conformance.plugin.options",
}  # fmt: skip

#: The suite's plugin alone, without the other plugins of the environment.
ALONE = ("--disable-plugin-autoload", "-p", "conformance.plugin")

#: Runs a command, then prints its exit status and the imported modules.
PROGRAM = """
import json, runpy, sys
sys.argv = sys.argv[1:]
status = 0
try:
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
except SystemExit as end:
    status = end.code or 0
print()
print(json.dumps([status, sorted(sys.modules)]))
"""


def imported(folder: Path, *command: str) -> tuple[int, set[str]]:
    """Returns the exit status of `python -m COMMAND` in a folder, and the modules that it imported."""
    done = executed([sys.executable, "-c", PROGRAM, *command], folder)
    status, modules = json.loads(done.stdout.splitlines()[-1])
    return int(status), set(modules)


def test_other_peoples_tests_are_left_alone_and_import_little_of_the_suite(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text("def test_own():\n    assert True\n")
    status, modules = imported(tmp_path, "pytest", "-p", "no:cacheprovider", *ALONE)
    assert status == 0
    assert {path.name for path in tmp_path.iterdir()} - {"__pycache__"} == {"test_own.py"}
    ours = {name for name in modules if name.partition(".")[0] == "conformance"}
    assert {"conformance.plugin", "conformance.plugin.hooks"} <= ours <= LIGHT
    assert not modules & {"yaml", "httpx", "jsonschema", "hypothesis", "schemathesis", "jinja2", "asyncio"}


# ---------------------------------------------------------------------- the suite without generated requests

SUITE = ("pytest", "--pyargs", "conformance", "-p", "no:schemathesis", "--target", "embedded")


@pytest.mark.parametrize(
    "command",
    [
        (*SUITE, "--rule", "auth.signature@listAccounts"),
        (*SUITE, "-m", "not fuzz", "-k", "test_sound_requests_pass and listAccounts"),
        (*SUITE, "--collect-only", "-q"),
        ("conformance.cli", "explain", "auth.signature"),
    ],
    ids=["rule", "not fuzz", "collect", "explain"],
)
def test_hypothesis_and_schemathesis_are_imported_only_to_generate_requests(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    more = ("--report-dir", str(tmp_path / "reports")) if command[0] == "pytest" else ()
    status, modules = imported(tmp_path, *command, *more)
    assert status == 0
    assert "conformance" in modules
    assert not modules & {"schemathesis", "hypothesis"}
