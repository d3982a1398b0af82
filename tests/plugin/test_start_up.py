"""Start-up imports: other projects' tests import little of the suite, and runs without generated requests do
not import hypothesis or schemathesis."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.support.running import executed

#: Modules of the suite that a session of other projects' tests may import.
LIGHT = {
    "conformance", "conformance._files", "conformance._options", "conformance._private", "conformance._text",
    "conformance.plugin", "conformance.plugin.embedded", "conformance.plugin.hooks",
    "conformance.plugin.options", "conformance.plugin.selection",
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


def test_other_peoples_tests_import_little_of_the_suite(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text("def test_own():\n    assert True\n")
    status, modules = imported(tmp_path, "pytest", "-p", "no:cacheprovider", *ALONE)
    assert status == 0
    ours = {name for name in modules if name.partition(".")[0] == "conformance"}
    assert {"conformance.plugin", "conformance.plugin.hooks"} <= ours <= LIGHT
    assert not modules & {"yaml", "httpx", "jsonschema", "hypothesis", "schemathesis", "jinja2", "asyncio"}


# ---------------------------------------------------------------------- the suite without generated requests


RULE = "auth.signature@listAccounts"
SUITE = ("pytest", "--pyargs", "conformance", "-p", "no:schemathesis", "--target", "embedded")


@pytest.mark.parametrize(
    "command",
    [
        (*SUITE, "--rule", RULE),
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
