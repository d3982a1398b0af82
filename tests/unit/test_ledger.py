"""The ledger: conclusions of checks, and sums of parts in any order."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from conformance.checks import OTHERS, load_checks, note_left_out
from conformance.judge.cells import EVERY_RESPONSE, VIOLATIONS, Cell, Violation
from conformance.judge.exchanges import ExchangeRecord, exchange_record
from conformance.judge.ledger import Ledger
from conformance.judge.outcomes import Unclear
from conformance.judge.verdicts import Inconclusive, NotApplicable, Verdict
from conformance.target.redaction import Redactor
from tests.support.report_samples import decided, exchange

OPEN, REQUIRED = "http.success-status", "list.walk"


def cell(rule: str = REQUIRED, **changes: Any) -> Cell:
    return Cell(rule, "createAccount" if rule == OPEN else "listWallets", **changes)


def record(number: int) -> ExchangeRecord:
    return exchange_record(exchange(number), Redactor(None))


SENTENCE = "a walk: a refusal (4xx)"

REFUSED = Unclear("refused", choice=True)


# ---------------------------------------------------------------------- conclusions


def test_a_pass_says_how_many_of_its_checks_have_judged_it() -> None:
    ledger, check = Ledger(narrowed=["-k walking"]), "test_lists.test_walking_pages"
    ledger.add(cell(judged=3).concluded(check))
    ledger.add(Cell("list.pages", "listWallets").concluded(check, Inconclusive(Unclear("lost"))))
    note_left_out(ledger)
    held, lost = ledger.cells
    assert held.left_out > 0 and held.summary == f"judged by 1 of its {held.left_out + 1} checks"
    assert lost.verdict is Verdict.INCONCLUSIVE
    notes = decided(ledger).notes
    assert "1 cell passed without some checks of the rule, which a whole run has" in notes


@pytest.mark.parametrize("remedy", ["", "Name a funded account."])
@pytest.mark.parametrize("others", [True, False])
def test_a_check_without_an_occasion_leaves_to_others_what_they_may_judge(others: bool, remedy: str) -> None:
    """Where a narrowed run has left these out, that is the remedy."""
    ledger, why = Ledger(narrowed=["-k walking"]), Unclear("no page", "", remedy)
    for name in ["test_lists.test_walking_pages"] if others else list(load_checks()):
        ledger.add(Cell("list.pages", "listWallets", not_exercised=why).concluded(name))
    note_left_out(ledger)
    [cell] = ledger.cells
    assert cell.verdict is Verdict.INCONCLUSIVE and cell.summary == "no page"
    assert cell.decisive.remedy == (remedy or (OTHERS if others else ""))


@pytest.mark.parametrize(
    ("cell", "stop", "verdict", "summary"),
    [
        (cell(), None, "inconclusive", "the check had no occasion to judge this rule"),
        (cell(judged=1), None, "passed", ""),
        (cell(OPEN, judged=1), None, "observed", ""),
        (cell(unclear=[Unclear("no answer")]), None, "inconclusive", "no answer"),
        (cell(unclear=[Unclear("no answer")], judged=1), None, "inconclusive", "no answer"),
        (cell(unclear=[REFUSED]), None, "inconclusive", "refused"),
        (cell(unclear=[REFUSED], judged=1), None, "passed", "1 probe could not be judged: refused"),
        (cell(unclear=[REFUSED, Unclear("no answer")], judged=1), None, "inconclusive", "no answer"),
        (cell(not_applicable="no payouts"), None, "not applicable", "no payouts"),
        (cell(judged=1), Inconclusive(Unclear("lost")), "inconclusive", "lost"),
        (cell(judged=1), NotApplicable("no payouts"), "not applicable", "no payouts"),
        (cell(violations=[Violation(SENTENCE, "201", (1,))]), Inconclusive(Unclear("lost")), "failed", None),
    ],
)
def test_a_check_comes_to_one_conclusion(cell: Cell, stop: Any, verdict: str, summary: str | None) -> None:
    concluded = cell.concluded("test_x.test_y", stop, [1, 2, 3])
    assert concluded.verdict == verdict
    assert summary is None or concluded.summary == summary


def test_what_is_judged_by_the_way_breaks_a_rule_and_never_proves_it() -> None:
    whole = cell()
    whole.add(cell(judged=7, proof=[1]).concluded("another", by_the_way=True))
    assert (whole.verdict, whole.judged, whole.looks, whole.proof) == ("not run", 7, 0, [])
    assert "no check of the rule" in whole.summary
    whole.add(cell(judged=2, proof=[2]).concluded("own"))
    assert (whole.verdict, whole.judged, whole.looks, whole.proof) == ("passed", 9, 2, [2])
    whole.add(cell(violations=[Violation(SENTENCE, "201")]).concluded("another", by_the_way=True))
    assert whole.verdict == "failed"


@pytest.mark.parametrize("order", [1, -1])
def test_no_reason_stands_beside_a_pass_but_how_far_it_looked(order: int) -> None:
    whole, near, far = cell(), cell(judged=1), cell(judged=1)
    near.reached(12, "12 s of 300")
    far.reached(41, "41 s of 300")
    parts = [
        cell().concluded(),
        cell(not_applicable="no payouts").concluded(),
        near.concluded(),
        far.concluded(),
    ]
    for part in parts[::order]:
        whole.add(part)
    assert (whole.verdict, whole.summary) == ("passed", "41 s of 300")
    assert (whole.not_applicable, whole.not_exercised) == ("", None)


def test_a_rule_of_every_response_says_how_many_answers() -> None:
    assert cell(judged=1200).concluded().summary == "judged on 1,200 answers"


def test_violations_are_counted_and_the_first_stay() -> None:
    running = cell()
    for number in range(60):
        running.expect(SENTENCE, f"20{number % 10}" * (number % 2), exchange(number))
    running.expect(SENTENCE, Unclear("no answer"), exchange(60))
    concluded = running.concluded("test_x.test_y")
    assert (concluded.judged, concluded.broken, concluded.verdict) == (60, 30, "failed")
    assert [violation.got for violation in concluded.violations] == ["201", "203", "205", "207", "209"]
    assert concluded.exchanges == [1, 3, 5, 7, 9]
    assert concluded.summary == f"list.walk on listWallets: expected {SENTENCE}; got 201"


# ---------------------------------------------------------------------- sums


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ([cell(judged=1), cell()], "passed"),
        ([cell(judged=1), cell(unclear=[Unclear("no answer")])], "inconclusive"),
        ([cell(unclear=[Unclear("no answer")]), cell(violations=[Violation("a", "b")])], "failed"),
        ([cell(not_applicable="no payouts"), cell()], "not applicable"),
        ([cell(not_applicable="no payouts"), cell(judged=1)], "passed"),
    ],
)
@pytest.mark.parametrize("order", [1, -1])
def test_the_most_severe_check_decides(parts: list[Cell], verdict: str, order: int) -> None:
    whole = cell()
    for part in parts[::order]:
        whole.add(part.concluded("test_x.test_y"))
    assert whole.verdict == verdict


def test_violations_of_the_rules_own_check_come_first() -> None:
    whole, several = cell(), [Violation("a", str(number), (number,)) for number in range(40)]
    whole.add(cell(violations=several).concluded("another", aside=True))
    whole.add(cell(violations=[Violation("own", "b", (41,))]).concluded("own"))
    assert len(whole.violations) == VIOLATIONS + 1 and whole.decisive.exchanges == (41,)
    assert whole.exchanges == [41, *range(VIOLATIONS)]


def ledger_of(number: int) -> Ledger:
    """Returns a worker's ledger: rules that depend on the number, and a rule of every response."""
    ledger = Ledger(sent=number)
    ledger.waited("a rate limit", (float(number), number + 1.5))
    ledger.add(cell(judged=number).concluded(f"test_x.test_{number}"))
    passive = Cell("format.id", "listWallets", judged=10)
    if number % 2:
        passive.broken, passive.violations = number, [Violation("an id", str(number % 4), (number,))]
    ledger.add(passive.concluded(by_the_way=True))
    ledger.measure(exchange(number))
    return msgspec.msgpack.decode(msgspec.msgpack.encode(ledger), type=Ledger)


