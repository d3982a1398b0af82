"""The summaries of a run for a terminal and in Markdown: layout, escaping, what a server says."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.contract.rules import RULES
from conformance.judge.ledger import Ledger
from conformance.judge.outcomes import Unclear
from conformance.judge.verdicts import Verdict
from conformance.report.document import Document, KnownFailureRecord
from conformance.report.known_failures import KnownFailures
from conformance.report.markdown import code, markdown
from conformance.report.terminal import summary
from tests.faults.catalogue import load
from tests.faults.harness import catch
from tests.support.report_samples import WALK, document, exchange, judged, keep, whole_run

# ---------------------------------------------------------------------- the terminal


def lines_of(results: Ledger, *, width: int = 100, verbose: bool = False, **changes: Any) -> list[str]:
    report = document(results, **changes)
    return [line for line, _ in summary(report, folder=changes.get("folder"), width=width, verbose=verbose)]


def test_a_violation_takes_a_title_and_three_lines() -> None:
    lines = lines_of(whole_run({WALK: Verdict.FAILED}), options={"target": "my server.toml"})
    start = lines.index("1. list.walk on listWallets (required, section 8)")
    assert lines[start + 1 : start + 5] == [
        "   expected   a refusal (4xx)",
        "   got        201 with a JSON body",
        "   reproduce  pytest --pyargs conformance --rule list.walk --operation listWallets --seed 7 "
        "--target 'my server.toml'",
        "",
    ]


@settings(max_examples=25)
@given(text=st.text(max_size=300), width=st.integers(20, 200), verbose=st.booleans())
def test_no_line_holds_a_control_character_or_starts_a_workflow_command(
    text: str, width: int, verbose: bool
) -> None:
    results = whole_run(
        None,
        judged(*WALK, Verdict.FAILED, expected=text, got=f"{text} ::stop-commands::x", further=[text]),
        judged("list.pages", "listWallets", Verdict.INCONCLUSIVE, unclear=Unclear(text, remedy=text)),
    )
    for line in lines_of(results, width=width, verbose=verbose):
        assert all(letter.isprintable() or letter == "\t" for letter in line)
        assert not line.strip().startswith(("::", "##["))
        assert line == line.rstrip()


def test_inconclusive_rules_are_grouped_by_reason_with_the_cure() -> None:
    operations = set(RULES["tenancy.foreign-parent"].operations) - {"createPayin"}
    lines = lines_of(
        whole_run({("tenancy.foreign-parent", name): Verdict.INCONCLUSIVE for name in operations})
    )
    start = lines.index("   15 cells: the target file names no second organization")
    assert lines[start + 1] == "   remedy     Fill in [secondary]."


# ---------------------------------------------------------------------- Markdown

HOSTILE = "<script>alert(1)</script>]]>\x00\x1b[31m\ud800\ufffe & \"'` | @someone [x](javascript:y)"


@pytest.fixture(scope="module")
def hostile() -> Document:
    """A document with one cell of each verdict, a known failure among them, and hostile texts."""
    results = whole_run(
        {("list.stable", "listWallets"): Verdict.NOT_RUN},
        judged(*WALK, Verdict.FAILED, got=HOSTILE, expected=HOSTILE, further=[HOSTILE], exchanges=[1]),
        judged("list.pages", "listWallets", Verdict.FAILED),
        judged("list.echo", "listWallets", Verdict.INCONCLUSIVE, unclear=Unclear(HOSTILE, remedy=HOSTILE)),
        judged("auth.unknown-key-status", "listWallets", Verdict.WARNING, got=HOSTILE),
        judged("http.success-status", "listWallets", Verdict.OBSERVED, observations={HOSTILE: HOSTILE}),
    )
    body = HOSTILE.encode("utf-8", "surrogatepass")
    keep(results, exchange(1, body, response_headers=[(HOSTILE, HOSTILE)]))
    known = KnownFailures([KnownFailureRecord(3, "list.pages", "listWallets", HOSTILE, None)])
    return document(results, known=known, options={"target": HOSTILE})


def test_hostile_text_is_escaped_in_markdown(hostile: Document) -> None:
    text = markdown(hostile)
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert not re.search(r"(?<!\\)(<script|@someone|\]\(javascript)", outside)
    assert "\x00" not in text and "\x1b" not in text
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert tables
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1


@pytest.mark.parametrize("text", ["plain", "`", "``a`", "a`b``c```d", "", " ", "a|b", "line\nline"])
def test_a_code_span_holds_any_text(text: str) -> None:
    span = code(text)
    if ticks := re.match("`+", span):
        inner = span[len(ticks[0]) : -len(ticks[0])]
        assert ticks[0] not in re.findall("`+", inner)
        assert span.endswith(ticks[0])
    assert "\n" not in span


def test_no_line_ends_with_white_space_where_a_word_fills_it() -> None:
    word = "0" * 24
    results = whole_run(None, judged("list.walk", "listWallets", Verdict.FAILED, got=f"0 {word} {'0' * 26}"))
    assert all(line == line.rstrip() for line in lines_of(results, width=20))


#: A rule, its operation, and part of what is said of a request that breaks it.
_SAID = [
    ("wallet.duplicate", "createWallet", 'a wallet with currency "'),
    ("create.text-exact", "createAccount", "letters and signs of all kinds"),
    ("create.server-owned", "createBeneficiary", "a create that names "),
]

#: What only a reader of the code understands: a Python value, an operationId as a noun.
_CODE = re.compile(r"\{'|\ba (create|get|list|update|disable)[A-Z]")


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(("rule", "operation", "words"), _SAID)
def test_requests_are_described_in_words(rule: str, operation: str, words: str) -> None:
    faults = [each for each in load() if (each.rule, each.operation) == (rule, operation)]
    texts = [
        violation.expected
        for fault in faults[:12]
        for cell in catch(fault).ledger.cells
        for violation in cell.violations
    ]
    assert any(words in text for text in texts), texts
    assert not [text for text in texts if _CODE.search(text)]
