"""The reference server keeps the rules of authentication, idempotency, tenancy and bodies on any input."""

from __future__ import annotations

import inspect
import json
import random
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance.contract import signing
from conformance.contract.operations import OPERATIONS
from conformance.reference import fields, routes
from conformance.reference.behaviour import Behaviour
from conformance.reference.messages import Request
from conformance.reference.refusals import KINDS
from conformance.reference.seed import new_server
from conformance.wire.messages import Exchange
from tests.support.reference_world import ADDRESS, BODIES, POSTS, World, refusal

RULES = {
    rule["id"]: rule
    for rule in yaml.safe_load(
        (Path(__file__).parents[2] / "spec" / "rules.yaml").read_text(encoding="utf-8")
    )["rules"]
}


# --------------------------------------------------------------------------- the catalogue


def test_every_rule_is_kept_by_a_seam_that_names_it() -> None:
    seams = {name: seam.__doc__ for name, seam in inspect.getmembers(Behaviour, inspect.isfunction)}
    assert not [name for name, text in seams.items() if not text]
    families = "|".join({rule.partition(".")[0] for rule in RULES})
    named = set(re.findall(rf"\b(?:{families})\.[a-z0-9-]*[a-z0-9]", " ".join(map(str, seams.values()))))
    assert {rule for rule in RULES if RULES[rule]["level"] != "open"} <= named <= set(RULES)


def test_fields_agree_with_the_contract() -> None:
    for name, operation in OPERATIONS.items():
        own = fields.FIELDS.get(name, ())
        properties = (operation.request_schema or {}).get("properties", {})
        assert {field.name for field in own} == set(properties), name
        assert {field.name for field in own if field.required} == set(operation.required_fields), name
        for field in own:
            assert properties[field.name].get("maxLength") == field.max_length, f"{name}.{field.name}"
            assert tuple(properties[field.name].get("enum", ())) == field.choices, f"{name}.{field.name}"


def test_stated_errors_are_those_of_section_7() -> None:
    stated = {
        "invalid_signature": (401, "authentication_error"),
        "timestamp_too_old": (401, "authentication_error"),
        "nonce_replay": (401, "authentication_error"),
        "missing_headers": (401, "authentication_error"),
        "invalid_idempotency_key": (400, "validation_error"),
        "idempotency_key_conflict": (409, "idempotency_error"),
    }
    for code, (status, kind) in stated.items():
        assert KINDS[code][:3] == (status, kind, code)


def test_all_operations_answer(world: World) -> None:
    for operation in routes.ROUTES:
        exchange = world.send(world.call(operation))
        assert exchange.status == (201 if operation.startswith("create") else 200), exchange.described()
        assert exchange.header("content-type") == "application/json"
        assert exchange.header("date") == "Fri, 15 Jan 2027 08:00:00 GMT"


@pytest.mark.parametrize(("path", "status"), [("/api", 200), ("/API", 404), ("/xyz", 404), ("", 404)])
def test_everything_is_under_the_prefix(path: str, status: int) -> None:
    server, seeded = new_server(prefix="/api/")
    tenant = seeded.primary
    target = f"{path}/v1/customers/{tenant.customer_id}/accounts".encode()
    head = signing.signed_headers(tenant.api_key, tenant.secret, "GET", target)
    request = Request("GET", target, [(name.encode(), value.encode()) for name, value in head.items()])
    assert server.handle(request).status == status


# --------------------------------------------------------------------------- authentication


