"""Tenant scoping (section 5.5) of every path parameter, and of the references in payouts."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Mapping, Sequence

from conformance.checks import foreign_paths
from conformance.checks.check import check
from conformance.checks.check_context import CheckContext
from conformance.checks.defaults import Defaults
from conformance.checks.engine import Engine, hostile, locked_out, tenant
from conformance.checks.private_data import PrivateData
from conformance.checks.repetition import anew
from conformance.checks.side_effects import UNTOUCHED, SideEffects
from conformance.judge.expectations import Accepted, CannotTell, Refused, predicate
from conformance.judge.findings import Inconclusive
from conformance.judge.oracle import COUSIN, FOREIGN, SIBLING
from conformance.judge.outcomes import unusable
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import query
from conformance.world.account import AccountFixture, call, renewed, unknown_like
from conformance.world.bodies import SAMPLE
from conformance.world.cache import Key
from conformance.world.case import Case
from conformance.world.shapes import accepts

FOREIGN_PARENT = "tenancy.foreign-parent"
LEAK = "tenancy.no-leak"

#: Beneficiary -> the answer to the request that disabled it.
_DISABLED = Key[Exchange]("a disabled beneficiary")

#: Simultaneous requests of two organizations.
AT_ONCE = 8


def _watched(ctx: CheckContext, *fixtures: AccountFixture) -> list[SideEffects]:
    """Snapshots of several owners' resources, before requests that must be refused."""
    return [SideEffects(ctx, fixture).start() for fixture in fixtures if UNTOUCHED in ctx.rules]


def _judge_untouched(watched: Sequence[SideEffects], what: str, answers: Sequence[Exchange]) -> None:
    """Judges that refused requests changed nothing in any fixture."""

    def again(ctx: CheckContext) -> list[Exchange]:
        return [
            ctx.send(renewed(call), f"{answer.purpose}, once more", answer.organization)
            for call, answer in zip(anew(ctx.run, [each.call for each in answers]), answers, strict=True)
        ]

    for effects in watched:
        effects.judge_refused(what, answers, functools.partial(again, effects.ctx))


_Planned = tuple[Engine, Case, Call]


def _planned(engine: Engine, cases: Iterable[Case]) -> list[_Planned]:
    """The cases with their calls, built before the snapshots are taken."""
    return [(engine, case, engine.call(case)) for case in cases]


def _answers(planned: Sequence[_Planned]) -> list[Exchange]:
    return [engine.ask(case, call) for engine, case, call in planned]


def _judge(planned: Sequence[_Planned], answers: Sequence[Exchange]) -> None:
    for (engine, case, _), answer in zip(planned, answers, strict=True):
        engine.judge(case, answer)


# ---------------------------------------------------------------------- the top level


@check(FOREIGN_PARENT, LEAK, UNTOUCHED)
def test_foreign_parent(ctx: CheckContext) -> None:
    """Another organization's customer or account is answered with 403, whatever follows it in the path, in
    both directions; the refusal shows nothing of its resources and changes none."""
    own, foreign = ctx.run.account("tenant"), ctx.run.account("tenant", "secondary")
    there = tenant(ctx, "own")
    planned = _planned(there, foreign_paths.foreign_parents(there))
    if ctx.operation.id == "createWallet":
        planned += _planned(there, foreign_paths.taken_wallets(there))
    # Only the balances of the funded account show a payout.
    home = ctx.account() if ctx.operation.id == "createPayout" else own
    back = Engine(ctx, lambda: foreign, others={FOREIGN: lambda: home}, organization="secondary")
    name = "the first organization's path for the second"
    returned = _planned(back, [foreign_paths.foreign_path(back, name, back=True)])
    if ctx.operation.traits.subset_of:
        # Before the snapshots, as it may move `updated`.
        ctx.send(home.call(ctx.operation.id, {}), "the owner changes nothing where another one will")
    private, watched = _private(ctx), _watched(ctx, home, foreign)
    _owner_reads(ctx, foreign, "secondary")
    answers = _answers(planned)
    _owner_reads(ctx, home, "primary")
    refused = _answers(returned)
    _judge_owner(ctx, home, refused)
    answers += refused
    _judge_untouched(watched, "requests for another organization's customer or account", answers)
    _judge(planned + returned, answers)
    for answer in answers:
        judge_leak(ctx, private[answer.organization], answer)


