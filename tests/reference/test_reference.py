"""The reference server keeps the rules of authentication, idempotency and tenancy on any input."""

from __future__ import annotations

import inspect
import re
import uuid
from pathlib import Path

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
from tests.support.reference_world import POSTS, World, refusal

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
