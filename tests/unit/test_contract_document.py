"""The editions of the OpenAPI document: made from their source, valid, and of one mind with the rulings.

The corpus has requests and answers, each with the verdict of the rulings; what they leave open is not in it.
Its rows come from the tables of tests/specification.py, which nothing in spec/ is derived from.
"""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from conformance.contract.documents import SPEC
from conformance.contract.operations import OPERATIONS, error_problems, request_problems, response_problems
from conformance.contract.rules import RULES, Level
from tests.specification import (
    ADDRESS,
    ANSWERS,
    BALANCE,
    BALANCE_MONEY,
    BODIES,
    ITEMS,
    LIMITS,
    RESOURCES,
    Field,
)
from tests.support.spec_files import OPENAPI, examples, walk
from tests.support.vectors import VECTORS

openapi_spec_validator = pytest.importorskip("openapi_spec_validator")
openapi_schema_validator = pytest.importorskip("openapi_schema_validator")

FILES = {"openapi.bundled.json": "OpenAPIV31SpecValidator", "openapi-3.0.json": "OpenAPIV30SpecValidator"}
EDITIONS: dict[str, Any] = {name: json.loads((SPEC / name).read_bytes()) for name in FILES}
BUNDLED = EDITIONS["openapi.bundled.json"]

each_edition = pytest.mark.parametrize("name", FILES)


def described(operation: str, document: dict[str, Any] = BUNDLED) -> dict[str, Any]:
    path, method = OPERATIONS[operation].path, OPERATIONS[operation].method.lower()
    return dict(document["paths"][path][method])


# ---------------------------------------------------------------------- form


@each_edition
def test_file_is_what_its_source_makes(name: str) -> None:
    made = runpy.run_path(str(SPEC / "bundle.py"))["editions"]()
    assert (SPEC / name).read_text("utf-8") == made[name], "run `python spec/bundle.py`"


@each_edition
def test_edition_is_valid(name: str) -> None:
    validator = getattr(openapi_spec_validator, FILES[name])
    assert [error.message for error in validator(EDITIONS[name]).iter_errors()] == []


@each_edition
def test_edition_keeps_formats_and_defaults_and_no_annotation_of_this_project(name: str) -> None:
    keys = {path[-1] for path, _ in walk(EDITIONS[name]) if path}
    assert not keys & {"$defs", "$schema", "x-rule", "x-code"}
    parameters, schemas = (EDITIONS[name]["components"][kind] for kind in ("parameters", "schemas"))
    assert parameters["Idempotency-Key"]["schema"] == {"type": "string", "format": "uuid"}
    assert parameters["start_date"]["schema"]["type"] == parameters["end_date"]["schema"]["type"] == "string"
    assert schemas["PayoutDestinationCreate"]["properties"]["is_default"]["default"] is False


def test_the_worked_example_is_a_signing_vector() -> None:
    vector = next(vector for vector in VECTORS if vector["id"] == "post-compact")
    for page in (OPENAPI["info"]["description"], (SPEC / "signing.md").read_text("utf-8")):
        for member in [
            "signature_string",
            "signature",
            "api_key",
            "secret",
            "timestamp",
            "nonce",
            "target",
            "body",
        ]:
            assert vector[member] in page, member


# ---------------------------------------------------------------------- the corpus

#: Place (a body, an answer's status or a parameter), operation, value, and whether the rulings let it pass.
Row = tuple[str, str, Any, bool]

#: Values of another JSON type, by type.
OTHER_TYPES: dict[str, tuple[Any, ...]] = {
    "string": (5, True, [], {}),
    "object": ("x", 5, []),
    "array": ("x", {}),
    "boolean": ("true", 1),
}

NO_OBJECTS: tuple[Any, ...] = (None, [], "x", 5)

