"""openapi.yaml against section 4 of the specification, with its examples and links."""

from __future__ import annotations

import pytest

from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import OPERATION_SETS, SPEC
from tests.specification import PATHS
from tests.support.spec_files import OPENAPI, described


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
