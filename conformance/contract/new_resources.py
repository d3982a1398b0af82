"""Statements of the specification about a resource that was just created (sections 2 and 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.contract.fields import documented, request_fields
from conformance.contract.operations import OPERATIONS, response_schema
from conformance.contract.schemas import nullable
from conformance.contract.traits import TRAITS

#: Operation that creates -> the path parameter, and member of the answer, that names the parent.
PARENTS: Mapping[str, str] = {
    operation.id: operation.path_parameters[-1]
    for operation in OPERATIONS.values()
    if operation.traits.creates
}


def _nullable(operation: str) -> tuple[str, ...]:
    answer = response_schema(operation)
    optional = [field.name for field in request_fields(operation) if not field.required]
    return tuple(
        name for name in optional if name in answer["required"] and nullable(answer["properties"][name])
    )


#: Operation that creates -> fields typed "or null" that a client may leave out.
NULLABLE: Mapping[str, tuple[str, ...]] = {
    operation: names for operation in PARENTS if (names := _nullable(operation))
}


def initial_state(operation: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """The state and the defaults that a resource created with this body starts with."""
    traits = TRAITS[operation]
    unsent = {name: value for name, value in traits.defaults.items() if name not in body}
    return {**traits.initial, **unsent}


def sent(operation: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a body that the answer shows as they were sent; of an amount, only the value is the same
    (create.amount-exact)."""
    shown = documented(operation)
    return {name: value for name, value in body.items() if name in shown and name != "amount"}


def stated(operation: str, body: Mapping[str, Any], ids: Mapping[str, str]) -> dict[str, Any]:
    """Everything that is known beforehand about the answer to a create with this body under these parents."""
    absent = {name: None for name in NULLABLE.get(operation, ()) if name not in body}
    parent = PARENTS[operation]
    return {**absent, **initial_state(operation, body), **sent(operation, body), parent: ids[parent]}
