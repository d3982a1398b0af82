"""The contract of the API as spec/openapi.yaml and spec/schemas state it: its operations, and what breaks it.

Reading the contract needs no schema library; the first document that is judged imports one.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from conformance.rules import SPEC, load_yaml

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

__all__ = [
    "OPERATIONS", "SPEC", "Operation", "Problem", "error_problems", "match", "request_problems",
    "response_problems", "response_schema", "undocumented_fields",
]

#: How many characters of a value a message shows.
_SHOWN = 80


@dataclass(frozen=True)
class Operation:
    """One of the API's operations.

    `path` is the template with /v1; `query_parameters` maps names to their schemas. In `request_schema` all
    references are resolved, so that `request_schema["properties"][name]` has the field's type and limits.
    `response_schema_uri` is relative to SPEC; `resource` names what is made, read or listed.
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
    tag: str


@dataclass(frozen=True)
class Problem:
    """One way in which a document breaks a rule; `pointer` is a JSON pointer to the place ("" is the whole)."""

    rule: str
    pointer: str
    message: str


# ---------------------------------------------------------------------- reading

@functools.cache
def _document(name: str) -> Any:
    """A file of the contract, by its path relative to SPEC."""
    return load_yaml(SPEC / name) if name.endswith(".yaml") else json.loads((SPEC / name).read_bytes())


def _resolved(value: Any, name: str) -> Any:
    """A part of the file `name` with every reference replaced by what it refers to.

    Keywords beside a reference win over those of its target. What only serves references or names the dialect
    is left out: jsonschema would change to that dialect's plain validator. Nothing refers to itself in circles.
    """
    if isinstance(value, list):
        return [_resolved(one, name) for one in value]
    if not isinstance(value, dict):
        return value
    own = {key: _resolved(one, name) for key, one in value.items() if key not in ("$ref", "$defs", "$schema")}
    if "$ref" not in value:
        return own
    file, _, pointer = value["$ref"].partition("#")
    if file:
        name = name.rpartition("/")[0] + "/" + file if "/" in name else file
    target = _document(name)
    for step in pointer.split("/")[1:]:
        target = target[step.replace("~1", "/").replace("~0", "~")]
    return _resolved(target, name) | own


def _json_schema(described: Mapping[str, Any]) -> Any:
    return described["content"]["application/json"]["schema"]


def _operation(path: str, method: str, shared: list[Any], described: Mapping[str, Any]) -> Operation:
    document = "openapi.yaml"
    parameters = _resolved(shared + described.get("parameters", []), document)
    body = described.get("requestBody")
    request = None if body is None else _resolved(_json_schema(body), document)
    uri = _json_schema(described["responses"]["2XX"])["$ref"]
    resource = uri.rpartition("/")[2].removesuffix(".json")
    return Operation(
        id=described["operationId"],
        method=method.upper(),
        path=path,
        path_parameters=tuple(one["name"] for one in parameters if one["in"] == "path"),
        query_parameters=MappingProxyType({one["name"]: one["schema"] for one in parameters if one["in"] == "query"}),
        request_schema=request,
        required_fields=tuple((request or {}).get("required", ())),
        response_schema_uri=uri,
        is_list=resource.endswith("_list"),
        is_post=method == "post",
        resource=resource.removesuffix("_list"),
        tag=described["tags"][0],
    )


def _operations() -> Iterator[Operation]:
    for path, item in _document("openapi.yaml")["paths"].items():
        for method, described in item.items():
            if method != "parameters":
                yield _operation(path, method, item.get("parameters", []), described)


#: The operations by operationId, in document order.
OPERATIONS: Mapping[str, Operation] = MappingProxyType({operation.id: operation for operation in _operations()})


@functools.cache
def _routes() -> list[tuple[re.Pattern[str], Operation]]:
    return [
        (re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(operation.path))), operation)
        for operation in OPERATIONS.values()
    ]


def match(method: str, path: str) -> tuple[Operation, dict[str, str]] | None:
    """The operation that a method and an unencoded path (from /v1 on) call, and its path parameters."""
    for pattern, operation in _routes():
        if operation.method == method and (found := pattern.fullmatch(path)):
            return operation, found.groupdict()
    return None


# ---------------------------------------------------------------------- judging documents