AMOUNTS = {
    True: ("1", "0.01", "100.00", "98765432.10"),
    False: ("0", "0.00", "-1", "abc", "", "NaN", "Infinity", 5),
}
MONEY = {True: ("0", "1", "0.000", "-1.50"), False: (5, "1e3", "abc", "", "+1", ".5", "NaN")}
TIMES = {
    True: ("2025-03-04T09:15:27Z", "2025-03-04T09:15:27.4Z", "2025-03-04T09:15:27.418203117Z"),
    False: ("2025-03-04T09:15:27+00:00", "2025-03-04 09:15:27Z", "2025-03-04", "0001-01-01T00:00:00Z", 5),
}
BALANCE_VALUES = {**dict.fromkeys(BALANCE_MONEY, MONEY), "updated_at": TIMES}
KEYS = {
    True: ("1c0c6a3e-8f5b-4d1e-9a77-2b64c1f0d3e8", "1C0C6A3E-8F5B-4D1E-9A77-2B64C1F0D3E8"),
    False: (
        "1-2345678-9abc-def0-1234-56789abcdef0",
        "1c0c6a3e-8f5b-4d1e-9a77-2b64c1f0d3e8\n",
        "1c0c6a3e8-f5b-4d1e-9a77-2b64c1f0d3e8",
        "not-a-uuid",
        "1c0c6a3e",
    ),
}

#: Ids that a server has not are answered with 404, whatever their form.
IDS = ("cus_1", "acc_1", "bene_1", "17", "x", "CUS_1", "1c0c6a3e-8f5b-4d1e-9a77-2b64c1f0d3e8", "ä")

PATH_PARAMETERS = ("customer_id", "account_id", "beneficiary_id", "virtual_account_id")

INSTANTS = ("2025-03-01T00:00:00Z", "2025-03-01T00:00:00.5Z")

#: Fields whose texts may have a form of their own: a refusal of the longest says nothing.
OF_A_FORM = {"title", "tax_id", "phone", "iban", "swift_code", "email"}


def body_examples(operation: str) -> list[Any]:
    content = described(operation)["requestBody"]["content"]["application/json"]
    return [example for _, example in examples(content, BUNDLED)]


def answer_example(operation: str) -> Any:
    content = next(iter(described(operation)["responses"].values()))["content"]["application/json"]
    return next(example for _, example in examples(content, BUNDLED))


def changes(document: dict[str, Any], name: str, values: dict[bool, Any]) -> Iterator[tuple[Any, bool]]:
    for passes, some in values.items():
        for value in some:
            yield {**document, name: value}, passes


def bodies(operation: str) -> Iterator[tuple[Any, bool]]:
    """Yields bodies with their verdicts (sections 4.1 to 4.7 and 8)."""
    required, fields = BODIES[operation]
    yield from ((example, True) for example in body_examples(operation))
    yield from ((value, False) for value in NO_OBJECTS)
    example = body_examples(operation)[0]
    for name in required:
        yield {key: value for key, value in example.items() if key != name}, False
        kind = "object" if name == "address" else "string"
        yield from changes(example, name, {False: (None, *OTHER_TYPES[kind])})
    for name, limit in LIMITS[operation].items():
        yield {**example, name: "x" * (limit + 1)}, False
        if name not in OF_A_FORM:
            yield {**example, name: "x" * limit}, True
    for name in fields & {"country_code", "country"}:
        yield from changes(example, name, {True: ("US", "DE"), False: ("USA", "U", "U1")})
    if operation in ("createPayout", "createPayin", "createVirtualAccount", "createPayoutDestination"):
        yield from changes(example, "currency", {True: ("USD", "EUR"), False: ("DOLLAR", "US", "U5D")})
    if "address" in fields:
        inner = example.get("address", {})
        for member in ADDRESS[:2]:
            yield {**example, "address": {**inner, member: 5}}, False
    for name in fields & {"beneficiary_type", "type", "account_type"}:
        yield from changes(example, name, {False: ("other", 5)})
    match operation:
        case "createBeneficiary":
            business = body_examples(operation)[1]
            yield {key: value for key, value in business.items() if key != "company_name"}, False
        case "updateBeneficiary":
            yield from (
                ({name: value}, True) for name, value in body_examples("createBeneficiary")[0].items()
            )
            yield from (({name: 5}, False) for name in fields)
            yield {}, True
        case "createPayoutDestination":
            wallet = body_examples(operation)[2]
            yield {key: value for key, value in wallet.items() if key != "network"}, False
            yield {**wallet, "currency": "USD"}, True
        case "createPayout":
            yield from changes(example, "amount", AMOUNTS)
            for name in ("beneficiary_id", "payout_destination_id"):
                yield from changes(example, name, {True: IDS})
        case "createPayin":
            yield from changes(example, "amount", {True: ("1.50",), False: ("abc", 5)})


