"""Created resources (sections 2, 3 and 4.1 to 4.7): they show what was sent, start in the stated state,
and read alike."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Sequence

from conformance.checks.check import check
from conformance.checks.check_context import CheckContext
from conformance.checks.members import judge_last_words, judge_members, look_for
from conformance.contract.new_resources import NULLABLE, PARENTS, initial_state, sent, stated
from conformance.contract.operations import response_rules
from conformance.contract.rules import OPERATION_SETS
from conformance.contract.traits import ADDS_TO, TRAITS, traits_of
from conformance.judge.comparison import (
    MOVING,
    document,
    found_again,
    normalized,
    objects,
    same,
    same_account,
    show,
)
from conformance.judge.expectations import Accepted, At, CannotTell, Documented, Equal, Member, predicate
from conformance.judge.expectations.common import NOTHING_SHOWN
from conformance.judge.findings import Inconclusive
from conformance.judge.timeliness import no_older_than_account, tells_the_time
from conformance.wire.messages import MISSING, Exchange
from conformance.wire.pages import MAX_SIZE, query
from conformance.world.account import AccountFixture, call, identifier
from conformance.world.corpora.kept_texts import PRECISE
from conformance.world.creations import CreatedResource, created_in, creations
from conformance.world.shapes import with_all_texts
from conformance.world.text_turns import places, with_texts

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
    "format.iban",
)

#: Seconds between two resources whose timestamps must differ.
APART = 2.0

FUNDED = "Name an account that has balances: [primary] funded_account_id."


# ---------------------------------------------------------------------- creating


@check("create.echo")
def test_what_was_sent_is_shown(ctx: CheckContext) -> None:
    """Resources are created with all fields, with the required ones alone, with other values and with
    letters and signs that are easily damaged; each answer shows every field as it was sent, and the ids of
    its parents."""
    operation = ctx.operation.id
    for made in creations(ctx.run, operation):
        what = f"created with {made.kind}"
        shown = sent(operation, made.body)
        judge_members(ctx, "create.echo", made.exchange, shown, what, otherwise=normalized(made.body))
        parent = PARENTS[operation]
        ctx.judge("create.echo", Member(what, parent, made.fixture.ids(operation)[parent]), made.exchange)


@check("create.text-exact", "create.echo")
def test_text_comes_back_exactly(ctx: CheckContext) -> None:
    """A text with characters outside the basic plane and letters in several normal forms, in each field of
    free text, comes back as it was sent, where it is accepted, and never without what stands behind them; so
    do e-mail addresses and telephone numbers."""
    rule, operation, name = "create.text-exact", ctx.operation.id, ctx.operation.traits.free_text
    for made in creations(ctx.run, operation):
        written = {name: made.body[name] for name in normalized(made.body)}
        judge_members(ctx, rule, made.exchange, written, f"created with {made.kind}")
    ctx.not_exercised("create.echo", "no text of all kinds of letters was taken")
    fixture = created_in(ctx.run, operation)
    body, told = with_all_texts(fixture, operation), fixture.run.samples.over(ctx.operation.resource)
    if name not in body or name in told:
        ctx.not_exercised(rule, f"the sample has no free {name}")
        return
    texts = {place: PRECISE for place in places(operation) if {place[0]} & body.keys() - told}
    what, answer = f"a {name} of all kinds of letters", None
    for tried in with_texts(operation, body, texts):
        answer = ctx.send(call(operation, fixture.ids(operation), tried), what)
        if not answer.refused:
            break
    if answer is None or answer.refused:
        ctx.not_exercised(rule, f"{what} was refused")
    elif ctx.usable(rule, answer):
        judge_members(ctx, rule, answer, {name: tried[name] for name, _ in texts}, what)
        judge_last_words(ctx, "create.echo", answer, [*texts], f"{what}, with what stands behind them")


@check("create.initial-state")
def test_initial_state(ctx: CheckContext) -> None:
    """Whatever kind of body a resource is created with, its answer shows the stated initial state, and the
    stated default for a field that was not sent."""
    operation = ctx.operation.id
    for made in creations(ctx.run, operation):
        expected = initial_state(operation, made.body)
        judge_members(ctx, "create.initial-state", made.exchange, expected, f"newly created with {made.kind}")


@check("create.assigned")
def test_assigned_values_are_its_own(ctx: CheckContext) -> None:
    """Records if two resources share a value that the server assigns."""
    made = [creation.exchange for creation in creations(ctx.run, ctx.operation.id)]
    for name in ("bank_details", "reference", "provider_reference_id", "addresses"):
        values = [exchange.get(name) for exchange in made]
        if len(made) > 1 and MISSING not in values:
            alike = any(same(value, other) for value, other in itertools.combinations(values, 2))
            answer = "shared" if alike else "of its own"
            ctx.observe("create.assigned", f"{name} of another resource", answer, *made)


@check("format.nullable", operations=tuple(NULLABLE))
def test_fields_left_out_are_null(ctx: CheckContext) -> None:
    """Optional fields typed "or null" that were not sent are in the answer, with the value null."""
    operation = ctx.operation.id
    for made in creations(ctx.run, operation):
        for name in NULLABLE[operation]:
            if name not in made.body:
                what = f"created with {made.kind}, {name} not sent: {name}"
                ctx.judge("format.nullable", Equal(what, At(name), None), made.exchange)


@check("format.id-unique")
def test_every_resource_has_its_own_id(ctx: CheckContext) -> None:
    """Two resources of one account (of the same body, too), one of another account and one of another
    organization all have ids that no other resource has."""
    operation = ctx.operation.id
    made = [creation.exchange for creation in creations(ctx.run, operation)]
    first = creations(ctx.run, operation)[0]
    if not TRAITS[operation].unique_pair:
        again = call(operation, first.fixture.ids(operation), first.body)
        made.append(ctx.send(again, "the same body again, with another key"))
    if not TRAITS[operation].draws_on_funds:  # only the funded account can be relied on to pay
        for organization in ("primary", *(("secondary",) if ctx.target.secondary else ())):
            with contextlib.suppress(Inconclusive):
                elsewhere = ctx.run.account(owner=organization, fresh=True).call(operation)
                made.append(ctx.send(elsewhere, f"one in another account ({organization})", organization))
    accepted = [each for each in made if each.succeeded and isinstance(each.get("id"), str)]
    ids: dict[str, Exchange] = {}
    for exchange in accepted:
        other = ids.setdefault(str(exchange.get("id")), exchange)
        if other is exchange:
            other = accepted[0]
        if other is not exchange:
            its_own = different_ids(f"{exchange.purpose}: an id of its own")
            ctx.judge("format.id-unique", its_own, exchange, other)


@predicate
def different_ids(exchanges: Sequence[Exchange]) -> str:
    """Two creates answer resources with different ids."""
    first, second = exchanges[:2]
    if not first.succeeded or not second.succeeded:
        raise CannotTell("one of the two creates was not accepted")
    same_id = first.get("id") == second.get("id")
    return "the id of another resource" if same_id and not found_again(first, second) else ""


# ---------------------------------------------------------------------- reading


@check("read.equals-create", "read.delay")
def test_read_equals_create(ctx: CheckContext) -> None:
    """After several were created with different bodies, each is read, twice, and shows what its create
    answered."""
    (create,) = (
        name for name, traits in TRAITS.items() if traits.creates and traits.read_by == ctx.operation.id
    )
    made = creations(ctx.run, create)
    for resource in [*made, made[0]]:
        judge_read(ctx, resource, f"read after it was created with {resource.kind}")
    ctx.observe_delay("when does a write show?")


def judge_read(ctx: CheckContext, made: CreatedResource, what: str) -> None:
    """Judges read.equals-create on one resource."""
    parameter = {"beneficiary": "beneficiary_id", "virtual_account": "virtual_account_id"}[
        ctx.operation.resource
    ]
    try:
        ids = {"account_id": made.fixture.account_id, parameter: identifier(made.exchange)}
    except Inconclusive as stop:
        ctx.skip_judgement("read.equals-create", stop.reason, made.exchange, stop=stop)
        return
    create = made.exchange.operation or ""
    created, truth = document(made.exchange), stated(create, made.body, made.fixture.ids(create))
    answer = look_for(ctx, call(ctx.operation.id, ids), what, created, but=MOVING, otherwise=truth)
    if ctx.judge("read.equals-create", Accepted(what), answer) and isinstance(answer.document, dict):
        judge_members(
            ctx,
            "read.equals-create",
            answer,
            created,
            what,
            but=MOVING,
            otherwise=truth,
            shown_by=made.exchange,
        )


# ---------------------------------------------------------------------- formats


def _populated(ctx: CheckContext) -> AccountFixture:
    """A fixture in which the check's operation has something to show."""
    fixture = ctx.run.account("populated")
    operation = ctx.operation
    if operation.traits.shows_balances:
        return ctx.run.account("payouts") if ctx.target.primary.funded_account_id else fixture
    if operation.traits.disables:
        fixture = ctx.run.account(fresh=True)
    if "beneficiary_id" in operation.path_parameters:
        _ = fixture.destination
    match traits_of(ADDS_TO.get(operation.id)).creates:
        case "virtual_account":
            _ = fixture.virtual_account
        case "wallet":
            return creations(ctx.run, "createWallet")[0].fixture
        case "account":
            _ = fixture.account
    return fixture


