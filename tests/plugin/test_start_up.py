"""Start-up imports: other projects' tests import little of the suite, and runs without generated requests do
not import hypothesis or schemathesis."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.listener import served
from tests.support.mistakes import NoNonces
from tests.support.running import executed, run, write_target

#: Modules of the suite that a session of other projects' tests may import.
LIGHT = {
    "conformance", "conformance._files", "conformance._options", "conformance._private", "conformance._text",
    "conformance.plugin", "conformance.plugin.hooks", "conformance.plugin.options",
    "conformance.plugin.selection",
}  # fmt: skip

#: Plugins installed as dependencies of the suite that import much.
BROUGHT_ALONG = ("-p", "no:schemathesis", "-p", "no:hypothesispytest", "-p", "no:anyio")

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
    status, modules = imported(tmp_path, "pytest", "-p", "no:cacheprovider", *BROUGHT_ALONG)
    assert status == 0
    ours = {name for name in modules if name.partition(".")[0] == "conformance"}
    assert {"conformance.plugin", "conformance.plugin.hooks"} <= ours <= LIGHT
    assert not modules & {"yaml", "httpx", "jsonschema", "hypothesis", "schemathesis", "jinja2", "asyncio"}


# ---------------------------------------------------------------------- the suite without generated requests


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A user's folder: the target file of a running faulty server."""
    path = tmp_path_factory.mktemp("user")

    server, seeded = new_server(NoNonces())
    with served(server) as url:
        target = write_target(path / "target.toml", json.loads(json.dumps(target_tables(seeded, url))))
        rule = "auth.nonce-replay@listAccounts"
        outcome = run("--target", str(target), "--rule", rule, folder=path / "reports", cwd=path)
        assert outcome.status == 1, outcome.output
        yield path


RULE = "auth.signature@listAccounts"
SIGN = ("sign", "GET", "http://127.0.0.1:8000/v1/nothing", "--api-key", "key_1", "--secret", "of the server")
INIT = ("--base-url", "http://127.0.0.1:8000", "--primary-api-key", "key_1", "--primary-customer-id", "cus_1")
SUITE = ("pytest", "--pyargs", "conformance", "-p", "no:schemathesis")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ((*SUITE, "--target", "target.toml", "--rule", RULE), 0),
        (
            (
                *SUITE,
                "--target",
                "target.toml",
                "-m",
                "not fuzz",
                "-k",
                "test_sound_requests_pass and listAccounts",
            ),
            0,
        ),
        ((*SUITE, "--collect-only", "-q"), 0),
        (("conformance.cli", "test", "--target", "target.toml", "--rule", RULE), 0),
        (("conformance.cli", "doctor", "--target", "target.toml"), 0),
        (("conformance.cli", *SIGN), 0),
        (("conformance.cli", "explain", "auth.signature"), 0),
        (("conformance.cli", "rules"), 0),
        (("conformance.cli", "init", "new.toml", "--force", *INIT), 0),
    ],
    ids=["rule", "not fuzz", "collect", "test", "doctor", "sign", "explain", "rules", "init"],
)
def test_hypothesis_and_schemathesis_are_imported_only_to_generate_requests(
    command: tuple[str, ...], expected: int, folder: Path
) -> None:
    words = list(command)
    if words[0] == "pytest" or words[1] == "test":
        words += ["--report-dir", str(folder / "again")]
    status, modules = imported(folder, *words)
    assert status == expected
    assert "conformance" in modules
    assert not modules & {"schemathesis", "hypothesis"}
