"""Created resources (sections 2, 3 and 4.1 to 4.7): they show what was sent, start in the stated state,
and read alike."""

from __future__ import annotations

import contextlib

from conformance.contract.operations import response_problems
from conformance.contract.resources import NULLABLE, PARENTS, initial_state, sent, stated
from conformance.contract.rules import OPERATION_SETS
from conformance.fixtures.account import Scene, call, identifier
from conformance.fixtures.creations import Creation, creations
from conformance.harness.check import check
from conformance.harness.context import Trial
from conformance.harness.members import judge_member, judge_members
from conformance.judging.comparison import document, objects, shown
from conformance.judging.findings import Inconclusive
from conformance.wire.messages import Exchange

#: Rules that hold for every single answer.
FORMATS = (
    "format.fields",
    "format.object",
    "format.id",
    "format.account-id",
    "format.timestamp",
    "format.money",
    "format.nullable",
    "format.enum",
    "format.bank-details",
)


# ---------------------------------------------------------------------- creating


@check("create.echo")
def test_what_was_sent_is_shown(trial: Trial) -> None:
    """Resources are created with all fields, with the required ones alone, with other values and with
    letters and signs that are easily spoiled; each answer shows every field as it was sent, and the ids of
    its parents."""
    operation = trial.operation.id
    for made in creations(trial.suite, operation):
        what = f"created with {made.kind}"
        judge_members(trial, "create.echo", made.exchange, sent(operation, made.body), what)
        parent = PARENTS[operation]
        judge_member(trial, "create.echo", made.exchange, parent, made.scene.ids(operation)[parent], what)


@check("create.initial-state")
def test_initial_state(trial: Trial) -> None:
    """Whatever kind of body a resource is created with, its answer shows the stated initial state, and the
    stated default for a field that was not sent."""
    operation = trial.operation.id
    for made in creations(trial.suite, operation):
        expected = initial_state(operation, made.body)
        judge_members(
            trial, "create.initial-state", made.exchange, expected, f"newly created with {made.kind}"
        )


@check("format.nullable", operations=tuple(NULLABLE))
def test_fields_left_out_are_null(trial: Trial) -> None:
    """Optional fields typed "or null" that were not sent are in the answer, with the value null."""
    operation = trial.operation.id
    for made in creations(trial.suite, operation):
        for name in NULLABLE[operation]:
            if name not in made.body:
                value = made.exchange.get(name)
                what = f"created with {made.kind}, {name} not sent: {name} null"
                trial.judge("format.nullable", value is None, what, shown(value), made.exchange)


@check("format.id-unique")
def test_every_resource_has_its_own_id(trial: Trial) -> None:
    """Two resources of one account (of the same body, too), one of another account and one of another
    organization all have ids that no other resource has."""
    operation = trial.operation.id
    made = [one.exchange for one in creations(trial.suite, operation)]
    first = creations(trial.suite, operation)[0]
    if operation != "createWallet":
        again = call(operation, first.scene.ids(operation), first.body)
        made.append(trial.send(again, "the same body again, with another key"))
    if operation != "createPayout":  # only the funded account can be relied on to pay
        for organization in ("primary", *(("secondary",) if trial.target.secondary else ())):
            with contextlib.suppress(Inconclusive):
                elsewhere = trial.suite.fresh(organization).call(operation)
                made.append(trial.send(elsewhere, f"one in another account ({organization})", organization))
    ids: dict[str, Exchange] = {}
    for exchange in made:
        made_id = exchange.get("id")
        if not exchange.succeeded or not isinstance(made_id, str):
            continue
        other = ids.setdefault(made_id, exchange)
        trial.judge(
            "format.id-unique",
            other is exchange,
            f"{exchange.purpose}: an id of its own",
            "the id of another resource",
            exchange,
            other,
        )


# ---------------------------------------------------------------------- reading


@check("read.equals-create")
def test_read_equals_create(trial: Trial) -> None:
    """After several were created with different bodies, each is read, twice, and shows what its create
    answered."""
    create = {"getBeneficiary": "createBeneficiary", "getVirtualAccount": "createVirtualAccount"}[
        trial.operation.id
    ]
    made = creations(trial.suite, create)
    for one in [*made, made[0]]:
        judge_read(trial, one, f"read after it was created with {one.kind}")


