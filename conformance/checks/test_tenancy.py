"""Whose resource is it (section 5.5): every operation, and every path parameter of it."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Sequence

from conformance.contract.rules import RULES
from conformance.contract.traits import TRAITS
from conformance.harness.check import check
from conformance.harness.context import CheckContext
from conformance.harness.preconditions import locked_out
from conformance.harness.repetition import anew
from conformance.harness.side_effects import UNTOUCHED, SideEffects
from conformance.harness.tenancy import (
    PrivateData,
    almost,
    children_of,
    mixed,
    of_another_kind,
    top_of,
    unknown,
)
from conformance.judge.findings import Inconclusive
from conformance.wire.messages import Call, Exchange
from conformance.world.account import AccountFixture, new_key, unknown_like
from conformance.world.cache import Key

FOREIGN_PARENT = "tenancy.foreign-parent"
LEAK = "tenancy.no-leak"


_FOREIGN_WALLET = Key[Exchange]("a wallet of the other organization")


class _Watch(contextlib.ExitStack):
    """Looks for effects of refused writes on several owners' resources at once."""

    def __init__(self, ctx: CheckContext, fixtures: Sequence[AccountFixture]) -> None:
        super().__init__()
        self._ctx = ctx
        self._fixtures = fixtures if UNTOUCHED in ctx.rules else ()
        self._effects: list[SideEffects] = []

    def __enter__(self) -> _Watch:
        super().__enter__()
        self._effects = [self.enter_context(SideEffects(self._ctx, fixture)) for fixture in self._fixtures]
        return self

    def judge(self, what: str, answers: Sequence[Exchange], cause: str) -> None:
        """Judges that refused requests changed none of the fixtures; see SideEffects.judge_refused."""
        for effects in self._effects:
            effects.judge_refused(what, answers, cause, lambda: self._again(answers))

    def _again(self, answers: Sequence[Exchange]) -> list[Exchange]:
        calls = [answer.call for answer in answers]
        return [
            self._ctx.send(
                again.but(idempotency_key=again.idempotency_key and new_key()),
                f"{answer.purpose}, once more",
                answer.organization,
            )
            for again, answer in zip(anew(self._ctx.run, calls), answers, strict=True)
        ]


def _status(ctx: CheckContext, rule: str, answer: Exchange, what: str, *statuses: int) -> None:
    if not locked_out(ctx, rule, answer):
        ctx.status(rule, answer, what, *statuses)


def _refused(ctx: CheckContext, rule: str, answer: Exchange, what: str) -> None:
    if not locked_out(ctx, rule, answer):
        ctx.refused(rule, answer, what)


# ---------------------------------------------------------------------- the top level


@check(FOREIGN_PARENT, LEAK, UNTOUCHED, operations=RULES[FOREIGN_PARENT].operations)
def test_foreign_parent(ctx: CheckContext) -> None:
    """Another organization's customer or account is answered with 403, whatever stands below it in the path,
    in both directions; the refusal shows nothing of its resources and changes none."""
    operation = ctx.operation.id
    own, foreign = ctx.run.account("tenant"), ctx.run.account("tenant", "secondary")
    own_ids, foreign_ids = own.ids(operation), foreign.ids(operation)
    probes: list[tuple[str, Call]] = [("another organization's path", foreign.call(operation))]
    if children_of(operation):
        probes.append(
            ("another organization's parent with an own child", mixed(operation, foreign_ids, own_ids, own))
        )
        probes.append(
            (
                "another organization's parent with an unknown child",
                mixed(operation, foreign_ids, unknown(foreign_ids), foreign),
            )
        )
    if TRAITS[operation].unique_pair:
        probes += _taken_wallet(foreign)
    # Money that moves shows in the funded account only.
    home = ctx.account() if TRAITS[operation].draws_on_funds else own
    back = home.call(operation)
    facts, own_facts = PrivateData(foreign, own), PrivateData(own, foreign)
    with _Watch(ctx, (home, foreign)) as watch:
        _owner_reads(ctx, probes[0][1], "secondary")
        answers = [ctx.send(probe, what) for what, probe in probes]
        _owner_reads(ctx, back, "primary")
        answers.append(ctx.send(back, "the first organization's path for the second", "secondary"))
        watch.judge("requests for another organization's customer or account", answers, FOREIGN_PARENT)
    for answer in answers:
        _status(ctx, FOREIGN_PARENT, answer, answer.purpose, 403)
    for answer in answers[:-1]:
        judge_leak(ctx, facts, answer)
    judge_leak(ctx, own_facts, answers[-1])


