"""Server-owned fields (sections 2 and 3): refused or ignored when a client sends them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.checks.beneficiaries import Beneficiary
from conformance.checks.check import check
from conformance.checks.check_context import CheckContext
from conformance.checks.members import judge_members
from conformance.contract.new_resources import PARENTS, initial_state
from conformance.contract.traits import TRAITS
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
    shown,
)
from conformance.judge.findings import Inconclusive
from conformance.wire.messages import MISSING, Exchange
from conformance.world.account import AccountFixture, call, identifier
from conformance.world.creations import created_in
from conformance.world.samples import digits, marker

#: Rule of what is sent on create.
RULE = "create.server-owned"

#: A timestamp and an amount that no server assigns.
_PAST = "2001-02-03T04:05:06Z"
_AMOUNT = "987654.32"


def _money(currency: str) -> dict[str, str]:
    amounts = dict.fromkeys(("available_balance", "total_balance"), _AMOUNT)
    return {
        "currency": currency,
        "currency_type": "fiat",
        "pending_payout": "0.00",
        "pending_payin": "0.00",
        **amounts,
        "updated_at": _PAST,
    }


def _later(operation: str) -> tuple[str, str]:
    """Operation that reads or lists a created resource, and the path parameter of its id; "" for none."""
    traits = TRAITS[operation]
    return (traits.read_by, f"{traits.creates}_id") if traits.read_by else (traits.listed_by, "")


def owned_fields(operation: str, parent: str) -> dict[str, Any]:
    """Server-owned members of a created resource, in documented form, with values that a server would not
    assign; `parent` is another parent than the path's."""
    word = marker()
    prefix = {
        "createBeneficiary": "bene",
        "createPayoutDestination": "dest",
        "createPayout": "po",
        "createAccount": "acc",
        "createVirtualAccount": "va",
        "createWallet": "wal",
        "createPayin": "pin",
    }[operation]
    parents = {PARENTS[operation]: parent}
    stamps = {"created": _PAST, "updated": _PAST}
    common = {"id": f"{prefix}_{word}", "object": "resource", **stamps, **parents}
    match TRAITS[operation].creates:
        case "account":
            return {**common, "status": "suspended", "balances": [_money("USD")]}
        case "beneficiary":
            destination = {
                "id": f"dest_{word}",
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
                "account_number_last4": digits(4),
            }
            return {**common, "status": "inactive", "verified": True, "payout_destinations": [destination]}
        case "payout_destination":
            return {
                **common,
                "status": "disabled",
                "account_number_last4": word[:4],
                "clabe_last4": word[:4],
                "iban_masked": f"DE**{word}",
                "wallet_address_masked": f"0x**{word}",
            }
        case "payout":
            stated = dict.fromkeys(("provider", "provider_reference_id", "failed_reason"), word)
            instants = dict.fromkeys(("initiated_at", "submitted_at", "completed_at", "failed_at"), _PAST)
            return {**common, **stated, **instants, "status": "completed", "amount_in_usd": _AMOUNT}
        case "virtual_account":
            return {
                **common,
                "status": "suspended",
                "reference": word,
                "provider_reference_id": word,
                "bank_details": {"bank_name": f"Bank {word}", "account_number": digits(10)},
            }
        case "wallet":
            return {**common, "status": "suspended", "addresses": [{"address": f"0x{word}", "tag": None}]}
    return {**common, "status": "completed"}


@check("create.server-owned")
def test_server_owned_fields_on_create(ctx: CheckContext) -> None:
    """Server-owned fields are sent with a valid body, all at once and, if that is refused, one by one:
    refused or ignored. A resource created all the same has the stated initial state, in the answer and in a
    later read."""
    operation = ctx.operation.id
    fixture = created_in(ctx.run, operation)
    created = ctx.accept(fixture.call(operation), "the same without server-owned fields")
    without = Shown(created, _look(ctx, fixture, created))
    owned = owned_fields(operation, _other_parent(ctx))
    answer = _create(ctx, owned, without, "all server-owned fields")
    if answer.refused and not answer.throttled:
        for name, value in owned.items():
            _create(ctx, {name: value}, without, f"a {name} of the client's own")


@dataclass(frozen=True)
class Shown:
    """The answer to a create, and a later read or list of the resource."""

    created: Exchange
    later: Exchange | None


def _other_parent(ctx: CheckContext) -> str:
    """The id of another existing parent of the same kind."""
    run = ctx.run
    match PARENTS[ctx.operation.id]:
        case "customer_id":
            if ctx.target.primary.other_customer_id is None:
                return f"cus_{marker()}"
            return run.account(owner="cousin").customer_id
        case "beneficiary_id":
            return identifier(created_in(run, "createBeneficiary").create("createBeneficiary"))
    path = created_in(run, ctx.operation.id).account_id
    others = run.account().account_id, created_in(run, "createBeneficiary").account_id
    return next(other for other in others if other != path)