def judge_read(trial: Trial, made: Creation, what: str) -> None:
    """Judges read.equals-create on one resource."""
    parameter = {"beneficiary": "beneficiary_id", "virtual_account": "virtual_account_id"}[
        trial.operation.resource
    ]
    try:
        ids = {"account_id": made.scene.account_id, parameter: identifier(made.exchange)}
    except Inconclusive as stop:
        trial.set_aside("read.equals-create", stop.reason, made.exchange, cause=stop.cause)
        return
    answer = trial.send(call(trial.operation.id, ids), what)
    if trial.succeeded("read.equals-create", answer, what) and isinstance(answer.document, dict):
        create = made.exchange.operation or ""
        truth = stated(create, made.body, made.scene.ids(create))
        judge_members(trial, "read.equals-create", answer, document(made.exchange), what, otherwise=truth)


@check("balances.of-account")
def test_balances_are_of_the_account(trial: Trial) -> None:
    """The balances of two new accounts, and of the funded one, carry the account's id and a currency only
    once."""
    scenes = [("a new account", trial.suite.fresh()), ("another new account", trial.suite.fresh())]
    if trial.target.primary.funded_account_id is not None and trial.target.features.payouts is not False:
        scenes.append(("the funded account", trial.suite.payouts()))
    if trial.target.secondary is not None:
        with contextlib.suppress(Inconclusive):
            scene = trial.suite.shared("secondary")
            scene.ids("getAccountBalances")
            scenes.append(("an account of another organization", scene))
    # All accounts are there before the first is read: a server may show the newest one's balances.
    for _, scene in scenes:
        scene.ids("getAccountBalances")
    for name, scene in [*scenes, scenes[0]]:
        organization = scene.client.organization.name
        what = f"balances of {name}"
        answer = trial.accept(scene.call("getAccountBalances"), what, organization)
        judge_member(trial, "balances.of-account", answer, "id", scene.account_id, what)
        balances = answer.get("balances")
        if not isinstance(balances, list):
            trial.set_aside(
                "balances.of-account", f"{what}: balances is no array", answer, cause="format.fields"
            )
            continue
        currencies = [str(one.get("currency")) for one in objects(balances)]
        twice = sorted({one for one in currencies if currencies.count(one) > 1})
        trial.judge(
            "balances.of-account",
            not twice,
            f"{what}: one element for each currency",
            f"{', '.join(twice)} more than once",
            answer,
        )


# ---------------------------------------------------------------------- formats


def populated(trial: Trial) -> Scene:
    """A scene in which the trial's operation has something to show."""
    if "populated" not in trial.suite.shelf:
        trial.suite.shelf["populated"] = trial.suite.fresh()
    scene: Scene = trial.suite.shelf["populated"]
    match trial.operation.id:
        case "getAccountBalances":
            return trial.suite.payouts() if trial.target.primary.funded_account_id else scene
        case "disableBeneficiary":
            fresh = trial.suite.fresh()
            _ = fresh.destination
            return fresh
        case "getBeneficiary" | "updateBeneficiary" | "listPayoutDestinations":
            _ = scene.destination
        case "listVirtualAccounts":
            _ = scene.virtual_account
        case "listWallets":
            return creations(trial.suite, "createWallet")[0].scene
        case "listAccounts":
            _ = scene.account
    return scene


@check(*FORMATS)
def test_answers_have_the_documented_form(trial: Trial) -> None:
    """The answer of a sound request that has something to show is judged member by member, as every other
    answer of the run is as well."""
    operation = trial.operation.id
    if operation in OPERATION_SETS["create"]:
        answers = [made.exchange for made in creations(trial.suite, operation)]
    else:
        answers = [trial.accept(populated(trial).call(operation), "a sound request with something to show")]
    for answer in answers:
        problems = response_problems(operation, answer.document)
        for rule in trial.rules.values():
            broken = [problem for problem in problems if problem.rule == rule.id]
            got = "; ".join(f"{problem.pointer or 'the body'} {problem.message}" for problem in broken[:5])
            trial.judge(
                rule.id,
                not broken,
                f"an answer as documented ({rule.statement.rstrip('.')})",
                got or "that",
                answer,
            )