def _owner_reads(ctx: CheckContext, call: Call, owner: str) -> None:
    """Has the owner read an address right before the other organization asks for it: a cache that knows
    addresses only would now have the answer."""
    if ctx.operation.method == "GET":
        ctx.send(call, "the owner reads what another organization will ask for", owner)


def _taken_wallet(foreign: AccountFixture) -> list[tuple[str, Call]]:
    """A create of a wallet that the other organization has: being its second is no reason to say so."""
    samples = foreign.run.samples
    if len(samples.wallet_pairs) < 2:
        return []
    foreign.run.cache.get(_FOREIGN_WALLET, lambda: foreign.create("createWallet", samples.wallet(1)))
    taken = foreign.call("createWallet", samples.wallet(1))
    return [("another organization's account, which has that wallet", taken)]


def judge_leak(ctx: CheckContext, facts: PrivateData, answer: Exchange) -> None:
    """Judges that a refusal shows nothing of the other organization."""
    if not ctx.usable(LEAK, answer):
        return
    if not answer.refused:
        ctx.skip_judgement(
            LEAK,
            f"{answer.purpose} was answered {answer.described()}, not refused",
            answer,
            cause=FOREIGN_PARENT,
        )
        return
    sentence = f"{answer.purpose}: a refusal that shows nothing of the other organization"
    ctx.judge(LEAK, facts.hidden_from(sentence), answer, *facts.exchanges)


@check("tenancy.unknown-parent")
def test_unknown_parent(ctx: CheckContext) -> None:
    """An unknown top-level customer or account is answered with 404, also with children that exist elsewhere;
    ids that almost equal an existing one, or are another kind of resource's, are refused."""
    rule, operation = "tenancy.unknown-parent", ctx.operation.id
    own = ctx.run.account("tenant")
    ids = own.ids(operation)
    probes = [("an unknown parent", mixed(operation, unknown(ids), ids, own))]
    if children_of(operation):
        probes.append(
            ("an unknown parent with an unknown child", mixed(operation, unknown(ids), unknown(ids), own))
        )
        if ctx.target.secondary is not None:
            foreign = ctx.run.account("tenant", "secondary").ids(operation)
            probes.append(
                (
                    "an unknown parent with another organization's child",
                    mixed(operation, unknown(ids), foreign, own),
                )
            )
    for what, probe in probes:
        _status(ctx, rule, ctx.send(probe, what), what, 404)
    for what, near in almost(ids, top_of(operation)):
        _refused(ctx, rule, ctx.send(mixed(operation, near, ids, own), f"parent: {what}"), f"parent: {what}")
    top = top_of(operation)
    with contextlib.suppress(Inconclusive):
        other, what = {**ids, top: of_another_kind(own, top)}, "parent: the id of another kind of resource"
        _refused(ctx, rule, ctx.send(mixed(operation, other, ids, own), what), what)


# ---------------------------------------------------------------------- children


@check("tenancy.missing-child", UNTOUCHED, operations=RULES["tenancy.missing-child"].operations)
def test_missing_child(ctx: CheckContext) -> None:
    """A child that does not exist under an own parent is answered with 404; ids that almost equal an existing
    child's, or are another kind of resource's, are refused."""
    rule, operation = "tenancy.missing-child", ctx.operation.id
    own = ctx.run.account("tenant")
    ids = own.ids(operation)
    probes = []
    for child in children_of(operation):
        probes.append((f"an unknown {child}", {**ids, child: unknown_like(ids[child])}, True))
        probes += [(f"{child}: {near}", nearly, False) for near, nearly in almost(ids, child)]
        with contextlib.suppress(Inconclusive):
            other = {**ids, child: of_another_kind(own, child)}
            probes.append((f"{child}: the id of another kind of resource", other, False))
    calls = [(what, mixed(operation, ids, children, own), sure) for what, children, sure in probes]
    answers = []
    with _Watch(ctx, (own,)) as watch:
        for what, probe, sure in calls:
            answers.append(ctx.send(probe, what))
            if sure:
                _status(ctx, rule, answers[-1], what, 404)
            else:
                _refused(ctx, rule, answers[-1], what)
        watch.judge("requests for missing children", answers, rule)


