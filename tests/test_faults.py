"""Faulty servers are caught: of each rule on each operation, in each field, by each check.

`python -m tests.prove faults` catches each of them by the checks of the rule that it breaks, alone or in the
order of a run. It fails as well where a check raises, and where reports would name many unrelated rules as
causes.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import pytest

from conformance.checks import load_checks
from conformance.checks.running import run_check
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES, Level
from conformance.judge.invariants import INVARIANTS
from conformance.judge.verdicts import Verdict
from tests.faults.catalogue import Fault, load
from tests.faults.chosen import each_cell, each_kind
from tests.faults.harness import catch, in_order, run_on_fault, together
from tests.faults.members import bugs, opened
from tests.proofs import parametrize, selected
from tests.support.running import LONGEST, ROOT, run_against
from tests.support.runs import jobs_of, run_jobs

pytestmark = pytest.mark.usefixtures("quiet")


def chosen(config: pytest.Config) -> list[Fault]:
    """Returns the faults that the options select, by default one of each rule on each operation."""
    option, tested = config.option, [*each_cell().values()]
    if not option.every:
        return tested
    # The processes of pytest-xdist must collect them in one order.
    faults = selected(config, sorted(load(), key=lambda fault: fault.id))
    without = tested if option.but_tested else []
    if option.each_kind:
        faults = each_kind(faults, without)
    names = {fault.id for fault in without}
    return [fault for fault in faults if fault.id not in names]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "program" in metafunc.fixturenames:
        parametrize(metafunc, chosen(metafunc.config))


def test_a_fault_is_caught(
    program: Fault, request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> None:
    option = request.config.option
    checks, keep, lanes = option.checks or "rule", option.keep, option.conformance_lanes
    if keep:
        folder = Path(keep, f"{program.rule}@{program.operation}-{crc32(program.id.encode()):08x}")
        folder.mkdir(parents=True, exist_ok=True)
        cell = f"--rule {program.rule} --operation {program.operation}"
        effort = {"rule": cell, "quick": "--effort quick"}.get(checks, "")
        options = f"--fail-on implied {effort} {f'--lanes {lanes}' if lanes else ''}"
        assert run_against(folder, options, program.make(), timeout=LONGEST).status == 1, program.id
        return
    outcome = catch(program) if checks == "rule" else in_order(program, checks)
    others = [rule for rule in outcome.causes if rule not in (program.rule, *program.also)]
    record_property("others", [program.rule, *([] if program.member else others)])
    record_property("requests", outcome.ledger.sent)
    record_property("without effect", not outcome.effect)
    # What a quick run says it has not judged, or not whole.
    judged = outcome.ledger.cell(program.rule, program.operation)
    partial = judged.verdict is Verdict.NOT_RUN or judged.left_out > 0 or program.rule in INVARIANTS
    excused = checks == "quick" and partial and not outcome.shows(program)
    record_property("left out", excused)
    assert outcome.ledger.errors == []
    if outcome.effect and not excused and not outcome.shows(program):
        reason = outcome.inconclusive.get((program.rule, program.operation), "")
        pytest.fail(f"survives: {program.id}. {reason}".rstrip(), pytrace=False)


#: Areas of rules that others' requests may spoil.
STATEFUL = (
    "balances",
    "destination",
    "tenancy",
    "read",
    "refusal",
    "wallet",
    "payout",
    "idempotency",
    "list",
)


@pytest.mark.parametrize("effort", ["quick", pytest.param("full", marks=pytest.mark.slow)])
def test_faults_are_caught_in_the_order_of_a_run(effort: str) -> None:
    """One on each operation, in one server: what the checks of other rules leave must not answer for them."""
    jobs, chosen = jobs_of(effort), dict[str, Fault]()
    left_out = {key for job in {*jobs_of("full")} - {*jobs} for key in job.cells}
    faults = [
        fault for key, fault in each_cell().items() if key not in left_out and not fault.base.everywhere
    ]
    for area in STATEFUL:
        for fault in faults:
            raced = fault.rule.endswith(("race", "hang-up"))
            if fault.area == area and not raced and fault.rule not in {each.rule for each in chosen.values()}:
                chosen.setdefault(fault.operation, fault)
    assert len(chosen) > len(OPERATIONS) / 2
    ledger = run_jobs(run_on_fault(together(chosen.values())), jobs)
    assert ledger.errors == []
    assert [
        each.id for each in chosen.values() if not ledger.cell(each.rule, each.operation).violations
    ] == []


def test_no_sentence_stands_twice() -> None:
    """The later row would replace the one that the rule has already."""
    stated = Counter(
        (ast.unparse(node.target), ast.unparse(key))
        for path in (ROOT / "tests/faults").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.AugAssign) and isinstance(node.value, ast.Dict)
        for key in filter(None, node.value.keys)
    )
    assert [row for row, number in stated.items() if number > 1] == []


@pytest.mark.parametrize("rule", [rule.id for rule in RULES.values() if rule.level is not Level.OPEN])
def test_the_rule_has_a_fault_on_each_operation(rule: str) -> None:
    """A mistake in a member may break another rule instead: one breaks the rule where no row does."""
    for operation in RULES[rule].operations:
        if (rule, operation) not in each_cell():
            faults = [fault for fault in load() if (fault.rule, fault.operation) == (rule, operation)]
            assert faults, f"no row of faults[{rule!r}] in tests/faults/ breaks it on {operation}"
            assert any((rule, operation) in catch(fault).broken for fault in faults[:20]), operation


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [bug for bug in bugs() if (bug.operation, bug.sentence, bug.member) in opened()],
    ids=lambda fault: fault.id,
)
def test_what_is_open_is_caught_by_no_check(fault: Fault) -> None:
    assert not catch(fault).shows(fault)


def test_only_servers_are_open() -> None:
    assert opened().keys() <= {(bug.operation, bug.sentence, bug.member) for bug in bugs()}


JUDGING = [
    pytest.param(check.name, rule, id=f"{check.name}-{rule}")
    for check in load_checks().values()
    for rule in check.rules
    if RULES[rule].level is not Level.OPEN
]


@pytest.mark.slow
@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize(("name", "rule"), JUDGING)
def test_every_check_fails_by_each_of_its_rules_on_some_fault(name: str, rule: str) -> None:
    check = load_checks()[name]
    tried = [fault for fault in load() if fault.rule == rule and fault.operation in check.operations]
    # Ordered by operation, so that a kind which the check misses costs one run before the next kind.
    for fault in sorted(tried, key=lambda fault: check.operations.index(fault.operation)):
        cells, _ = run_check(check, fault.operation, run_on_fault(fault.make()))
        if any(cell.rule == rule and cell.verdict.is_violation for cell in cells):
            return
    pytest.fail(f"none of {len(tried)} faults makes {name} fail by {rule}")
