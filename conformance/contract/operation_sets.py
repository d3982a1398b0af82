"""Sets of operations that rules name, each derived from openapi.yaml, its schemas and operations.yaml."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from conformance.contract.fields import Field, documented, request_fields
from conformance.contract.operations import OPERATIONS, Operation, item_statuses, response_schema
from conformance.contract.schemas import nullable
from conformance.contract.traits import TRAITS

#: The set of the operations whose answers have a part of a rule: those whose response schema cites it.
CITED = "cited"

Holds = Callable[[Operation], bool]


def _has_field(test: Callable[[Field], object]) -> Holds:
    return lambda operation: any(map(test, request_fields(operation.id)))


def _filters(operation: Operation) -> Mapping[str, Any]:
    """The filters of a list that a create fills. Not of one to which others add: where its known elements are
    among those that a filter keeps, nobody can tell."""
    known = operation.filled_by and not operation.traits.others_add
    return operation.query_parameters if known else {}


def _filtered_by(parameter: str) -> Holds:
    return lambda operation: parameter in _filters(operation)


def _filtered_by_status(operation: Operation) -> bool:
    """True for a filtered list with a filter by status, and the status of each item."""
    by_status = operation.status_parameter in _filters(operation) and item_statuses(operation.id)
    return bool(by_status) and _filtered_by("start_date")(operation)


def _finds_what_is_made(operation: Operation) -> bool:
    """True for the operation by which what a create makes is read."""
    reading = operation.id, operation.resource
    return any((each.read_by, each.creates) == reading for each in TRAITS.values())


def _shows_a_text(operation: Operation) -> bool:
    members = documented(operation.id)
    return any(field.free and field.name in members for field in request_fields(operation.id))


#: Name of a set -> what holds of its operations. rules.yaml says the same in words.
_HOLDS: Mapping[str, Holds] = {
    "all": lambda operation: True,
    "post": lambda operation: operation.is_post,
    "not-post": lambda operation: not operation.is_post,
    "create": lambda operation: bool(operation.traits.creates),
    "body": lambda operation: operation.request_schema is not None,
    "no-body": lambda operation: operation.request_schema is None,
    "post-without-body": lambda operation: operation.is_post and operation.request_schema is None,
    "write": lambda operation: operation.method != "GET",
    "read": lambda operation: operation.method == "GET",
    "resource": lambda operation: not operation.is_list,
    "list": lambda operation: operation.is_list,
    "filled-list": lambda operation: bool(operation.filled_by),
    "filtered-list": _filtered_by("start_date"),
    "currency-filter": _filtered_by("currency"),
    "status-filter": _filtered_by_status,
    "several-statuses": lambda operation: (
        _filtered_by_status(operation) and operation.status_parameter == "statuses"
    ),
    "child": lambda operation: len(operation.path_parameters) > 1,
    "account-child": lambda operation: (
        operation.path_parameters[:1] == ("account_id",) and len(operation.path_parameters) > 1
    ),
    "customer-child": lambda operation: (
        operation.path_parameters[:1] == ("customer_id",) and len(operation.path_parameters) > 1
    ),
    "read-of-created": _finds_what_is_made,
    "shows-created": lambda operation: bool(operation.filled_by) or _finds_what_is_made(operation),
    "shows-text": lambda operation: bool(operation.traits.creates) and _shows_a_text(operation),
    "optional-field": _has_field(lambda field: not field.required),
    "limited-field": _has_field(lambda field: field.max_length),
    "limited-text": _has_field(lambda field: field.free and field.max_length),
    "enumeration": _has_field(lambda field: field.choices),
    "country": _has_field(lambda field: field.code == "country"),
    "currency": _has_field(lambda field: field.code == "currency"),
    "code": _has_field(lambda field: field.code),
    "amount": _has_field(lambda field: field.kind == "amount"),
    "address": _has_field(lambda field: field.members),
    "required-address": _has_field(lambda field: field.members and field.required),
}

#: Name of a set -> operationIds, in the order of openapi.yaml.
OPERATION_SETS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        name: tuple(operation.id for operation in OPERATIONS.values() if holds(operation))
        for name, holds in _HOLDS.items()
    }
)


def citing(rule: str) -> tuple[str, ...]:
    """The operations whose answers have a part of a rule, in the order of openapi.yaml."""
    return tuple(name for name in OPERATIONS if rule in cited_rules(name))


@functools.cache
def cited_rules(operation: str) -> frozenset[str]:
    """The rules that a 2xx answer of an operation has parts of. A list that is always empty has none."""
    initial = OPERATIONS[operation].traits.initial
    schema = response_schema(operation)
    members = {name: part for name, part in schema["properties"].items() if initial.get(name) != []}
    return frozenset(_cited({**schema, "properties": members}))


def _cited(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for part in schema:
            yield from _cited(part)
    elif isinstance(schema, dict):
        if isinstance(rule := schema.get("x-rule"), str):
            yield rule
        required = schema.get("required", ())
        for name, part in schema.get("properties", {}).items():
            if name in required and nullable(part):
                yield "format.nullable"
        for part in schema.values():
            yield from _cited(part)
