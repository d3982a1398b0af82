"""Server-owned fields (sections 2 and 3): refused or ignored when a client sends them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.checks.beneficiaries import Beneficiary
from conformance.checks.check import Check, check
from conformance.checks.members import judge_members
from conformance.contract.fields import request_fields
from conformance.contract.new_resources import PARENTS, initial_state
from conformance.contract.operations import response_schema
from conformance.judge import outcomes
from conformance.judge.comparison import (
    MOVING,
    alike,
    document,
    identifiers,
    objects,
    same,
    same_amount,
    show,
)
from conformance.wire.messages import MISSING, Exchange
from conformance.world.calls import call, identifier, unknown_like
from conformance.world.creations import created_in
from conformance.world.run import Account
from conformance.world.samples import Body, marker

#: Rule of what is sent on create.
RULE = "create.server-owned"

#: A timestamp and an amount that no server assigns.
_PAST = "2001-02-03T04:05:06Z"
_AMOUNT = "987654.32"


#: Objects in members of created resources, in documented form.
_OBJECTS: Mapping[str, Any] = {
    "balances": [
        {
            "currency": "USD",
            "currency_type": "fiat",
            **dict.fromkeys(("available_balance", "total_balance"), _AMOUNT),
            **dict.fromkeys(("pending_payout", "pending_payin"), "0.00"),
            "updated_at": _PAST,
        }
    ],
    "payout_destinations": [
        {
            "id": "dest_conformance",
            "object": "payout_destination",
            "country": "US",
            "payout_method": "ach",
            "type": "bank_account",
            "currency": "USD",
            "status": "active",
            "is_default": False,
            "created": _PAST,
            "label": None,
            "network": None,
            "account_number_last4": "0123",
        }
    ],
    "bank_details": {"bank_name": "Bank of Conformance", "account_number": "9876501234"},
    "addresses": [{"address": "0x0123456789", "tag": None}],
}


def owned_fields(operation: str, identifier: str, parent: str) -> dict[str, Any]:
    """Server-owned members of a created resource, in documented form, with values that a server would not
    assign: ids like that of a resource and another parent than the path's."""
    sent, word = {field.name for field in request_fields(operation)}, marker()
    # A server may let its clients choose a method.
    schemas = response_schema(operation)["properties"].items()
    values = {name: _unassigned(each, word) for name, each in schemas if name not in {*sent, "payout_method"}}
    objects = {name: value for name, value in _OBJECTS.items() if name in values}
    return values | objects | {"id": unknown_like(identifier), PARENTS[operation]: parent}


def _unassigned(schema: Mapping[str, Any], word: str) -> Any:
    """A value of a form that no server gives a new resource."""
    if "enum" in schema:
        return schema["enum"][-1] if len(schema["enum"]) > 1 else "completed"
    if schema.get("type") == "boolean":
        return True
    if "date-time" in (each.get("format") for each in (schema, *schema.get("anyOf", ()))):
        return _PAST
    return _AMOUNT if schema.get("x-rule") == "format.money" else word[: schema.get("maxLength")]


@dataclass(frozen=True)
class Look:
    """A later read of a created resource: the answer, and the resource in it; empty where it is not shown."""

    answer: Exchange
    resource: Mapping[str, Any]


@check(RULE)
def test_server_owned_fields_on_create(at: Check) -> None:
    """Server-owned fields are sent with a valid body, all at once and, if that is refused, one by one:
    refused or ignored. A resource created all the same has the stated initial state, in the answer and in a
    later read."""
    fixture = created_in(at.run, at.operation.id)
    created = at.accept(fixture.call(at.operation.id), "the same without server-owned fields")
    usual = created, _look(at, fixture, created)
    owned = owned_fields(at.operation.id, identifier(created), _other_parent(at))
    answer = _create(at, owned, *usual, "all server-owned fields")
    if answer.refused and not answer.throttled:
        for name, value in owned.items():
            _create(at, {name: value}, *usual, f"a {name} of the client's own")


def _other_parent(at: Check) -> str:
    """Returns the id of another existing parent of the same kind."""
    run, parent = at.run, PARENTS[at.operation.id]
    if parent == "customer_id":
        return at.target.primary.other_customer_id or f"cus_{marker()}"
    if parent == "beneficiary_id":
        return identifier(created_in(run, "createBeneficiary").create("createBeneficiary"))
    path = created_in(run, at.operation.id).account_id
    others = run.account().account_id, created_in(run, "createBeneficiary").account_id
    return next(other for other in others if other != path)