def _create(ctx: CheckContext, owned: Mapping[str, Any], without: Shown, what: str) -> Exchange:
    """Sends a valid body with server-owned fields and judges the outcome; deviations that `without` shows too
    are not caused by them."""
    operation = ctx.operation.id
    fixture = created_in(ctx.run, operation)
    body = fixture.body(operation)
    answer = ctx.send(call(operation, fixture.ids(operation), {**body, **owned}), what)
    if not ctx.usable(RULE, answer):
        return answer
    if not answer.succeeded:
        ctx.expect(RULE, *outcomes.refused_or_ignored(what, answer))
        return answer
    expected = initial_state(operation, body)
    for name, value in owned.items():
        usual = without.created.get(name)
        if name in expected and alike(operation, name, usual, expected[name]):
            ctx.member(RULE, what, answer, name, expected[name])
        elif not alike(operation, name, usual, value):
            judge_ignored(ctx, RULE, answer, name, value, what)
    _judge_later(ctx, fixture, answer, without, what)
    return answer


def judge_ignored(ctx: CheckContext, rule: str, answer: Exchange, name: str, value: Any, what: str) -> None:
    """Judges that a member does not have the value that the client sent."""
    got = answer.get(name)
    obeyed = alike(ctx.operation.id, name, got, value)
    obeyed = obeyed or (name == "amount_in_usd" and same_amount(got, value))
    expected = f"{what}: a {name} other than the {show(value)} that was sent"
    ctx.expect(rule, expected, shown(got) if obeyed and got is not MISSING else "", answer)


def _look(ctx: CheckContext, fixture: AccountFixture, created: Exchange) -> Exchange | None:
    """Reads the created resource, or its list; None if no operation shows it."""
    operation = ctx.operation.id
    if not _later(operation)[0]:
        return None
    read, parameter = _later(operation)
    try:
        ids = fixture.ids(operation) | ({parameter: identifier(created)} if parameter else {})
    except Inconclusive:
        return None
    look = call(read, ids) if parameter else call(read, ids).with_query({"page": 1, "size": 100})
    return ctx.shown(look, f"{created.purpose}, looked at again")


def _judge_later(
    ctx: CheckContext, fixture: AccountFixture, created: Exchange, without: Shown, what: str
) -> None:
    """Judges a later read, as the answer to the create may hide what was stored."""
    operation = ctx.operation.id
    state = TRAITS[operation].initial
    if TRAITS[operation].creates == "account":
        _judge_listed(ctx, _account_item(ctx, fixture, created), created, without, what)
    later = _look(ctx, fixture, created)
    if later is None or not ctx.usable(RULE, later):
        return
    read, parameter = _later(operation)
    if not later.succeeded:
        if without.later is not None and without.later.succeeded:
            ctx.accepted(RULE, f"{what}, read by {read}", later, created)
    elif TRAITS[operation].creates == "account":
        balances = objects(later.get("balances"))
        invented = [each for each in balances if same_amount(each.get("available_balance"), _AMOUNT)]
        got = show(invented) if invented else ""
        ctx.expect(RULE, f"{what}: no balance of the client's own", got, later, created)
    elif parameter:
        usual = document(without.later) if without.later is not None else {}
        judge_members(ctx, RULE, later, state, f"{what}, read again", but=MOVING, otherwise=usual)
        for name in sorted(MOVING & state.keys()):
            if not alike(read, name, usual.get(name), later.get(name)):
                _judge_moving(ctx, later, name, state[name], f"{what}, read again")
    else:
        _judge_listed(ctx, later, created, without, what)


#: Repetitions, with and without the field, that tell a violation from a background job.
_TIMES = 2


def _judge_moving(ctx: CheckContext, look: Exchange, name: str, expected: Any, what: str) -> None:
    """Judges a member that background jobs may change: a violation must be reproducible."""
    value = owned_fields(ctx.operation.id, "").get(name)
    kept = alike(ctx.operation.id, name, look.get(name), expected)
    if kept or (same(look.get(name), value) and _comes_of_it(ctx, name, value)):
        ctx.member(RULE, what, look, name, expected)


def _comes_of_it(ctx: CheckContext, name: str, value: Any) -> bool:
    """True if new resources show the sent value each time, and never without it."""
    operation = ctx.operation.id
    for _ in range(_TIMES):
        for sent, wanted in (({name: value}, True), ({}, False)):
            fixture = created_in(ctx.run, operation)
            request = call(operation, fixture.ids(operation), {**fixture.body(operation), **sent})
            created = ctx.send(request, f"one more, {'with' if sent else 'without'} {name}")
            if not created.succeeded or same(_later_value(ctx, fixture, created, name), value) is not wanted:
                return False
    return True


def _later_value(ctx: CheckContext, fixture: AccountFixture, created: Exchange, name: str) -> Any:
    """A member of a created resource, as a read or its list shows it; MISSING if not shown."""
    if ctx.operation.traits.creates == "account":
        look: Exchange | None = _account_item(ctx, fixture, created)
    else:
        look = _look(ctx, fixture, created)
    if look is None or look.get("items") is MISSING:
        return MISSING if look is None else look.get(name)
    items = [item for item in objects(look.get("items")) if item.get("id") == created.get("id")]
    return items[0].get(name, MISSING) if items else MISSING


