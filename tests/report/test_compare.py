"""`conformance compare`: what became worse, better or different between two runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from conformance._files import written
from conformance.cli.main import main
from conformance.judge.verdicts import Verdict
from conformance.report.changes import comparison, worse
from conformance.report.document import Document
from conformance.report.write import results
from tests.support.report_samples import WALK, document, judged, whole_run

STATUS = ("http.success-status", "createAccount")


def run_with(verdict: Verdict = Verdict.PASSED) -> Document:
    return document(whole_run({WALK: verdict}))


def answering(answer: str) -> Document:
    observed: Any = judged(*STATUS, Verdict.OBSERVED, observations={"status of a success": answer})
    return document(whole_run(None, observed))


def parts(text: str) -> dict[str, list[str]]:
    """Returns the lines below each heading."""
    return {
        title: [line for line in lines.splitlines() if line]
        for title, lines in re.findall(r"^### (.+)\n((?:(?!###).*\n)*)", text, re.MULTILINE)
    }


@pytest.mark.parametrize(
    ("before", "after", "title"),
    [
        (Verdict.FAILED, Verdict.PASSED, "Better"),
        (Verdict.INCONCLUSIVE, Verdict.PASSED, "Better"),
        (Verdict.PASSED, Verdict.FAILED, "Worse"),
        (Verdict.INCONCLUSIVE, Verdict.FAILED, "Worse"),
        (Verdict.PASSED, Verdict.INCONCLUSIVE, "Worse"),
        (Verdict.PASSED, Verdict.NOT_RUN, "Worse"),
        (Verdict.FAILED, Verdict.INCONCLUSIVE, "Otherwise"),
        (Verdict.NOT_RUN, Verdict.INCONCLUSIVE, "Otherwise"),
    ],
)
def test_a_change_of_a_verdict(before: Verdict, after: Verdict, title: str) -> None:
    lines_of = parts(comparison(run_with(before), run_with(after)))
    assert lines_of.pop(title) == [f"- `list.walk` on listWallets: {before} → {after}"]
    assert [lines for lines in lines_of.values() if lines not in (["Nothing."], ["No change."])] == []
    assert bool(worse(run_with(before), run_with(after))) == (title == "Worse")


@pytest.mark.parametrize("verdicts", [(Verdict.PASSED, Verdict.NOT_RUN), (Verdict.NOT_RUN, Verdict.FAILED)])
def test_what_a_selection_left_out_is_not_compared(verdicts: tuple[Verdict, Verdict]) -> None:
    narrow = (replace(one, run=replace(one.run, selection="-k walk")) for one in map(run_with, verdicts))
    assert not worse(*narrow)


def test_a_choice_that_was_asked_twice_and_answered_otherwise_is_named() -> None:
    title = "Choices where the specification is open"
    assert parts(comparison(answering("201"), answering("200")))[title] == [
        "- `http.success-status` on createAccount, status of a success: `201` → `200`"
    ]
    assert parts(comparison(answering("201"), run_with()))[title] == ["No change."]


def test_hostile_text_is_escaped() -> None:
    text = comparison(answering("<script>alert(1)</script> | `x` @someone"), answering("200"))
    assert not re.search(r"(?<!\\)<script", re.sub(r"`+[^`].*?`+", "", text))


# ---------------------------------------------------------------------- the command


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    """Two report folders, the second with a regression."""
    for name, verdict in (("before", Verdict.PASSED), ("after", Verdict.FAILED)):
        written(tmp_path / name / "results.json", results(run_with(verdict)))
    return [str(tmp_path / "before"), str(tmp_path / "after" / "results.json")]


def test_the_exit_status_says_whether_anything_is_worse(
    runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *runs]) == 1
    assert "- `list.walk` on listWallets: passed → failed" in capsys.readouterr().out
    assert main(["compare", *reversed(runs)]) == main(["compare", runs[0], runs[0]]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (None, "no such results file"),
        ("[]", "these are not the results of a run"),
        ('{"format": "1.2"}', "its format is 1.2"),
        ('{"format": "2.0"}', "do not fit spec/results.schema.json"),
    ],
)
def test_what_is_no_results_file_is_one_clear_paragraph(
    content: str | None, named: str, runs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (tmp_path / "other.json").write_text(content, "utf-8")
    assert main(["compare", runs[0], str(tmp_path / "other.json")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "other.json" in error and named in error