def _showing(ctx: CheckContext, purpose: str) -> Exchange:
    """The answer of the check's operation where it has something to show: a list is read until it shows
    an element, as it may lag behind."""
    request = _populated(ctx).call(ctx.operation.id)
    return ctx.eventually(
        lambda: ctx.accept(request, purpose),
        lambda answer: not ctx.operation.is_list or answer.get("items") != [],
    )


def no_balance(ctx: CheckContext, rule: str, answer: Exchange) -> None:
    """Notes that an account's balances, which a rule is about, were none."""
    reason = "the account shows no balance, so that no form of one was seen"
    if ctx.target.features.payouts or ctx.target.primary.funded_account_id:
        ctx.skip_judgement(rule, reason, answer, remedy=FUNDED)
    else:
        # Where no account may be drawn on, none need ever have money.
        ctx.not_applicable(rule, f"{reason}, and none may be drawn on ([features] payouts)")


@check("format.timestamp-current", last=True)
def test_timestamps_tell_the_time(ctx: CheckContext) -> None:
    """A new resource shows a created of about now, and another one than a resource made two seconds before;
    none shows an updated before its created, and no balance an updated_at that is still to come."""
    rule, operation = "format.timestamp-current", ctx.operation.id
    if ctx.operation.traits.creates:
        earlier = creations(ctx.run, operation)[0].exchange
        time.sleep(max(0.0, APART - (time.time() - earlier.arrived)))
        answers = [_newer(ctx, earlier)]
        for name in ("created", "initiated_at") if TRAITS[operation].draws_on_funds else ("created",):
            apart = another_time(f"{name} of a resource made {APART:g} s later", member=name)
            ctx.judge(rule, apart, answers[0], earlier)
    else:
        answers = [_showing(ctx, "a resource that was made before")]
    for answer in answers:
        if TRAITS[operation].shows_balances and answer.get("balances") == []:
            no_balance(ctx, rule, answer)
            continue
        ctx.judge(rule, tells_the_time("created of about now, updated not before it"), answer)
        if TRAITS[operation].shows_balances:
            _judge_balances_time(ctx, rule, answer)


