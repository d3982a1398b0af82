"""The data under spec/: valid in itself, in one voice, and true to the tables of the specification."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from conformance.contract.operations import OPERATIONS, SPEC, Operation, response_problems, response_schema
from conformance.contract.rules import OPERATION_SETS, RULES, Level
from tests.specification import ITEMS, LIMITS, PATHS, RESOURCES

CATALOGUE = yaml.safe_load((SPEC / "rules.yaml").read_bytes())
OPENAPI = yaml.safe_load((SPEC / "openapi.yaml").read_bytes())
SCHEMAS = {path.name: json.loads(path.read_bytes()) for path in sorted((SPEC / "schemas").glob("*.json"))}


def walk(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every value of a document with its path."""
    yield path, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in inner:
        yield from walk(member, (*path, str(key)))


def described(operation: str) -> dict[str, Any]:
    """An operation's object in openapi.yaml."""
    found: dict[str, Any] = OPENAPI["paths"][OPERATIONS[operation].path][OPERATIONS[operation].method.lower()]
    return found


def operations_with(holds: Callable[[Operation], bool]) -> set[str]:
    return {name for name, operation in OPERATIONS.items() if holds(operation)}


def fields(operation: Operation) -> dict[str, Any]:
    """The fields of an operation's body."""
    found: dict[str, Any] = (operation.request_schema or {}).get("properties", {})
    return found


# ---------------------------------------------------------------------- the catalogue


def test_catalogue_fits_its_schema() -> None:
    schema = json.loads((SPEC / "rules.schema.json").read_bytes())
    Draft202012Validator.check_schema(schema)
    found = Draft202012Validator(schema).iter_errors(CATALOGUE)
    assert not [f"{error.json_path}: {error.message}" for error in found]


def test_rule_ids_are_unique() -> None:
    ids = Counter(rule["id"] for rule in CATALOGUE["rules"])
    assert [name for name, times in ids.items() if times > 1] == []


def test_rules_and_sets_name_operations_that_exist() -> None:
    named = {**OPERATION_SETS, **{rule.id: rule.operations for rule in RULES.values()}}
    for name, operations in named.items():
        assert set(operations) <= set(OPERATIONS), name
        assert len(set(operations)) == len(operations), name


def test_loaded_rules_are_the_catalogue() -> None:
    assert list(RULES) == [rule["id"] for rule in CATALOGUE["rules"]]
    rule = RULES["tenancy.foreign-parent"]
    assert (rule.section, rule.level, rule.needs) == (("5.5.1",), Level.REQUIRED, ("secondary",))
    assert rule.operations == tuple(CATALOGUE["operation_sets"]["all"])
    assert RULES["format.account-id"].operations == ("createAccount", "listAccounts", "getAccountBalances")


def test_operation_sets_are_what_openapi_says() -> None:
    for name, holds in {
        "all": lambda operation: True,
        "post": lambda operation: operation.is_post,
        "create": lambda operation: operation.is_post and operation.request_schema is not None,
        "body": lambda operation: operation.request_schema is not None,
        "write": lambda operation: operation.method != "GET",
        "read": lambda operation: operation.method == "GET",
        "list": lambda operation: operation.is_list,
        "filtered-list": lambda operation: "start_date" in operation.query_parameters,
        "child": lambda operation: len(operation.path_parameters) == 2,
        "account-child": lambda operation: (
            len(operation.path_parameters) == 2 and operation.path.startswith("/v1/accounts")
        ),
        "resource": lambda operation: not operation.is_list,
    }.items():
        assert set(OPERATION_SETS[name]) == operations_with(holds), name
    assert len(OPERATION_SETS) == 11


def test_rules_cover_the_operations_that_openapi_gives_them() -> None:
    def field(test: Callable[[dict[str, Any]], bool]) -> set[str]:
        return operations_with(lambda operation: any(map(test, fields(operation).values())))

    def code(kind: str) -> set[str]:
        return field(lambda schema: schema.get("x-code") == kind)

    def query(name: str) -> set[str]:
        return operations_with(lambda operation: name in operation.query_parameters)

    for rule, operations in {
        "auth.signed-body": operations_with(lambda operation: operation.request_schema is not None),
        "auth.signed-empty-body": operations_with(lambda operation: operation.request_schema is None),
        "idempotency.key-elsewhere": operations_with(lambda operation: not operation.is_post),
        "idempotency.conflict-no-body": operations_with(
            lambda operation: operation.is_post and not operation.request_schema
        ),
        "fields.optional-type": operations_with(
            lambda operation: set(fields(operation)) > set(operation.required_fields)
        ),
        "fields.max-length": field(lambda schema: "maxLength" in schema),
        "fields.enum": field(lambda schema: "enum" in schema),
        "fields.country-code": code("country"),
        "fields.currency-code": code("currency"),
        "fields.unassigned-code": code("country") | code("currency"),
        "fields.amount": operations_with(lambda operation: "amount" in operation.required_fields),
        "list.currency-filter": query("currency"),
        "list.several-statuses": query("statuses"),
        "list.status-filter": query("statuses") | query("status"),
    }.items():
        assert set(RULES[rule].operations) == operations, rule


