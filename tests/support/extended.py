"""Tries a changed contract: `python -m tests.support.extended RESOURCE FIELD`.

Prints, as JSON, what checks find on the reference server ("broken" and "passed" cells), and whether they
catch servers that are wrong in one field of a resource ("wrong"). The folder of the contract is named by the
environment variable `documents.VARIABLE`."""

from __future__ import annotations

import json
import logging
import sys

from conformance.checks import plan
from conformance.contract.operations import OPERATIONS
from conformance.reference.behaviour import Behaviour
from tests.faults.harness import catch, judge
from tests.faults.members import bugs

#: The rules of an optional text.
RULES = {
    "create.echo",
    "read.equals-create",
    "beneficiary.update",
    "beneficiary.disable",
    "fields.max-length",
    "fields.max-length-accepted",
    "fields.optional-type",
}

#: Mistakes that have no effect, or are open, in a short text: tests.faults.members.OPEN says why.
NOT_SEEN = (
    "A field that is empty is ignored.",
    "A field is taken from the query.",
    "The maximum length of a field is one less.",
)


def main(resource: str, field: str, each: bool) -> None:
    """Judges the reference server, and one wrong server of each mistake, or, by `each`, of each operation."""
    logging.disable(logging.CRITICAL)
    own = {name for name, operation in OPERATIONS.items() if operation.resource == resource}
    right = judge(Behaviour(), plan(RULES, own)).ledger.cells
    chosen = [
        bug
        for bug in bugs()
        if bug.member == field and bug.operation in own and bug.description not in NOT_SEEN
    ]
    servers = chosen if each else {bug.description: bug for bug in chosen}.values()
    found = {
        "broken": [[*cell.key, cell.summary] for cell in right if cell.violations],
        "passed": [cell.key for cell in right if cell.looks and not cell.violations and not cell.unclear],
        "wrong": {f"{bug.operation}: {bug.description}": catch(bug).shows(bug) for bug in servers},
    }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:] == ["each"])
