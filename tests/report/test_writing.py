"""Report files are written atomically and world-readable; an error in one format loses no other."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from conformance.judge.findings import Verdict
from conformance.report import write
from conformance.report.document import Document
from conformance.report.write import FORMATS, write_all
from tests.support.report_samples import WALK, document, whole_run

FILES = [*FORMATS]


@pytest.fixture
def made() -> Document:
    results = whole_run({WALK: Verdict.FAILED, ("list.pages", "listWallets"): Verdict.INCONCLUSIVE})
    return document(results)


def test_every_format_is_written_readable_for_all(made: Document, tmp_path: Path) -> None:
    written, problems = write_all(made, tmp_path / "new" / "reports")
    assert ([path.name for path in written], problems) == (FILES, [])
    assert {path.name for path in (tmp_path / "new" / "reports").iterdir()} == set(FILES)
    mode = (tmp_path / "new" / "reports" / "results.json").stat().st_mode
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(mode) == 0o666 & ~mask


def test_a_problem_with_one_format_loses_no_other(
    made: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> str:
        raise KeyError("a mistake")

    monkeypatch.setattr(write, "FORMATS", {**FORMATS, "report.html": broken})
    (tmp_path / "summary.md").mkdir()
    _, problems = write_all(made, tmp_path)
    assert len(problems) == 2
    assert "report.html could not be made: KeyError" in problems[0]
    assert "mistake in the suite" in problems[0]
    assert "summary.md" in problems[1]
    assert (tmp_path / "results.json").exists()
    assert not list(tmp_path.glob(".*"))


def test_an_old_file_stands_until_the_new_one_is_whole(
    made: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "results.json").write_text("old", "utf-8")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    written, problems = write_all(made, tmp_path)
    assert not written and all("No space left" in problem for problem in problems)
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]
    assert (tmp_path / "results.json").read_text("utf-8") == "old"


def test_a_report_that_is_not_written_fails_a_run_without_violations(made: Document, tmp_path: Path) -> None:
    (tmp_path / "summary.md").mkdir()
    good = document(whole_run())
    assert good.exit_status(write_all(good, tmp_path)[1]) == 3
    assert good.exit_status(write_all(good, tmp_path / "new")[1]) == 0
    assert made.exit_status(write_all(made, tmp_path)[1]) == 1
