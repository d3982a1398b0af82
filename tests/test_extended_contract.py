"""A contract changed by a few lines of data drives the suite: no line of code knows what is new."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.contract.documents import VARIABLE
from tests.support.extensions import EXTENSIONS
from tests.support.running import ROOT, executed


def _tried(name: str, folder: Path, *, each: bool = False) -> dict[str, Any]:
    """Returns what the suite finds under an extended contract. The rows of its rules are there before any
    module that reads them."""
    spec = EXTENSIONS[name].written(folder / "spec")
    words = f"from tests.support import extensions, extended; extended.main({name!r}, {each})"
    variables: dict[str, Any] = {VARIABLE: str(spec)}
    done = executed([sys.executable, "-c", words], ROOT, timeout=300, **variables)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["errors"] == found["broken"] == found["unclear"] == []
    assert [server for server, is_caught in found["wrong"].items() if not is_caught] == []
    return found


def _passed(found: dict[str, Any], operation: str) -> set[str]:
    return {rule for rule, each in found["passed"] if each == operation}


def test_a_new_field_is_judged(tmp_path: Path) -> None:
    found = _tried("field", tmp_path)
    assert "create.echo" in _passed(found, "createBeneficiary")
    assert "beneficiary.update" in _passed(found, "updateBeneficiary")
    assert len(found["wrong"]) > 10


@pytest.mark.slow
def test_each_mistake_in_a_new_field_is_caught_on_each_operation(tmp_path: Path) -> None:
    found = _tried("field", tmp_path, each=True)
    operations = {server.partition(":")[0] for server in found["wrong"]}
    assert operations == {*EXTENSIONS["field"].operations}


@pytest.mark.slow
def test_each_mistake_in_new_lists_is_caught(tmp_path: Path) -> None:
    assert len(_tried("lists", tmp_path, each=True)["wrong"]) > 70


def test_a_new_rule_of_a_field_is_judged(tmp_path: Path) -> None:
    found = _tried("rule", tmp_path, each=True)
    for operation in EXTENSIONS["rule"].operations:
        assert "fields.blank-note" in _passed(found, operation)
    assert len(found["wrong"]) == len(EXTENSIONS["rule"].operations)


def test_new_lists_are_judged_whoever_fills_them_and_whatever_their_items_show(tmp_path: Path) -> None:
    found = _tried("lists", tmp_path)
    common = {"list.envelope", "list.item-fields", "list.echo", "list.pages", "list.defaults"}
    common |= {"tenancy.isolation", "format.object", "http.no-server-error"}
    assert common <= _passed(found, "listNotices")
    assert common | {"list.walk", "list.stable", "list.complete"} <= _passed(found, "listPayouts")
    assert len(found["wrong"]) > 15


def test_a_new_create_is_judged(tmp_path: Path) -> None:
    found = _tried("create", tmp_path)
    passed = _passed(found, "createNotice")
    assert {"auth.signature", "create.echo", "create.initial-state", "idempotency.replay"} <= passed
    assert {"idempotency.conflict", "fields.max-length", "fields.enum", "tenancy.foreign-parent"} <= passed
    assert {"list.walk", "list.complete", "list.envelope"} <= _passed(found, "listNotices")
    assert len(found["wrong"]) > 10
