"""Operations of the API, from spec/openapi.yaml, and validation against spec/schemas."""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

from conformance._files import InputError
from conformance._text import listed, meant, plain
from conformance.contract import json_text
from conformance.contract.documents import checked, load, unusable
from conformance.contract.schemas import Problem, Schema, places, problems, rules_shown
from conformance.contract.traits import TRAITS, Traits


@dataclass(frozen=True)
class Operation:
    """One of the API's operations.

    `path` is the template with /v1; `query_parameters` maps names to their schemas. `request_schema` has all
    references resolved. `response_schema_uri` is relative to SPEC; `resource` names what is created, read or
    listed; `filled_by` is the create that adds to a list, empty for one that no create fills.
    """

    id: str
    method: str
    path: str
    path_parameters: tuple[str, ...]
    query_parameters: Mapping[str, dict[str, Any]]
    request_schema: dict[str, Any] | None
    required_fields: tuple[str, ...]
    response_schema_uri: str
    is_list: bool
    is_post: bool
    resource: str
    filled_by: str
    #: Name -> OpenAPI link from its 2xx answer to another operation.
    links: Mapping[str, dict[str, Any]]
    traits: Traits

    @property
    def status_parameter(self) -> str:
        """Name of the query parameter that filters by status; empty without one."""
        return next((name for name in ("status", "statuses") if name in self.query_parameters), "")


# ---------------------------------------------------------------------- reading


@functools.cache
def _document(name: str) -> Any:
    """Loads a file by its path relative to SPEC, once."""
    return load(name)


def _resolved(value: Any, name: str, within: tuple[str, ...] = ()) -> Any:
    """Resolves the references in a part of the file `name`. Raises InputError for one that leads nowhere, or
    to itself: `within` are those that lead here.

    Keywords beside a reference override those of its target. `$schema` is left out, since jsonschema would
    switch to the standard validator of that dialect.
    """
    if isinstance(value, list):
        return [_resolved(inner, name, within) for inner in value]
    if not isinstance(value, dict):
        return value
    own = {
        key: _resolved(inner, name, within)
        for key, inner in value.items()
        if key not in ("$ref", "$defs", "$schema")
    }
    if "$ref" not in value:
        return own
    problem = f"{name} refers to {value['$ref']}, which"
    file, _, pointer = value["$ref"].partition("#")
    if file:
        name = name.rpartition("/")[0] + "/" + file if "/" in name else file
    target, reference = _document(name), f"{name}#{pointer}"
    if reference in within:
        raise unusable(f"{problem} refers to itself")
    try:
        for step in pointer.split("/")[1:]:
            target = target[step.replace("~1", "/").replace("~0", "~")]
    except (KeyError, TypeError):
        raise unusable(f"{problem} is not there") from None
    return _resolved(target, name, (*within, reference)) | own


@functools.cache
def resolved_schema(uri: str) -> dict[str, Any]:
    """Loads a schema by its path relative to SPEC, references resolved."""
    schema: dict[str, Any] = _resolved(_document(uri), uri)
    return schema


def _properties(schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
    properties: Mapping[str, Any] = (schema or {}).get("properties", {})
    return properties


def _json_schema(described: Mapping[str, Any]) -> Any:
    return described["content"]["application/json"]["schema"]


def _operation(path: str, method: str, shared: list[Any], described: Mapping[str, Any]) -> Operation:
    document = "openapi.yaml"
    parameters = _resolved(shared + described.get("parameters", []), document)
    body = described.get("requestBody")
    request = None if body is None else _resolved(_json_schema(body), document)
    own, uri = described["operationId"], _json_schema(described["responses"]["2XX"])["$ref"]
    resource = uri.rpartition("/")[2].removesuffix(".json")
    form = "page" if resource.endswith("_list") else "answer"
    checked(resolved_schema(uri), f"{uri}, the answer of {own},", f"openapi.schema.json#/$defs/{form}")
    if own not in TRAITS:
        raise unusable(f"openapi.yaml has the operation {own}, of which operations.yaml has no traits")
    for name, schema in ((uri, resolved_schema(uri)), (f"openapi.yaml, the body of {own},", request or {})):
        if unknown := {*schema.get("required", ())} - _properties(schema).keys():
            raise unusable(f"{name} requires {', '.join(sorted(unknown))}, which it does not describe")
    path_parameters = tuple(parameter["name"] for parameter in parameters if parameter["in"] == "path")
    if sorted(path_parameters) != sorted(re.findall("{(.*?)}", path)):
        raise unusable(f"openapi.yaml has the path {path}, whose parameters are {listed(path_parameters)}")
    return Operation(
        id=own,
        method=method.upper(),
        path=path,
        path_parameters=path_parameters,
        query_parameters=MappingProxyType(
            {parameter["name"]: parameter["schema"] for parameter in parameters if parameter["in"] == "query"}
        ),
        request_schema=request,
        required_fields=tuple((request or {}).get("required", ())),
        response_schema_uri=uri,
        is_list=resource.endswith("_list"),
        is_post=method == "post",
        resource=resource.removesuffix("_list"),
        filled_by=next((name for name, each in TRAITS.items() if each.listed_by == own), ""),
        links=MappingProxyType(_resolved(described["responses"]["2XX"].get("links", {}), document)),
        traits=TRAITS[own],
    )


def _operations() -> Iterator[Operation]:
    for path, item in _document("openapi.yaml")["paths"].items():
        for method, described in item.items():
            if method != "parameters":
                yield _operation(path, method, item.get("parameters", []), described)


#: Operations by operationId, in document order.
OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {operation.id: operation for operation in _operations()}
)


