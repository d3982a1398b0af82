"""Content and HTML validity of the report page."""

from __future__ import annotations

from typing import Any

import pytest
from lxml import html as parser

from conformance.contract.rules import RULES
from conformance.judge.verdicts import Verdict
from conformance.report import commands, evidence
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


def test_every_rule_and_cell_has_a_place_of_its_own_and_every_link_leads_somewhere() -> None:
    shown = page(
        judged(*WALK, Verdict.FAILED, exchanges=[2, 1]),
        judged(*PAGES, Verdict.FAILED, exchanges=[2]),
        judged("list.echo", "listWallets", Verdict.PASSED, exchanges=[3]),
        exchanges=[exchange(number) for number in (1, 2, 3)],
    )
    ids = [element.get("id") for element in shown.iter() if element.get("id")]
    assert len(set(ids)) == len(ids)
    wanted = {rule.id for rule in RULES.values()}
    wanted |= {f"{rule.id}@{operation}" for rule in RULES.values() for operation in rule.operations}
    assert wanted | {"exchange-1", "exchange-2", "exchange-3"} <= set(ids)
    links = {link.get("href").removeprefix("#") for link in shown.iter("a")}
    assert wanted <= links and links <= set(ids)


def test_violations_are_listed_once_with_all_that_is_known_of_them() -> None:
    shown = page(
        judged(*PAGES, Verdict.FAILED, got="page\n3", confirmed="not reproduced"),
        verdicts={WALK: Verdict.FAILED},
        options={"target": "server.toml"},
    )
    [card] = shown.cssselect("details.cause")
    assert card.get("id") == "cause-list.pages" and card.get("open") is not None
    for words in (
        "got page\\n3 (not reproduced alone; it is a violation all the same)",
        "--rule list.pages --operation listWallets --seed 7 --target server.toml",
        "led to list.walk",
    ):
        assert words in text(card)
    assert "Failures" not in text(shown.cssselect("main")[0])


def test_known_failures_stale_entries_and_errors_have_sections() -> None:
    known = KnownFailures(
        [
            KnownFailureRecord(4, *WALK, "mended <soon>", None),
            KnownFailureRecord(9, "list.echo", "listWallets", "old", None),
        ],
        "known.toml",
    )
    shown = page(verdicts={WALK: Verdict.FAILED}, known=known, errors=["test_a[b]: KeyError: 'c'"])
    sections = {part.get("aria-labelledby"): text(part) for part in shown.cssselect("section")}
    assert "reason mended <soon>" in sections["known"]
    assert "the list, line 9: delete the entry for list.echo on listWallets" in sections["stale"]
    assert "test_a[b]: KeyError: 'c'" in sections["errors"]
    assert "the suite failed" in shown.findtext(".//title")


def test_an_exchange_can_be_read_without_a_script_and_sent_again() -> None:
    shown = page(
        judged(*WALK, Verdict.FAILED, exchanges=[1], got="/items/1/id: no string"),
        exchanges=[exchange(1, b'{"items": [{"id": "a"}, {"id": 7}, "<b>\\u0000"]}')],
        options={"target": "server.toml"},
    )
    [block] = shown.cssselect("details.exchange")
    sent, received = block.cssselect("pre")
    assert "POST /v1/customers/cus_one/accounts" in sent.text and '"name": "Savings"' in sent.text
    assert "X-API-Key: key_0" in sent.text
    assert '"<b>\\u0000"' in received.text_content()
    assert "conformance sign --curl POST /v1/customers/cus_one/accounts --target server.toml" in text(block)


def test_the_size_of_a_page_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    results = whole_run(
        None,
        judged(*WALK, Verdict.FAILED, exchanges=[1, 2]),
        judged("list.echo", "listWallets", Verdict.PASSED, exchanges=[3]),
        judged("list.echo", "listAccounts", Verdict.PASSED, exchanges=[4]),
    )
    keep(results, *(exchange(number, b"x" * 8000) for number in (1, 2, 3, 4)))
    made = document(results)
    assert len("".join(pieces(made))) < 1_000_000
    assert [*evidence.page_exchanges(made.cells, made.exchanges)] == [1, 2, 3, 4]
    monkeypatch.setattr(evidence, "PAGE_PROOF", 2000)
    assert [*evidence.page_exchanges(made.cells, made.exchanges)] == [1, 2, 3]
    monkeypatch.setattr(evidence, "PAGE_EXCHANGES", 6000)
    shown = evidence.page_exchanges(made.cells, made.exchanges)
    assert [*shown] == [1, 3] and shown[1].response_body.cut


def test_nothing_is_loaded_and_no_style_or_handler_stands_in_an_attribute() -> None:
    shown = page(judged(*WALK, Verdict.FAILED, exchanges=[1]), exchanges=[exchange(1)])
    for element in shown.iter():
        if not isinstance(element.tag, str):
            continue
        assert not {"src", "srcset", "style", "data", "action"} & set(element.attrib)
        assert not any(name.startswith("on") for name in element.attrib)
        assert element.get("href", "#").startswith("#")
    policy = shown.cssselect("meta[http-equiv]")[0].get("content")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    ("options", "command"),
    [
        ({}, "pytest --pyargs conformance --seed 7"),
        (
            {"target": "my server.toml", "base-url": "http://x", "fail-on": "required", "lanes": "3"},
            "pytest --pyargs conformance --seed 7 --target 'my server.toml' --base-url http://x",
        ),
        (
            {"rule": "auth.* list.walk@listWallets", "-m": "not fuzz", "fail-on": "implied"},
            "pytest --pyargs conformance --rule 'auth.*' --rule list.walk@listWallets "
            "--fail-on implied -m 'not fuzz' --seed 7",
        ),
        (
            {"load": "--users 50 --headless", "target": "t.toml", "rate": "20.0"},
            "conformance load --rate 20.0 --seed 7 --users 50 --headless --target t.toml",
        ),
    ],
)
def test_a_run_can_be_repeated(options: dict[str, str], command: str) -> None:
    assert commands.again(options, 7) == command
