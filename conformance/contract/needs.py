"""Dependencies between operations: which ones create the resources that another one needs."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.contract.operations import OPERATIONS

#: Path parameter, and field of a body, with the id of a resource -> the operation that creates it.
_CREATES = {f"{operation.traits.creates}_id": name for name, operation in OPERATIONS.items()}

#: Operation -> the operations that create the resources it needs.
NEEDS = {
    name: tuple(
        _CREATES[key] for key in (*operation.path_parameters, *operation.required_fields) if key in _CREATES
    )
    for name, operation in OPERATIONS.items()
}


def waiting(operation: str) -> list[str]:
    """Operations that depend on an operation, directly or indirectly."""
    return [name for name in OPERATIONS if name != operation and _needs(name, operation)]


def _needs(name: str, operation: str) -> bool:
    return operation in NEEDS[name] or any(_needs(needed, operation) for needed in NEEDS[name])


def first(operations: Iterable[str]) -> str:
    """The operation to implement first: it depends on none of the others, and most of them depend on it."""
    missing = list(operations)
    ready = [name for name in missing if not any(_needs(name, other) for other in missing)]
    return max(ready or missing, key=lambda name: (len(waiting(name)), -list(OPERATIONS).index(name)))