def _owner_reads(ctx: CheckContext, fixture: AccountFixture, owner: str) -> None:
    """Fills caches: the owner reads an address before the other organization does, which a cache that ignores
    credentials would then answer."""
    if ctx.operation.method == "GET":
        call = fixture.call(ctx.operation.id)
        ctx.shown(call, "the owner reads what another organization will ask for", owner)


def _judge_owner(ctx: CheckContext, fixture: AccountFixture, refused: Sequence[Exchange]) -> None:
    """Judges that the owner is not answered with the other organization's refusal from a cache that ignores
    credentials."""
    what = "the owner reads what another organization was just refused"
    for refusal in refused if ctx.operation.method == "GET" else ():
        own = fixture.call(ctx.operation.id).but(target=refusal.call.target)
        # A replica may lag.
        answer = ctx.shown(own, what)
        kept = answer.refused and answer.status == refusal.status
        if answer.succeeded or (kept and _owner_reads_another(ctx)):
            ctx.judge(FOREIGN_PARENT, not_refused_alike(what), answer, refusal)


@predicate
def not_refused_alike(exchanges: Sequence[Exchange]) -> str:
    """The first answer is not a refusal with the status of the second. Raises CannotTell for another refusal,
    such as that of a page past the last."""
    answer, refusal = exchanges[:2]
    if reason := unusable(answer):
        raise CannotTell(reason.reason, reason.cause)
    if answer.refused and answer.status != refusal.status:
        raise CannotTell(f"{answer.purpose} was refused with {answer.status}, not {refusal.status}")
    return "" if answer.succeeded else answer.described()


def _owner_reads_another(ctx: CheckContext) -> bool:
    """True if the owner can read at all: a server may lock out clients after refusals."""
    reading = ctx.run.account("sibling tenant").call(ctx.operation.id)
    return ctx.send(reading, "the owner reads another address").succeeded


def _private(ctx: CheckContext) -> dict[str, PrivateData]:
    """Organization -> private data of the other one, created if need be."""
    own, foreign = ctx.run.account("tenant"), ctx.run.account("tenant", "secondary")
    return {"primary": PrivateData(foreign, own), "secondary": PrivateData(own, foreign)}


def judge_leak(ctx: CheckContext, facts: PrivateData, answer: Exchange) -> None:
    """Judges that a refusal shows nothing of the other organization."""
    sentence = f"{answer.purpose}: a refusal that shows nothing of the other organization"
    ctx.judge(LEAK, facts.hidden_from(sentence), answer, *facts.exchanges)


@check(FOREIGN_PARENT, operations=("listAccounts",))
def test_foreign_parent_at_once(ctx: CheckContext) -> None:
    """Two organizations ask for one customer's accounts at once: its owner is answered, the other refused."""
    owner, stranger = "the owner's request, beside another organization's", "another organization's request"
    organizations, request = ("primary", "secondary"), ctx.valid().with_query(query(1, 1))
    answers = ctx.race([request] * AT_ONCE, "requests of two organizations at once", organizations)
    for answer in answers:
        mine = answer.organization == "primary"
        expected = Accepted(owner) if mine else Refused(f"{stranger}, beside the owner's", 403)
        ctx.judge(FOREIGN_PARENT, expected, answer, *(other for other in answers if other is not answer))


@check("tenancy.unknown-parent")
def test_unknown_parent(ctx: CheckContext) -> None:
    """An unknown customer or account is answered with 404, also above children that exist elsewhere; ids that
    almost equal an existing one, or belong to another type of resource, are refused."""
    own = tenant(ctx, "own")
    own.run(foreign_paths.unknown_parents)
    # A refusal for lack of funds would hide that the id was accepted.
    (hostile(ctx) if ctx.operation.traits.moves_money else own).run(foreign_paths.near_parents)


# ---------------------------------------------------------------------- children


