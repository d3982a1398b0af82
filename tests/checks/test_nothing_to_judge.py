"""A rule passes only if an answer had a value to which it applies."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from conformance.checks import load_checks, plan
from conformance.checks.members import FUNDED
from conformance.checks.running import run_check
from conformance.contract.fields import Field
from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.judge.cells import Cell
from conformance.judge.verdicts import Verdict
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Listing, Record
from conformance.reference.refusals import Refusal
from tests.support.runs import judged, run_on
from tests.variants.answers import short_list_items
from tests.variants.catalogue import named
from tests.variants.hurry import hurried


class NothingThere(Behaviour):
    """Lists, balances and bank details are always empty."""

    def count(self, ctx: Context, listing: Listing) -> int:
        return 0

    def balances(self, ctx: Context, record: Record) -> list[dict[str, Any]]:
        return []

    def bank_details(self, ctx: Context) -> dict[str, Any]:
        return {"iban": None, "ibans": []}


#: Rules of lists that apply to elements.
OF_ELEMENTS = {
    "list.item-fields", "list.wallet-items", "list.walk", "list.stable", "list.start-date", "list.end-date",
    "list.date-offset", "list.status-filter", "list.currency-filter", "list.filters-combine",
}  # fmt: skip


#: Further rules that apply only to values which this server lacks.
OF_VALUES = {
    ("format.money", "getAccountBalances"),
    ("format.timestamp", "getAccountBalances"),
    ("format.iban", "createVirtualAccount"),
    ("format.iban", "getVirtualAccount"),
}

CELLS = [
    (rule.id, operation)
    for rule in RULES.values()
    for operation in rule.operations
    if (OPERATIONS[operation].is_list and (rule.id in OF_ELEMENTS or rule.id.startswith("format.")))
    or (rule.id, operation) in OF_VALUES
]


@pytest.fixture(scope="module")
def cells() -> dict[tuple[str, str], Cell]:
    """Cells of these rules on a server without any such values."""
    with hurried():
        ledger = judged(
            run_on(NothingThere()), plan({rule for rule, _ in CELLS}, {operation for _, operation in CELLS})
        )
    return {cell.key: cell for cell in ledger.cells}


@pytest.mark.parametrize(("rule", "operation"), CELLS)
def test_a_rule_without_values_does_not_pass(
    cells: dict[tuple[str, str], Cell], rule: str, operation: str
) -> None:
    cell = cells[rule, operation]
    assert cell.verdict is not Verdict.PASSED
    assert cell.summary
    if operation == "getAccountBalances":
        assert (cell.verdict, cell.decisive.remedy) == (Verdict.INCONCLUSIVE, FUNDED)
    if rule == "format.iban":
        assert cell.verdict is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("behaviour", "rule", "operation", "payouts"),
    [
        pytest.param(
            short_list_items(), "format.object", "listAccounts", True, id="a member that items need not have"
        ),
        pytest.param(NothingThere(), "format.money", "getAccountBalances", False, id="no money"),
    ],
)
def test_absent_optional_values_are_not_applicable(
    behaviour: Behaviour, rule: str, operation: str, payouts: bool
) -> None:
    with hurried():
        run = run_on(behaviour, payouts=payouts)
        if not payouts:
            run.target = replace(run.target, primary=replace(run.target.primary, funded_account_id=None))
        cell = judged(run, plan({rule}, {operation})).cell(rule, operation)
    assert cell.verdict is Verdict.NOT_APPLICABLE


class FromOneToAThousand(Behaviour):
    """Takes no very small amount and no large one."""

    def check_amount(self, ctx: Context, field: Field, value: str) -> None:
        super().check_amount(ctx, field, value)
        if not 1 <= Decimal(value) <= 1000:
            raise self.invalid(ctx, field, "out_of_range", "must be from 1 to 1000")


class RefusalsStored(Behaviour):
    """Stores refusals; another body with the key of one is answered with a status."""

    def __init__(self, status: int) -> None:
        super().__init__()
        self.status = status

    def remembers_refusal(self, ctx: Context, refusal: Refusal) -> bool:
        return refusal.kind != "idempotency_key_conflict"

    def refusal_status(self, ctx: Context, refusal: Refusal) -> int:
        conflict = refusal.kind == "idempotency_key_conflict"
        return self.status if conflict else super().refusal_status(ctx, refusal)


@pytest.mark.parametrize(
    ("behaviour", "check", "cell", "verdict"),
    [
        pytest.param(
            FromOneToAThousand(),
            "test_payouts.test_amounts_have_no_exponent",
            ("format.money", "createPayout"),
            Verdict.PASSED,
            id="amounts from 1 to 1000",
        ),
        *(
            pytest.param(
                RefusalsStored(status),
                "test_idempotency.test_after_refusal",
                ("idempotency.replay", "createVirtualAccount"),
                verdict,
                id=what,
            )
            for what, status, verdict in (
                ("keys of refusals stay used", 409, Verdict.PASSED),
                ("keys of refusals fail", 500, Verdict.INCONCLUSIVE),
                ("keys of refusals are denied access", 401, Verdict.INCONCLUSIVE),
            )
        ),
    ],
)
def test_a_choice_leaves_no_check_open_that_runs_alone(
    behaviour: Behaviour, check: str, cell: tuple[str, str], verdict: Verdict
) -> None:
    """As in a quick run, where no other check judges the rule."""
    with hurried():
        cells = run_check(load_checks()[check], cell[1], run_on(behaviour))[0]
    assert {each.key: each.verdict for each in cells}[cell] is verdict


def test_without_a_second_organization_the_first_is_judged() -> None:
    run = run_on(secondary=False)
    cells = [
        cell
        for check, operation in plan(operations={"createWallet", "listAccounts"})
        if check.rules[0].startswith("auth.") and not check.last
        for cell in run_check(check, operation, run)[0]
    ]
    absent = {cell.rule for cell in cells if cell.verdict is Verdict.NOT_APPLICABLE}
    assert absent == {"auth.nonce-scope"}


@pytest.mark.parametrize("operation", OPERATION_SETS["list"])
def test_a_list_of_others_is_read_until_it_shows_what_is_there(operation: str) -> None:
    """Alone as in a quick run: no other check judges the rule."""
    check = load_checks()["test_secrets.test_foreign_parent_in_the_query"]
    late = named("late")
    with hurried():
        cells = run_check(check, operation, run_on(late.behaviour()))[0]
    assert {cell.rule: cell.verdict for cell in cells} == {"tenancy.foreign-parent": Verdict.PASSED}