def field_values(field: Field) -> dict[bool, tuple[Any, ...]]:
    """Returns values of a field in an answer, by their verdict (section 2)."""
    null_passes = field.nullable or field.sometimes
    kind = {"time": "string", "money": "string"}.get(field.type, field.type)
    found: dict[bool, tuple[Any, ...]] = {True: (), False: OTHER_TYPES[kind]}
    found[null_passes] += (None,)
    more: dict[bool, tuple[Any, ...]] = {}
    if field.type in ("time", "money"):
        more = TIMES if field.type == "time" else MONEY
    elif field.values:
        # The one value of a payin is only one of them.
        more = {True: field.values, False: ("other", field.values[0].upper())}
        more = more if len(field.values) > 1 else {}
    elif field.prefix and field.prefix != "acc_":
        more = {True: (f"{field.prefix}1",), False: ("other_1", "", field.prefix)}
    elif field.prefix:
        more = {True: ("acc_1", "acct_1", "17"), False: ("",)}
    elif field.name == "object":
        more = {False: ("other", "")}
    elif field.limit:
        more = {True: ("x" * field.limit,), False: ("x" * (field.limit + 1),)}
    return {passes: (*found[passes], *more.get(passes, ())) for passes in found}


def answers(operation: str) -> Iterator[tuple[Any, bool]]:
    """Yields successful answers with their verdicts (sections 2 and 8)."""
    example, fields = answer_example(operation), RESOURCES[ANSWERS[operation]]
    yield example, True
    yield {**example, "request_id": "x", "etag": None}, True
    yield from ((value, False) for value in NO_OBJECTS)
    if operation in ITEMS:
        for name in ("items", "total", "page", "size", "pages"):
            yield {key: value for key, value in example.items() if key != name}, False
            yield from changes(example, name, {False: (None, "1", 1.5)})
        item = example["items"][0]
        for name in ITEMS[operation].split():
            lacking = {key: value for key, value in item.items() if key != name}
            yield {**example, "items": [lacking]}, False
            for changed, passes in changes(item, name, field_values(fields[name])):
                yield {**example, "items": [changed]}, passes
        if operation == "listWallets":
            for name, value in (("addresses", []), ("updated", item["created"]), ("other", 1)):
                yield {**example, "items": [{**item, name: value}]}, name == "other"
        return
    for name, field in fields.items():
        yield {key: value for key, value in example.items() if key != name}, field.sometimes
        yield from changes(example, name, field_values(field))
    match ANSWERS[operation]:
        case "account_balances":
            [balance] = example["balances"]
            for name in BALANCE:
                for changed, passes in changes(balance, name, BALANCE_VALUES.get(name, {False: (None, 5)})):
                    yield {**example, "balances": [changed]}, passes
            yield {**example, "balances": [{**balance, "currency": "DOLLAR"}]}, False
            yield {**example, "balances": [{**balance, "currency": "USDC", "currency_type": "crypto"}]}, True
        case "payout_destination":
            yield {**example, "currency": "USDC"}, False
            yield {**example, "currency": "USDC", "type": "wallet"}, True
        case "virtual_account":
            yield from changes(example, "currency", {True: ("usd",), False: ("EURO", "E")})
            for value, passes in ((None, True), ("no IBAN", True), (5, False)):
                yield {**example, "bank_details": {"iban": value}}, passes
            for value, passes in ((["no IBAN"], True), ([], True), ([None], False), ("x", False)):
                yield {**example, "bank_details": {"ibans": value}}, passes
        case "wallet":
            for value in ([], [{}], [{"address": "x"}], [{"address": None, "tag": None}]):
                yield {**example, "addresses": value}, False
            yield {**example, "addresses": [{"address": "x", "tag": "1"}]}, True