@check("tenancy.missing-child", UNTOUCHED)
def test_missing_child(ctx: CheckContext) -> None:
    """A child that does not exist under an own parent is answered with 404; ids that almost equal an existing
    child's, or belong to another type of resource, are refused."""
    engine = tenant(ctx, "own")
    planned = _planned(engine, foreign_paths.missing_children(engine))
    watched = _watched(ctx, engine.fixture)
    answers = _answers(planned)
    _judge_untouched(watched, "requests for missing children", answers)
    _judge(planned, answers)


@check("tenancy.sibling-child", UNTOUCHED)
def test_child_of_sibling(ctx: CheckContext) -> None:
    """A child of another account of the organization is answered with 404, in both directions, also if that
    account is another customer's and the child is disabled; the child is unchanged."""
    own, sibling = tenant(ctx, "own"), tenant(ctx, "sibling")
    watched = [own, sibling]
    probes = [
        (own, SIBLING, "a child of another account"),
        (sibling, SIBLING, "the other account with this one's child"),
    ]
    if ctx.target.primary.other_customer_id is not None:
        watched.append(cousin := tenant(ctx, "cousin"))
        probes.append((own, COUSIN, "a child of another customer's account"))
        if "beneficiary_id" in ctx.operation.path_parameters:
            _disable(ctx, cousin.fixture)
    _judge_elsewhere(ctx, watched, probes)


def _disable(ctx: CheckContext, fixture: AccountFixture) -> None:
    """Disables the beneficiary of a fixture, once in a run: servers look for these apart."""
    ids = {"account_id": fixture.account_id, "beneficiary_id": fixture.beneficiary_id}
    purpose = "a beneficiary to disable, which is another customer's"
    disabling = call("disableBeneficiary", ids)
    ctx.run.cache.get(_DISABLED.of(fixture.beneficiary_id), lambda: ctx.send(disabling, purpose))


@check("tenancy.foreign-child", LEAK, UNTOUCHED)
def test_child_of_another_organization(ctx: CheckContext) -> None:
    """Another organization's child under an own account is answered with 404; the refusal shows nothing of
    it, and it is unchanged."""
    own, foreign = tenant(ctx, "own"), tenant(ctx, "foreign")
    probes = [
        (own, FOREIGN, "another organization's child under the own account"),
        (foreign, FOREIGN, "the first organization's child under the second's account"),
    ]
    _judge_organizations(ctx, [own, foreign], probes)


@check("tenancy.other-customer-account")
def test_account_of_another_customer(ctx: CheckContext) -> None:
    """An account of another customer of the organization is answered with 404, in both directions."""
    probes = [
        (tenant(ctx, "own"), COUSIN, "another customer's account under this customer"),
        (tenant(ctx, "cousin"), COUSIN, "this customer's account under the other customer"),
    ]
    _judge_elsewhere(ctx, [], probes)


@check("tenancy.foreign-account", LEAK)
def test_account_of_another_organization(ctx: CheckContext) -> None:
    """Another organization's account under an own customer is answered with 403 or 404, and not shown."""
    probes = [
        (tenant(ctx, "own"), FOREIGN, "another organization's account under the own customer"),
        (tenant(ctx, "foreign"), FOREIGN, "the first organization's account under the second's customer"),
    ]
    _judge_organizations(ctx, [], probes)


#: Engine, owner of the children, name of the case.
_Elsewhere = tuple[Engine, str, str]


def _judge_elsewhere(
    ctx: CheckContext, watched: Sequence[Engine], probes: Sequence[_Elsewhere]
) -> list[Exchange]:
    """Sends calls with an own parent and others' children; the watched accounts must stay unchanged."""
    planned = [
        each
        for engine, whose, name in probes
        for each in _planned(
            engine, foreign_paths.children(engine, whose, name, back=engine is not probes[0][0])
        )
    ]
    effects = _watched(ctx, *(engine.fixture for engine in watched))
    answers = _answers(planned)
    _judge_untouched(effects, "requests for children of another parent", answers)
    _judge(planned, answers)
    return answers


