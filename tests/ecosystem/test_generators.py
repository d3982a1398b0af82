"""A client that is generated from the bundled document has all operations, typed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from conformance.contract.documents import SPEC
from conformance.contract.operations import OPERATIONS
from tests.ecosystem.tools import HERE, credentials, run
from tests.support.running import sandbox

BUNDLED = SPEC / "openapi.bundled.json"

#: List -> type of its elements.
LISTS = {
    "AccountList": "AccountItem",
    "PayoutDestinationList": "PayoutDestinationItem",
    "VirtualAccountList": "VirtualAccountItem",
    "WalletList": "WalletItem",
}


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
    # A number is appended to tell two models of one name apart.
    assert not [path.stem for path in package.glob("models/*.py") if re.search(r"_\d+$", path.stem)]
    call = (package / "api" / "accounts" / "create_account.py").read_text("utf-8")
    assert "-> Account | Any | Error:" in call and "response_201 = Account.from_dict" in call
    with sandbox() as (_, target):
        program = [sys.executable, str(HERE / "python_client.py")]
        done = run(program, tmp_path, {**credentials(target), "PYTHONPATH": str(tmp_path)})
    assert done.stdout.split("\n")[0] == "Generated in Python True invalid_signature"