@functools.cache
def response_schema(operation_id: str) -> dict[str, Any]:
    """The schema of an operation's successful response, all references resolved. Raises KeyError."""
    uri = OPERATIONS[operation_id].response_schema_uri
    schema: dict[str, Any] = _resolved(_document(uri), uri)
    return schema


def response_problems(operation_id: str, document: Any) -> list[Problem]:
    """How the JSON document of a 2xx response breaks the contract, one problem for each rule and place.

    Raises KeyError for an unknown operationId, and nothing because of what the document holds.
    """
    operation = OPERATIONS[operation_id]

    def default(pointer: str) -> str:
        if not operation.is_list:
            return "format.fields"
        return "list.item-fields" if pointer.startswith("/items/") else "list.envelope"

    return _problems(_response_validator(operation_id), document, default)


def error_problems(document: Any) -> list[Problem]:
    """How the JSON document of an error breaks the documented error body (section 7)."""
    return _problems(_error_validator(), document, lambda pointer: "error.shape")


@functools.cache
def _response_validator(operation_id: str) -> Validator:
    return _validator(response_schema(operation_id))


@functools.cache
def _error_validator() -> Validator:
    return _validator(_resolved(_document("schemas/error.json"), "schemas/error.json"))


@functools.cache
def _request_validator(operation_id: str) -> Validator:
    return _validator(OPERATIONS[operation_id].request_schema or {})


#: The keyword under which a missing member is reported whose value might have been null.
_MISSING_NULLABLE = "required-nullable"


def _validator(schema: Mapping[str, Any]) -> Validator:
    built: Validator = _dialect()(schema)
    return built


@functools.cache
def _dialect() -> Any:
    """JSON Schema 2020-12 with two exactnesses: missing members are told apart by whether they might be null,
    and `$` in a pattern does not match before a trailing newline, as ECMA-262 has it."""
    from jsonschema import Draft202012Validator, ValidationError, validators

    def required(validator: Any, names: list[str], instance: Any, schema: Mapping[str, Any]) -> Iterator[ValidationError]:
        if not validator.is_type(instance, "object"):
            return
        for name in names:
            if name not in instance:
                described = schema.get("properties", {}).get(name, {})
                nullable = next(iter(validator.descend(None, described)), None) is None
                yield ValidationError(name, validator=_MISSING_NULLABLE if nullable else "required", path=[name])

    def pattern(validator: Any, text: str, instance: Any, schema: Mapping[str, Any]) -> Iterator[ValidationError]:
        if validator.is_type(instance, "string") and not _pattern(text).search(instance):
            yield ValidationError(text)

    return validators.extend(Draft202012Validator, {"required": required, "pattern": pattern})


@functools.cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"(?<!\\)\$$", r"\\Z", text))


def _leaves(error: ValidationError) -> Iterator[ValidationError]:
    """The errors that say what is wrong: of a choice between a value and null, those of the value."""
    if error.validator != "anyOf":
        yield error
        return
    for inner in error.context or ():
        if inner.schema_path[0] == 0:
            yield from _leaves(inner)


def _problems(validator: Validator, document: Any, default: Callable[[str], str]) -> list[Problem]:
    problems: dict[tuple[str, str], Problem] = {}
    try:
        for error in validator.iter_errors(document):
            for leaf in _leaves(error):
                pointer = _pointer(leaf)
                schema = leaf.schema if isinstance(leaf.schema, Mapping) else {}
                rule = "format.nullable" if leaf.validator == _MISSING_NULLABLE else schema.get("x-rule", default(pointer))
                problems.setdefault((rule, pointer), Problem(rule, pointer, _message(leaf)))
    except RecursionError:
        rule = default("")
        problems[rule, ""] = Problem(rule, "", "is nested too deeply")
    return list(problems.values())


def _pointer(error: ValidationError) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in error.absolute_path)


# ---------------------------------------------------------------------- messages

_NAMES = {"integer": "an integer", "object": "an object", "array": "an array", "null": "null"}


def _named(types: str | list[str]) -> str:
    return " or ".join(_NAMES.get(one, f"a {one}") for one in ([types] if isinstance(types, str) else types))