def test_schema_rules_cover_the_operations_whose_schemas_cite_them() -> None:
    for operation in OPERATIONS:
        cited = cited_rules(response_schema(operation))
        # A new account has no balances, so that none of its answers shows money.
        shown = cited - ({"format.money"} if operation == "createAccount" else set())
        assert not [rule for rule in shown if operation not in RULES[rule].operations], operation


def cited_rules(document: Any) -> set[str]:
    """The rules that a schema's annotations name."""
    return {value for path, value in walk(document) if path and path[-1] == "x-rule"}


# ---------------------------------------------------------------------- the schemas


def test_schemas_are_valid_and_use_no_unknown_keyword() -> None:
    known = {
        "$schema",
        "$ref",
        "$defs",
        "title",
        "description",
        "type",
        "required",
        "properties",
        "items",
        "allOf",
        "anyOf",
        "not",
        "if",
        "then",
        "format",
        "unevaluatedProperties",
        "const",
        "enum",
        "pattern",
        "maxLength",
        "minLength",
        "minimum",
        "x-rule",
    }
    for name, schema in SCHEMAS.items():
        Draft202012Validator.check_schema(schema)
        for path, value in walk(schema):
            names_members = path and path[-1] in ("properties", "$defs")
            if isinstance(value, dict) and not names_members:
                assert set(value) <= known, f"{name} {path}"


def test_cited_rules_exist() -> None:
    cited = cited_rules(SCHEMAS)
    assert cited == {
        "error.shape",
        "format.account-id",
        "format.bank-details",
        "format.iban",
        "format.enum",
        "format.id",
        "format.money",
        "format.object",
        "format.timestamp",
        "list.envelope",
        "list.wallet-items",
        "wallet.addresses",
    }
    assert cited <= set(RULES)


def test_every_schema_file_is_used() -> None:
    references = [value for path, value in walk([OPENAPI, SCHEMAS]) if path and path[-1] == "$ref"]
    used = {reference.partition("#")[0].rpartition("/")[2] for reference in references}
    assert set(SCHEMAS) == used - {""}


def test_references_resolve() -> None:
    references = 0
    for path in [SPEC / "openapi.yaml", *sorted((SPEC / "schemas").glob("*.json"))]:
        for place, value in walk(yaml.safe_load(path.read_bytes())):
            if place and place[-1] == "$ref":
                references += 1
                assert _exists(path, value), f"{path.name}: {value}"
    assert references > 300


def _exists(path: Path, reference: str) -> bool:
    file, _, pointer = reference.partition("#")
    target = path.parent / file if file else path
    if not target.is_file():
        return False
    value = yaml.safe_load(target.read_bytes()) if target.suffix == ".json" else OPENAPI
    for step in pointer.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(value, dict) or step not in value:
            return False
        value = value[step]
    return True


@pytest.mark.parametrize("resource", RESOURCES)
def test_resources_require_their_fields_and_allow_null_where_stated(resource: str) -> None:
    name = next(
        name
        for name, operation in OPERATIONS.items()
        if operation.resource == resource and not operation.is_list
    )
    schema = response_schema(name)
    fields = RESOURCES[resource]
    assert set(schema["properties"]) == set(fields)
    assert set(schema["required"]) == {name for name, field in fields.items() if not field.sometimes}
    allow_null = {name for name in fields if Draft202012Validator(schema["properties"][name]).is_valid(None)}
    assert allow_null == {name for name, field in fields.items() if field.nullable or field.sometimes}


@pytest.mark.parametrize("operation", ITEMS)
def test_list_items_require_their_fields(operation: str) -> None:
    item = response_schema(operation)["properties"]["items"]["items"]
    assert set(item["required"]) == set(ITEMS[operation].split())


def test_embedded_destinations_are_list_items_with_every_further_field_typed() -> None:
    item, further = response_schema("getBeneficiary")["properties"]["payout_destinations"]["items"]["allOf"]
    assert item == response_schema("listPayoutDestinations")["properties"]["items"]["items"]
    assert (
        item["properties"] | further["properties"] == response_schema("createPayoutDestination")["properties"]
    )
    assert "required" not in further


# ---------------------------------------------------------------------- limits


def test_request_limits_are_those_of_section_8() -> None:
    for name, operation in OPERATIONS.items():
        found = {
            field: schema["maxLength"] for field, schema in fields(operation).items() if "maxLength" in schema
        }
        assert found == LIMITS.get(name, {}), name


@pytest.mark.parametrize("operation", LIMITS)
def test_responses_keep_the_limits_of_their_requests(operation: str) -> None:
    properties = response_schema(operation)["properties"]
    for field, limit in LIMITS[operation].items():
        if field != "iban":
            judge = Draft202012Validator(properties[field])
            assert judge.is_valid("é" * limit), field
            assert not judge.is_valid("é" * (limit + 1)), field


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