def corpus() -> Iterator[Row]:
    for operation in BODIES:
        yield from (("body", operation, body, passes) for body, passes in bodies(operation))
    for operation in ANSWERS:
        yield from (("200", operation, answer, passes) for answer, passes in answers(operation))
    error = {"type": "authentication_error", "code": "nonce_replay", "message": "Used."}
    for status in ("401", "403", "404"):
        yield status, "listWallets", {"error": {**error, "param": None}, "id": 1}, True
        for name in error:
            lacking = {key: value for key, value in error.items() if key != name}
            yield status, "listWallets", {"error": lacking}, False
            yield status, "listWallets", {"error": {**error, name: 5}}, False
        yield from ((status, "listWallets", answer, False) for answer in (*NO_OBJECTS, {}, {"error": "x"}))
    yield from (("default", "createWallet", answer, True) for answer in (*NO_OBJECTS, {}, {"error": error}))
    parameters: dict[str, dict[bool, Any]] = {
        **{key: {True: IDS} for key in PATH_PARAMETERS},
        "Idempotency-Key": KEYS,
        "page": {True: (1, 2, 1_000_000), False: ()},
        "size": {True: (1, 10, 100), False: ()},
        "start_date": {True: INSTANTS},
        "end_date": {True: INSTANTS},
        "status": {True: ("active", "inactive")},
        "statuses": {True: (["active"], ["active", "suspended"], [])},
        "fiat_currency": {True: ("EUR", "USD")},
        "crypto_currency": {True: ("USDC", "BTC")},
    }
    for name, values in parameters.items():
        for passes, some in values.items():
            yield from ((name, "", value, passes) for value in some)


def by_source(place: str, operation: str, value: Any) -> bool:
    """Decides by the package, which reads openapi.yaml and spec/schemas; implied rules only warn."""
    if place == "body":
        return not request_problems(operation, json.dumps(value).encode())
    if place == "200":
        found = response_problems(operation, value)
        return not [problem for problem in found if RULES[problem.rule].level is Level.REQUIRED]
    if place == "default":
        return True
    if place.isdigit():
        return not error_problems(value)
    return bool(_parameter(OPENAPI, Draft202012Validator, place).is_valid(value))


def _problems(place: str, operation: str, value: Any) -> str:
    """What openapi.yaml and its schemas say of a body or an answer."""
    if place == "body":
        return ", ".join(request_problems(operation, json.dumps(value).encode()))
    answered = response_problems(operation, value) if place == "200" else ()
    return ", ".join(f"{problem.pointer} {problem.message}" for problem in answered)


def _parameter(document: dict[str, Any], validator: Any, name: str) -> Any:
    return validator(
        document["components"]["parameters"][name]["schema"], format_checker=FormatChecker(["uuid"])
    )


def by_edition(name: str) -> Callable[[str, str, Any], bool]:
    """Returns the decision by an edition, with a validator of its dialect and nothing of this project."""
    document = EDITIONS[name]
    validator = (
        Draft202012Validator if name == "openapi.bundled.json" else openapi_schema_validator.OAS30Validator
    )

    def decided(place: str, operation: str, value: Any) -> bool:
        if not operation:
            return bool(_parameter(document, validator, place).is_valid(value))
        whole = described(operation, document)
        if place == "body":
            content = whole["requestBody"]["content"]
        else:
            responses = whole["responses"]
            response = next(iter(responses.values())) if place == "200" else responses[place]
            if "$ref" in response:
                response = document["components"]["responses"][response["$ref"].rpartition("/")[2]]
            content = response["content"]
        schema = {**content["application/json"]["schema"], "components": document["components"]}
        return bool(validator(schema).is_valid(value))

    return decided


CORPUS = list(corpus())


def test_corpus_has_hundreds_of_requests_and_answers_of_either_verdict() -> None:
    for passes in (True, False):
        assert sum(row[0] == "body" and row[3] is passes for row in CORPUS) > 60
        assert sum(row[0].isdigit() and row[3] is passes for row in CORPUS) > 150


@pytest.mark.parametrize("decided", [by_source, *map(by_edition, FILES)], ids=["source", *FILES])
def test_documents_decide_as_the_rulings_do(decided: Callable[[str, str, Any], bool]) -> None:
    wrong = [
        f"{place} {operation} is {'refused' if passes else 'accepted'}: {_problems(place, operation, value)} "
        f"{json.dumps(value)[:300]}"
        for place, operation, value, passes in CORPUS
        if decided(place, operation, value) is not passes
    ]
    assert not wrong, "\n".join([*wrong[:5], f"{len(wrong)} in all"])


def test_a_number_of_any_length_is_one() -> None:
    """Also one that no float holds."""
    page = {"items": [], "total": 10**400, "page": 1, "size": 10, "pages": -(10**400)}
    assert [problem.pointer for problem in response_problems("listAccounts", page)] == ["/pages"]
