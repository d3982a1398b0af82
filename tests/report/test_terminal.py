"""The terminal summary of a run."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.contract.rules import RULES
from conformance.judge.ledger import Ledger
from conformance.judge.outcomes import Unclear
from conformance.judge.verdicts import Verdict
from conformance.report.terminal import summary
from tests.support.report_samples import WALK, document, judged, whole_run


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


@settings(max_examples=25, deadline=None)
@given(text=st.text(max_size=300), width=st.integers(20, 200), verbose=st.booleans())
def test_no_line_holds_a_control_character_or_starts_a_workflow_command(
    text: str, width: int, verbose: bool
) -> None:
    results = whole_run(
        None,
        judged(*WALK, Verdict.FAILED, expected=text, got=text, further=[text]),
        judged("list.pages", "listWallets", Verdict.INCONCLUSIVE, unclear=Unclear(text, remedy=text)),
    )
    for line in lines_of(results, width=width, verbose=verbose):
        assert all(letter.isprintable() or letter == "\t" for letter in line)
        assert "\n" not in line
        assert not line.strip().startswith(("::", "##["))
        assert line == line.rstrip()


def test_what_a_server_says_can_not_start_a_command_on_a_wrapped_line() -> None:
    got = "x" * 60 + " ::stop-commands::pwned"
    lines = lines_of(whole_run(None, judged(*WALK, Verdict.FAILED, got=got)), width=80)
    assert any("::stop-commands" in line for line in lines)
    assert not any(line.strip().startswith("::") for line in lines)


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
