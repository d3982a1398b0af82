"""An operation whose successes have no body is broken in that alone: no other rule is blamed for it."""

from __future__ import annotations

import pytest

from conformance.checks import load_checks
from conformance.checks.running import run_check
from conformance.contract.operations import OPERATIONS
from tests.faults.chosen import by_id
from tests.support.runs import broken, run_on
from tests.variants.hurry import hurried

#: Rules whose checks compare answers of several operations.
RULES = {
    "beneficiary.destinations",
    "beneficiary.disable",
    "beneficiary.update-empty",
    "create.text-exact",
    "format.nullable",
    "idempotency.replay-after-change",
    "read.equals-create",
    "tenancy.foreign-parent",
}
CHECKS = [check for check in load_checks().values() if RULES & {*check.rules}]


#: One of each kind; the others take as long.
QUICK = ("createPayout", "getVirtualAccount", "updateBeneficiary", "disableBeneficiary", "listWallets")


@pytest.mark.parametrize(
    "operation",
    [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in OPERATIONS],
)
def test_no_rule_but_that_of_bodies_is_blamed(operation: str) -> None:
    run = run_on(by_id()[f"http.success-json[{operation}]: A success has no body, as its status says"].make())
    with hurried():
        blamed = {
            (rule, check.name, each)
            for check in CHECKS
            for each in check.operations
            for rule in broken(run_check(check, each, run)[0])
        }
    assert not blamed
