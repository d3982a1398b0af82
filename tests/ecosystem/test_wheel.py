"""The packages as published, and the suite as `uvx` or `pipx` run it: installed alone, in an empty folder."""

from __future__ import annotations

import email
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.ecosystem.tools import python, run
from tests.support.running import executed, sandbox, write_target

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Builds the source distribution, and the wheel from it."""
    folder = tmp_path_factory.mktemp("dist")
    python("build", "--outdir", folder, ROOT, folder=folder)
    [wheel], [source] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, source


def test_the_packages_pass_twine_check(packages: tuple[Path, Path], tmp_path: Path) -> None:
    python("twine", "check", "--strict", *packages, folder=tmp_path)
    python("check_wheel_contents", packages[0], folder=tmp_path)


def test_the_packages_page_has_no_link_into_a_folder_that_it_lacks(packages: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(packages[0]) as wheel:
        [name] = [name for name in wheel.namelist() if name.endswith("METADATA")]
        page = str(email.message_from_bytes(wheel.read(name)).get_payload())
    assert "Judge your own server" in page
    assert not re.search(r"\]\((?!https?://)", page)
    with tarfile.open(packages[1]) as source:
        there = {name.partition("/")[2] for name in source.getnames()}
    named = set(re.findall(r"\(`([^`]+)`\)", page))
    assert len(named) > 10 and {path.rstrip("/") for path in named} <= there


def test_the_wheel_has_the_contract_and_the_guides(packages: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(packages[0]) as wheel:
        names = set(wheel.namelist())
    expected = {path.relative_to(ROOT) for path in (ROOT / "conformance").rglob("*") if path.is_file()}
    expected |= {
        Path("conformance", path.relative_to(ROOT)) for path in (ROOT / "spec").rglob("*.*") if path.is_file()
    }
    # Pictures are only in the repository.
    left_out = {"__pycache__", "pictures"}
    assert {str(path) for path in expected if not left_out & set(path.parts)} <= names
    assert not [name for name in names if name.startswith(("tests/", "spec/")) or "__pycache__" in name]


# ---------------------------------------------------------------------- isolated installation


@pytest.fixture(scope="module")
def command(packages: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The conformance command of an environment with nothing but the wheel."""
    folder = tmp_path_factory.mktemp("isolated")
    run([sys.executable, "-m", "venv", str(folder)], folder)
    constraints = ["-c", str(ROOT / "constraints.txt")]
    run([str(folder / "bin" / "pip"), "install", "-q", *constraints, str(packages[0])], folder)
    return folder / "bin" / "conformance"


def started(command: Path, *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return executed([command, *words], folder, PYTHONPATH="")


def test_an_isolated_install_judges_a_server(command: Path, tmp_path: Path) -> None:
    with sandbox() as (_, tables):
        target = write_target(tmp_path / "target.toml", tables)
        folder = tmp_path / "empty"
        folder.mkdir()
        done = started(command, "test", "--target", str(target), "--rule", "auth.signature", folder=folder)
        doctor = started(command, "doctor", "--target", str(target), folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr
    assert [path.name for path in folder.iterdir()] == ["reports"]
    results = json.loads((folder / "reports" / "results.json").read_text("utf-8"))
    assert not results["run"]["embedded"] and results["verdict"]["exit_status"] == 0


def test_an_isolated_install_judges_the_embedded_server(command: Path, tmp_path: Path) -> None:
    """Including generated requests."""
    words = ("test", "--target", "embedded", "--operation", "listWallets", "--fuzz-examples", "1")
    done = started(command, *words, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "embedded reference server" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["reports"]


@pytest.mark.parametrize(
    "words", [["rules"], ["explain", "auth.signature"], ["--version"], ["serve", "--help"]]
)
def test_other_commands_find_their_data(words: list[str], command: Path, tmp_path: Path) -> None:
    done = started(command, *words, folder=tmp_path)
    assert done.returncode == 0 and done.stdout, done.stderr
