"""The first page of the report, and the commands that repeat a run."""

from __future__ import annotations

import pytest

from conformance.contract.rules import RULES, Level
from conformance.judge.findings import Verdict
from conformance.report import commands
from conformance.report.document import Document
from conformance.report.html import CAUSES, html
from tests.support.report_samples import document, finding, whole_run

WALK = ("list.walk", "listWallets")


@pytest.mark.parametrize(
    ("options", "command"),
    [
        ({}, "pytest --pyargs conformance --seed 7"),
        (
            {"target": "my server.toml", "base-url": "http://x", "fail-on": "required", "lanes": "3"},
            "pytest --pyargs conformance --seed 7 --target 'my server.toml' --base-url http://x",
        ),
        (
            {"rule": "auth.* list.walk@listWallets", "-m": "not fuzz", "fail-on": "implied", "shard": "1/2"},
            "pytest --pyargs conformance --rule 'auth.*' --rule list.walk@listWallets --shard 1/2 "
            "--fail-on implied -m 'not fuzz' --seed 7",
        ),
        (
            {"effort": "quick", "read-only": "True", "known-failures": "known ones.toml", "rate": "20.0"},
            "pytest --pyargs conformance --effort quick --known-failures 'known ones.toml' --rate 20.0 "
            "--read-only --seed 7",
        ),
        (
            {"load": "--users 50 --headless", "target": "t.toml", "rate": "20.0"},
            "conformance load --rate 20.0 --seed 7 --users 50 --headless --target t.toml",
        ),
    ],
)
def test_a_run_can_be_repeated(options: dict[str, str], command: str) -> None:
    assert commands.again(options, 7) == command


def test_a_replay_file_is_named_from_where_the_run_was_started() -> None:
    assert commands.replay("replays/a.json", {}, "reports") == "conformance replay reports/replays/a.json"
    for here in ("", "."):
        assert commands.replay("replays/a.json", {}, here) == "conformance replay replays/a.json"


def first_page(results: Document) -> str:
    """The first page of the report."""
    return html(results).partition('<div class="first">')[2].partition('id="broken"')[0]


def test_the_first_page_names_what_is_broken_and_what_was_not_judged() -> None:
    results = whole_run(
        {("list.pages", "listWallets"): Verdict.INCONCLUSIVE},
        finding(*WALK, Verdict.FAILED, got="one twice", replay="replays/walk.json"),
    )
    shown = first_page(document(results, options={"target": "server.toml"}))
    assert shown.count('<a href="#cause-') == shown.count('<a href="#cause-list.walk">list.walk</a>') == 1
    assert "<b>one twice</b>" in shown and "<summary>and" not in shown
    assert "<li><b>1 case:</b> the target file names no second organization</li>" in shown
    assert ">conformance replay replays/walk.json --target server.toml</code>" in shown


def test_the_first_page_is_cut() -> None:
    cells = {
        (rule.id, rule.operations[0]): Verdict.FAILED
        for rule in RULES.values()
        if rule.level is Level.REQUIRED and not rule.follows
    }
    shown, more = first_page(document(whole_run(cells))).split("<summary>and ")
    assert shown.count('<a href="#cause-') == CAUSES and more.count('<a href="#cause-') > 20


def test_what_the_user_left_out_is_told() -> None:
    results = whole_run({WALK: Verdict.NOT_RUN})
    results.narrowed = ["-m 'not fuzz'"]
    assert "<li>1 case left out by -m &#39;not fuzz&#39;</li>" in first_page(document(results))
