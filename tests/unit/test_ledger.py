"""The ledger: findings of entries, and sums of parts in any order."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from conformance.judge.ledger import Entry, Ledger
from conformance.judge.outcomes import Unclear
from conformance.judge.verdicts import (
    EVERY_RESPONSE,
    Finding,
    Inconclusive,
    NotApplicable,
    Verdict,
    Violation,
)
from tests.support.report_samples import exchange

OPEN, REQUIRED = "http.success-status", "list.walk"


def entry(rule: str = REQUIRED, **changes: Any) -> Entry:
    return Entry(rule, "createAccount" if rule == OPEN else "listWallets", "test_x.test_y", **changes)


SENTENCE = "a walk: a refusal (4xx)"


# ---------------------------------------------------------------------- entries


@pytest.mark.parametrize(
    ("entry", "stop", "verdict", "exercised", "summary"),
    [
        (entry(), None, "inconclusive", False, "the check had no occasion to judge this rule"),
        (entry(judged=1), None, "passed", True, ""),
        (entry(OPEN, judged=1), None, "observed", True, ""),
        (entry(unclear=[Unclear("no answer")]), None, "inconclusive", True, "no answer"),
        (entry(unclear=[Unclear("no answer")], judged=1), None, "passed", True, ""),
        (entry(absent="no payouts"), None, "not applicable", True, "no payouts"),
        (entry(judged=1), Inconclusive("lost"), "inconclusive", True, "lost"),
        (entry(judged=1), NotApplicable("no payouts"), "not applicable", True, "no payouts"),
        (entry(violations=[Violation(SENTENCE, "201", (1,))]), Inconclusive("lost"), "failed", True, None),
    ],
)
def test_an_entry_comes_to_one_finding(
    entry: Entry, stop: Any, verdict: str, exercised: bool, summary: str | None
) -> None:
    finding = entry.finding(stop, [1, 2, 3])
    assert (finding.verdict, finding.exercised) == (verdict, exercised)
    assert summary is None or finding.summary == summary


def test_a_violation_tells_the_first_and_counts_all() -> None:
    kept = entry()
    for number in range(30):
        kept.expect(SENTENCE, f"20{number % 10}" * (number % 2), exchange(number))
    finding = kept.finding()
    assert (finding.probes, finding.violations, finding.got) == (30, 15, "201")
    assert finding.exchanges == [1, 3, 5, 7, 9, 11]
    assert finding.further[0] == "expected a walk: a refusal (4xx); got 203"


# ---------------------------------------------------------------------- sums


def part(number: int) -> Ledger:
    """Returns a worker's ledger: rules that depend on the number, and a rule of every response."""
    ledger = Ledger(sent=number, waits=1, waited=0.5)
    ledger.add(Finding(REQUIRED, "listWallets", Verdict.PASSED, f"test_x.test_{number}", probes=number))
    passive = Finding("format.id", "listWallets", Verdict.PASSED, EVERY_RESPONSE, probes=10)
    if number % 2:
        passive.verdict, passive.violations = Verdict.FAILED, number
        passive.expected, passive.got, passive.exchanges = "an id", "7", [number]
    ledger.add(passive)
    ledger.measure(exchange(number))
    ledger.lack({"createPayout": "404", "createAccount": "404"})
    return msgspec.msgpack.decode(msgspec.msgpack.encode(ledger), type=Ledger)


@pytest.mark.parametrize("seed", range(4))
def test_parts_add_up_in_any_order(seed: int) -> None:
    parts = [part(number) for number in range(1, 6)]
    random.Random(seed).shuffle(parts)
    ledger = Ledger()
    for other in parts:
        ledger.merge(other)
    assert (ledger.sent, ledger.waits, ledger.waited) == (15, 5, 2.5)
    assert len(ledger.cell(REQUIRED, "listWallets").findings) == 5
    [passive] = ledger.cell("format.id", "listWallets").findings
    assert (passive.probes, passive.violations, passive.verdict) == (50, 9, "failed")
    assert sorted(passive.exchanges) == [1, 3, 5]
    told = "format.id on listWallets: expected an id; got 7 (9 of 50 responses)"
    assert passive.summary == ledger.cell("format.id", "listWallets").summary == told
    assert ledger.latency["createAccount"].exchanges == 5
    assert ledger.missing == {"createPayout": "404"}, "what has succeeded is there"