def _create(at: Check, owned: Mapping[str, Any], usual: Exchange, then: Look | None, what: str) -> Exchange:
    """Sends a valid body with server-owned fields and judges the outcome; deviations that the `usual` answer
    and the look at it `then` show too are not caused by them."""
    operation = at.operation.id
    fixture = created_in(at.run, operation)
    body = fixture.body(operation)
    answer = at.send(call(operation, fixture.ids(operation), {**body, **owned}), what)
    if not answer.succeeded:
        at.expect(RULE, *outcomes.refused_or_ignored(what, answer))
        return answer
    expected = initial_state(operation, body)
    for name, value in owned.items():
        if name in expected and alike(operation, name, usual.get(name), expected[name]):
            at.member(RULE, what, answer, name, expected[name])
        elif not alike(operation, name, usual.get(name), value):
            _judge_ignored(at, RULE, answer, name, value, what)
    if (look := _look(at, fixture, answer)) is not None:
        _judge_look(at, look, then, answer, owned, what)
    if at.operation.traits.creates == "account":
        ids = fixture.ids("getAccountBalances") | {"account_id": identifier(answer)}
        balances = at.shown(call("getAccountBalances", ids), f"the balances of {what}")
        amounts = [each.get("available_balance") for each in objects(balances.get("balances"))]
        got = _AMOUNT if any(same_amount(amount, _AMOUNT) for amount in amounts) else ""
        expectation = f"{what}: no balance of the client's own"
        at.expect(RULE, expectation, outcomes.unusable(balances) or got, balances, answer)
    return answer


def _judge_ignored(at: Check, rule: str, answer: Exchange, name: str, value: Any, what: str) -> None:
    """Judges that a member does not have the value that the client sent."""
    got = answer.get(name)
    obeyed = alike(at.operation.id, name, got, value)
    obeyed = obeyed or (name == "amount_in_usd" and same_amount(got, value))
    expected = f"{what}: a {name} other than the {show(value)} that was sent"
    at.expect(rule, expected, show(got) if obeyed and got is not MISSING else "", answer)


def _look(at: Check, fixture: Account, created: Exchange) -> Look | None:
    """Reads the created resource, or finds it in its list; None if no operation shows it."""
    traits, own, purpose = at.operation.traits, created.get("id"), f"{created.purpose}, looked at again"
    if traits.creates != "account" and traits.read_by:
        ids = fixture.ids(traits.read_by) | {f"{traits.creates}_id": own}
        answer = at.shown(call(traits.read_by, ids), purpose) if isinstance(own, str) else created
        return Look(answer, document(answer) if answer.succeeded else {})
    if not traits.listed_by:
        return None
    page = call(traits.listed_by, fixture.ids(traits.listed_by)).with_query({"page": 1, "size": 100})
    answer = at.shown(page, purpose)
    pages, known = answer.get("pages"), identifiers(answer.get("items")) or ()
    if traits.creates == "account" and own not in known and isinstance(pages, int) and pages > 1:
        # A new one is on the first page or the last.
        answer = at.send(page.with_query({"page": pages, "size": 100}), "the last page of accounts")
    items = (item for item in objects(answer.get("items")) if item.get("id") == own)
    return Look(answer, next(items, {}))


def _judge_look(
    at: Check, look: Look, usual: Look | None, created: Exchange, owned: Mapping[str, Any], what: str
) -> None:
    """Judges the initial state in a later read, as the answer to the create may hide what was stored; of an
    element of a list, its status."""
    answer, where = look.answer, f"{what}, looked at again"
    state, before = at.operation.traits.initial, usual.resource if usual is not None else {}
    listed = "items" in document(answer)
    if not at.usable(RULE, answer):
        return
    if not look.resource:
        if before and not listed:
            at.accepted(RULE, f"{what}, read by {answer.operation}", answer, created)
        elif listed:
            at.unclear(RULE, "the list does not show what was created", answer)
        return
    for name in ["status"] if listed else sorted(state):
        value, expected, known = look.resource.get(name), state[name], before.get(name, MISSING)
        good = any(alike(answer.operation or "", name, value, each) for each in (expected, known))
        if name in MOVING and not good and not (name in owned and _obeyed(at, name, value, owned[name])):
            # A job may have moved it.
            continue
        if listed:
            got = "" if good else show(value)
            at.expect(RULE, f"{where}: {name} {show(expected)}", got, answer, created)
        else:
            at.member(RULE, where, answer, name, expected, known)


