"""The folder of the contract that a user names."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.contract.documents import SPEC, VARIABLE
from tests.support.running import ROOT, executed


def _changed(name: str, text: str) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        shutil.copytree(SPEC, folder)
        (folder / name).write_text(text, "utf-8")

    return change


#: What is wrong with a folder -> what makes it, and the words that say so.
_WRONG: dict[str, tuple[Callable[[Path], object], str]] = {
    "absent": (lambda folder: None, "there is no such folder"),
    "a file": (Path.touch, "there is no such folder"),
    "empty": (Path.mkdir, "operations.yaml cannot be read (No such file or directory)"),
    "without rules": (
        lambda folder: shutil.copytree(SPEC, folder, ignore=lambda *_: ["rules.yaml"]),
        "rules.yaml cannot be read (No such file or directory)",
    ),
    "of broken rules": (_changed("rules.yaml", "rules: [\n"), "rules.yaml is no YAML (while parsing"),
    "of no rules": (_changed("rules.yaml", ""), "rules.yaml has no version, sections, rules"),
    "of a broken schema": (_changed("schemas/payout.json", "{"), "schemas/payout.json is no JSON (Expecting"),
}

_RULES, _PYTEST = "conformance.cli rules", "pytest --pyargs conformance -p no:cacheprovider"


@pytest.mark.parametrize(
    ("wrong", "command", "status"),
    [
        *((wrong, _RULES, 2) for wrong in _WRONG),
        ("absent", "conformance.cli load", 4),
        ("absent", _PYTEST, 4),
        ("absent", f"{_PYTEST} --collect-only", 4),
    ],
)
def test_a_folder_that_holds_no_contract_is_named_with_the_cure(
    wrong: str, command: str, status: int, tmp_path: Path
) -> None:
    make, words = _WRONG[wrong]
    make(folder := tmp_path / "spec")
    variables: dict[str, Any] = {VARIABLE: str(folder)}
    done = executed([sys.executable, "-m", *command.split()], ROOT, together=True, **variables)
    assert done.returncode == status, done.stdout
    assert f"{folder}: {VARIABLE} names this folder as the contract's, but {words}" in done.stdout
    assert f"name a whole copy of spec/, or unset {VARIABLE} to use the suite's own." in done.stdout
    assert "Traceback" not in done.stdout and len(done.stdout.strip().splitlines()) <= 2
