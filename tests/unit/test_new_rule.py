"""`conformance new-rule` begins a rule, and the self-tests say what it lacks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from conformance.cli.main import main

ROOT = Path(__file__).parents[2]

RULE = ("lists.upside-down", "--level", "required", "--section", "8", "--operations", "list")
STATEMENT = "A list that is asked for upside down is answered upside down, which is a long way to say no."


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what the command looks at."""
    for name in ("spec", "conformance", "tests"):
        shutil.copytree(
            ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules")
        )
    return tmp_path


def begin(checkout: Path, *arguments: str, statement: str = STATEMENT) -> int:
    return main(["new-rule", *arguments, "--statement", statement, "--root", str(checkout)])


def rules(checkout: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = yaml.safe_load((checkout / "spec" / "rules.yaml").read_text("utf-8"))[
        "rules"
    ]
    return found


def test_entry_check_and_fault_are_there(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = rules(checkout)
    rule = ("list.upside-down", *RULE[1:])
    assert begin(checkout, *rule, "--quote", "it's there") == 0
    after = rules(checkout)
    (added,) = [entry for entry in after if entry not in before]
    assert [entry for entry in after if entry != added] == before
    assert added == {
        "id": "list.upside-down",
        "section": ["8"],
        "level": "required",
        "operations": "list",
        "statement": STATEMENT,
        "quote": "it's there",
    }
    beside = [str(rule["id"]).partition(".")[0] for rule in after]
    assert beside[after.index(added) - 1] == "list"
    check = checkout / "conformance" / "checks" / "test_list_upside_down.py"
    assert 'RULE = "list.upside-down"' in check.read_text("utf-8")
    assert max(map(len, check.read_text("utf-8").splitlines())) <= 110
    printed = capsys.readouterr().out
    for path in (checkout / "tests" / "faults").glob("*.py"):
        assert ('faults["list.upside-down"]' in path.read_text("utf-8")) is (str(path) in printed)


def test_open_rules_have_no_fault(checkout: Path) -> None:
    faults = {path: path.read_bytes() for path in (checkout / "tests" / "faults").glob("*.py")}
    assert (
        begin(checkout, "list.odd", "--level", "open", "--section", "8", "--operations", "listAccounts") == 0
    )
    assert rules(checkout) != [] and all(path.read_bytes() == text for path, text in faults.items())


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("Upside", *RULE[1:]), "an id is an area and a name"),
        (("auth.signature", *RULE[1:]), "there is such a rule"),
        ((*RULE[:4], "12", *RULE[5:]), "no such section"),
        ((*RULE[:6], "listEverything"), "neither a set of operations nor an operationId"),
    ],
    ids=["id", "used-id", "section", "operations"],
)
def test_what_cannot_be_a_rule(
    arguments: tuple[str, ...], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert begin(tmp_path, *arguments) == 2
    assert complaint in capsys.readouterr().err


def test_a_folder_that_is_no_checkout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert begin(tmp_path, *RULE) == 2
    assert "not a checkout" in capsys.readouterr().err


def test_self_tests_say_what_is_missing(checkout: Path) -> None:
    """Of a rule that is only begun: no kind of bug, and after that no check that any fault makes fail."""
    assert begin(checkout, *RULE) == 0

    def self_tests(selection: str) -> str:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "tests/test_meta.py",
            "-q",
            "-p",
            "no:cacheprovider",
            "-k",
            selection,
        ]
        environment = {**os.environ, "PYTHONPATH": str(checkout)}
        done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True)
        assert done.returncode == 1, done.stdout + done.stderr
        return done.stdout

    assert "does not know what bug breaks lists.upside-down" in self_tests("name_of_its_own")
    assert "none of 4 faults makes test_lists_upside_down.test_upside_down fail" in self_tests("upside_down")