def _shown(value: Any) -> str:
    """A value in at most _SHOWN characters of JSON, without building the text of a large one."""
    if isinstance(value, str):
        text = json.dumps(value[:_SHOWN], ensure_ascii=False)
    elif isinstance(value, (dict, list)):
        return f"{'an object' if isinstance(value, dict) else 'an array'} of {len(value)}"
    elif isinstance(value, int) and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"
    else:
        text = json.dumps(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _message(error: ValidationError) -> str:
    """What is wrong, as the predicate of a sentence about the place."""
    wanted, value = error.validator_value, error.instance
    match error.validator:
        case "required" | "required-nullable":
            return "is missing"
        case "type":
            orders_null = error.parent is not None and error.parent.validator == "anyOf"
            return f"is {_shown(value)}, not {_named(wanted)}{' or null' if orders_null else ''}"
        case "enum":
            return f"is {_shown(value)}, not one of {', '.join(map(str, wanted))}"
        case "const":
            return f"is {_shown(value)}, not {_shown(wanted)}"
        case "pattern":
            return f"is {_shown(value)}, which does not fit {error.schema.get('description', wanted).rstrip('.')}"
        case "maxLength":
            return f"has {len(value)} characters, more than {wanted}"
        case "minLength":
            return f"has {len(value)} characters, fewer than {wanted}"
        case "minimum":
            return f"is {_shown(value)}, below {wanted}"
        case "maximum":
            return f"is {_shown(value)}, above {wanted}"
        case "not":
            return "is there, which it should not be"
    return f"is {_shown(value)}, which breaks {error.validator}"


# ---------------------------------------------------------------------- members beyond the contract

def undocumented_fields(operation_id: str, document: Any) -> list[str]:
    """The members of a 2xx response that the specification does not name, as sorted pointers in which `*`
    stands for any index of an array."""
    return sorted(set(_undocumented([response_schema(operation_id)], document, "")))


def _undocumented(schemas: list[dict[str, Any]], value: Any, pointer: str) -> Iterator[str]:
    schemas = list(_alternatives(schemas))
    if isinstance(value, dict):
        known = [one["properties"] for one in schemas if "properties" in one]
        for name, member in value.items() if known else ():
            inner = [properties[name] for properties in known if name in properties]
            place = f"{pointer}/{name[:_SHOWN]}"
            if inner:
                yield from _undocumented(inner, member, place)
            else:
                yield place
    elif isinstance(value, list):
        inner = [one["items"] for one in schemas if "items" in one]
        for member in value:
            yield from _undocumented(inner, member, f"{pointer}/*")


def _alternatives(schemas: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for schema in schemas:
        yield schema
        yield from _alternatives(schema.get("allOf", []) + schema.get("anyOf", []))


# ---------------------------------------------------------------------- judging requests

def request_problems(operation_id: str, body: bytes | None, query: str) -> list[str]:
    """How a request breaks openapi.yaml: its body as sent (None: no body) and its raw query without `?`.

    An array may also be sent with `[]` after its name. Raises KeyError for an unknown operationId.
    """
    operation = OPERATIONS[operation_id]
    return [*_body_problems(operation, body), *_query_problems(operation, query)]


def _body_problems(operation: Operation, body: bytes | None) -> Iterator[str]:
    if operation.request_schema is None:
        if body:
            yield f"{operation.id} takes no body"
        return
    try:
        document = json.loads(body or b"")
    except (ValueError, RecursionError):
        yield f"{operation.id} takes a JSON body"
        return
    for problem in _problems(_request_validator(operation.id), document, lambda pointer: ""):
        yield f"{problem.pointer or 'the body'} {problem.message}"


def _query_problems(operation: Operation, query: str) -> Iterator[str]:
    sent: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        bare = name.removesuffix("[]")
        is_array = operation.query_parameters.get(bare, {}).get("type") == "array"
        sent.setdefault(bare if is_array else name, []).append(value)
    for name, values in sent.items():
        schema = operation.query_parameters.get(name)
        if schema is None:
            yield f"{operation.id} has no query parameter {_shown(name)}"
            continue
        if schema["type"] != "array" and len(values) > 1:
            yield f"the query parameter {name} is repeated"
        value: Any = values if schema["type"] == "array" else values[0]
        if schema["type"] == "integer" and re.fullmatch(r"-?[0-9]{1,30}", values[0]):
            value = int(values[0])
        for problem in _problems(_validator(schema), value, lambda pointer: ""):
            yield f"the query parameter {name} {problem.message}"
