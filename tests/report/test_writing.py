"""Report files are written atomically and world-readable; an error in one format loses no other."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from conformance.judge.verdicts import Verdict
from conformance.report import write
from conformance.report.write import FORMATS, finish, write_all
from tests.support.report_samples import WALK, document, exchange, judged, keep, to_plain, whole_run


def test_every_format_is_written_readable_for_all(tmp_path: Path) -> None:
    assert write_all(document(whole_run({WALK: Verdict.FAILED})), tmp_path / "new" / "reports") == []
    assert {path.name for path in (tmp_path / "new" / "reports").iterdir()} == {*FORMATS}
    mode = (tmp_path / "new" / "reports" / "results.json").stat().st_mode
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(mode) == 0o666 & ~mask


def test_a_problem_with_one_format_loses_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> str:
        raise KeyError("a mistake")

    monkeypatch.setattr(write, "FORMATS", {**FORMATS, "report.html": broken})
    (tmp_path / "summary.md").mkdir()
    problems = write_all(document(whole_run()), tmp_path)
    assert len(problems) == 2
    assert "report.html could not be made: KeyError" in problems[0]
    assert "mistake in the suite" in problems[0]
    assert "summary.md" in problems[1]
    assert (tmp_path / "results.json").exists()
    assert not list(tmp_path.glob(".*"))


def test_results_are_written_in_pieces_of_one_element_each() -> None:
    """The whole takes megabytes, of which each copy would be the most memory that a run takes."""
    results = whole_run(None, judged(*WALK, Verdict.FAILED, exchanges=[1, 2, 3]))
    keep(results, *(exchange(number, request_body=b"\xc3\xa9" * 3000) for number in (1, 2, 3)))
    sample = document(results)
    pieces = list(write.results(sample))
    assert json.loads("".join(pieces)) == to_plain(sample)
    assert len(sample.exchanges) == 3
    assert max(map(len, pieces)) < 2 * max(
        len(json.dumps(to_plain(one))) for one in sample.exchanges.values()
    )


@pytest.mark.parametrize("verdict", [Verdict.PASSED, Verdict.FAILED])
def test_a_report_that_is_not_written_ends_a_run_with_3(
    verdict: Verdict, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All reports that could be written have the status that the run ends with."""
    (tmp_path / "summary.md").mkdir()
    assert finish(document(whole_run({WALK: verdict})), tmp_path) == 3
    results = json.loads((tmp_path / "results.json").read_text("utf-8"))
    assert results["verdict"]["exit_status"] == 3 and "summary.md" in results["errors"][0]
    assert "Exit status 3 " in (tmp_path / "report.html").read_text("utf-8")
    assert "Exit status 3." in capsys.readouterr().out


def test_a_long_body_is_a_file_beside_the_report(tmp_path: Path) -> None:
    results = whole_run(None, judged(*WALK, Verdict.FAILED, exchanges=[1, 2, 3]))
    bodies = (b'{"name": "short"}', b"[" * 5000, b"\xff\x00")
    keep(results, *(exchange(number, request_body=body) for number, body in enumerate(bodies, 1)))
    (tmp_path / "bodies").mkdir()
    (tmp_path / "bodies" / "9").write_text("of an earlier run", "utf-8")
    write_all(document(results, folder=str(tmp_path), options={"target": "t.toml"}), tmp_path)
    assert {path.name: path.read_bytes() for path in (tmp_path / "bodies").iterdir()} == {
        "2": bodies[1],
        "3": bodies[2],
    }
