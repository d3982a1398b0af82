"""The bundled document equals openapi.yaml in content, and has a name for every schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from conformance.contract.operations import OPERATIONS
from tests.ecosystem.bundle import BUNDLED, SPEC, text
from tests.support.spec_files import examples, walk
from tests.support.vectors import VECTORS

DOCUMENT: dict[str, Any] = json.loads(BUNDLED.read_bytes())
SOURCE: dict[str, Any] = yaml.safe_load((SPEC / "openapi.yaml").read_bytes())
SCHEMAS: dict[str, dict[str, Any]] = DOCUMENT["components"]["schemas"]


def described(operation: str) -> dict[str, Any]:
    found: dict[str, Any] = DOCUMENT["paths"][OPERATIONS[operation].path][
        OPERATIONS[operation].method.lower()
    ]
    return found


def test_file_is_what_its_source_makes() -> None:
    made = text()
    assert BUNDLED.read_text("utf-8") == made, "run python -m tests.ecosystem.bundle"


def test_document_is_valid() -> None:
    validator = pytest.importorskip("openapi_spec_validator")
    assert [error.message for error in validator.OpenAPIV31SpecValidator(DOCUMENT).iter_errors()] == []


def test_every_reference_is_one_to_a_component() -> None:
    references = [value for path, value in walk(DOCUMENT) if path and path[-1] == "$ref"]
    assert len(references) > 200
    for reference in references:
        _, kind, name = reference.removeprefix("#/").split("/")
        assert name in DOCUMENT["components"][kind], reference


def test_every_schema_is_referred_to() -> None:
    used = {value.rpartition("/")[2] for path, value in walk(DOCUMENT) if path and path[-1] == "$ref"}
    assert set(SCHEMAS) <= used


def test_names_are_words_without_numbers() -> None:
    assert not [name for name in SCHEMAS if not re.fullmatch("(?:[A-Z][a-z]+)+", name)]


def test_project_specific_keywords_are_removed() -> None:
    keys = {path[-1] for path, _ in walk(DOCUMENT) if path}
    assert not {"$defs", "$schema", "x-rule", "x-code"} & keys


@pytest.mark.parametrize("name", SCHEMAS)
def test_arrays_say_what_they_hold_and_constants_what_they_are(name: str) -> None:
    for path, value in walk(SCHEMAS[name]):
        if isinstance(value, dict) and path[-1:] != ("properties",):
            kinds = value.get("type", [])
            if "array" in ([kinds] if isinstance(kinds, str) else kinds):
                assert value["items"], path
            if ("const" in value or "enum" in value) and not {"if", "then", "else"} & set(path):
                assert value["type"] == "string", path


def test_every_condition_has_a_title() -> None:
    conditions = [value for path, value in walk(SCHEMAS) if path and path[-1] in ("if", "then", "else")]
    assert len(conditions) >= 6
    assert not [value for value in conditions if "title" not in value]


def test_the_first_example_of_a_body_is_the_first_of_its_cases() -> None:
    """Renderers open on both, so they must match."""
    seen = 0
    for operation in OPERATIONS:
        content = described(operation).get("requestBody", {}).get("content", {}).get("application/json", {})
        schema = SCHEMAS.get(content.get("schema", {}).get("$ref", "").rpartition("/")[2], {})
        if "if" in schema and operation.startswith("create"):
            seen += 1
            [(_, example), *_] = examples(content, DOCUMENT)
            assert Draft202012Validator(schema["if"]).is_valid(example), operation
    assert seen == 2


@pytest.mark.parametrize("operation", OPERATIONS)
def test_success_comes_first_and_is_one_status(operation: str) -> None:
    responses = list(described(operation)["responses"])
    successes = [code for code in responses if code.startswith("2")]
    assert successes == responses[:1] and responses[-1] == "default"
    assert not [code for code in responses if "X" in code]
    assert "Any 2xx status is a success" in described(operation)["responses"][successes[0]]["description"]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_examples_fit_their_schemas(operation: str) -> None:
    registry: Registry[Any] = Registry().with_contents(
        [("openapi.json", DOCUMENT)], default_specification=DRAFT202012
    )
    shown = 0
    for _, value in walk(described(operation)):
        for _, example in examples(value, DOCUMENT):
            judge = Draft202012Validator(_absolute(value["schema"]), registry=registry)
            shown += 1
            assert [error.message for error in judge.iter_errors(example)] == []
    assert shown >= 1


def _absolute(schema: dict[str, Any]) -> dict[str, Any]:
    return {"$ref": f"openapi.json{schema['$ref']}"} if "$ref" in schema else schema


def test_example_members_are_documented() -> None:
    """Most schemas allow additional members, so a misspelt one in an example would be valid."""
    found: list[str] = []
    for operation in OPERATIONS:
        for _, value in walk(described(operation)):
            for _, example in examples(value, DOCUMENT):
                found += [f"{operation}: {name}" for name in _unknown(value["schema"], example)]
    assert found == []


def _unknown(schema: dict[str, Any], value: Any) -> Iterator[str]:
    """Yields the members of an example that its schema does not define."""
    if "$ref" in schema:
        schema = SCHEMAS[schema["$ref"].rpartition("/")[2]]
    parts = [schema, *(part for part in schema.get("allOf", ()))]
    parts = [SCHEMAS[part["$ref"].rpartition("/")[2]] if "$ref" in part else part for part in parts]
    known = {name: member for part in parts for name, member in part.get("properties", {}).items()}
    if isinstance(value, dict):
        yield from value.keys() - known.keys() if known else ()
        for name in value.keys() & known.keys():
            yield from _unknown(known[name], value[name])
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for member in value:
            yield from _unknown(schema["items"], member)


def test_a_misspelt_member_of_an_example_is_seen() -> None:
    assert list(_unknown({"$ref": "#/components/schemas/AccountCreate"}, {"nmae": "typo"})) == ["nmae"]
    page = {"items": [{"id": "acc_1", "stauts": "active"}], "total": 1}
    assert list(_unknown({"$ref": "#/components/schemas/AccountList"}, page)) == ["stauts"]


def test_path_parameters_have_descriptions_and_examples() -> None:
    described = DOCUMENT["components"]["parameters"].values()
    parameters = [parameter for parameter in described if parameter["in"] == "path"]
    assert len(parameters) == 4
    for parameter in parameters:
        assert parameter["description"].endswith("."), parameter["name"]
        Draft202012Validator(parameter["schema"]).validate(parameter["example"])


def test_the_worked_example_is_a_signing_vector() -> None:
    vector = next(vector for vector in VECTORS if vector["id"] == "post-compact")
    page = (SPEC / "signing.md").read_text("utf-8")
    for member in (
        "signature_string",
        "signature",
        "api_key",
        "secret",
        "timestamp",
        "nonce",
        "target",
        "body",
    ):
        assert vector[member] in SOURCE["info"]["description"], member
        assert vector[member] in page, member


def test_the_description_has_a_section_for_each_thing_that_operations_share() -> None:
    headings = re.findall("^# (.+)$", DOCUMENT["info"]["description"], re.MULTILINE)
    assert headings == ["Authentication", "Idempotency", "Paging", "Errors", "Tenancy"]
