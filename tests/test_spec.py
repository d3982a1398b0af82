"""Validates the data in spec/ and compares it with the tables of the specification."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from conformance.contract import fields as contract
from conformance.contract.documents import SPEC
from conformance.contract.fields import documented, request_fields
from conformance.contract.operation_sets import CITED, OPERATION_SETS, cited_rules
from conformance.contract.operations import (
    OPERATIONS,
    Operation,
    item_fields,
    response_problems,
    response_schema,
)
from conformance.contract.rules import ALL_RULES, CLIENT_RULES, RULES, Level
from conformance.contract.schemas import nullable
from conformance.contract.traits import TRAITS
from tests import schemas
from tests.specification import BODIES, HIDDEN, LIMITS, PATHS, RESOURCES
from tests.support.spec_files import CATALOGUE, OPENAPI, SCHEMAS, described, walk


def fields(operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = (operation.request_schema or {}).get("properties", {})
    return found


# ---------------------------------------------------------------------- the catalogue


@pytest.mark.parametrize("name", ["rules", "operations", "openapi"])
def test_forms_are_json_schemas(name: str) -> None:
    # What is loaded is held against them.
    Draft202012Validator.check_schema(json.loads((SPEC / f"{name}.schema.json").read_bytes()))


def test_the_schema_of_results_is_what_their_types_say() -> None:
    assert schemas.FILE.read_text("utf-8") == schemas.text(), "run `python -m tests.schemas`"


def test_loaded_rules_are_the_catalogue() -> None:
    assert list(ALL_RULES) == [rule["id"] for rule in CATALOGUE["rules"]]
    sides = {rule["id"]: rule.get("side", "server") for rule in CATALOGUE["rules"]}
    assert list(RULES) == [name for name, side in sides.items() if side != "client"]
    assert list(CLIENT_RULES) == [name for name, side in sides.items() if side != "server"]
    rule = RULES["tenancy.foreign-parent"]
    assert (rule.section, rule.level, rule.needs) == (("5.5.1",), Level.REQUIRED, ("secondary",))
    assert rule.operations == tuple(OPERATIONS)
    assert RULES["format.account-id"].operations == ("createAccount", "listAccounts", "getAccountBalances")


def test_operation_sets_are_described() -> None:
    assert [*CATALOGUE["operation_sets"]] == [*OPERATION_SETS, CITED]
    named = {rule["operations"] for rule in CATALOGUE["rules"] if isinstance(rule["operations"], str)}
    assert named <= {*CATALOGUE["operation_sets"]}


def test_schema_rules_cover_the_operations_whose_schemas_cite_them() -> None:
    for operation in OPERATIONS:
        missing = [rule for rule in cited_rules(operation) if operation not in RULES[rule].operations]
        assert not missing, operation


# ---------------------------------------------------------------------- quotes and sections

ENTRIES: dict[str, dict[str, Any]] = {rule["id"]: rule for rule in CATALOGUE["rules"]}

#: Required rules without a quote, since no single sentence or table row states them.
OF_WHOLE_SECTIONS = {
    "http.no-server-error": "what an API is for: requests are answered",
    "operation.missing": "all of section 4: each operation is there",
    "refusal.changes-nothing": "what a refusal means",
    "format.fields": "all tables of section 2",
    "fields.accepts-valid": "all tables of section 4",
    "create.echo": "the fields of section 4 are the fields of section 2",
    "read.equals-create": "one resource has one set of fields",
}


def test_required_rules_quote_the_specification() -> None:
    silent = {name for name, rule in ENTRIES.items() if rule["level"] == "required" and "quote" not in rule}
    assert silent == set(OF_WHOLE_SECTIONS)


@pytest.mark.parametrize("rule", ENTRIES)
def test_every_cited_section_has_a_title(rule: str) -> None:
    def titled(section: str) -> bool:
        # 5.4.3 is an item of section 5.4.
        return section in CATALOGUE["sections"] or section.rpartition(".")[0] in CATALOGUE["sections"]

    untitled = [section for section in ENTRIES[rule]["section"] if not titled(section)]
    assert not untitled, "give it a title in `sections` of spec/rules.yaml"


def test_sections_stand_in_the_order_of_the_specification() -> None:
    order = [tuple(map(int, section.split("."))) for section in CATALOGUE["sections"]]
    assert order == sorted(order)


# ---------------------------------------------------------------------- the schemas


def test_cited_rules_exist() -> None:
    cited = {value for path, value in walk(SCHEMAS) if path and path[-1] == "x-rule"}
    assert cited == {
        "error.shape", "format.account-id", "format.bank-details", "format.iban", "format.enum", "format.id",
        "format.money", "format.object", "format.timestamp", "list.envelope", "list.wallet-items",
        "wallet.addresses",
    }  # fmt: skip
    assert cited <= set(RULES)


def test_bodies_have_the_fields_of_section_4() -> None:
    for name, operation in OPERATIONS.items():
        found = set(operation.required_fields), set(fields(operation))
        assert found == BODIES.get(name, (set(), set())), name
        resource = RESOURCES[operation.resource]
        choices = {field: schema["enum"] for field, schema in fields(operation).items() if "enum" in schema}
        assert choices == {
            field: list(resource[field].values)
            for field in found[1]
            if field in resource and resource[field].values
        }, name
    assert {*contract.HIDDEN} == {*HIDDEN}


def test_answers_have_the_members_of_section_2() -> None:
    for name, operation in OPERATIONS.items():
        rows = RESOURCES[operation.resource]
        if operation.is_list:
            assert set(item_fields(name)) <= set(rows), name
            continue
        members = response_schema(name)["properties"]
        assert set(members) == set(rows), name
        required = {row.name for row in rows.values() if not row.sometimes}
        assert set(response_schema(name)["required"]) == required, name
        null = {row.name for row in rows.values() if row.nullable or row.sometimes}
        assert {member for member, schema in members.items() if nullable(schema)} == null, name


# ---------------------------------------------------------------------- limits


def test_lengths_are_those_of_sections_2_and_8() -> None:
    for name in BODIES:
        body = fields(OPERATIONS[name])
        lengths = {field: schema["maxLength"] for field, schema in body.items() if "maxLength" in schema}
        assert lengths == {field: most for field, most in LIMITS[name].items() if field in body}, name


def test_paging_limits_are_those_of_section_8() -> None:
    for name in OPERATION_SETS["list"]:
        parameters = OPERATIONS[name].query_parameters
        assert parameters["page"] == {"type": "integer", "minimum": 1, "default": 1}, name
        assert parameters["size"] == {"type": "integer", "minimum": 1, "maximum": 100, "default": 10}, name


# ---------------------------------------------------------------------- openapi.yaml


def test_openapi_is_valid() -> None:
    openapi_spec_validator = pytest.importorskip("openapi_spec_validator")
    base = (SPEC / "openapi.yaml").as_uri()
    found = openapi_spec_validator.OpenAPIV31SpecValidator(OPENAPI, base_uri=base).iter_errors()
    assert [error.message for error in found] == []


def test_operations_are_those_of_section_4() -> None:
    assert {name: (operation.method, operation.path) for name, operation in OPERATIONS.items()} == PATHS


def test_idempotency_key_is_a_header_of_every_post_and_of_nothing_else() -> None:
    key = {"$ref": "#/components/parameters/Idempotency-Key"}
    header = OPENAPI["components"]["parameters"]["Idempotency-Key"]
    assert (header["in"], header["required"], header["schema"]["format"]) == ("header", True, "uuid")
    for name, operation in OPERATIONS.items():
        assert (key in described(name).get("parameters", [])) is operation.is_post, name


def test_every_operation_needs_the_four_headers() -> None:
    schemes = OPENAPI["components"]["securitySchemes"]
    assert [schemes[name]["name"] for requirement in OPENAPI["security"] for name in requirement] == [
        "X-API-Key",
        "X-Timestamp",
        "X-Nonce",
        "X-Signature",
    ]
    assert {(scheme["type"], scheme["in"]) for scheme in schemes.values()} == {("apiKey", "header")}
    assert not [name for name in OPERATIONS if "security" in described(name)]


def test_every_operation_declares_success_and_refusals() -> None:
    for name in OPERATIONS:
        expected = {"2XX", "401", "403", "404", "429", "4XX", "503"}
        takes = OPERATIONS[name]
        expected |= {"409"} if takes.is_post else set()
        expected |= {"422"} if takes.is_post or takes.request_schema or takes.is_list else set()
        expected |= {"413"} if OPERATIONS[name].request_schema else set()
        expected |= {"501"} if name == "createPayin" else set()
        assert set(described(name)["responses"]) == expected, name


def test_links_fill_the_path_of_an_operation() -> None:
    links = OPENAPI["components"]["links"]
    for name, link in links.items():
        assert set(link["parameters"]) == set(OPERATIONS[link["operationId"]].path_parameters), name
    successes = [described(operation)["responses"]["2XX"] for operation in OPERATIONS]
    used = {name for success in successes for name in success.get("links", {})}
    assert used >= {"getBeneficiary", "getVirtualAccount", "getAccountBalances", *OPERATION_SETS["list"]}


# ---------------------------------------------------------------------- traits

every_operation = pytest.mark.parametrize("operation", list(TRAITS))
every_create = pytest.mark.parametrize("operation", OPERATION_SETS["create"])


def test_every_operation_has_an_entry_in_the_order_of_openapi() -> None:
    assert list(TRAITS) == list(OPERATIONS)
    assert all(operation.traits is TRAITS[name] for name, operation in OPERATIONS.items())


@every_operation
def test_traits_agree_with_openapi(operation: str) -> None:
    stated, traits = OPERATIONS[operation], TRAITS[operation]
    assert bool(traits.creates) == (operation in OPERATION_SETS["create"])
    assert bool(traits.creates or traits.changes) == (operation in OPERATION_SETS["write"])
    assert (traits.creates or traits.changes or stated.resource) == stated.resource
    assert bool(traits.free_text) == (stated.request_schema is not None)
    if traits.free_text:
        fields = {field.name: field for field in request_fields(operation)}
        assert fields[traits.free_text].type == "string" and not fields[traits.free_text].choices
    if traits.listed_by:
        listing = OPERATIONS[traits.listed_by]
        assert listing.is_list and listing.resource == traits.creates and listing.path == stated.path
    if traits.read_by:
        assert OPERATIONS[traits.read_by].method == "GET"
        assert f"{traits.creates or traits.changes}_id" in OPERATIONS[traits.read_by].path_parameters
    if traits.subset_of:
        assert OPERATIONS[traits.subset_of].request_schema is not None
        assert not stated.required_fields
    if traits.moves_money:
        balance = response_schema("getAccountBalances")["properties"]["balances"]["items"]["properties"]
        assert set(traits.moves_money) <= set(balance)


@every_create
def test_initial_state_fits_the_response_schema(operation: str) -> None:
    """Each stated value is one that the response schema allows."""
    traits = TRAITS[operation]
    assert set(traits.initial) <= set(documented(operation))
    wrong = {
        problem.pointer
        for problem in response_problems(operation, dict(traits.initial))
        if problem.message != "is missing"
    }
    assert not wrong