def _newer(ctx: CheckContext, earlier: Exchange) -> Exchange:
    """The exchange of a create that was sent APART seconds after another: a new one, or one that was accepted
    before where the server takes no more."""
    operation = ctx.operation.id
    new = created_in(ctx.run, operation).call(operation)
    try:
        return ctx.accept(new, "a new resource, to tell the time by")
    except Inconclusive:
        # The last is the first answer to show an id: later ones are replays.
        first = {made.get("id"): made for made in reversed(ctx.run.accepted) if made.operation == operation}
        for made in first.values():
            if made.started - earlier.arrived >= APART:
                return made
        raise


def _judge_balances_time(ctx: CheckContext, rule: str, balances: Exchange) -> None:
    """Judges the times of balances by when their account was created, where a first page of accounts shows
    it."""
    accounts = ctx.run.account().call("listAccounts").with_query(query(1, MAX_SIZE))
    listing = ctx.send(accounts, "when was the account created?")
    if any(same_account(item.get("id"), balances.get("id")) for item in objects(listing.get("items"))):
        ctx.judge(
            rule, no_older_than_account("updated_at not before the account's created"), balances, listing
        )


@predicate
def another_time(exchanges: Sequence[Exchange], member: str = "created") -> str:
    """Two resources that were made seconds apart, the later one first, show different times."""
    later, earlier = (exchange.get(member) for exchange in exchanges[:2])
    return show(later) if isinstance(later, str) and later == earlier else ""


@check(*FORMATS, operations=OPERATION_SETS["all"])
def test_answers_have_the_documented_form(ctx: CheckContext) -> None:
    """The answer of a valid request that has something to show is judged member by member, as every other
    answer of the run is as well."""
    operation = ctx.operation.id
    if operation in OPERATION_SETS["create"]:
        answers = [made.exchange for made in creations(ctx.run, operation)]
    else:
        answers = [_showing(ctx, "a valid request with something to show")]
    for answer in answers:
        for rule in ctx.rules.values():
            unseen = rule.id not in response_rules(operation, answer.document)
            if TRAITS[operation].shows_balances and unseen and answer.get("balances") == []:
                no_balance(ctx, rule.id, answer)
                continue
            if not ctx.operation.is_list or answer.get("items"):
                # Nobody can make a server show what a resource, or an element of a list, need not have.
                ctx.not_applicable(rule.id, NOTHING_SHOWN)
            what = f"an answer as documented ({rule.statement.rstrip('.')})"
            ctx.judge(rule.id, Documented(what, rule.id, operation), answer)