def _judge_listed(ctx: CheckContext, listing: Exchange, created: Exchange, without: Shown, what: str) -> None:
    """Judges the status of a created resource in its list, if it is on that page."""
    expected = TRAITS[ctx.operation.id].initial["status"]
    usual = without.created.get("status")
    among = [expected, usual] if isinstance(usual, str) else [expected]
    sentence = f"{what}, listed: status {show(expected)}"
    items = [item for item in objects(listing.get("items")) if item.get("id") == created.get("id")]
    sent = owned_fields(ctx.operation.id, "")["status"]
    status = items[0].get("status") if items else expected
    if status not in among and (status != sent or not _comes_of_it(ctx, "status", sent)):
        return  # a job may have moved it
    if not items or not isinstance(status, str):
        ctx.skip_judgement(RULE, "the list does not show what was created", listing)
    else:
        ctx.expect(RULE, sentence, "" if status in among else show(status), listing, created)


def _account_item(ctx: CheckContext, fixture: AccountFixture, created: Exchange) -> Exchange:
    """The page of the customer's accounts where a new one most likely is: the first or the last."""
    look = fixture.call("listAccounts").with_query({"page": 1, "size": 100})
    first = ctx.send(look, "the first page of accounts")
    pages = first.get("pages")
    known = [item.get("id") for item in objects(first.get("items"))]
    if created.get("id") in known or not isinstance(pages, int) or pages < 2:
        return first
    return ctx.send(look.with_query({"page": pages, "size": 100}), "the last page of accounts")


@check("beneficiary.update-server-owned")
def test_server_owned_fields_on_update(ctx: CheckContext) -> None:
    """A PATCH with server-owned fields and a valid one, all at once and, if that is refused, one by one, is
    refused or leaves them unchanged, in its answer and in a later read."""
    rule, fixture = "beneficiary.update-server-owned", ctx.account(fresh=True)
    there = fixture.destination_id

    def once_shown(operation: str, send: Callable[[], Exchange]) -> Exchange:
        """Waits until an answer shows the destination (eventual consistency): else the PATCH would seem to
        have added or removed it."""

        def shows(seen: Exchange) -> bool:
            return not seen.succeeded or there in (identifiers(seen.get("payout_destinations")) or ())

        return ctx.eventually(send, shows, operation)

    reading, plain = fixture.call("getBeneficiary"), fixture.call("updateBeneficiary")
    before = once_shown("getBeneficiary", lambda: ctx.accept(reading, "the beneficiary as it is"))
    without = once_shown(
        "updateBeneficiary", lambda: ctx.accept(plain, "a PATCH without server-owned fields")
    )
    owned = {
        **owned_fields("createBeneficiary", ctx.run.account("created").account_id),
        "status": "disabled",
        "payout_destinations": [],
    }

    def patch(fields: Mapping[str, Any], what: str) -> Exchange:
        body = {**fixture.body("updateBeneficiary"), **fields}
        request = fixture.call("updateBeneficiary", body)
        answer = once_shown("updateBeneficiary", lambda: ctx.send(request, what))
        if not ctx.usable(rule, answer):
            return answer
        if not answer.succeeded:
            ctx.expect(rule, *outcomes.refused_or_ignored(what, answer))
        after = once_shown("getBeneficiary", lambda: ctx.send(reading, f"the beneficiary after {what}"))
        # Compare answers of the same operation: a defect in both is not caused by these fields.
        for later, earlier, where in ((answer, without, "in the answer"), (after, before, "in a later read")):
            if later.succeeded:
                stays = {name: earlier.get(name) for name in fields if name not in MOVING}
                judge_members(ctx, rule, later, stays, f"{what}, {where}")
                for name in ("status", "verified"):
                    if name in fields:
                        _judge_obeyed(ctx, rule, later, earlier, name, fields[name], f"{what}, {where}")
                if "updated" in fields:
                    judge_ignored(ctx, rule, later, "updated", _PAST, f"{what}, {where}")
        return answer

    if patch(owned, "a PATCH with all server-owned fields").refused:
        for name, value in owned.items():
            patch({name: value}, f"a PATCH with {name}")


def _judge_obeyed(
    ctx: CheckContext, rule: str, seen: Exchange, earlier: Exchange, name: str, value: Any, what: str
) -> None:
    """Judges that a PATCH did not set a member that background jobs may change: a violation must be
    reproducible on other beneficiaries, and never occur without the field."""
    fixture = ctx.account(fresh=True)
    for _ in range(_TIMES if not same(seen.get(name), earlier.get(name)) else 0):
        for sent, wanted in (({name: value}, True), ({}, False)):
            person = Beneficiary(ctx, fixture)
            answer = person.patch({**fixture.body("updateBeneficiary"), **sent}, "one more PATCH")
            shown_then = person.read("the beneficiary after it") if seen.method == "GET" else answer
            if not answer.succeeded or same(shown_then.get(name), value) is not wanted:
                return
    ctx.member(rule, what, seen, name, earlier.get(name))