def fit(name: str, traits: Traits) -> None:
    """Raises InputError where traits do not fit their operation: a name that has no meaning there, or a value
    that its schema excludes."""
    if name not in OPERATIONS:
        raise unusable(f"operations.yaml has the operation {name}, which openapi.yaml has not")
    operation, others = OPERATIONS[name], OPERATIONS.values()
    fields, members = _properties(operation.request_schema), _properties(response_schema(name))
    reads = (each for each in others if each.method == "GET" and not each.is_list)
    parts = (_properties(response_schema(each.id)).values() for each in others if each.traits.shows_balances)
    known: dict[str, Collection[str]] = {
        "creates": [operation.resource],
        "changes": [operation.resource],
        "once_per": [each.resource for each in others],
        "listed_by": [each.id for each in others if each.is_list and each.resource == operation.resource],
        "read_by": [each.id for each in reads if each.resource.startswith(operation.resource)],
        "subset_of": [each.id for each in others if fields.keys() <= _properties(each.request_schema).keys()],
        "free_text": fields,
        "unique_pair": fields,
        "moves_money": [member for part in chain(*parts) for member in _properties(part.get("items"))],
        "samples": [each for each in traits.samples if each.partition(".")[0] == operation.resource],
        "statuses": (operation.is_list and item_statuses(name)) or traits.statuses,
    }
    for trait, names in known.items():
        value, place = getattr(traits, trait), f"operations.yaml at /operations/{name}/{trait}"
        for each in filter(None, (value,) if isinstance(value, str) else value):
            if each not in names:
                raise unusable(f"{place} names {each}, which has no such meaning in openapi.yaml")
    for trait, schemas in (("initial", members), ("sets", members), ("defaults", fields)):
        schema = Schema({"properties": schemas, "additionalProperties": False})
        if values := getattr(traits, trait):
            checked(dict(values), "operations.yaml", schema, f"/operations/{name}/{trait}")


def operations_named(text: str, option: str = "--operation: ") -> list[str]:
    """operationIds that match a pattern such as `list*`. Raises InputError, prefixed with the option."""
    names = fnmatch.filter(OPERATIONS, text)
    if not names:
        raise InputError(
            f"{option}there is no operation {text[:60]!r}{meant(text, list(OPERATIONS))}; "
            f"they are {', '.join(OPERATIONS)}."
        )
    return names


#: The segments of each documented path -> its operationIds by method.
_PATHS: dict[tuple[str, ...], dict[str, str]] = {}
for _each in OPERATIONS.values():
    _PATHS.setdefault(tuple(_each.path.split("/")[1:]), {})[_each.method] = _each.id


def route(segments: Sequence[str]) -> tuple[Mapping[str, str], dict[str, str]] | None:
    """The operationIds by method, and the path parameters, of a path in segments; None if there are none."""
    for template, methods in _PATHS.items():
        pairs = list(zip(template, segments, strict=False)) if len(template) == len(segments) else ()
        if pairs and all(name == segment or name[0] == "{" for name, segment in pairs):
            return methods, {name[1:-1]: segment for name, segment in pairs if name[0] == "{"}
    return None


@functools.lru_cache(1024)
def match(method: str, path: str) -> tuple[Operation, Mapping[str, str]] | None:
    """Finds the operation of a method and a path (from /v1 on), and its path parameters, percent-decoded."""
    before, *segments = (unquote(part) for part in path.split("/"))
    methods, parameters = (None if before else route(segments)) or ({}, {})
    there = method in methods and all(parameters.values())
    return (OPERATIONS[methods[method]], MappingProxyType(parameters)) if there else None


# ---------------------------------------------------------------------- judging responses

#: Elements of an array that are validated.
MOST_ELEMENTS = 1000


def response_schema(operation_id: str) -> dict[str, Any]:
    """Resolved schema of an operation's 2xx response. Raises KeyError for an unknown operationId."""
    return resolved_schema(OPERATIONS[operation_id].response_schema_uri)


