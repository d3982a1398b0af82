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

FILES = ["results.json", *(file for file, _ in FORMATS.values())]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Document:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
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

    monkeypatch.setattr(write, "FORMATS", {**FORMATS, "html": ("report.html", broken)})
    (tmp_path / "junit.xml").mkdir()
    _, problems = write_all(made, tmp_path)
    assert len(problems) == 2
    assert "report.html could not be made: KeyError" in problems[0]
    assert f"`conformance report {tmp_path} --html {tmp_path / 'report.html'}` makes" in problems[0]
    assert "junit.xml" in problems[1]
    assert (tmp_path / "results.json").exists()
    assert (tmp_path / "badge.svg").exists()
    assert not list(tmp_path.glob(".*"))


def test_no_format_is_said_to_be_made_again_without_the_results(
    made: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> str:
        raise KeyError("a mistake")

    monkeypatch.setattr(write, "results", broken)
    monkeypatch.setattr(write, "FORMATS", {**FORMATS, "html": ("report.html", broken)})
    _, problems = write_all(made, tmp_path)
    assert [problem.partition(":")[0] for problem in problems] == [
        "results.json could not be made",
        "report.html could not be made",
    ]
    assert all("conformance report" not in problem and "other reports" in problem for problem in problems)


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


def test_the_step_summary_is_appended_and_bounded(
    made: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = tmp_path / "steps.md"
    steps.write_text("before\n", "utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(steps))
    write_all(made, tmp_path / "reports")
    assert steps.read_text("utf-8") == "before\n" + (tmp_path / "reports" / "summary.md").read_text("utf-8")
    monkeypatch.setattr(write, "STEP_SUMMARY", 600)
    steps.write_bytes(b"")
    write.append_step_summary(made, {"GITHUB_STEP_SUMMARY": str(steps)})
    assert 0 < len(steps.read_bytes()) <= 600
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    assert len(write_all(made, tmp_path / "reports")[1]) == 1


def test_a_report_that_is_not_written_fails_a_run_without_violations(made: Document, tmp_path: Path) -> None:
    (tmp_path / "junit.xml").mkdir()
    good = document(whole_run())
    assert good.exit_status(write_all(good, tmp_path)[1]) == 3
    assert good.exit_status(write_all(good, tmp_path / "new")[1]) == 0
    assert made.exit_status(write_all(made, tmp_path)[1]) == 1
