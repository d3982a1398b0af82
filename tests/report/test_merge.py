"""Merged results of shards equal those of the whole run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from conformance._options import parse_shard
from conformance._records import to_plain
from conformance.cli.main import main
from conformance.cli.merge import merged, replays_of
from conformance.plugin.selection import in_shard, scope
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.serving.listener import served
from conformance.report.document import Document
from conformance.report.view import typed
from tests.support.running import faulty, run, write_target


class NoLastPage(Behaviour):
    """Breaks list.pages on listWallets."""

    def pages(self, ctx: Context, listing: Any) -> int:
        return super().pages(ctx, listing) + (ctx.operation == "listWallets")


RULES = ("--rule", "list.pages", "--rule", "list.echo", "--rule", "format.account-id")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The documents of a whole run and of its three shards, by folder."""
    folder = tmp_path_factory.mktemp("runs")
    server, tables = faulty(NoLastPage())
    with served(server) as url:
        target = write_target(folder / "target.toml", tables(url))
        run("--target", str(target), *RULES, folder=folder / "whole")
        for part in (1, 2, 3):
            run("--target", str(target), *RULES, "--shard", f"{part}/3", folder=folder / str(part))
    return {
        name: (folder / name, json.loads((folder / name / "results.json").read_text("utf-8")))
        for name in ("whole", "1", "2", "3")
    }


def older(document: dict[str, Any], selection: str) -> Document:
    """Converts results to format 1.1."""
    document = json.loads(json.dumps(document))
    document["format"], document["run"]["selection"] = "1.1", selection
    del document["run"]["narrowed"]
    for finding in [finding for case in document["cells"] for finding in case["findings"]]:
        for name in ("rule", "operation", "violations", "aside"):
            del finding[name]
    return typed(document, Path("results.json"))


def test_parts_of_the_format_before_are_merged_where_only_the_shard_narrowed_them(
    runs: dict[str, Any],
) -> None:
    whole = merged([older(runs[name][1], f"--shard {name}/3") for name in "123"])
    assert judged(to_plain(whole)) == judged(runs["whole"][1]) and whole.run.selection == ""
    with pytest.raises(ValueError, match="older version"):
        merged([older(runs[name][1], f"--rule list.pages --shard {name}/3") for name in "123"])


def judged(document: dict[str, Any]) -> dict[tuple[str, str], str]:
    return {
        (case["rule"], case["operation"]): case["verdict"]
        for case in document["cells"]
        if case["rule"].startswith("list.")
    }


