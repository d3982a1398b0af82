"""Dependencies between operations: which ones create the resources that another one needs."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.contract.fields import request_fields
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import CREATES

#: The rule that an operation exists.
UNBUILT = "operation.missing"

#: Path parameter, and field of a body, with the id of a resource -> the operation that creates it.
_CREATES = {f"{kind}_id": create for kind, create in CREATES.items()}

#: Operation -> the operations that create the resources it needs, directly or indirectly.
NEEDS = {
    name: tuple(
        _CREATES[key] for key in (*operation.path_parameters, *operation.required_fields) if key in _CREATES
    )
    for name, operation in OPERATIONS.items()
}

#: Operation -> request fields that name a resource -> the operation that creates it.
REFERENCES: Mapping[str, Mapping[str, str]] = {
    name: {field.name: _CREATES[field.name] for field in request_fields(name) if field.name in _CREATES}
    for name in OPERATIONS
}


def waiting(operation: str) -> list[str]:
    """Operations that depend on an operation."""
    return [name for name in OPERATIONS if operation in NEEDS[name]]
