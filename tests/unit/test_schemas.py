"""jsonschema-rs accepts exactly the documents in which jsonschema finds no error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from conformance.contract.operations import OPERATIONS, response_schema
from conformance.contract.schemas import Schema
from conformance.contract.traits import ADDS_TO
from conformance.world.accounts import purpose_of
from tests.support.runs import run_on

ODD: tuple[Any, ...] = (
    None,
    "",
    "x\n",
    "USD\n",
    "\ud800",
    1,
    1.0,
    -1,
    10**30,
    1e300,
    True,
    [],
    [None],
    {},
    {"a": 1},
)


def mutants(document: Any) -> Iterator[Any]:
    """Yields the document with one value replaced or left out, at any depth."""
    if isinstance(document, dict):
        for name, member in document.items():
            yield {key: value for key, value in document.items() if key != name}
            yield from ({**document, name: value} for value in (*ODD, *mutants(member)))
    elif isinstance(document, list) and document:
        yield from ([value, *document[1:]] for value in (*ODD, *mutants(document[0])))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_both_validators_agree(operation: str) -> None:
    run = run_on()
    fixture = run.account(purpose_of(operation))
    for create in {"createPayoutDestination", ADDS_TO.get(operation, "createPayoutDestination")}:
        fixture.create(create)
    document = run.send(fixture.client, fixture.call(operation), "an answer").document
    schema = Schema(response_schema(operation))
    assert schema.allows(document)
    told = {True: 0, False: 0}
    for mutant in mutants(document):
        thorough = next(schema._thorough.iter_errors(mutant), None) is None
        told[thorough] += 1
        assert schema.allows(mutant) == thorough or "\\ud800" in json.dumps(mutant), mutant
    assert all(told.values())
