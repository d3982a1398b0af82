"""What differs between runs on one server is told, and the reports that show it are kept."""

from __future__ import annotations

from pathlib import Path

from tests.prove.steadiness import Job, Ran, Tally

CASE = ("list.order", "listAccounts")


def ran(folder: Path, seed: int, verdict: str, **more: object) -> Ran:
    job = Job(0, seed, 1, False, 1)
    place = folder / str(seed)
    (place / "reports").mkdir(parents=True)
    (place / "reports" / "results.json").write_text("{}")
    given = {"verdicts": {CASE: (verdict, "so")}, "errors": [], "status": 0, "output": "", **more}
    return Ran(job, folder=place, **given)  # type: ignore[arg-type]


def test_runs_that_agree_are_steady_and_leave_nothing(tmp_path: Path) -> None:
    tally = Tally(tmp_path / "kept")
    assert [line for seed in (1, 2) for line in tally.take(ran(tmp_path, seed, "passed"))] == []
    assert tally.steady and not tally.folder.exists()
    assert str(tally).startswith("2 runs on 1 servers, 1 verdicts compared: 0 differed")


def test_a_run_that_differs_is_kept_beside_the_first(tmp_path: Path) -> None:
    tally = Tally(tmp_path / "kept")
    tally.take(ran(tmp_path, 1, "passed"))
    lines = tally.take(ran(tmp_path, 2, "inconclusive"))
    assert any("differs: list.order on listAccounts: passed" in line for line in lines)
    assert not tally.steady and len(list(tally.folder.glob("*/reports/results.json"))) == 2


def test_blame_errors_and_lost_runs_are_told(tmp_path: Path) -> None:
    tally = Tally(tmp_path / "kept")
    assert any("blamed:" in line for line in tally.take(ran(tmp_path, 1, "failed", status=1)))
    assert any("error: x" in line for line in tally.take(ran(tmp_path, 2, "failed", errors=["x"], status=3)))
    assert any("no results" in line for line in tally.take(ran(tmp_path, 3, "", verdicts={}, status=4)))
    assert (tally.blamed, tally.failed, tally.steady) == (2, 3, False)
