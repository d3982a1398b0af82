"""Two views of the one description in openapi.yaml, from which schemathesis generates requests.

openapi.yaml describes every request; servers must accept, or must refuse, only some of them (sections 2.10
and 4.8). The must-accept view narrows each field to values that no server may refuse. The must-reject view
fixes fields without a stated limit to values that this server accepts, and keeps the stated limits, so that a
request which breaks one of them breaks nothing else.

Neither has path parameters or headers, which operation_fixtures and odd_requests provide.
"""

from __future__ import annotations

from typing import Any

from conformance.contract.fields import FREE_TEXT, Field, request_fields
from conformance.contract.operations import OPERATIONS, Operation
from conformance.contract.traits import TRAITS
from conformance.judge.field_values import PLAIN_LETTERS
from conformance.judge.oracle.body_rules import FREE_ADDRESS, UNSTATED_LENGTH, ValidBody

ACCEPT, REJECT = "must-accept", "must-reject"

#: Longest text that the must-accept view asks for; what is just long enough comes from the mutations.
_SHORT = 30

_PLAIN_QUERY: dict[str, dict[str, Any]] = {
    "page": {"type": "integer", "minimum": 1, "maximum": 3},
    "size": {"type": "integer", "minimum": 1, "maximum": 100},
    "status": {"type": "string", "enum": ["active"]},
    "statuses": {
        "type": "array",
        "items": {"type": "string", "enum": ["active"]},
        "minItems": 1,
        "maxItems": 1,
    },
    "currency": {"type": "string", "enum": ["EUR", "USD", "GBP", "USDC", "USDT"]},
    "start_date": {
        "type": "string",
        "pattern": "^20[0-4][0-9]-0[1-9]-[12][0-9]T[01][0-9]:[0-5][0-9]:[0-5][0-9]Z$",
    },
    "end_date": {
        "type": "string",
        "pattern": "^20[0-4][0-9]-0[1-9]-[12][0-9]T[01][0-9]:[0-5][0-9]:[0-5][0-9]Z$",
    },
}


def document(operation: str, view: str, valid: ValidBody | None) -> dict[str, Any] | None:
    """A view of one operation as an OpenAPI document; None for an operation without a body and a query."""
    described = OPERATIONS[operation]
    item: dict[str, Any] = {"operationId": operation, "responses": {"2XX": {"description": "Done."}}}
    if described.query_parameters:
        item["parameters"] = [
            {"name": name, "in": "query", "schema": _PLAIN_QUERY[name] if view == ACCEPT else _bare(schema)}
            for name, schema in described.query_parameters.items()
        ]
    elif described.request_schema is not None and valid is not None:
        item["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _body(described, view, valid)}},
        }
    else:
        return None
    return {
        "openapi": "3.1.0",
        "info": {"title": f"{view} view of {operation}", "version": "1"},
        "paths": {"/probe": {described.method.lower(): item}},
    }


def _bare(schema: Any) -> Any:
    """A schema without annotations, which mean nothing here."""
    if isinstance(schema, dict):
        return {
            key: _bare(value)
            for key, value in schema.items()
            if not key.startswith("x-") and key != "description"
        }
    return [_bare(item) for item in schema] if isinstance(schema, list) else schema


def _body(described: Operation, view: str, valid: ValidBody) -> dict[str, Any]:
    properties = {}
    for field in request_fields(described.id):
        schema = _accept(described.id, field, valid) if view == ACCEPT else _reject(field, valid)
        if schema is not None:
            properties[field.name] = schema
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if described.traits.subset_of:
        return schema | ({"minProperties": 1} if view == ACCEPT else {})
    return schema | {"required": sorted(name for name in valid.needed if name in properties)}


def _accept(operation: str, field: Field, valid: ValidBody) -> dict[str, Any] | None:
    if field.name in FREE_TEXT and field.name not in valid.pinned:
        return _text(min(field.max_length or UNSTATED_LENGTH, _SHORT))
    match field.name:
        case "email" if field.name not in valid.pinned:
            return {"type": "string", "pattern": "^[a-z][a-z0-9]{0,20}@example\\.com$"}
        case "beneficiary_type" if (
            TRAITS[operation].creates == "beneficiary" and field.name not in valid.pinned
        ):
            return {"type": "string", "enum": ["individual"]}
        case "is_default":
            return {"enum": [False]}
        case "address" if isinstance(valid.body.get("address"), dict):
            members = {
                name: _text(_SHORT) if name in FREE_ADDRESS else {"enum": [value]}
                for name, value in valid.body["address"].items()
            }
            return {
                "type": "object",
                "properties": members,
                "required": sorted(members),
                "additionalProperties": False,
            }
    return {"enum": [valid.body[field.name]]} if field.name in valid.body else None


def _reject(field: Field, valid: ValidBody) -> dict[str, Any] | None:
    if field.name in FREE_TEXT:
        longest = {} if field.max_length is None else {"maxLength": field.max_length}
        return {"type": "string", "minLength": 1, **longest}
    value = valid.body.get(field.name)
    if field.choices:
        return {"type": "string", "enum": [value] if value in field.choices else list(field.choices)}
    if field.type == "object" and isinstance(value, dict):
        members = {name: {"type": "string", "enum": [member]} for name, member in value.items()}
        return {"type": "object", "properties": members, "required": sorted(members)}
    if field.type == "boolean":
        return {"type": "boolean"}
    if value is None:
        return None
    return {
        "type": "string",
        "enum": [value],
        **({} if field.max_length is None else {"maxLength": field.max_length}),
    }


def _text(longest: int) -> dict[str, Any]:
    return {"type": "string", "pattern": f"^[{PLAIN_LETTERS}]+$", "minLength": 1, "maxLength": longest}
