"""Content and HTML validity of the report page."""

from __future__ import annotations

from typing import Any

import pytest
from lxml import html as parser

from conformance.contract.rules import RULES
from conformance.judge.verdicts import Verdict
from conformance.report import evidence
from conformance.report.document import KnownFailureRecord
from conformance.report.html import pieces
from conformance.report.known_failures import KnownFailures
from tests.support.report_samples import WALK, document, exchange, judged, keep, whole_run

PAGES = ("list.pages", "listWallets")


def page(*cells: Any, verdicts: Any = None, exchanges: Any = (), errors: Any = (), **how: Any) -> Any:
    """Returns the parsed page of a run."""
    results = whole_run(verdicts, *cells)
    results.errors += errors
    keep(results, *exchanges)
    return parser.fromstring("".join(pieces(document(results, **how))))


def text(element: Any) -> str:
    """Returns an element's text, with cells separated by spaces."""
    return " ".join(" ".join(element.itertext()).split())


def test_a_page_stands_alone_and_every_link_leads_somewhere() -> None:
    whole = page(
        judged(*WALK, Verdict.FAILED, exchanges=[2, 1]),
        judged(*PAGES, Verdict.FAILED, exchanges=[2]),
        judged("list.echo", "listWallets", Verdict.PASSED, exchanges=[3]),
        exchanges=[exchange(number) for number in (1, 2, 3)],
    )
    ids = [element.get("id") for element in whole.iter() if element.get("id")]
    assert len(set(ids)) == len(ids)
    rules = {rule.id for rule in RULES.values()}
    rules |= {f"{rule.id}@{operation}" for rule in RULES.values() for operation in rule.operations}
    assert rules | {"exchange-1", "exchange-2", "exchange-3"} <= set(ids)
    links = {link.get("href").removeprefix("#") for link in whole.iter("a")}
    assert rules <= links and links <= set(ids)
    for element in whole.iter():
        if isinstance(element.tag, str):
            assert not {"src", "srcset", "style", "data", "action"} & set(element.attrib)
            assert not any(name.startswith("on") for name in element.attrib)
            assert element.get("href", "#").startswith("#")
    policy = whole.cssselect("meta[http-equiv]")[0].get("content")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy


def test_a_violation_is_listed_once_with_all_that_is_known_of_it() -> None:
    answer = b'{"items": [{"id": "a"}, {"id": 7}, "<b>\\u0000"]}'
    failed = judged(
        "list.pages", "listAccounts", Verdict.FAILED, exchanges=[1], got="page\n3",
        confirmed="not reproduced", further=["page 4"],
    )  # fmt: skip
    whole = page(
        failed,
        judged(*PAGES, Verdict.FAILED, got="no page"),
        verdicts={WALK: Verdict.FAILED},
        exchanges=[exchange(1, answer)],
        options={"target": "server.toml"},
    )
    card, later = whole.cssselect("details.cause")
    assert card.get("id") == "cause-1" and card.get("open") is not None
    assert "2. list.walk on listWallets required" in text(later)
    for words in (
        "sent POST createAccount: a valid request",
        "expected a refusal (4xx)",
        "got page\\n3 (its check, repeated alone in new accounts, did not show it: it lacked what the run",
        "--rule list.pages --operation listAccounts --seed 7 --target server.toml",
        "also on listWallets: got no page",
        "also expected page 4; got page 4",
    ):
        assert words in text(card), text(card)
    # The exchange can be read without a script, and sent again.
    [block] = card.cssselect("details.exchange")
    sent, received = block.cssselect("pre")
    assert "POST /v1/customers/cus_one/accounts" in sent.text and '"name": "Savings"' in sent.text
    assert "X-API-Key: key_0" in sent.text and '"<b>\\u0000"' in received.text_content()
    assert "conformance sign --curl POST /v1/customers/cus_one/accounts --target server.toml" in text(block)


@pytest.mark.parametrize(
    ("purpose", "expected", "left"),
    [
        ("the key again", "the key again: a refusal", "a refusal"),
        ('a generated request, `page` "2"', '`page` "2": accepted (2xx)', "accepted (2xx)"),
        ("the key again", "an amount: 5", "an amount: 5"),
    ],
)
def test_what_was_sent_is_no_part_of_the_expectation(purpose: str, expected: str, left: str) -> None:
    whole = page(
        judged(*WALK, Verdict.FAILED, exchanges=[1], expected=expected),
        exchanges=[exchange(1, purpose=purpose)],
    )
    [card] = whole.cssselect("details.cause")
    facts = {text(fact.find("dt")): text(fact.find("dd")) for fact in card.cssselect("dl.points > div")}
    assert (facts["sent"], facts["expected"]) == (f"POST createAccount: {purpose}", left)


def test_a_statement_that_is_the_expectation_stands_once() -> None:
    rule = RULES["format.id"]
    whole = page(judged(rule.id, "getAccount", Verdict.FAILED, expected=rule.statement, got="7"))
    [card] = whole.cssselect("details.cause")
    assert sum(rule.statement in text(part) for part in card.cssselect("p, dd")) == 1


def test_the_title_of_a_violation_is_a_sentence_with_its_spaces() -> None:
    page = parser.fromstring("".join(pieces(document(whole_run({WALK: Verdict.FAILED})))))
    [title] = page.xpath("//details[@id='cause-1']/summary")
    assert " ".join(title.text_content().split()).startswith(f"1. {WALK[0]} on {WALK[1]} ")


def test_known_failures_stale_entries_and_errors_have_sections() -> None:
    known = KnownFailures(
        [
            KnownFailureRecord(4, *WALK, "mended <soon>", None),
            KnownFailureRecord(9, "list.echo", "listWallets", "old", None),
        ]
    )
    whole = page(verdicts={WALK: Verdict.FAILED}, known=known, errors=["test_a[b]: KeyError: 'c'"])
    sections = {part.get("aria-labelledby"): text(part) for part in whole.cssselect("section")}
    assert "reason mended <soon>" in sections["known"]
    assert "the list, line 9: delete the entry for list.echo on listWallets" in sections["stale"]
    assert "test_a[b]: KeyError: 'c'" in sections["errors"]
    assert "error" in whole.findtext(".//title")


def test_the_size_of_a_page_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    results = whole_run(
        None,
        judged(*WALK, Verdict.FAILED, exchanges=[1, 2]),
        judged("list.echo", "listWallets", Verdict.PASSED, exchanges=[3]),
        judged("list.echo", "listAccounts", Verdict.PASSED, exchanges=[4]),
    )
    keep(results, *(exchange(number, b"x" * 8000) for number in (1, 2, 3, 4)))
    report = document(results)

    def chosen() -> dict[int, Any]:
        return evidence.page_exchanges(report.cells, report.exchanges)

    assert len("".join(pieces(report))) < 1_000_000
    assert [*chosen()] == [1, 2, 3, 4]
    monkeypatch.setattr(evidence, "PAGE_PROOF", 2000)
    assert [*chosen()] == [1, 2, 3]
    monkeypatch.setattr(evidence, "PAGE_EXCHANGES", 6000)
    assert [*chosen()] == [1, 3] and chosen()[1].response_body.cut


def test_further_violations_of_a_cause_are_folded() -> None:
    further = [f"probe {number}" for number in range(12)]
    whole = page(judged("list.walk", "listWallets", Verdict.FAILED, further=further))
    [card] = whole.cssselect("details.cause")
    [fold] = card.cssselect("details > details:not(.exchange)")
    assert text(fold.cssselect("summary")[0]) == "12 more"
    assert fold.cssselect(".also") == card.cssselect(".also") and len(fold.cssselect(".also")) == 12
