"""`conformance replay` knows each predicate by which a run may judge."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest

import conformance
from conformance._files import InputError
from conformance.replay import load, perform
from tests.support.running import executed
from tests.support.runs import run_on

PACKAGE = Path(conformance.__file__).parent

#: Runs `conformance replay`, then prints the predicates known to the process.
PROGRAM = """
import json, sys
from conformance.cli.main import main
status = main(sys.argv[1:])
from conformance.judge.expectations import PREDICATES
print()
print(json.dumps([status, sorted(PREDICATES)]))
"""


def _name(decorator: ast.expr) -> str:
    """Returns the name given to a decorator, or an empty string."""
    given = decorator.keywords if isinstance(decorator, ast.Call) else []
    named = [keyword.value for keyword in given if keyword.arg == "name"]
    return named[0].value if named and isinstance(named[0], ast.Constant) else ""  # type: ignore[return-value]


def _predicates() -> set[str]:
    """Returns the names of the functions decorated with `predicate` in the package."""
    names = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.FunctionDef):
                continue
            for decorator in node.decorator_list:
                named = decorator.func if isinstance(decorator, ast.Call) else decorator
                if isinstance(named, ast.Name) and named.id == "predicate":
                    names.add(_name(decorator) or f"{path.stem.removeprefix('test_')}.{node.name.strip('_')}")
    return names


def test_a_fresh_process_knows_every_predicate(replay_file: Path, tmp_path: Path) -> None:
    done = executed([sys.executable, "-c", PROGRAM, "replay", replay_file, "--as", "python"], tmp_path)
    status, known = json.loads(done.stdout.splitlines()[-1])
    assert status == 0
    assert len(known) > 50 and _predicates() == set(known)


def test_a_predicate_of_elsewhere_is_named(replay_file: Path) -> None:
    document = load(replay_file)
    document["expectation"] = {
        "predicate": "gateway.has_request_id",
        "expected": "an own rule",
        "parameters": {},
    }
    with pytest.raises(InputError, match=r"gateway\.has_request_id.*not have"):
        perform(document, run_on())
