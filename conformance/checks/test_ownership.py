"""Server-owned fields (sections 2 and 3): refused or ignored when a client sends them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from conformance.checks.beneficiaries import Beneficiary
from conformance.checks.check import Check, check
from conformance.contract.fields import request_fields
from conformance.contract.new_resources import PARENTS
from conformance.contract.operations import response_schema
from conformance.judge import outcomes
from conformance.judge.comparison import (
    MOVING,
    alike,
    document,
    identifiers,
    objects,
    same_amount,
    show,
)
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import integer
from conformance.world.calls import call, identifier, unknown_like
from conformance.world.creations import created_in
from conformance.world.lane import Fixture
from conformance.world.purposes import CREATED
from conformance.world.refused_samples import refusal_of_valid
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


@check(RULE)
def test_server_owned_fields_on_create(at: Check) -> None:
    """Server-owned fields are sent with a valid body, all at once and, if that is refused, one by one:
    refused or ignored. A resource created all the same has the stated initial state, in the answer and in a
    later read."""
    fixture, operation = created_in(at.lane, at.operation.id), at.operation.id
    usual = at.accept(fixture.call(operation), "the same without server-owned fields")
    _, unowned = _later(at, fixture, usual)

    def create(owned: Body, what: str) -> Exchange:
        # Wallets have an account each.
        fixture = created_in(at.lane, operation)
        body = {**fixture.body(operation), **owned}
        answer = at.send(call(operation, fixture.ids(operation), body), what)
        at.expect(RULE, *outcomes.refused_or_ignored(what, answer))
        if not answer.succeeded:
            return answer
        stays = {name: value for name, value in at.operation.traits.initial.items() if name in owned}
        _judge(at, RULE, owned, stays, document(usual), (what, document(answer), answer))
        if at.operation.traits.creates == "account":
            _judge_balances(at, fixture, answer, what)
        look, resource = _later(at, fixture, answer)
        if look is not None and at.usable(RULE, look):
            if resource:
                later = f"{what}, looked at again", resource, look, answer
                _judge(at, RULE, owned, stays, unowned, later, once_more)
            elif look.operation == at.operation.traits.listed_by:
                # In a list of several pages it may stand between them.
                choice = (integer(look.get("pages")) or 0) > 1
                at.unclear(RULE, "the list does not show what was created", look, choice=choice)
            elif unowned:
                at.accepted(RULE, look, answer)
        return answer

    def once_more(fields: Body, name: str) -> Any:
        fixture = created_in(at.lane, operation)
        body = {**fixture.body(operation), **fields}
        request = call(operation, fixture.ids(operation), body)
        created = at.send(request, f"one more, {'with' if fields else 'without'} {name}")
        return _later(at, fixture, created)[1].get(name) if created.succeeded else None

    owned = owned_fields(operation, identifier(usual), _other_parent(at))
    answer = create(owned, "a create that names all server-owned fields")
    if answer.refused and not answer.throttled:
        for name, value in owned.items():
            create({name: value}, f"a create that names its own {name}")


def _other_parent(at: Check) -> str:
    """Returns the id of another existing parent of the same kind."""
    run, parent = at.lane, PARENTS[at.operation.id]
    if parent == "customer_id":
        return at.target.primary.other_customer_id or f"cus_{marker()}"
    if parent == "beneficiary_id":
        return identifier(created_in(run, "createBeneficiary").create("createBeneficiary"))
    path = created_in(run, at.operation.id).account_id
    others = run.account().account_id, created_in(run, "createBeneficiary").account_id
    return next(other for other in others if other != path)


def _later(at: Check, fixture: Fixture, created: Exchange) -> tuple[Exchange | None, Body]:
    """Reads the created resource, or finds it in its list; returns the answer, None if no operation shows it,
    and the resource in it, empty where it is not shown."""
    traits, own, purpose = at.operation.traits, created.get("id"), f"{created.purpose}, looked at again"
    if traits.creates != "account" and traits.read_by:
        ids = fixture.ids(traits.read_by) | {f"{traits.creates}_id": own}
        answer = at.find(call(traits.read_by, ids), purpose) if isinstance(own, str) else created
        return answer, document(answer) if answer.succeeded else {}
    if not traits.listed_by:
        return None, {}
    page = call(traits.listed_by, fixture.ids(traits.listed_by)).with_query({"page": 1, "size": 100})

    def shows(answer: Exchange) -> bool:
        return not answer.succeeded or own in (identifiers(answer.get("items")) or ())

    def look() -> Exchange:
        answer = at.find(page, purpose)
        pages = integer(answer.get("pages"))
        if traits.creates == "account" and not shows(answer) and pages is not None and pages > 1:
            # A new one is on the first page or the last.
            answer = at.send(page.with_query({"page": pages, "size": 100}), "the last page of accounts")
        return answer

    answer = at.eventually(look, shows, traits.listed_by)
    return answer, next((item for item in objects(answer.get("items")) if item.get("id") == own), {})


def _judge_balances(at: Check, fixture: Fixture, created: Exchange, what: str) -> None:
    """Judges that a new account does not have the balances that the client sent."""
    ids = fixture.ids("getAccountBalances") | {"account_id": identifier(created)}
    balances = at.find(call("getAccountBalances", ids), f"the balances of {what}")
    amounts = [each.get("available_balance") for each in objects(balances.get("balances"))]
    got = _AMOUNT if any(same_amount(amount, _AMOUNT) for amount in amounts) else ""
    expected = f"{what}: no balance of the client's own"
    at.expect(RULE, expected, outcomes.unusable(balances) or got, balances, created)


#: Makes a resource anew, with some fields or none, and returns what it shows of a member.
Again = Callable[[Body, str], Any]

#: Description of what shows a resource, the resource, and the answers that show it.
Look = tuple[str, Body, *tuple[Exchange, ...]]


def _judge(
    at: Check, rule: str, owned: Body, stays: Body, usual: Body, look: Look, again: Again | None = None
) -> None:
    """Judges members of a resource that clients do not set, but sent (`owned`): they are as stated (`stays`),
    or as without being sent (`usual`), or at least other than was sent.

    Where jobs may have moved a member since, what was sent must come back each time that it is sent
    (`again`), and never without that."""
    what, resource, *answers = look
    listed = "items" in document(answers[0])
    for name, value in owned.items():
        if listed and name != "status":
            continue
        got, before = resource.get(name), usual.get(name)
        good = _alike(at, name, got, before) or _alike(at, name, got, stays.get(name, before))
        if not good and name in MOVING and again is not None:
            good = not (_alike(at, name, got, value) and _comes_of(at, name, value, again))
        elif not good and name not in stays:
            good = not _alike(at, name, got, value)
        expected = f"{name} {show(stays[name])}" if name in stays else f"{name} not {show(value)}"
        at.expect(rule, f"{what}: {expected}", "" if good else show(got), *answers, member=name)


def _alike(at: Check, name: str, got: Any, value: Any) -> bool:
    in_dollars = name == "amount_in_usd" and same_amount(got, value)
    return in_dollars or alike(at.operation.id, name, got, value)


#: Repetitions, with and without the field, that tell a violation from a background job.
_TIMES = 2


def _comes_of(at: Check, name: str, value: Any, again: Again) -> bool:
    """True if what is made with the value shows it each time, and what is made without it never does."""
    for sent, shows in (({name: value}, True), ({}, False)) * _TIMES:
        result = again(sent, name)
        if result is None or _alike(at, name, result, value) is not shows:
            return False
    return True


@check("beneficiary.update-server-owned")
def test_server_owned_fields_on_update(at: Check) -> None:
    """A PATCH with server-owned fields and a valid one, all at once and, if that is refused, one by one, is
    refused or leaves them unchanged, in its answer and in a later read."""
    rule, fixture = "beneficiary.update-server-owned", at.account(fresh=True)
    there = fixture.destination_id

    def once_shown(request: Call, what: str) -> Exchange:
        """Waits until an answer shows the destination (eventual consistency): else the PATCH would seem to
        have added or removed it."""

        def shows(answer: Exchange) -> bool:
            return not answer.succeeded or there in (identifiers(answer.get("payout_destinations")) or ())

        return at.eventually(lambda: at.send(request, what), shows, request.operation or "")

    def patched(fields: Body, purpose: str) -> tuple[Exchange, Exchange]:
        """Sends a PATCH; returns its answer and a later read."""
        request = fixture.call("updateBeneficiary", {**fixture.body("updateBeneficiary"), **fields})
        answer = once_shown(request, purpose)
        return answer, once_shown(fixture.call("getBeneficiary"), f"the beneficiary after {purpose}")

    def patch(fields: Body, what: str) -> Exchange:
        looks = patched(fields, what)
        if not at.usable(rule, looks[0]):
            return looks[0]
        if not looks[0].succeeded:
            at.expect(rule, *outcomes.refused_or_ignored(what, looks[0]))
        # Compare answers of the same operation: a defect in both is not caused by these fields.
        for later, earlier, where in zip(looks, usual, ("in the answer", "in a later read"), strict=True):
            if later.succeeded:

                def again(sent: Body, name: str, read: bool = later.method == "GET") -> Any:
                    person = Beneficiary(at, others)
                    answer = person.patch({**others.body("updateBeneficiary"), **sent}, "one more PATCH")
                    then = person.read("the beneficiary after it") if read else answer
                    return then.get(name) if answer.succeeded else None

                before = document(earlier)
                _judge(at, rule, fields, before, before, (f"{what}, {where}", document(later), later), again)
        return looks[0]

    others = at.account(fresh=True)
    usual = patched({}, "a PATCH without server-owned fields")
    if stop := next((look for look in usual if not look.succeeded), None):
        raise refusal_of_valid(stop)
    owned = owned_fields("createBeneficiary", fixture.beneficiary_id, at.lane.account(CREATED).account_id)
    owned |= {"status": "disabled", "payout_destinations": []}
    if patch(owned, "a PATCH with all server-owned fields").refused:
        for name, value in owned.items():
            patch({name: value}, f"a PATCH with {name}")