def test_parts_make_the_whole(
    runs: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(
        ["merge", *(str(runs[name][0]) for name in "123"), "--report-dir", str(tmp_path / "merged")]
    )
    whole, document = runs["whole"][1], json.loads((tmp_path / "merged" / "results.json").read_text("utf-8"))
    assert status == document["verdict"]["exit_status"] == whole["verdict"]["exit_status"] == 1
    assert document["verdict"]["sentence"] == whole["verdict"]["sentence"]
    assert judged(document) == judged(whole)
    assert document["run"]["requests"] == sum(runs[name][1]["run"]["requests"] for name in "123")
    broken = next(case for case in document["cells"] if case["verdict"] == "failed")
    assert all(str(number) in document["exchanges"] for number in broken["findings"][0]["exchanges"])
    assert (tmp_path / "merged" / "report.html").exists()
    assert document["verdict"]["sentence"] in capsys.readouterr().out


def findings(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [finding for case in document["cells"] for finding in case["findings"] if finding["replay"]]


def test_commands_of_the_whole_find_their_files(
    runs: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "merged"
    main(["merge", *(str(runs[name][0]) for name in "123"), "--report-dir", str(folder)])
    document = json.loads((folder / "results.json").read_text("utf-8"))
    files = {finding["replay"] for finding in findings(document)}
    assert files == {str(path.relative_to(folder)) for path in (folder / "replays").glob("*/*")}
    [shown] = document["replays"]
    path = folder / shown
    assert document["replays"][shown] == json.loads(path.read_text("utf-8"))
    reproduce = f"conformance replay {path}"
    for report in ("report.html", "summary.md", "junit.xml", "report.sarif"):
        assert reproduce in (folder / report).read_text("utf-8"), report
    capsys.readouterr()
    assert main(["replay", str(path), "--as", "python"]) == 0
    assert "import hmac" in capsys.readouterr().out


@pytest.fixture
def part(runs: dict[str, Any]) -> tuple[Path, dict[str, Any]]:
    """Folder and results of the shard with the failure."""
    found: tuple[Path, dict[str, Any]] = next(runs[name] for name in "123" if findings(runs[name][1]))
    return found


def test_files_are_numbered_by_part(runs: dict[str, Any], tmp_path: Path) -> None:
    """Including files of shards that were merged before."""
    once, twice = tmp_path / "once", tmp_path / "twice"
    main(["merge", *(str(runs[name][0]) for name in "123"), "--report-dir", str(once)])
    main(["merge", str(once), str(once), "--report-dir", str(twice)])
    named = [
        {finding["replay"] for finding in findings(json.loads((folder / "results.json").read_text("utf-8")))}
        for folder in (once, twice)
    ]
    parts = {name: {finding["replay"] for finding in findings(runs[name][1])} for name in "123"}
    assert named[0] == {
        path.replace("replays/", f"replays/{name}/") for name, paths in parts.items() for path in paths
    }
    assert named[1] == {path.replace("replays/", f"replays/{name}/", 1) for name in "12" for path in named[0]}
    assert all((twice / path).is_file() for path in named[1])


def test_a_part_of_which_only_the_results_are_left(
    runs: dict[str, Any], part: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    """Results carry the files of the first violations; no report names any other."""
    document = Document.from_json(part[1])
    assert replays_of(document, tmp_path) == document.replays
    assert replays_of(replace(document, replays={}), tmp_path) == {}
    whole = merged([Document.from_json(runs[name][1]) for name in "123"], [{}, {}, {}])
    assert not any(finding.replay for case in whole.cells for finding in case.findings)


@pytest.mark.parametrize(
    "path", ["../secret.json", "/etc/hostname", "replays/../../secret.json", "replays/..", "a\\b.json"]
)
def test_results_name_no_file_outside_their_folder(
    path: str, part: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    text = json.dumps(part[1]).replace(findings(part[1])[0]["replay"], json.dumps(path)[1:-1])
    document = Document.from_json(json.loads(text))
    folder = tmp_path / "reports" / "replays"
    folder.mkdir(parents=True)
    assert path not in replays_of(document, folder)


def test_each_part_runs_its_share(runs: dict[str, Any]) -> None:
    passed = [
        {key for key, verdict in judged(runs[name][1]).items() if verdict in ("passed", "failed")}
        for name in "123"
    ]
    assert all(passed)


@pytest.mark.parametrize(
    ("names", "change", "named"),
    [
        ("12", {}, "parts 3 of 3 are missing"),
        ("123", {"target": {"base_url": "http://elsewhere"}}, "base_url"),
        ("123", {"suite": {"version": "0.1"}}, "version of the suite"),
    ],
)
def test_parts_that_do_not_belong_together(
    names: str, change: dict[str, Any], named: str, runs: dict[str, Any]
) -> None:
    parts = [dict(runs[name][1]) for name in names]
    for key, value in change.items():
        parts[0][key] = {**parts[0][key], **value}
    with pytest.raises(ValueError, match=named):
        merged([Document.from_json(part) for part in parts])


def test_unreadable_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "results.json").write_text("{}")
    assert main(["merge", str(tmp_path)]) == 2
    assert "Traceback" not in capsys.readouterr().err


# ---------------------------------------------------------------------- shards

NODES = [
    f"conformance/checks/test_{module}.py::test_{check}[{operation}]"
    for module in ("lists", "tenancy", "races")
    for check in ("one", "two")
    for operation in ("createAccount", "listWallets", "createPayout")
]


@pytest.mark.parametrize("parts", [1, 2, 5, 7])
def test_every_test_is_in_exactly_one_part(parts: int) -> None:
    for node in NODES:
        assert sum(in_shard(node, (part, parts)) for part in range(1, parts + 1)) == 1


def test_tests_that_share_set_up_stay_together() -> None:
    assert scope(NODES[0]) == scope(NODES[3]) != scope(NODES[1])
    # For any location of the package: a checkout, an installation, another machine.
    assert all(
        in_shard(node, (1, 2)) == in_shard(node.removeprefix("conformance/"), (1, 2)) for node in NODES
    )


@pytest.mark.parametrize("text", ["", "0/2", "3/2", "1", "a/b", "1/0", "-1/2", "1/2/3"])
def test_wrong_part(text: str) -> None:
    with pytest.raises(ValueError, match="PART/PARTS"):
        parse_shard(text)
