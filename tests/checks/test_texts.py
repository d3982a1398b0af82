"""Account names of all kinds in a list that was long before the check."""

from __future__ import annotations

import pytest

from conformance.checks import load_checks
from conformance.checks.check import run_check
from conformance.world.known_lists import large_list
from conformance.world.list_elements import LARGE
from tests.prove.selection import by_id
from tests.support.runs import broken, run_on
from tests.variants.hurry import hurried


@hurried()
@pytest.mark.parametrize("kind", ["quotes are straight", "C1 is dropped", "a date is a time"])
def test_names_of_accounts_are_judged_where_the_list_was_long_already(kind: str) -> None:
    fault = by_id()[
        f"create.echo[createAccount]: A text is kept in another form than it was sent: name, {kind}"
    ]
    run = run_on(fault.make())
    assert len(large_list(run.alone(), "listAccounts").created) > LARGE - 10
    check = load_checks()["test_resources.test_labels_of_many"]
    assert "create.echo" in broken(run_check(check, "createAccount", run)[0])