@functools.cache
def item_fields(operation_id: str) -> Mapping[str, Mapping[str, Any]]:
    """Members of a list's items and their schemas (sections 2.4, 2.6, 2.7 and 4.1), forbidden ones too."""
    fields: Mapping[str, Mapping[str, Any]] = response_schema(operation_id)["properties"]["items"]["items"][
        "properties"
    ]
    return fields


def item_statuses(operation_id: str) -> tuple[str, ...]:
    """The statuses that a list's items may have (section 3); none for items without a status."""
    return tuple(item_fields(operation_id).get("status", {}).get("enum", ()))


#: Operation and shape of a document -> the rules that it exercises; responses have few shapes.
_SHOWN: dict[tuple[str, Any], frozenset[str]] = {}
_MAX_SHAPES = 2000

#: Levels of a document in its shape; no schema describes more.
_MAX_LEVELS = 6


def response_problems(operation_id: str, document: Any) -> list[Problem]:
    """Schema violations in the body of a 2xx response (sections 2 and 8).

    Raises KeyError for an unknown operationId; never raises because of the document.
    """
    operation = OPERATIONS[operation_id]
    default = functools.partial(_default_rule, operation)
    return problems(_validator(operation.response_schema_uri), _cut(document), default)


def response_rules(operation_id: str, document: Any) -> frozenset[str]:
    """Rules that the body of a 2xx response exercises. Raises KeyError for an unknown operationId."""
    cut = _cut(document)
    key = operation_id, _shape(cut, _MAX_LEVELS)
    rules = _SHOWN.get(key)
    if rules is None:
        if len(_SHOWN) >= _MAX_SHAPES:
            _SHOWN.clear()
        default = functools.partial(_default_rule, OPERATIONS[operation_id])
        rules = _SHOWN[key] = frozenset(rules_shown(response_schema(operation_id), cut, default))
    return rules


def _shape(value: Any, depth: int) -> Any:
    """Reduces a document, to a depth, to what `rules_shown` depends on."""
    if isinstance(value, dict) and depth:
        # Faster than a call for each member: most are scalars.
        members = value.values()
        types = tuple(map(type, members))
        if dict not in types and list not in types:
            return tuple(value), types
        inner = [_shape(each, depth - 1) for each in members if isinstance(each, (dict, list))]
        return tuple(value), types, tuple(inner)
    if isinstance(value, list):
        return frozenset([_shape(member, depth - 1) for member in value]) if depth else list
    return type(value)


def _cut(document: Any) -> Any:
    """Cuts the arrays of a document to MOST_ELEMENTS, which bounds the time for a hostile response; a page
    has at most 100 items."""
    members = document.values() if isinstance(document, dict) else ()
    if not [member for member in members if isinstance(member, list) and len(member) > MOST_ELEMENTS]:
        return document
    return {
        name: member[:MOST_ELEMENTS] if isinstance(member, list) else member
        for name, member in document.items()
    }


def _default_rule(operation: Operation, pointer: str) -> str:
    """Rule for a pointer into a response whose schema has no `x-rule` there."""
    if not operation.is_list:
        return "format.fields"
    return "list.item-fields" if pointer.startswith("/items/") else "list.envelope"


def error_problems(document: Any) -> list[Problem]:
    """Schema violations in an error body (section 7)."""
    return problems(_validator("schemas/error.json"), document, lambda pointer: "error.shape")


@functools.cache
def _validator(uri: str) -> Schema:
    return Schema(resolved_schema(uri))


# ---------------------------------------------------------------------- undocumented members


def undocumented_fields(operation_id: str, document: Any) -> list[str]:
    """Undocumented members of a 2xx response, as sorted JSON pointers with `*` for array indexes."""
    described = list(places(response_schema(operation_id), document))
    members = {
        f"{pointer}/{plain(name)}"
        for schema, value, pointer in described
        if "properties" in schema and isinstance(value, dict)
        for name in value
    }
    return sorted(members - {pointer for _, _, pointer in described})


# ---------------------------------------------------------------------- judging requests


def request_problems(operation_id: str, body: bytes | None) -> list[str]:
    """Schema violations in a request body (None: no body). Raises KeyError for an unknown operationId."""
    operation = OPERATIONS[operation_id]
    if operation.request_schema is None:
        return [f"{operation.id} takes no body"] if body else []
    try:
        document = json_text.load(body or b"")
    except ValueError:
        return [f"{operation.id} takes a JSON body"]
    broken = problems(_body_validator(operation.id), document, str)
    return [f"{problem.pointer or 'the body'} {problem.message}" for problem in broken]


@functools.cache
def _body_validator(operation_id: str) -> Schema:
    return Schema(OPERATIONS[operation_id].request_schema or {})


for _name, _traits in TRAITS.items():
    fit(_name, _traits)