#: Repetitions, with and without the field, that tell a violation from a background job.
_TIMES = 2


def _comes_of(name: str, value: Any, make: Callable[[Body], Any]) -> bool:
    """True if what is made with the value shows it each time, and what is made without it never does."""
    for sent, shows in (({name: value}, True), ({}, False)) * _TIMES:
        result = make(sent)
        if result is None or same(result, value) is not shows:
            return False
    return True


def _obeyed(at: Check, name: str, value: Any, sent: Any) -> bool:
    """True if a value is the one that was sent, and new resources show that whenever it is sent."""

    def make(fields: Body) -> Any:
        fixture = created_in(at.run, at.operation.id)
        request = fixture.call(at.operation.id, {**fixture.body(at.operation.id), **fields})
        created = at.send(request, f"one more, {'with' if fields else 'without'} {name}")
        look = _look(at, fixture, created) if created.succeeded else None
        return look.resource.get(name) if look is not None else None

    return same(value, sent) and _comes_of(name, sent, make)


@check("beneficiary.update-server-owned")
def test_server_owned_fields_on_update(at: Check) -> None:
    """A PATCH with server-owned fields and a valid one, all at once and, if that is refused, one by one, is
    refused or leaves them unchanged, in its answer and in a later read."""
    rule, fixture = "beneficiary.update-server-owned", at.account(fresh=True)
    there = fixture.destination_id

    def once_shown(operation: str, send: Callable[[], Exchange]) -> Exchange:
        """Waits until an answer shows the destination (eventual consistency): else the PATCH would seem to
        have added or removed it."""

        def shows(answer: Exchange) -> bool:
            return not answer.succeeded or there in (identifiers(answer.get("payout_destinations")) or ())

        return at.eventually(send, shows, operation)

    reading, plain = fixture.call("getBeneficiary"), fixture.call("updateBeneficiary")
    before = once_shown("getBeneficiary", lambda: at.accept(reading, "the beneficiary as it is"))
    without = once_shown("updateBeneficiary", lambda: at.accept(plain, "a PATCH without server-owned fields"))
    parent = at.run.account("created").account_id
    owned = owned_fields("createBeneficiary", fixture.beneficiary_id, parent)
    owned |= {"status": "disabled", "payout_destinations": []}

    def patch(fields: Mapping[str, Any], what: str) -> Exchange:
        body = {**fixture.body("updateBeneficiary"), **fields}
        request = fixture.call("updateBeneficiary", body)
        answer = once_shown("updateBeneficiary", lambda: at.send(request, what))
        if not at.usable(rule, answer):
            return answer
        if not answer.succeeded:
            at.expect(rule, *outcomes.refused_or_ignored(what, answer))
        after = once_shown("getBeneficiary", lambda: at.send(reading, f"the beneficiary after {what}"))
        # Compare answers of the same operation: a defect in both is not caused by these fields.
        for later, earlier, where in (
            (answer, without, f"{what}, in the answer"),
            (after, before, f"{what}, in a later read"),
        ):
            if later.succeeded:
                stays = {name: earlier.get(name) for name in fields if name not in MOVING}
                judge_members(at, rule, later, stays, where)
                for name in (name for name in ("status", "verified") if name in fields):
                    _judge_obeyed(at, rule, later, earlier, name, fields[name], where)
                if "updated" in fields:
                    _judge_ignored(at, rule, later, "updated", _PAST, where)
        return answer

    if patch(owned, "a PATCH with all server-owned fields").refused:
        for name, value in owned.items():
            patch({name: value}, f"a PATCH with {name}")


def _judge_obeyed(
    at: Check, rule: str, later: Exchange, earlier: Exchange, name: str, value: Any, what: str
) -> None:
    """Judges that a PATCH did not set a member that background jobs may change: a violation must be
    reproducible on other beneficiaries, and never occur without the field."""
    fixture = at.account(fresh=True)

    def make(sent: Body) -> Any:
        person = Beneficiary(at, fixture)
        answer = person.patch({**fixture.body("updateBeneficiary"), **sent}, "one more PATCH")
        then = person.read("the beneficiary after it") if later.method == "GET" else answer
        return then.get(name) if answer.succeeded else None

    if same(later.get(name), earlier.get(name)) or _comes_of(name, value, make):
        at.member(rule, what, later, name, earlier.get(name))