@pytest.mark.parametrize("operation", routes.ROUTES)
def test_authentication_refuses_every_defect_on_every_operation(world: World, operation: str) -> None:
    call, before = world.call(operation), world.rows()
    for header in signing.HEADERS:
        assert refusal(world.send(call.signed(omit=(header,)))) == (401, "missing_headers")
        assert world.send(call.signed(empty=(header,))).status == 401
    assert world.send(call.signed(nonce="")).status == 401
    assert world.send(call.but(headers=(("x-nonce", "d" * 32),))).status == 401
    bearer = call.but(headers=(("Authorization", "Bearer x"),)).signed(omit=signing.HEADERS)
    assert refusal(world.send(bearer)) == (401, "missing_headers")
    assert refusal(world.send(call.signed(api_key="key_unknown"))) == (401, "invalid_api_key")
    for text in ("abc", "1.5", "0x10"):
        assert refusal(world.send(call.signed(timestamp=text))) == (401, "invalid_timestamp")
    for text in ("0", "-1", "9" * 40, str(world.clock.now // 1000)):
        assert refusal(world.send(call.signed(timestamp=text))) == (401, "timestamp_too_old")
    other = world.seeded.secondary.secret
    now = str(world.clock.now // 1_000_000 - 1)
    for changes in (
        {"secret": "wrong"},
        {"secret": other},
        {"signed_method": "PUT"},
        {"signed_target": call.path[3:]},
        {"signed_target": call.target + "?a=1"},
        {"signed_timestamp": now},
        {"signed_nonce": "a" * 32},
        {"signed_body": (call.body or b"") + b" "},
        {"separator": "\n"},
        {"mangle": "upper"},
        {"mangle": "one-short"},
        {"mangle": "flip-last"},
    ):
        assert refusal(world.send(call.signed(**changes))) == (401, "invalid_signature"), changes
    assert world.rows() == before
    assert world.send(call).succeeded


@pytest.mark.parametrize("seconds", [300, -300])
def test_timestamp_window_ends_after_300_seconds(world: World, seconds: int) -> None:
    call = world.call("listAccounts")
    beyond = seconds + (1 if seconds > 0 else -1)
    assert world.send(call.signed(timestamp_offset=seconds)).succeeded
    assert refusal(world.send(call.signed(timestamp_offset=beyond))) == (401, "timestamp_too_old")


def test_nonce_is_used_up_by_the_first_authenticated_request(world: World) -> None:
    nonce = "0123456789abcdef" * 2
    read = world.call("listAccounts").signed(nonce=nonce)
    write = world.call("createAccount").signed(nonce=nonce)
    assert refusal(world.send(write.signed(secret="wrong"))) == (401, "invalid_signature")
    assert world.send(write).succeeded
    assert refusal(world.send(write)) == (401, "nonce_replay")
    assert refusal(world.send(read.signed(timestamp_offset=5))) == (401, "nonce_replay")
    assert world.send(
        world.call("listAccounts", customer_id=world.seeded.secondary.customer_id).signed(nonce=nonce),
        "secondary",
    ).succeeded


def test_nonce_is_remembered_as_long_as_its_request_could_be_replayed(world: World) -> None:
    call = world.call("listAccounts").signed(nonce="a" * 32)
    ahead = call.signed(timestamp=str(world.clock.now // 1_000_000 + 300))
    assert world.send(ahead).succeeded
    world.clock.forward(599)
    assert refusal(world.send(ahead)) == (401, "nonce_replay")
    world.clock.forward(60)
    assert world.send(call).succeeded
    world.clock.forward(400)
    world.send(world.call("listAccounts"))
    assert world.server.store.query("SELECT COUNT(*) FROM nonces")[0][0] == 1


def test_path_query_and_body_are_signed_as_sent(world: World) -> None:
    listing = world.call("listVirtualAccounts")
    for query in ("size=5&page=1", "page=1&size=5", "start%5fdate=2026-01-01T00%3a00:00Z", "", "size=%35"):
        target = f"{listing.path}?{query}"
        assert world.send(listing.but(target=target)).succeeded, target
    encoded = listing.but(target=listing.path.replace("accounts", "acc%6Funts").replace("acc_", "acc%5f"))
    assert world.send(encoded).succeeded
    for text in (' {\n"name":\t"x"}\r\n', '{"name": "Zoë 🙂"}', '{"name": "\\u00e4\\ud83d\\ude42"}'):
        assert world.send(world.call("createAccount").but(body=text.encode())).succeeded
    for case in ("lower", "upper", "swapped"):
        assert world.send(world.call("createAccount").signed(name_case=case)).succeeded


# --------------------------------------------------------------------------- idempotency


@pytest.mark.parametrize("operation", POSTS)
def test_idempotency_of_every_post(world: World, operation: str) -> None:
    call = world.call(operation)
    assert refusal(world.send(call.but(idempotency_key=None))) == (400, "missing_idempotency_key")
    twice = (("Idempotency-Key", str(uuid.uuid4())),)
    assert refusal(world.send(call.but(headers=twice))) == (400, "invalid_idempotency_key")
    for key in ("", "not-a-uuid", uuid.uuid4().hex):
        assert refusal(world.send(call.but(idempotency_key=key))) == (400, "invalid_idempotency_key")
    first = world.send(call)
    rows = world.rows()
    world.clock.forward(5)
    world.make("updateBeneficiary", {"note": "later"})
    again = world.send(call)
    assert (again.status, again.response_body) == (first.status, first.response_body)
    assert world.send(call.but(idempotency_key=str(call.idempotency_key).upper())).document == first.document
    other = call.but(body=(call.body or b"{}") + b" ")
    assert refusal(world.send(other)) == (409, "idempotency_key_conflict")
    assert refusal(world.send(call.signed(nonce=again.nonce))) == (401, "nonce_replay")
    assert world.rows() == rows
    assert world.send(call.but(idempotency_key=str(uuid.uuid4()).upper())).status in (200, 201, 409)


def test_idempotency_keys_are_each_organizations_own_and_not_used_up_by_refusals(world: World) -> None:
    call = world.call("createAccount")
    first = world.send(call)
    theirs = world.send(
        world.call("createAccount", customer_id=world.seeded.secondary.customer_id).but(
            idempotency_key=call.idempotency_key
        ),
        "secondary",
    )
    assert theirs.succeeded and theirs.get("id") != first.get("id")
    bad = world.call("createAccount", {"name": 5})
    assert world.send(bad).status == 422
    assert world.send(bad.with_json({"name": "now valid"})).succeeded


# --------------------------------------------------------------------------- tenancy


@pytest.mark.parametrize("operation", routes.ROUTES)
def test_tenancy_of_every_operation(world: World, operation: str) -> None:
    theirs = World.__new__(World)
    theirs.__dict__.update(world.__dict__, ids={"customer_id": world.seeded.secondary.customer_id})
    theirs.send = lambda call, who="secondary": world.send(call, "secondary")  # type: ignore[method-assign]
    theirs.ids["account_id"] = theirs.make("createAccount")["id"]
    theirs.ids["beneficiary_id"] = theirs.make("createBeneficiary")["id"]
    theirs.ids["virtual_account_id"] = theirs.make("createVirtualAccount")["id"]
    sibling = world.make("createAccount")["id"]
    siblings = {
        "beneficiary_id": world.make("createBeneficiary", account_id=sibling)["id"],
        "virtual_account_id": world.make("createVirtualAccount", account_id=sibling)["id"],
    }
    parameters = re.findall(r"\{(\w+)\}", routes.ROUTES[operation][1])
    top, before = parameters[0], world.rows()

    def answer(**ids: str) -> Exchange:
        return world.send(world.call(operation, **ids))

    foreign = answer(**{top: theirs.ids[top]})
    assert refusal(foreign) == (403, "forbidden")
    assert theirs.ids[top] not in foreign.response_body.decode()
    for unknown in ("nothing", "acc_%00", "%ff", "a%2Fb", "%F0%9F%99%82", "cus_" + "x" * 2000):
        assert answer(**{top: unknown}).status == 404
    for child in parameters[1:]:
        assert answer(**{child: "nothing"}).status == 404
        assert answer(**{child: theirs.ids[child]}).status == 404
        if child in siblings:
            assert answer(**{child: siblings[child]}).status == 404
    if operation == "getAccountBalances":
        other = world.make("createAccount", customer_id=world.seeded.primary.other_customer_id)["id"]
        before += 1
        assert answer(account_id=other).status == 404
    assert world.rows() == before


def test_payout_names_a_beneficiary_and_its_destination_of_the_account(world: World) -> None:
    sibling = world.make("createAccount")["id"]
    stranger = world.make("createBeneficiary", account_id=sibling)["id"]
    theirs = world.make("createPayoutDestination", account_id=sibling, beneficiary_id=stranger)["id"]
    second = world.make("createBeneficiary")["id"]
    for ids in (
        {"beneficiary_id": stranger},
        {"beneficiary_id": "bene_none"},
        {"beneficiary_id": second},
        {"payout_destination_id": theirs},
        {"payout_destination_id": "dest_none"},
        {"beneficiary_id": stranger, "payout_destination_id": theirs},
    ):
        assert world.send(world.call("createPayout", **ids)).status == 404, ids


# --------------------------------------------------------------------------- bodies


def _bad_values(field: fields.Field) -> Iterator[Any]:
    yield from (5, True, [], {}) if field.kind not in fields.TYPES else ("text", 5, [])
    if field.max_length:
        yield "é" * (field.max_length + 1)
    match field.kind:
        case "enum":
            yield from ("other", "", field.choices[0].upper())
        case "country":
            yield from ("USA", "U", "ZZ", "1A", "", "U\n")
        case "currency" | "destination_currency":
            yield from ("US", "USDC", "ZZZ", "U$D", "", "USD ")
        case "amount":
            yield from ("0", "0.00", "-1", "abc", "", "NaN", "Infinity", "1.", ".5", "1,5", "1e3", " 1", "１")
        case "address":
            yield from ({"city": "x"}, {**ADDRESS, "city": None}, {**ADDRESS, "country": 5})
        case "optional_address":
            yield {"city": 5}


@pytest.mark.parametrize("operation", fields.FIELDS)
def test_every_field_is_checked(world: World, operation: str) -> None:
    before, shown = world.rows(), world.make("getBeneficiary")
    call = world.call(operation)
    valid = []
    for field in fields.FIELDS[operation]:
        bad = [call.with_field(field.name, value) for value in _bad_values(field)]
        if field.required:
            bad += [call.without_field(field.name), call.with_field(field.name, None)]
        for probe in bad:
            assert world.send(probe).status == 422, (field.name, probe.body)
        if field.max_length and field.name not in ("iban", "swift_code"):
            valid.append((field.name, "é" * field.max_length))
    assert (world.rows(), world.make("getBeneficiary")) == (before, shown)
    for name, value in valid:
        assert world.send(world.call(operation).with_field(name, value)).get(name) == value


def test_fields_that_depend_on_others(world: World) -> None:
    business = world.call("createBeneficiary").with_field("beneficiary_type", "business")
    assert world.send(business).status == 422
    assert world.send(business.with_field("company_name", "ACME")).get("company_name") == "ACME"
    assert world.send(world.call("updateBeneficiary", {"beneficiary_type": "business"})).status == 422
    wallet = {"country": "US", "type": "wallet", "currency": "USDC", "wallet_address": "0x" + "ab" * 20}
    assert world.send(world.call("createPayoutDestination", wallet)).status == 422
    for currency in ("USDC", "USD"):
        made = world.make("createPayoutDestination", {**wallet, "currency": currency, "network": "ethereum"})
        assert made["wallet_address_masked"] == "0xab****abab"
    assert world.make("createPayoutDestination", {"country": "US", "type": "card", "currency": "USD"})


HOSTILE = [
    b"",
    b"{",
    b"null",
    b"true",
    b"5",
    b'"x"',
    b"[]",
    b"\xff\xfe{}",
    b'{"name": "\xff"}',
    b"\xef\xbb\xbf{}",
    b'{"name": NaN}',
    b'{"x": Infinity}',
    b'{"name": "x"',
    b"{'name': 'x'}",
    b'{"name": "a\nb"}',
    b'{"name": "\x00"}',
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b'{"name": ' + b"[" * 100_000,
    b'{"x": ' + b"9" * 100_000 + b"}",
    b'{"name": "\\ud800"}',
    b'{"name": "x"} {}',
    b"{} x",
]


@pytest.mark.parametrize("operation", fields.FIELDS)
def test_malformed_bodies_are_refused(world: World, operation: str) -> None:
    before = world.rows()
    for body in HOSTILE:
        if operation == "updateBeneficiary" and b"ud800" in body:
            continue
        exchange = world.send(world.call(operation).but(body=body))
        assert exchange.refused and exchange.error_type == "validation_error", body[:40]
    assert world.rows() == before


def test_legal_oddities_are_answered(world: World) -> None:
    for body in (
        b'{"name": "a\\u0000b"}',
        b'{"name": 1, "name": "last"}',
        b'{"name": "x", "n": 1e400}',
        b'{"name": "x", "\\ud800": "\\udfff"}',
        b'{"name": "x", "__proto__": {}}',
    ):
        assert world.send(world.call("createAccount").but(body=body)).succeeded, body
    address = {**ADDRESS, "\ud800": "\udfff", "deep": [[]]}
    body = json.dumps({**BODIES["createBeneficiary"], "address": address}).encode()
    assert world.send(world.call("createBeneficiary").but(body=body)).get("address") == ADDRESS
    assert world.send(world.call("createAccount").but(body=b" " * 3_000_000)).status == 413
    assert world.make("createAccount", {"name": "a\0b"})["name"] == "a\0b"


def test_no_mutation_of_a_request_is_answered_with_5xx(world: World) -> None:
    source = random.Random(7)
    calls = [world.call(operation) for operation in routes.ROUTES]
    for call in calls[:]:
        if call.method == "GET":
            calls.append(call.with_query("page=1&size=5&statuses=active&start_date=2026-01-01&currency=EUR"))
    tenant = world.seeded.primary

    def mutated(text: bytes) -> bytes:
        data = bytearray(text)
        for _ in range(source.randint(1, 4)):
            place = source.randrange(len(data) + 1)
            data[place : place + source.randint(0, 3)] = source.choice(
                (
                    b"",
                    b"%",
                    b"%zz",
                    b"%00",
                    b"\xff",
                    b"\xc3\xa9",
                    b"?",
                    b"&",
                    b"=",
                    b"/",
                    b'"',
                    b"\\",
                    b"{",
                    b"[1]",
                    b"null",
                    b"9" * 30,
                    b"-1",
                    b"\\ud83d",
                    b"\0",
                    b"..",
                    source.randbytes(3),
                )
            )
        return bytes(data)

    def odd(document: dict[str, Any]) -> dict[str, Any]:
        name = source.choice([*document, "\ud800", "company_name", "network"])
        value = document.get(name)
        if isinstance(value, dict) and source.random() < 0.7:
            return {**document, name: odd(value)}
        return {
            **document,
            name: source.choice(
                (
                    None,
                    True,
                    -1,
                    1.5,
                    10**400,
                    "",
                    "\0",
                    "\udfff",
                    "🙂" * 60,
                    [[]],
                    {"\ud800": "\ud800"},
                    "1e999999999",
                    "-0",
                    "9" * 100,
                    "USD",
                    "US",
                    "wallet",
                    "business",
                )
            ),
        }

    for number in range(4000):
        call = source.choice(calls)
        method, target, body = call.method, call.target.encode(), call.body or b""
        match number % 5:
            case 4:
                body = json.dumps(odd(json.loads(body or b"{}"))).encode()
            case 0:
                target = mutated(target)
            case 1:
                body = mutated(body)
            case 2:
                method = source.choice(("GET", "POST", "PATCH", "PUT", "DELETE", "HEAD", "OPTIONS", "BREW"))
        head = signing.signed_headers(
            tenant.api_key, tenant.secret, method, target, body, timestamp=str(world.clock.now // 1_000_000)
        )
        headers = [(name.encode(), value.encode()) for name, value in head.items()]
        headers.append((b"Idempotency-Key", str(uuid.uuid4()).encode()))
        if number % 5 == 3:
            place = source.randrange(len(headers))
            headers[place] = (headers[place][0], mutated(headers[place][1]))
        response = world.server.handle(Request(method, target, headers, body))
        assert response.status < 500, (method, target, headers, body)
        assert isinstance(response.document, dict)
