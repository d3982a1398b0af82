"""Validates a target's tables against spec/target.schema.json."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from conformance._text import brief, meant
from conformance.contract.fields import request_fields
from conformance.contract.operations import resolved_schema
from conformance.contract.schemas import Schema
from conformance.contract.traits import SAMPLE_OPERATIONS

if TYPE_CHECKING:
    from jsonschema import ValidationError


#: What a value is, where it is not shown itself.
_KINDS = {str: "an empty string", int: "a number without quotation marks", bool: "true or false"}


#: JSON type of a request field -> the schema of its sample, where that is no text.
_SAMPLES = {
    "boolean": {"description": "true or false", "type": "boolean"},
    "object": {"description": "an object", "type": "object"},
}
_TEXT = {"description": "a string", "type": "string"}


@functools.cache
def schema() -> dict[str, Any]:
    """Schema of the target file, references resolved, with the tables of samples."""
    whole = resolved_schema("target.schema.json")
    samples = whole["properties"]["samples"]
    tables: dict[str, Any] = {}
    for sample, operation in SAMPLE_OPERATIONS.items():
        kind, _, variety = sample.partition(".")
        fields = {each.name: _SAMPLES.get(each.type, _TEXT) for each in request_fields(operation)}
        table = _table(fields | samples["properties"].get(kind, {}).get("properties", {}))
        if variety:
            # Which fields each variety of a resource has is not all stated (section 2.10).
            table = {**table, "additionalProperties": True}
            inner = tables.setdefault(kind, _table({}, "tables of sample fields"))
            inner["properties"][variety] = table
        else:
            tables[kind] = table
    samples = {**samples, **_table(tables, samples["description"])}
    return {**whole, "properties": {**whole["properties"], "samples": samples}}


def _table(properties: dict[str, Any], described: str = "a table of request fields") -> dict[str, Any]:
    return {
        "description": described,
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


def keys(table: str = "") -> Mapping[str, Any]:
    """Keys and schemas of a table (`primary`, `samples.wallet`; by default the whole file).

    Raises KeyError for an unknown table.
    """
    described = schema()
    for name in filter(None, table.split(".")):
        described = described["properties"][name]
    properties: dict[str, Any] = described["properties"]
    return properties


def mistake(tables: Mapping[str, Any]) -> str:
    """The most relevant mistake in the tables, as `key: sentence` without secrets; empty without one."""
    validator = _validator()
    if validator.allows(tables):
        return ""
    # Imported late: jsonschema takes 0.1 s.
    from jsonschema.exceptions import best_match

    error = best_match(validator.errors(tables))
    return "" if error is None else _paragraph(error, tables)


@functools.cache
def _validator() -> Schema:
    return Schema(schema())


# ---------------------------------------------------------------------- one paragraph


def _paragraph(error: ValidationError, tables: Mapping[str, Any]) -> str:
    path = list(itertools.takewhile(lambda step: isinstance(step, str), error.absolute_path))
    names = [str(step) for step in path]
    if error.validator == "additionalProperties":
        return _unknown(names, error)
    where, value = ".".join(names), functools.reduce(operator.getitem, names, tables)
    # A mistake in an element is reported for the whole array.
    inside = len(path) < len(error.absolute_path)
    described: Any = keys(".".join(names[:-1]))[names[-1]] if inside else error.schema
    if "description" not in described:
        return f"{where}: it should be a table, written [{where}], not {brief(value)}."
    # A number in the place of a secret may be the secret.
    text = _KINDS.get(type(value), "another value") if names[-1] == "secret" else brief(value)
    return f"{where}: it should hold {described['description']}, not {text}."


def _unknown(path: Sequence[str], error: ValidationError) -> str:
    described, instance = cast(Mapping[str, Any], error.schema), cast(Mapping[str, Any], error.instance)
    known: Mapping[str, Any] = described["properties"]
    name = next(key for key in instance if key not in known)
    where, hint = ".".join([*path, name]), meant(name, known)
    if not path:
        return f"{where}: unknown key{hint or ';'} the target file has {', '.join(known)}."
    if path[0] != "samples":
        return f"{where}: unknown key{hint or ';'} [{path[0]}] has {', '.join(known)}."
    kind = ".".join(path[1:])
    if kind in SAMPLE_OPERATIONS:
        return f"{where}: unknown key{hint or ';'} a {kind} sample takes {', '.join(sorted(known))}."
    return f"{where}: unknown kind of sample{hint or ';'} known are {', '.join(SAMPLE_OPERATIONS)}."
