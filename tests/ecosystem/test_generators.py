"""Clients that tools generate from the bundled document have all operations, typed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import SPEC
from tests.ecosystem.tools import HERE, credentials, npm, run
from tests.support.running import sandbox

BUNDLED = SPEC / "openapi.bundled.json"

#: List -> type of its elements.
LISTS = {
    "AccountList": "AccountItem",
    "PayoutDestinationList": "PayoutDestinationItem",
    "VirtualAccountList": "VirtualAccountItem",
    "WalletList": "WalletItem",
}

#: Names that end in a number because the field or an HTTP status does.
NUMBERED = re.compile(r"\w+_?last4|\w+_?[1-5]\d\d", re.IGNORECASE)


def numbered(names: list[str]) -> list[str]:
    """Returns the names to which a generator has appended a number, to tell them apart."""
    return [name for name in names if re.search("[0-9]$", name) and not NUMBERED.fullmatch(name)]


def test_typescript(tmp_path: Path) -> None:
    npm(
        "openapi-typescript",
        BUNDLED,
        "--default-non-nullable=false",
        "-o",
        tmp_path / "schema.ts",
        folder=tmp_path,
    )
    text = (tmp_path / "schema.ts").read_text("utf-8")
    for list_name, item in LISTS.items():
        assert f'items: components["schemas"]["{item}"][];' in text, list_name
    assert [name for name in OPERATIONS if f'operations["{name}"]' not in text] == []
    # Headers of any name, and bodies of refusals that are not fixed.
    text = re.sub(r'(\[name: string\]|"application/json"): unknown;', "", text)
    assert not re.search("[:<|&] *unknown", text)
    npm("tsc", "--strict", "--noEmit", "schema.ts", folder=tmp_path)


def test_python(tmp_path: Path) -> None:
    pytest.importorskip("openapi_python_client", reason="the `ecosystem` extra is not installed")
    package = tmp_path / "accounts_client"
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--path", str(BUNDLED)]
    done = run([*command, "--meta", "none", "--output-path", str(package)], tmp_path)
    # Without ruff it prints that it cannot format; any other output is an error.
    complaints = re.sub(r"Skipping Integration\s+ruff is not in PATH", "", done.stdout + done.stderr)
    assert not re.search("(?i)could ?n.t|unsupported|unable|cannot|skipping|error parsing", complaints), (
        complaints
    )
    snake = {name: re.sub("([A-Z])", r"_\1", name).lower().strip("_") for name in (*OPERATIONS, *LISTS)}
    assert {path.stem for path in package.glob("api/*/*.py")} >= {snake[name] for name in OPERATIONS}
    for list_name, item in LISTS.items():
        model = (package / "models" / f"{snake[list_name]}.py").read_text("utf-8")
        assert f"    items: list[{item}]\n" in model
    assert numbered([path.stem for path in package.glob("models/*.py")]) == []
    call = (package / "api" / "accounts" / "create_account.py").read_text("utf-8")
    assert "-> Account | Any | Error:" in call and "response_201 = Account.from_dict" in call
    with sandbox() as (_, target):
        program = [sys.executable, str(HERE / "python_client.py")]
        done = run(program, tmp_path, {**credentials(target), "PYTHONPATH": str(tmp_path)})
    assert done.stdout.split("\n")[0] == "Generated in Python True invalid_signature"
