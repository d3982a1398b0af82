"""Default destinations of beneficiaries (sections 2.4 and 4.3), which only an accepted create changes."""

from __future__ import annotations

from collections.abc import Callable

from conformance.checks.beneficiaries import Beneficiary
from conformance.checks.check import CheckContext, check
from conformance.checks.defaults import defaults, same_defaults
from conformance.judge import outcomes
from conformance.judge.comparison import document, objects
from conformance.wire.messages import Call
from conformance.world import samples
from conformance.world.account import Account, call, identifier
from conformance.world.shapes import OTHER_SHAPES, accepted_body, accepts


@check("create.initial-state", operations=("createPayoutDestination",))
def test_first_destination_is_no_default(ctx: CheckContext) -> None:
    """The first destination of a beneficiary, created without is_default, is not its default."""
    rule, what = "create.initial-state", "the first destination of a beneficiary, is_default not sent"
    fixture = ctx.account(fresh=True)
    owner = Beneficiary(ctx, fixture)
    body = {name: value for name, value in fixture.bank_account().items() if name != "is_default"}
    answer = ctx.send(call("createPayoutDestination", owner.ids, body), what)
    if answer.succeeded:
        ctx.member(rule, what, answer, "is_default", False)
    else:
        ctx.not_exercised(rule, f"{what}, was answered {answer.described()}")


@check("destination.second-default")
def test_second_default(ctx: CheckContext) -> None:
    """Records what happens to a beneficiary's default destination when a second default is created."""
    fixture = ctx.account(fresh=True)
    calls = [_default(ctx, fixture) for _ in range(2)]
    first = ctx.accept(calls[0], "a first default destination")
    second = ctx.send(calls[1], "a second default destination")
    if not second.succeeded:
        question = "a second default destination"
        ctx.observe("destination.second-default", question, second.described(), second)
        return
    read = ctx.send(fixture.call("getBeneficiary"), "which one is the default?")
    default = {
        str(destination.get("id")): destination.get("is_default")
        for destination in objects(document(read).get("payout_destinations"))
    }
    seen = {
        (True, False): "the first stays the default",
        (False, True): "the second becomes the only default",
        (True, True): "both are defaults",
        (False, False): "none is a default",
    }
    pair = default.get(identifier(first)) is True, default.get(identifier(second)) is True
    ctx.observe("destination.second-default", "a second default destination", seen[pair], first, second, read)


#: Attempts, each on another beneficiary, before a default that moved counts: reads may lag behind writes.
ROUNDS = 2


@check(
    "refusal.changes-nothing",
    "idempotency.replay-after-change",
    "destination.default",
    operations=("createPayoutDestination",),
)
def test_default_moves_for_accepted_requests_only(ctx: CheckContext) -> None:
    """The default destination stays when another default is refused, also once the next destination is
    accepted, when the create of an earlier default is repeated with its key, and when a destination that is
    no default (is_default null, left out or false, of other types), or another beneficiary's default, is
    created."""
    attempts: tuple[tuple[str, str, Callable[[Account, Call], list[Call]]], ...] = (
        (
            "refusal.changes-nothing",
            "a refused default destination",
            lambda fixture, first: [
                first.with_field("label", samples.marker()),
                *_refused_defaults(ctx, fixture),
                _default(ctx, fixture).with_field("country", "USA"),
            ],
        ),
        (
            "idempotency.replay-after-change",
            "an earlier default's create, with the same key",
            lambda _, first: [first],
        ),
        (
            "destination.default",
            "a destination that is no default",
            lambda fixture, _: [
                _default(ctx, fixture).with_field("is_default", None),
                *_of_other_shapes(fixture),
                _default(ctx, fixture).without_field("is_default"),
                _default(ctx, fixture).with_field("is_default", False),
            ],
        ),
        (
            "destination.default",
            "another beneficiary's default",
            lambda fixture, _: [_default(ctx, fixture, Beneficiary(ctx, fixture).ids)],
        ),
    )
    for rule, what, requests in attempts:
        for attempt in range(1, ROUNDS + 1):
            fixture = ctx.account(fresh=True)
            calls = [_default(ctx, fixture) for _ in range(2)]
            made = [ctx.send(each, "a default destination") for each in calls]
            if not made[0].succeeded:
                ctx.unclear(rule, f"a default destination was answered {made[0].described()}", made[0])
                break
            newest = str(next(answer for answer in reversed(made) if answer.succeeded).get("id"))
            # After a first attempt in which defaults moved, as the second create may have moved them late.
            before = defaults(ctx, fixture, holding=newest, alone=attempt > 1)
            of_refusals = rule == "refusal.changes-nothing"
            strangers = ["secondary"] if of_refusals and ctx.target.secondary is not None else []
            earlier = [ctx.send(_default(ctx, fixture), what, organization) for organization in strangers]
            *others, answer = [ctx.send(request, what) for request in requests(fixture, calls[0])]
            earlier += others
            if not ctx.usable(rule, answer) or any(
                each.refused is not of_refusals for each in ((*earlier, answer) if of_refusals else (answer,))
            ):
                break
            if of_refusals:
                # What a refused request has changed in memory may be stored with the next one.
                plain = _default(ctx, fixture).with_field("is_default", False)
                earlier.append(ctx.send(plain, "a destination that is no default, after refused ones"))
            after = defaults(ctx, fixture, alike=before)
            judgement = same_defaults(f"after {what}: the same destination is the default", after, before)
            if attempt == ROUNDS or outcomes.good(judgement):
                ctx.expect(rule, *judgement, *earlier, answer)
                break


def _refused_defaults(ctx: CheckContext, fixture: Account) -> list[Call]:
    """Builds creates of default destinations with an invalid field, without a required one, and by the path
    of another account."""
    elsewhere = {"account_id": ctx.account("created").account_id, "beneficiary_id": fixture.beneficiary_id}
    return [
        _default(ctx, fixture).with_field("iban", "X" * 35),
        _default(ctx, fixture).with_field("type", "wallet").without_field("network"),
        _default(ctx, fixture, elsewhere),
    ]


def _default(ctx: CheckContext, fixture: Account, ids: dict[str, str] | None = None) -> Call:
    """Builds the create of a default destination, of the fixture's beneficiary or that of these ids."""
    operation = "createPayoutDestination"
    body = {**fixture.bank_account(), "is_default": True}
    return call(operation, ids or fixture.ids(operation), body)


def _of_other_shapes(fixture: Account) -> list[Call]:
    """Builds creates, as the server accepts them, of an IBAN alone and a wallet that are no defaults."""
    operation = "createPayoutDestination"
    return [
        fixture.call(operation, accepted_body(fixture, operation, shape))
        for shape in OTHER_SHAPES[operation]
        if accepts(fixture.run, operation, shape)
    ]
