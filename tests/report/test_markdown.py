"""The summary in Markdown: escaping, code spans, tables."""

from __future__ import annotations

import re

import pytest

from conformance.judge.outcomes import Unclear
from conformance.judge.verdicts import Verdict
from conformance.report.document import Document, KnownFailureRecord
from conformance.report.known_failures import KnownFailures
from conformance.report.markdown import code, markdown
from tests.support.report_samples import WALK, document, exchange, judged, keep, whole_run

HOSTILE = "<script>alert(1)</script>]]>\x00\x1b[31m\ud800\ufffe & \"'` | @someone [x](javascript:y)"


@pytest.fixture(scope="module")
def made() -> Document:
    """A document with one cell of each verdict, a known failure among them, and hostile texts."""
    results = whole_run(
        {("list.stable", "listWallets"): Verdict.NOT_RUN},
        judged(
            *WALK,
            Verdict.FAILED,
            got=HOSTILE,
            expected=HOSTILE,
            further=[HOSTILE],
            exchanges=[1],
        ),
        judged("list.pages", "listWallets", Verdict.FAILED),
        judged("list.echo", "listWallets", Verdict.INCONCLUSIVE, unclear=Unclear(HOSTILE, remedy=HOSTILE)),
        judged("auth.unknown-key-status", "listWallets", Verdict.WARNING, got=HOSTILE),
        judged("http.success-status", "listWallets", Verdict.OBSERVED, observations={HOSTILE: HOSTILE}),
    )
    keep(
        results, exchange(1, HOSTILE.encode("utf-8", "surrogatepass"), response_headers=[(HOSTILE, HOSTILE)])
    )
    known = KnownFailures([KnownFailureRecord(3, "list.pages", "listWallets", HOSTILE, None)], "known.toml")
    return document(results, known=known, options={"target": HOSTILE})


def test_hostile_text_is_escaped_in_markdown(made: Document) -> None:
    text = markdown(made)
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert not re.search(r"(?<!\\)<script", outside)
    assert not re.search(r"(?<!\\)@someone", outside)
    assert not re.search(r"(?<!\\)\]\(javascript", outside)
    assert "\x00" not in text
    assert "\x1b" not in text


@pytest.mark.parametrize("text", ["plain", "`", "``a`", "a`b``c```d", "", " ", "a|b", "line\nline"])
def test_a_code_span_holds_whatever_it_is_given(text: str) -> None:
    span = code(text)
    ticks = re.match("`+", span)
    if ticks:
        inner = span[len(ticks[0]) : -len(ticks[0])]
        assert ticks[0] not in re.findall("`+", inner)
        assert span.endswith(ticks[0])
    assert "\n" not in span


def test_tables_have_as_many_columns_in_every_row(made: Document) -> None:
    tables = re.findall(r"(?:^\|.*\n)+", markdown(made), re.MULTILINE)
    assert tables
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1
