"""Values that the specification states of a newly created resource (sections 2 and 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.contract.fields import documented, request_fields
from conformance.contract.operations import OPERATIONS, response_schema
from conformance.contract.schemas import nullable
from conformance.contract.traits import CREATES, TRAITS

#: Create -> the path parameter, and response member, with the parent's id.
PARENTS: Mapping[str, str] = {name: OPERATIONS[name].path_parameters[-1] for name in CREATES.values()}


def _nullable(operation: str) -> tuple[str, ...]:
    answer = response_schema(operation)
    optional = [field.name for field in request_fields(operation) if not field.required]
    return tuple(
        name for name in optional if name in answer["required"] and nullable(answer["properties"][name])
    )


#: Create -> optional fields typed "or null".
NULLABLE: Mapping[str, tuple[str, ...]] = {
    operation: names for operation in PARENTS if (names := _nullable(operation))
}


def initial_state(operation: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Initial state of a resource created with this body, defaults included."""
    traits = TRAITS[operation]
    unsent = {name: value for name, value in traits.defaults.items() if name not in body}
    return {**traits.initial, **unsent}


def sent(operation: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a body that the response echoes; an amount is compared by value (create.amount-exact)."""
    names = documented(operation)
    return {name: value for name, value in body.items() if name in names and name != "amount"}


def stated(operation: str, body: Mapping[str, Any], ids: Mapping[str, str]) -> dict[str, Any]:
    """All members of a create's response that its body and path determine."""
    absent = {name: None for name in NULLABLE.get(operation, ()) if name not in body}
    parent = PARENTS[operation]
    return {**absent, **initial_state(operation, body), **sent(operation, body), parent: ids[parent]}
