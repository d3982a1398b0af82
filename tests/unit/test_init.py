"""`conformance init` writes a target file that a run takes."""

from __future__ import annotations

import io
import stat
from pathlib import Path

import pytest

from conformance.cli.main import main
from conformance.target.file import load

GIVEN = [
    "--base-url",
    "http://127.0.0.1:8000",
    "--primary-api-key",
    "key_1",
    "--primary-customer-id",
    "cus_1",
]


def test_options_alone_make_a_usable_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "target.toml"
    assert main(["init", str(path), *GIVEN, "--primary-secret", 'quoted "secret"']) == 0
    target = load(path, {})
    assert (target.base_url, target.primary.secret) == ("http://127.0.0.1:8000", 'quoted "secret"')
    assert target.secondary is None and "conformance doctor" in capsys.readouterr().out
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_secrets_may_come_from_the_environment(tmp_path: Path) -> None:
    path = tmp_path / "target.toml"
    assert main(["init", str(path), *GIVEN]) == 0
    assert load(path, {"CONFORMANCE_PRIMARY_SECRET": "s3cret"}).primary.secret == "s3cret"


def test_values_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    answers = ["http://127.0.0.1:8000", "key_1", "s1", "cus_1", "", "", "key_2", "s2", "cus_2"]
    monkeypatch.setattr("sys.stdin", Terminal("\n".join(answers) + "\n"))
    path = tmp_path / "target.toml"
    assert main(["init", str(path)]) == 0
    target = load(path, {})
    assert target.secondary is not None and target.secondary.customer_id == "cus_2"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--base-url"),
        (["--base-url", "ftp://x", *GIVEN[2:]], "base_url"),
        (["--base-url", "http://127.0.0.1:8000/v1", *GIVEN[2:]], "before /v1"),
    ],
    ids=["nothing", "scheme", "version"],
)
def test_wrong_values(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert main(["init", str(tmp_path / "target.toml"), *arguments]) == 2
    assert said in capsys.readouterr().err and not (tmp_path / "target.toml").exists()


def test_a_file_that_is_there_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "target.toml"
    path.write_text("mine", "utf-8")
    assert main(["init", str(path), *GIVEN]) == 2
    assert path.read_text("utf-8") == "mine" and "--force" in capsys.readouterr().err
    assert main(["init", str(path), *GIVEN, "--force"]) == 0
