"""Texts that servers are known to alter are stored unchanged (sections 2 and 4.2)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from conformance.checks.beneficiaries import Beneficiary
from conformance.checks.check import CheckContext, check
from conformance.checks.members import judge_last_words, judge_members, send_with_texts
from conformance.contract.traits import TRAITS
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import Exchange
from conformance.world.corpora.kept_texts import PRECISE
from conformance.world.creations import created_in, creations
from conformance.world.known_lists import KnownList, large_list, listed_customer, small_list
from conformance.world.list_elements import elements
from conformance.world.run import Run
from conformance.world.samples import Body
from conformance.world.shapes import with_all_texts
from conformance.world.text_turns import Pending, places, with_texts


@check("create.echo", operations=("createAccount", "createPayoutDestination", "createVirtualAccount"))
def test_labels_of_many(ctx: CheckContext) -> None:
    """Elements of a long list, created with names or labels of all kinds, show these as sent."""
    creates = _judged(ctx, large_list)
    if TRAITS[ctx.operation.traits.listed_by].others_add:
        _name_more(ctx, len(creates))
    ctx.not_exercised("create.echo", "there is no long list")


def _name_more(ctx: CheckContext, number: int) -> None:
    """Creates accounts with the names that the list did not get, because other clients had filled it."""
    fixture = listed_customer(ctx.run)
    rest = itertools.islice(elements(fixture, ctx.operation.id), number, None)
    for each in itertools.takewhile(lambda each: each.kind, rest):
        request = fixture.call(ctx.operation.id, each.bodies[0])
        answer = ctx.send(request, f"an account with the name: {each.kind}")
        if answer.succeeded:
            _judge_text(ctx, answer, "name")


@check("create.echo", operations=("createBeneficiary", "createWallet"))
def test_texts_of_all_kinds(ctx: CheckContext) -> None:
    """Resources are created with the texts that no earlier one had in a field, in each field: each answer
    shows them as sent, unless the server refuses them."""
    operation = ctx.operation.id
    pending = Pending(operation)
    before = [creation.exchange for creation in creations(ctx.run, operation)]
    if ctx.operation.traits.unique_pair:
        before += _judged(ctx, small_list)
    for exchange in before:
        pending.had(exchange.call.document)
    for number, texts in enumerate(pending.turns()):
        what = f"texts that servers change ({number})"
        fixture = created_in(ctx.run, operation)
        body = with_all_texts(fixture, operation)
        send_with_texts(ctx, fixture, body, texts, f"created with {what}")
    ctx.not_exercised("create.echo", "the server takes none of the texts, or has shown all of them before")


@check("beneficiary.update", "beneficiary.update-text-exact")
def test_updates_with_texts_of_all_kinds(ctx: CheckContext) -> None:
    """Each field of a beneficiary is changed to texts that servers are known to alter, all fields at once:
    each answer, and a read at the end, shows them as sent, unless the server refuses them."""
    exact = "beneficiary.update-text-exact"
    rule, operation, fixture = "beneficiary.update", ctx.operation.id, ctx.account(fresh=True)
    fixed, changed = fixture.run.samples.over("beneficiary"), dict[str, Any]()
    plain = with_all_texts(fixture, "createBeneficiary")
    plain = {name: value for name, value in plain.items() if name not in fixed}
    person, pending = Beneficiary(ctx, fixture), Pending(operation)
    precise = {place: PRECISE for place in places(operation) if place[0] in plain}
    for number, texts in enumerate((precise, *pending.turns())):
        what = f"a PATCH with texts that servers change ({number})"
        patches: list[Body] = []
        for body in with_texts(operation, plain, texts):
            patch = {name: value for name, value in body.items() if value != plain[name]}
            patches.append(patch | ({"beneficiary_type": "business"} if "company_name" in patch else {}))
        answer = person.patch_any(patches, what) if patches else None
        if answer is None or not answer.succeeded:
            continue
        patch = answer.call.document
        if texts is precise:
            sent = {name: patch[name] for name, _ in texts if name in patch}
            judge_members(ctx, exact, answer, sent, what)
            judge_last_words(ctx, rule, answer, texts, f"{what}, with what stands behind them")
        else:
            changed |= patch
            judge_members(ctx, rule, answer, changed, what)
    if changed:
        what = "a read after PATCHes with texts that servers change"
        judge_members(ctx, rule, person.read_until(what, changed), changed, what)
    ctx.not_exercised(rule, "the server takes none of the texts")
    ctx.not_exercised(exact, "the server takes no text of all kinds of letters")


def _judged(ctx: CheckContext, make: Callable[[Run, str], KnownList]) -> list[Exchange]:
    """Judges names or labels of a list's elements and returns their creates; none without such a list."""
    name = ctx.operation.traits.free_text
    try:
        creates = list(make(ctx.run, ctx.operation.traits.listed_by).created.values())
    except Inconclusive:
        return []
    for exchange in creates:
        if name in exchange.call.document:
            _judge_text(ctx, exchange, name)
    return creates


def _judge_text(ctx: CheckContext, created: Exchange, name: str) -> None:
    text = created.call.document[name]
    ctx.member("create.echo", "an element of a list", created, name, text)