@pytest.mark.parametrize("seed", range(4))
def test_parts_add_up_in_any_order(seed: int) -> None:
    parts = [ledger_of(number) for number in range(1, 6)]
    random.Random(seed).shuffle(parts)
    ledger = Ledger()
    for other in parts:
        ledger.merge(other)
    # The lanes waited at the same time.
    wait = ledger.waits["a rate limit"]
    assert (ledger.sent, wait.times, wait.seconds, wait.spans) == (15, 5, 5.5, [(1.0, 6.5)])
    assert ledger.cell(REQUIRED, "listWallets").checks == [f"test_x.test_{number}" for number in range(1, 6)]
    passive = ledger.cell("format.id", "listWallets")
    assert (passive.judged, passive.broken, passive.verdict) == (50, 9, "failed")
    assert sorted(violation.got for violation in passive.violations) == ["1", "3"]
    assert passive.checks == [EVERY_RESPONSE] and passive.summary.endswith(" (9 of 50 responses)")
    assert ledger.latency["createAccount"].exchanges == 5


def test_only_exchanges_that_cells_name_are_kept() -> None:
    ledger = Ledger()
    for number, violations in ((1, []), (2, []), (3, [Violation("a walk", "404", (3, 4))])):
        part = Ledger()
        part.add(cell(judged=1, proof=[number], violations=violations).concluded(f"test_x.test_{number}"))
        part.exchanges = {each: record(each) for each in (number, number + 1)}
        ledger.merge(part)
    assert [*ledger.exchanges] == [1, 3, 4]