def _judge_organizations(ctx: CheckContext, watched: Sequence[Engine], probes: Sequence[_Elsewhere]) -> None:
    """As `_judge_elsewhere`, between two organizations; no refusal may show anything of the other one."""
    private = _private(ctx)
    for answer in _judge_elsewhere(ctx, watched, probes):
        judge_leak(ctx, private[answer.organization], answer)


# ---------------------------------------------------------------------- references in bodies


def _defaults(ctx: CheckContext, owners: Mapping[str, tuple[AccountFixture, str]]) -> dict[str, Defaults]:
    """Owner -> a new default destination, of the sample's shape where the server does not accept its own."""
    made = {}
    for whose, (fixture, shape) in owners.items():
        with contextlib.suppress(Inconclusive):
            known = accepts(ctx.run, "createPayoutDestination", shape)
            made[whose] = Defaults(ctx, fixture, shape if known else SAMPLE)
    return made


@check(
    "tenancy.payout-references",
    "tenancy.payout-references-status",
    "tenancy.payout-destination-owner",
    UNTOUCHED,
    LEAK,
)
def test_payout_references(ctx: CheckContext) -> None:
    """A payout with a beneficiary or destination that is unknown, another account's, another organization's,
    or spelled differently, is refused (implied: with 404) and has no effect; so is one with a destination of
    another beneficiary. Default destinations of others are named too, and stay the default."""
    fixture, sibling = ctx.account(), ctx.run.account("sibling tenant")
    valid = fixture.call("createPayout").document
    references = {
        "unknown": (unknown_like(fixture.beneficiary_id), unknown_like(fixture.destination_id)),
        "another account's": (sibling.beneficiary_id, sibling.destination_id),
    }
    # A second fixture in the same account has another beneficiary.
    other = AccountFixture(ctx.run, account_id=fixture.account_id)
    owners = {"another account's": (sibling, SAMPLE), "another beneficiary's": (other, "wallet")}
    if ctx.target.secondary is not None:
        foreign = ctx.run.account("tenant", "secondary")
        references["another organization's"] = (foreign.beneficiary_id, foreign.destination_id)
        owners["another organization's"] = (foreign, "wallet")
        facts = PrivateData(foreign, ctx.run.account("tenant"))
    defaults = _defaults(ctx, owners)
    engine = Engine(ctx, lambda: fixture)
    outside = {whose: default.id for whose, default in defaults.items() if whose in references}
    cases = (*foreign_paths.payees(engine, references), *foreign_paths.default_payees(engine, outside))
    planned = _planned(engine, cases)
    what = "a payout that names a destination of another beneficiary of the account"
    mixed = [other.destination_id, *(default.id for default in defaults.values() if default.fixture is other)]
    watched = _watched(ctx, fixture)
    answers = _answers(planned)
    crossed = [
        ctx.send(fixture.call("createPayout", {**valid, "payout_destination_id": destination}), what)
        for destination in mixed
    ]
    refused = [answer for answer in (*answers, *crossed) if answer not in crossed or answer.refused]
    _judge_untouched(watched, "payouts that name what is not under the account", refused)
    for default in defaults.values():
        ids = {default.id, default.fixture.destination_id}
        named = [
            each for each in (*answers, *crossed) if each.call.document.get("payout_destination_id") in ids
        ]
        default.judge_refused("payouts that name the default of what is not under the account", named)
    _judge(planned, answers)
    for answer in answers:
        if "another organization's" in answer.purpose and LEAK in ctx.rules:
            judge_leak(ctx, facts, answer)
    rule = "tenancy.payout-destination-owner"
    for answer in crossed:
        if not locked_out(ctx, rule, answer):
            ctx.judge(rule, Refused(what), answer)
    ctx.accept(
        fixture.call("createPayout", valid), "the payout that names its own beneficiary and destination"
    )


@check("tenancy.and-validation")
def test_foreign_parent_and_invalid_body(ctx: CheckContext) -> None:
    """Records which refusal takes precedence: another organization's account, or an invalid body."""
    rule = "tenancy.and-validation"
    foreign = ctx.run.account("tenant", "secondary").call(ctx.operation.id)
    question = "another organization's account and an invalid body"
    ctx.record(rule, question, ctx.send(foreign.but(body=b"{}"), question))
