"""`conformance site`: implementations over time, from stored results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from conformance.cli.main import main
from conformance.judge.findings import Verdict
from conformance.report.document import Document
from conformance.report.history import Implementation, read
from conformance.report.site import site, slug
from conformance.report.view import DocumentError
from conformance.report.write import FORMATS
from tests.support.report_samples import document, whole_run

WALK = ("list.walk", "listWallets")
GOOD, BAD = document(whole_run()), document(whole_run({WALK: Verdict.FAILED}))

PART = replace(GOOD, verdict=replace(GOOD.verdict, name="partial"))


def started(found: Document, moment: str) -> Document:
    return replace(found, run=replace(found.run, started=moment))


def store(folder: Path, name: str, found: Document) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(FORMATS["json"][1](found), "utf-8")


def test_runs_are_read_in_the_order_of_their_start(tmp_path: Path) -> None:
    store(tmp_path / "acme", "b.json", started(BAD, "2026-11-01T00:00:00Z"))
    store(tmp_path / "acme", "a.json", started(GOOD, "2026-11-02T00:00:00Z"))
    store(tmp_path / "acme" / "later", "results.json", started(BAD, "2026-11-03T00:00:00Z"))
    [found] = read([tmp_path / "acme"])
    assert found.name == "acme"
    assert [run.run.started[:10] for run in found.runs] == ["2026-11-01", "2026-11-02", "2026-11-03"]
    assert found.broken("listWallets") == 1 and found.broken("createAccount") == 0


def test_index_shows_verdicts_and_operations() -> None:
    pages = site([Implementation("good", (BAD, GOOD)), Implementation("bad", (GOOD, BAD))])
    assert set(pages) == {"index.html", "good.html", "bad.html", "compare.html"}
    row = re.search(r'<tr><th scope="row">listWallets.*?</tr>', pages["index.html"], re.DOTALL)
    assert row and re.findall(r'<td class="(\w+)"', row[0]) == ["passed", "failed"]
    assert "1 of 2 implementations conforms" in pages["index.html"]
    assert pages["index.html"].count('<svg class="past"') == 2 and 'href="bad.html"' in pages["index.html"]
    assert "list.walk" in pages["compare.html"]


def test_what_changed_since_the_run_before_is_told() -> None:
    pages = site(
        [
            Implementation("good", (BAD, GOOD)),
            Implementation("bad", (GOOD, BAD)),
            Implementation("new", (BAD,)),
        ]
    )
    text = " ".join(re.sub("<[^>]*>", "", pages["index.html"]).split())
    assert "1 mended (list.walk)" in text and "1 broke (list.walk)" in text and "The first run." in text
    assert 'aria-label="required cases that failed, run by run: 1, 0"' in pages["index.html"]
    assert "nothing changed" in site([Implementation("same", (GOOD, GOOD))])["index.html"]


@pytest.mark.parametrize(
    ("runs", "headline"),
    [
        ((GOOD, GOOD), "All 2 implementations conform, "),
        ((GOOD, BAD), "1 of 2 implementations conforms, "),
        ((BAD, BAD), "None of 2 implementations conform, "),
        ((GOOD,), GOOD.verdict.sentence),
        ((PART, PART), "The last runs do not tell whether any of 2 implementations conforms."),
        ((PART, BAD), "Of 2 implementations 1 does not conform; the last run of 1 does not tell."),
        ((GOOD, PART), "Of 2 implementations 1 conforms; the last run of 1 does not tell."),
        (
            (GOOD, PART, BAD, BAD),
            "Of 4 implementations 1 conforms and 2 do not; the last run of 1 does not tell.",
        ),
    ],
)
def test_the_page_begins_with_how_many_conform(runs: tuple[Document, ...], headline: str) -> None:
    page = site([Implementation(f"server {index}", (run,)) for index, run in enumerate(runs)])["index.html"]
    assert f'<p class="lead">{headline}' in page


def test_many_runs_are_bounded() -> None:
    few, many = (site([Implementation("a", (BAD, GOOD) * number)])["index.html"] for number in (30, 300))
    assert abs(len(many) - len(few)) < 200


def test_one_implementation_is_compared_with_none() -> None:
    assert "compare.html" not in site([Implementation("index", (GOOD,))])


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("acme", "acme"),
        ("index", "index-report"),
        ("../../etc", "etc"),
        ("a b/c", "a-b-c"),
        ("…", "implementation"),
    ],
)
def test_names_stay_in_the_folder(name: str, made: str) -> None:
    assert slug(name) == made


def test_hostile_names_are_escaped() -> None:
    pages = site([Implementation("<script>alert(1)</script>", (GOOD,)), Implementation("other", (GOOD,))])
    assert "<script>alert" not in pages["index.html"] + pages["compare.html"]


def test_command_writes_the_site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store(tmp_path / "one", "results.json", GOOD)
    store(tmp_path / "two", "results.json", BAD)
    output = tmp_path / "site"
    assert main(["site", str(tmp_path / "one"), str(tmp_path / "two"), "--output", str(output)]) == 0
    assert sorted(path.name for path in output.iterdir()) == [
        "compare.html",
        "index.html",
        "one.html",
        "two.html",
    ]
    assert "index.html" in capsys.readouterr().out


@pytest.mark.parametrize("wrong", ["missing", "empty", "no-results"])
def test_folder_without_results_is_named(wrong: str, tmp_path: Path) -> None:
    folder = tmp_path / wrong
    if wrong != "missing":
        folder.mkdir()
    if wrong == "no-results":
        (folder / "a.json").write_text("{}", "utf-8")
    with pytest.raises(DocumentError, match=wrong):
        read([folder])


def test_two_folders_of_one_name_are_refused(tmp_path: Path) -> None:
    for parent in ("a", "b"):
        store(tmp_path / parent / "acme", "results.json", GOOD)
    with pytest.raises(DocumentError, match="two folders are called 'acme'"):
        read([tmp_path / "a" / "acme", tmp_path / "b" / "acme"])
