"""The terminal summary of a run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.contract.rules import RULES, Level
from conformance.judge.findings import Verdict
from conformance.judge.ledger import Ledger
from conformance.report.terminal import summary
from tests.support.report_samples import WALK, document, finding, whole_run


def lines_of(results: Ledger, *, width: int = 100, verbose: bool = False, **changes: Any) -> list[str]:
    made = document(results, **changes)
    return [line for line, _ in summary(made, folder=changes.get("folder"), width=width, verbose=verbose)]


def test_a_violation_takes_a_title_and_three_lines() -> None:
    lines = lines_of(whole_run({WALK: Verdict.FAILED}), options={"target": "my server.toml"})
    start = lines.index("1. list.walk on listWallets (required, section 8)")
    assert lines[start + 1 : start + 4] == [
        "   expected   a refusal (4xx)",
        "   got        201 with a JSON body",
        "   reproduce  pytest --pyargs conformance --rule list.walk --operation listWallets --seed 7 "
        "--target 'my server.toml'",
    ]
    assert lines[start + 4] == ""


def test_a_failure_that_did_not_come_again_alone_is_named_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    results = whole_run(None, finding(*WALK, Verdict.FAILED, confirmed="not reproduced"))
    lines = lines_of(results, folder=tmp_path / "reports")
    assert any("not reproduced alone; it is a violation all the same" in line for line in lines)
    assert any(line.endswith("report: reports/report.html") for line in lines)


def test_what_is_left_out_of_a_violation_is_counted() -> None:
    results = whole_run(None, finding(*WALK, Verdict.FAILED, further=["one more", "and one"]))
    assert "   more       2 in the report, or with -v" in lines_of(results)
    assert "   also       one more" in lines_of(results, verbose=True)


@settings(max_examples=25, deadline=None)
@given(text=st.text(max_size=300), width=st.integers(20, 200), verbose=st.booleans())
def test_no_line_holds_a_control_character_or_starts_a_workflow_command(
    text: str, width: int, verbose: bool
) -> None:
    results = whole_run(
        None,
        finding(*WALK, Verdict.FAILED, expected=text, got=text, further=[text]),
        finding("list.pages", "listWallets", Verdict.INCONCLUSIVE, summary=text, remedy=text),
    )
    for line in lines_of(results, width=width, verbose=verbose):
        assert all(letter.isprintable() or letter == "\t" for letter in line)
        assert "\n" not in line
        assert not line.strip().startswith(("::", "##["))
        assert line == line.rstrip()


def test_what_a_server_says_can_not_start_a_command_on_a_wrapped_line() -> None:
    got = "x" * 60 + " ::stop-commands::pwned"
    lines = lines_of(whole_run(None, finding(*WALK, Verdict.FAILED, got=got)), width=80)
    assert any("::stop-commands" in line for line in lines)
    assert not any(line.strip().startswith("::") for line in lines)


def test_many_violations_are_cut_unless_verbose() -> None:
    cells = {
        (rule.id, rule.operations[0]): Verdict.FAILED
        for rule in RULES.values()
        if rule.level is Level.REQUIRED and not rule.follows
    }
    short, long = lines_of(whole_run(cells)), lines_of(whole_run(cells), verbose=True)
    assert any(re.match(r"   and \d+ more, listed in the report or with -v", line) for line in short)
    assert len(short) < 200 < len(long)


def test_inconclusive_rules_are_grouped_by_reason_with_the_cure() -> None:
    cells = {
        ("tenancy.foreign-parent", operation): Verdict.INCONCLUSIVE
        for operation in RULES["tenancy.foreign-parent"].operations
    }
    lines = lines_of(
        whole_run({cell: verdict for cell, verdict in cells.items() if cell[1] != "createPayin"})
    )
    start = lines.index("   15 cells: the target file names no second organization")
    assert lines[start + 1] == "   remedy     Fill in [secondary]."


def test_reasons_with_one_cure_are_one_entry() -> None:
    rules = ("auth.accepts-valid", "auth.nonce-replay", "body.malformed")
    found = [
        finding(rule, "createPayout", Verdict.INCONCLUSIVE, summary=summary, remedy="Give it funds.")
        for rule, summary in zip(
            rules, ("refused: funds", "refused: funds", "an odd one, refused"), strict=True
        )
    ]
    cells = {(rule, "createPayout"): Verdict.INCONCLUSIVE for rule in rules}
    lines = lines_of(whole_run(cells, *found))
    start = lines.index("   3 cells: refused: funds (and 1 similar reason)")
    assert lines[start + 1] == "   remedy     Give it funds."
    assert not any("an odd one" in line for line in lines)
