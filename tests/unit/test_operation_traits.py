"""spec/operations.yaml against its schema, openapi.yaml and the response schemas."""

from __future__ import annotations

import json

import pytest
import yaml
from jsonschema import Draft202012Validator

from conformance.contract.fields import documented, request_fields
from conformance.contract.operations import OPERATIONS, response_problems, response_schema
from conformance.contract.rules import OPERATION_SETS, SPEC
from conformance.contract.traits import TRAITS

DATA = yaml.safe_load((SPEC / "operations.yaml").read_bytes())
SCHEMA = json.loads((SPEC / "operations.schema.json").read_bytes())

every_operation = pytest.mark.parametrize("operation", list(TRAITS))
every_create = pytest.mark.parametrize("operation", OPERATION_SETS["create"])


def test_data_fit_their_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    found = Draft202012Validator(SCHEMA).iter_errors(DATA)
    assert not [f"{error.json_path}: {error.message}" for error in found]


def test_every_operation_has_an_entry_in_the_order_of_openapi() -> None:
    assert list(TRAITS) == list(OPERATIONS)
    assert all(operation.traits is TRAITS[name] for name, operation in OPERATIONS.items())


@every_operation
def test_traits_agree_with_openapi(operation: str) -> None:
    described, traits = OPERATIONS[operation], TRAITS[operation]
    assert bool(traits.creates) == (operation in OPERATION_SETS["create"])
    assert bool(traits.creates or traits.changes) == (operation in OPERATION_SETS["write"])
    assert (traits.creates or traits.changes or described.resource) == described.resource
    assert bool(traits.free_text) == (described.request_schema is not None)
    if traits.free_text:
        fields = {field.name: field for field in request_fields(operation)}
        assert fields[traits.free_text].type == "string" and not fields[traits.free_text].choices
    if traits.listed_by:
        listing = OPERATIONS[traits.listed_by]
        assert listing.is_list and listing.resource == traits.creates and listing.path == described.path
    if traits.read_by:
        assert OPERATIONS[traits.read_by].method == "GET"
        assert f"{traits.creates or traits.changes}_id" in OPERATIONS[traits.read_by].path_parameters
    if traits.subset_of:
        assert OPERATIONS[traits.subset_of].request_schema is not None
        assert not described.required_fields
    if traits.moves_money:
        balance = response_schema("getAccountBalances")["properties"]["balances"]["items"]["properties"]
        assert set(traits.moves_money) <= set(balance)


@every_create
def test_initial_state_fits_the_response_schema(operation: str) -> None:
    """Each stated value is one that the response schema allows."""
    traits = TRAITS[operation]
    assert set(traits.initial) <= set(documented(operation))
    wrong = {
        problem.pointer
        for problem in response_problems(operation, dict(traits.initial))
        if problem.message != "is missing"
    }
    assert not wrong