@check("tenancy.sibling-child", UNTOUCHED, operations=RULES["tenancy.sibling-child"].operations)
def test_child_of_sibling(ctx: CheckContext) -> None:
    """A child of another account of the same organization is answered with 404, in both directions, also
    where the other account is another customer's; it stays as it was."""
    rule = "tenancy.sibling-child"
    own, sibling = ctx.run.account("tenant"), ctx.run.account("sibling tenant")
    fixtures = [own, sibling]
    pairs = [
        ("a child of another account", own, sibling),
        ("the other account with this one's child", sibling, own),
    ]
    if ctx.target.primary.other_customer_id is not None:
        cousin = ctx.run.account("tenant", "cousin")
        fixtures.append(cousin)
        pairs.append(("a child of another customer's account", own, cousin))
    probes = [(what, parent, child, "primary") for what, parent, child in pairs]
    _judge_elsewhere(ctx, rule, fixtures, probes, 404)


@check("tenancy.foreign-child", LEAK, UNTOUCHED, operations=RULES["tenancy.foreign-child"].operations)
def test_child_of_another_organization(ctx: CheckContext) -> None:
    """A child that belongs to another organization, under an own account, is answered with 404, which shows
    nothing of it; it stays as it was."""
    own, foreign = ctx.run.account("tenant"), ctx.run.account("tenant", "secondary")
    facts, own_facts = PrivateData(foreign, own), PrivateData(own, foreign)
    answers = _judge_elsewhere(
        ctx,
        "tenancy.foreign-child",
        [own, foreign],
        [
            ("another organization's child under the own account", own, foreign, "primary"),
            ("the first organization's child under the second's account", foreign, own, "secondary"),
        ],
        404,
    )
    judge_leak(ctx, facts, answers[0])
    judge_leak(ctx, own_facts, answers[1])


@check("tenancy.other-customer-account")
def test_account_of_another_customer(ctx: CheckContext) -> None:
    """An account of another customer of the organization is answered with 404, in both directions."""
    own, cousin = ctx.run.account("tenant"), ctx.run.account("tenant", "cousin")
    _judge_elsewhere(
        ctx,
        "tenancy.other-customer-account",
        [],
        [
            ("another customer's account under this customer", own, cousin, "primary"),
            ("this customer's account under the other customer", cousin, own, "primary"),
        ],
        404,
    )


@check("tenancy.foreign-account", LEAK, operations=RULES["tenancy.foreign-account"].operations)
def test_account_of_another_organization(ctx: CheckContext) -> None:
    """Another organization's account under an own customer is answered with 403 or 404, which shows nothing
    of it."""
    own, foreign = ctx.run.account("tenant"), ctx.run.account("tenant", "secondary")
    facts, own_facts = PrivateData(foreign, own), PrivateData(own, foreign)
    answers = _judge_elsewhere(
        ctx,
        "tenancy.foreign-account",
        [],
        [
            ("another organization's account under the own customer", own, foreign, "primary"),
            ("the first organization's account under the second's customer", foreign, own, "secondary"),
        ],
        403,
        404,
    )
    judge_leak(ctx, facts, answers[0])
    judge_leak(ctx, own_facts, answers[1])