def test_examples_fit_their_schemas() -> None:
    contents = {"openapi.yaml": OPENAPI, **{f"schemas/{name}": schema for name, schema in SCHEMAS.items()}}
    registry: Registry[Any] = Registry().with_contents(contents.items(), default_specification=DRAFT202012)
    shown: Counter[str] = Counter()
    for path, value in walk(OPENAPI):
        for key, example in _examples(value):
            pointer = "/".join(step.replace("~", "~0").replace("/", "~1") for step in (*path, "schema"))
            judge = Draft202012Validator({"$ref": f"openapi.yaml#/{pointer}"}, registry=registry)
            assert [error.message for error in judge.iter_errors(example)] == [], f"{path} {key}"
            shown["/".join(path[:3])] += 1
    for name, operation in OPERATIONS.items():
        place = f"paths/{operation.path}/{operation.method.lower()}"
        assert shown[place] >= (2 if operation.request_schema else 1), name


def _examples(value: Any) -> Iterator[tuple[str, Any]]:
    """The examples beside a schema, references to shared ones followed."""
    if not isinstance(value, dict) or "schema" not in value:
        return
    if "example" in value:
        yield "example", value["example"]
    for key, example in value.get("examples", {}).items():
        if "$ref" in example:
            example = OPENAPI["components"]["examples"][example["$ref"].rpartition("/")[2]]
        yield key, example["value"]


def test_links_fill_the_path_of_an_operation() -> None:
    links = OPENAPI["components"]["links"]
    for name, link in links.items():
        assert set(link["parameters"]) == set(OPERATIONS[link["operationId"]].path_parameters), name
    successes = [described(operation)["responses"]["2XX"] for operation in OPERATIONS]
    used = {name for success in successes for name in success.get("links", {})}
    assert used >= {"getBeneficiary", "getVirtualAccount", "getAccountBalances", *OPERATION_SETS["list"]}


@pytest.mark.parametrize("operation", ITEMS)
def test_lists_are_the_envelope_of_section_8(operation: str) -> None:
    found, envelope = response_schema(operation), SCHEMAS["list_envelope.json"]
    assert (found["type"], found["x-rule"]) == (envelope["type"], envelope["x-rule"])
    assert found["required"] == envelope["required"] == list(found["properties"])
    for name, described in envelope["properties"].items():
        assert {key: value for key, value in found["properties"][name].items() if key != "items"} == described


@pytest.mark.parametrize(
    ("operation", "change", "rule"),
    [
        ("getVirtualAccount", {"currency": "EURO"}, "format.fields"),
        ("getVirtualAccount", {"created": "0001-01-01T00:00:00Z"}, "format.timestamp"),
        ("getVirtualAccount", {"created": "0000-12-31T00:00:00Z"}, "format.timestamp"),
        ("getVirtualAccount", {"created": "0002-01-01T00:00:00Z"}, ""),
        ("getVirtualAccount", {"bank_details": {"iban": None, "ibans": None, "bic": None}}, ""),
        ("getVirtualAccount", {"bank_details": {"ibans": [None]}}, "format.bank-details"),
        ("getVirtualAccount", {"bank_details": {"iban": "none"}}, "format.iban"),
        ("getVirtualAccount", {"bank_details": {"ibans": ["DE89 3704 0044 0532 0130 00"]}}, ""),
        ("getBeneficiary", {"country_code": "USA"}, "format.fields"),
        ("getBeneficiary", {"country_code": "us"}, ""),
        ("createPayoutDestination", {"currency": "USDC"}, "format.fields"),
        ("createPayoutDestination", {"type": "wallet", "currency": "USDC"}, ""),
        ("createPayoutDestination", {"type": "card", "currency": "USDC"}, ""),
        ("createPayoutDestination", {"account_number_last4": "12345"}, "format.fields"),
        ("createPayoutDestination", {"account_number_last4": "42"}, ""),
        ("listWallets", {"total": 1.0}, "list.envelope"),
        ("listWallets", {"total": True}, "list.envelope"),
    ],
)
def test_answers_hold_codes_instants_and_integers_of_the_documented_form(
    operation: str, change: dict[str, Any], rule: str
) -> None:
    content = described(operation)["responses"]["2XX"]["content"]["application/json"]
    example = next(value for _, value in _examples(content))
    assert response_problems(operation, example) == []
    assert {problem.rule for problem in response_problems(operation, {**example, **change})} == {rule} - {""}


def test_the_currency_of_a_fiat_balance_has_three_letters() -> None:
    content = described("getAccountBalances")["responses"]["2XX"]["content"]["application/json"]
    example = content["example"]
    balance = example["balances"][0]
    for change, found in (
        ({"currency": "DOLLAR"}, {"/balances/0/currency"}),
        ({"currency": "USDC", "currency_type": "crypto"}, set()),
    ):
        document = {**example, "balances": [{**balance, **change}]}
        assert {problem.pointer for problem in response_problems("getAccountBalances", document)} == found
