"""The wheel, and the suite as `uvx` or `pipx` run it: installed alone, in an empty folder."""

from __future__ import annotations

import email
import json
import re
import sys
import zipfile
from pathlib import Path

import pytest

from tests.ecosystem.tools import run
from tests.support.running import ROOT, executed, sandbox, write_target


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)], folder)
    [path] = folder.glob("*.whl")
    return path


def test_wheel_has_the_contract_and_the_guides_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        [metadata] = [name for name in names if name.endswith("METADATA")]
        page = str(email.message_from_bytes(archive.read(metadata)).get_payload())
    files = [*(ROOT / "conformance").rglob("*"), *(ROOT / "spec").rglob("*")]
    expected = {path for path in files if path.is_file() and "__pycache__" not in path.parts}
    packed = {name.replace("conformance/spec/", "spec/") for name in names if ".dist-info/" not in name}
    assert packed == {str(path.relative_to(ROOT)) for path in expected}
    # The page of the package has no folder that a link could lead into.
    assert "Judge your own server" in page and not re.search(r"\]\((?!https?://)", page)


@pytest.mark.slow
def test_isolated_installation_judges_a_server(wheel: Path, tmp_path: Path) -> None:
    run([sys.executable, "-m", "venv", str(tmp_path / "venv")], tmp_path)
    bin = tmp_path / "venv" / "bin"
    run([str(bin / "pip"), "install", "-q", "-c", str(ROOT / "constraints.txt"), str(wheel)], tmp_path)
    folder = tmp_path / "empty"
    folder.mkdir()
    with sandbox() as (_, tables):
        options = ("--target", str(write_target(tmp_path / "target.toml", tables)))
        for words in (
            ["doctor", *options],
            ["explain", "auth.signature"],
            ["test", *options, "--rule", "auth.signature", "--fuzz-examples", "1"],
        ):
            done = executed([bin / "conformance", *words], folder, PYTHONPATH="")
            assert done.returncode == 0 and done.stdout, done.stdout + done.stderr
            assert "warning" not in done.stdout, done.stdout
    assert [path.name for path in folder.iterdir()] == ["reports"]
    results = json.loads((folder / "reports" / "results.json").read_text("utf-8"))
    assert not results["run"]["embedded"] and results["verdict"]["exit_status"] == 0