def _judge_elsewhere(
    ctx: CheckContext,
    rule: str,
    fixtures: list[AccountFixture],
    probes: list[tuple[str, AccountFixture, AccountFixture, str]],
    *statuses: int,
) -> list[Exchange]:
    """Sends calls with the parent of one fixture and the children of another, in an organization's name."""
    operation = ctx.operation.id
    calls = [
        (what, mixed(operation, parent.ids(operation), child.ids(operation), parent), organization)
        for what, parent, child, organization in probes
    ]
    answers = []
    with _Watch(ctx, fixtures) as watch:
        for what, probe, organization in calls:
            answers.append(ctx.send(probe, what, organization))
            _status(ctx, rule, answers[-1], what, *statuses)
        watch.judge("requests for children of another parent", answers, rule)
    return answers


# ---------------------------------------------------------------------- references in bodies


@check(
    "tenancy.payout-references",
    "tenancy.payout-references-status",
    "tenancy.payout-destination-owner",
    UNTOUCHED,
    LEAK,
    operations=("createPayout",),
)
def test_payout_references(ctx: CheckContext) -> None:
    """A payout that names a beneficiary or destination which is unknown, another account's or another
    organization's, or an existing one in another spelling, is refused, implied with 404, and does nothing; a
    destination of another beneficiary is refused as well."""
    rule, status = "tenancy.payout-references", "tenancy.payout-references-status"
    fixture, sibling = ctx.account(), ctx.run.account("sibling tenant")
    valid = fixture.call("createPayout").document
    references = [
        ("unknown", unknown_like(fixture.beneficiary_id), unknown_like(fixture.destination_id)),
        ("another account's", sibling.beneficiary_id, sibling.destination_id),
    ]
    if ctx.target.secondary is not None:
        foreign = ctx.run.account("tenant", "secondary")
        references.append(("another organization's", foreign.beneficiary_id, foreign.destination_id))
        facts = PrivateData(foreign, ctx.run.account("tenant"))
    # A second fixture in the same account has another beneficiary.
    other = AccountFixture(ctx.run, account_id=fixture.account_id)
    answers = []
    with _Watch(ctx, (fixture,)) as watch:
        for whose, beneficiary, destination in references:
            to_beneficiary = {"beneficiary_id": beneficiary}
            to_destination = {"payout_destination_id": destination}
            changes = {
                f"{whose} beneficiary and destination": to_beneficiary | to_destination,
                f"{whose} beneficiary": to_beneficiary,
                f"{whose} destination": to_destination,
            }
            for what, changed in changes.items():
                answer = ctx.send(
                    fixture.call("createPayout", {**valid, **changed}), f"a payout that names {what}"
                )
                _refused(ctx, rule, answer, answer.purpose)
                if answer.refused:
                    _status(ctx, status, answer, answer.purpose, 404)
                if whose.endswith("organization's") and LEAK in ctx.rules:
                    judge_leak(ctx, facts, answer)
                answers.append(answer)
        named = {"beneficiary_id": fixture.beneficiary_id, "payout_destination_id": fixture.destination_id}
        for name in named:
            # Spaces around a text of a body may be dropped (fields.lenient-values).
            for near, changed in itertools.islice(almost(named, name), 1, 2):
                call = fixture.call("createPayout", {**valid, **changed})
                answers.append(ctx.send(call, f"a payout whose {name} is {near}"))
                _refused(ctx, rule, answers[-1], answers[-1].purpose)
        watch.judge("payouts that name what is not under the account", answers, rule)
    what = "a payout that names a destination of another beneficiary of the account"
    answer = ctx.send(
        fixture.call("createPayout", {**valid, "payout_destination_id": other.destination_id}), what
    )
    _refused(ctx, "tenancy.payout-destination-owner", answer, what)
    ctx.accept(
        fixture.call("createPayout", valid), "the payout that names its own beneficiary and destination"
    )


@check("tenancy.and-validation")
def test_foreign_parent_and_invalid_body(ctx: CheckContext) -> None:
    """Records which refusal comes when another organization's account is sent a body that is wrong, too."""
    rule = "tenancy.and-validation"
    foreign = ctx.run.account("tenant", "secondary").call(ctx.operation.id)
    answer = ctx.send(foreign.but(body=b"{}"), "another organization's account and an invalid body")
    if ctx.usable(rule, answer):
        ctx.observe(rule, "another organization's account and an invalid body", answer.described(), answer)
