"""A contract changed by a few lines of data drives the suite: no line of code knows the new field."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.contract.documents import SPEC, VARIABLE
from tests.support.running import ROOT, executed

#: File -> text -> the text with an optional text of a beneficiary, of at most 35 characters.
_FIELD = {
    "schemas/beneficiary.json": {
        '"note", "status"': '"note", "nickname", "status"',
        '"note": { "anyOf"': '"nickname": { "anyOf": [{ "$ref": "#/$defs/nickname" }, { "type": "null" }] },'
        ' "note": { "anyOf"',
        '"note": { "description"': '"nickname": { "type": "string", "maxLength": 35 },'
        ' "note": { "description"',
    },
    "openapi.yaml": {
        "        note:\n          $ref: schemas/beneficiary.json#/$defs/note\n": (
            "        note:\n          $ref: schemas/beneficiary.json#/$defs/note\n"
            "        nickname:\n          $ref: schemas/beneficiary.json#/$defs/nickname\n"
        )
    },
}

_OPERATIONS = ("createBeneficiary", "getBeneficiary", "updateBeneficiary", "disableBeneficiary")


def _tried(folder: Path, *words: str) -> dict[str, Any]:
    """Returns what the suite finds under the extended contract."""
    spec = Path(shutil.copytree(SPEC, folder / "spec"))
    for name, changes in _FIELD.items():
        text = (spec / name).read_text("utf-8")
        for old, new in changes.items():
            assert text.count(old) == 1, f"{name}: not one place for {new}"
            text = text.replace(old, new)
        (spec / name).write_text(text, "utf-8")
    command = [sys.executable, "-m", "tests.support.extended", "beneficiary", "nickname", *words]
    variables: dict[str, Any] = {VARIABLE: str(spec)}
    done = executed(command, ROOT, timeout=300, **variables)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _demand(found: dict[str, Any]) -> None:
    assert found["broken"] == []
    cells = ("create.echo", "createBeneficiary"), ("beneficiary.update", "updateBeneficiary")
    assert {*cells} <= {(rule, operation) for rule, operation in found["passed"]}
    assert len(found["wrong"]) > 10
    assert [server for server, is_caught in found["wrong"].items() if not is_caught] == []


def test_a_new_field_is_judged(tmp_path: Path) -> None:
    _demand(_tried(tmp_path))


@pytest.mark.slow
def test_each_mistake_in_a_new_field_is_caught_on_each_operation(tmp_path: Path) -> None:
    found = _tried(tmp_path, "each")
    _demand(found)
    assert {server.partition(":")[0] for server in found["wrong"]} == {*_OPERATIONS}
