"""`conformance compare`: regressions, fixes, and differing choices of implementations."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from conformance._files import written
from conformance.cli.main import main
from conformance.judge.findings import Verdict
from conformance.report.compared_results import (
    Comparison,
    compare,
    comparison_html,
    comparison_markdown,
    comparison_pages,
)
from conformance.report.document import Document
from conformance.report.write import results
from tests.support.report_samples import WALK, document, finding, whole_run

STATUS = ("http.success-status", "createAccount")


def status(answer: str) -> Any:
    return finding(*STATUS, Verdict.OBSERVED, observations={"status of a success": answer})


def two(before: dict[tuple[str, str], Verdict], after: dict[tuple[str, str], Verdict]) -> Comparison:
    return compare({"before": document(whole_run(before)), "after": document(whole_run(after))})


def test_two_equal_runs_differ_in_nothing() -> None:
    found = two({}, {})
    assert (found.rules, found.choices, found.broke, found.mended, found.moved) == ([], {}, {}, {}, {})

    assert comparison_markdown(found).partition("| suite |")[2].splitlines()[1:] == [
        "",
        "No rule is judged differently, and none is broken.",
        "",
        "No open question is answered differently.",
        "",
    ]


GOOD, BAD = document(whole_run()), document(whole_run({WALK: Verdict.FAILED}))
PART = replace(GOOD, verdict=replace(GOOD.verdict, name="partial"))


@pytest.mark.parametrize(
    ("documents", "headline"),
    [
        ((GOOD, GOOD), "Of 2 results 2 conform."),
        ((GOOD, BAD), "Of 2 results 1 conforms and 1 does not."),
        ((BAD, BAD), "Of 2 results 2 do not."),
        ((PART, BAD), "Of 2 results 1 does not and 1 is undecided."),
        ((GOOD, PART, BAD, BAD), "Of 4 results 1 conforms, 2 do not and 1 is undecided."),
    ],
)
def test_a_comparison_begins_with_how_many_conform(documents: tuple[Document, ...], headline: str) -> None:
    found = compare({f"server {index}": document for index, document in enumerate(documents)})
    assert f'<p class="lead">{headline}</p>' in comparison_html(found)
    assert comparison_markdown(found).splitlines()[2] == headline


@pytest.mark.parametrize(
    ("names", "paths"),
    [
        (("acme", "other"), ["acme.html", "other.html"]),
        (("index", "../../etc"), ["index-2.html", "etc.html"]),
        (("a b/c", "A-b-c"), ["a-b-c.html", "A-b-c-2.html"]),
        (("…", "!"), ["results.html", "results-2.html"]),
        (("<script>alert(1)</script>", "b"), ["script-alert-1-script.html", "b.html"]),
    ],
)
def test_a_folder_has_the_comparison_and_each_report(names: tuple[str, ...], paths: list[str]) -> None:
    pages = comparison_pages(compare(dict(zip(names, (GOOD, BAD), strict=True))))
    assert list(pages) == ["index.html", *paths]
    assert re.findall(r'<a href="([^"]*)"', pages["index.html"]) == paths
    assert "<script>alert" not in pages["index.html"]
    assert ['id="cause-list.walk"' in pages[path] for path in paths] == [False, True]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (Verdict.FAILED, Verdict.PASSED, "mended"),
        (Verdict.PASSED, Verdict.FAILED, "broke"),
        (Verdict.FAILED, Verdict.INCONCLUSIVE, "moved"),
        (Verdict.FAILED, Verdict.NOT_RUN, "moved"),
        (Verdict.PASSED, Verdict.INCONCLUSIVE, "moved"),
        (Verdict.INCONCLUSIVE, Verdict.PASSED, "moved"),
    ],
)
def test_only_what_was_judged_twice_is_mended_or_broken(before: Verdict, after: Verdict, told: str) -> None:
    found = two({WALK: before}, {WALK: after})
    changes = {"broke": found.broke, "mended": found.mended, "moved": found.moved}
    assert changes.pop(told) == {(WALK[0], before, after): [WALK[1]]}
    assert not any(changes.values())


def test_a_rule_that_only_one_catalogue_has_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = document(whole_run()), document(whole_run({WALK: Verdict.FAILED}))
    old = replace(
        old,
        rules=tuple(rule for rule in old.rules if rule.id != "list.walk"),
        cells=tuple(case for case in old.cells if case.rule != "list.walk"),
    )
    found = compare({"old": old, "new": new})
    assert [*found.broke] == [("list.walk", "absent", "failed")]
    assert "list.walk" in comparison_markdown(found)
    assert "list.walk" in comparison_html(found)


def test_choices_are_grouped_and_what_was_not_asked_is_no_choice() -> None:
    other = finding(
        "http.success-status", "createWallet", Verdict.OBSERVED, observations={"status of a success": "201"}
    )
    third = finding(
        "http.success-status", "createWallet", Verdict.OBSERVED, observations={"status of a success": "200"}
    )
    first, second = (
        document(whole_run(None, status("201"), other)),
        document(whole_run(None, status("200"), third)),
    )
    [choice] = compare({"a": first, "b": second, "c": document(whole_run())}).choices.items()
    asked = ("http.success-status", "status of a success", ("201", "200", ""))
    assert choice == (asked, ["createAccount", "createWallet"])
    assert not compare({"a": first, "c": document(whole_run())}).choices


def test_three_implementations_have_three_columns_and_no_history() -> None:
    runs = [
        document(whole_run({WALK: verdict}))
        for verdict in (Verdict.PASSED, Verdict.FAILED, Verdict.INCONCLUSIVE)
    ]
    found = compare(dict(zip("abc", runs, strict=True)))
    assert not found.broke
    [(_, columns)] = found.rules
    assert [list(column) for column in columns] == [
        ["passed"],
        ["passed", "failed"],
        ["passed", "inconclusive"],
    ]
    markdown = comparison_markdown(found)
    assert "What broke" not in markdown
    assert (
        "| `list.walk` | required | ✓ passed | ✗ failed on listWallets | ? inconclusive on listWallets |"
        in markdown
    )
    for table in re.findall(r"(?:^\|.*\n)+", markdown, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_hostile_text_is_escaped_in_both_formats() -> None:
    evil = "<script>alert(1)</script> | `x` @someone"
    found = compare(
        {evil: document(whole_run(None, status(evil))), "b": document(whole_run(None, status("200")))}
    )
    page, markdown = comparison_html(found), comparison_markdown(found)
    assert "<script" not in page
    assert not re.search(r"(?<!\\)<script", re.sub(r"`+[^`].*?`+", "", markdown))


# ---------------------------------------------------------------------- the command


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    """Two report folders, the second with a regression."""
    for name, verdicts in (("before", {}), ("after", {WALK: Verdict.FAILED})):
        written(tmp_path / name / "results.json", results(document(whole_run(verdicts))))
    return [str(tmp_path / "before"), str(tmp_path / "after" / "results.json")]


def test_the_table_goes_to_standard_output_or_into_files(
    runs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *runs]) == 0
    text = capsys.readouterr().out
    assert "`list.walk` on listWallets: passed → failed" in text
    page, markdown = tmp_path / "page.html", tmp_path / "table.md"
    assert main(["compare", *runs, "--html", str(page), "--markdown", str(markdown)]) == 0
    assert markdown.read_text("utf-8") == text
    assert "list.walk" in page.read_text("utf-8")
    assert capsys.readouterr().out.split() == [str(page), str(markdown)]
    folder = tmp_path / "pages"
    assert main(["compare", *runs, "--name", "one", "--name", "two", "--html", str(folder)]) == 0
    assert capsys.readouterr().out.split() == [str(folder / "index.html")]
    assert sorted(path.name for path in folder.iterdir()) == ["index.html", "one.html", "two.html"]


def test_a_gate_fails_when_something_broke_and_not_when_it_was_mended(
    runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *runs, "--gate"]) == 1
    assert main(["compare", *reversed(runs), "--gate"]) == 0
    assert main(["compare", runs[0], runs[1], runs[0], "--gate"]) == 0
    assert main(["compare", runs[0], runs[0], runs[1], "--gate"]) == 1
    capsys.readouterr()


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["{0}"], ["at least two"]),
        (["{0}", "{1}", "--name", "a"], ["--name", "2 results"]),
        (["{0}", "{1}", "--name", "a", "--name", "a"], ["differ"]),
        (["{0}", "none.json"], ["none.json", "no such results file"]),
    ],
)
def test_wrong_usage_is_one_clear_paragraph(
    runs: list[str], capsys: pytest.CaptureFixture[str], words: list[str], names: list[str]
) -> None:
    assert main(["compare", *(word.format(*runs) for word in words)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert all(name in error for name in names)


def test_names_are_the_headings_of_the_columns(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *runs, "--name", "one", "--name", "two"]) == 0
    assert "|  | one | two |" in capsys.readouterr().out
    assert main(["compare", *runs]) == 0
    assert "before" in capsys.readouterr().out.splitlines()[4]
