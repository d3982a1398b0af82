"""Callers that hang up before their answer, or within their body (section 4.0)."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.checks.check import Check, check
from conformance.checks.idempotent_requests import own_place
from conformance.checks.members import judge_members, look_for
from conformance.checks.races import balances, moved_by_more
from conformance.checks.side_effects import SideEffects, anew
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS
from conformance.judge.outcomes import Got
from conformance.judge.paging import listed
from conformance.wire.messages import Auth, Call, Exchange, HangUp
from conformance.wire.pages import walk
from conformance.world.calls import call, identifier
from conformance.world.run import Account

RULE = "idempotency.hang-up"

#: Ends of a connection behind the whole request, by turns.
_WHOLE = (HangUp.CLOSE, HangUp.RESET, HangUp.HALF_CLOSE)

#: Statuses of a request that is still under way, or comes too soon.
_UNDER_WAY = (409, 423, 425, 429)

#: Most times that it may be done by mistake.
_MOST = 3

#: Times that the money of a payout is counted, as payments of others may spoil one.
_ROUNDS = 3


@check(RULE)
def test_caller_hangs_up(at: Check) -> None:
    """The caller hangs up as soon as its request is sent, by closing, resetting or half-closing the
    connection: its key and body do the operation, or replay its answer, from then on; it is done once."""
    how = _WHOLE[list(OPERATIONS).index(at.operation.id) % len(_WHOLE)]
    if not at.operation.traits.moves_money:
        fixture = own_place(at)
        # First: it may create what it names.
        request = fixture.call(at.operation.id)
        effects = SideEffects(at, fixture).start()
        sent = _sent_again(at, request, how)
        if sent[-1].succeeded:
            _judge_number(at, fixture, effects, sent)
        return
    fixture, moved = at.account() if at.operation.traits.draws_on_funds else own_place(at), list[Got]()
    while len(moved) < _ROUNDS and all(moved):
        # Beside payments of others, the balances would not show what the request takes.
        with at.run.payers.alone():
            request = fixture.call(at.operation.id)
            looks = [balances(at, fixture)]
            sent = _sent_again(at, request, how)
            if not sent[-1].succeeded:
                return
            looks.append(balances(at, fixture))
            single = at.send(fixture.call(at.operation.id, request.document), "one of that amount, answered")
            looks.append(balances(at, fixture))
        moved.append(moved_by_more(looks, at.operation.id, _MOST) if single.succeeded else "")
    what = f"a request whose caller hung up ({how}), and its key and body again: money moves as by one"
    at.expect(RULE, what, moved[-1], *looks, *sent)


def _sent_again(at: Check, request: Call, how: HangUp) -> list[Exchange]:
    """Sends a request and hangs up, then its key and body until that is under way no more, and once more;
    judges the answers. Returns the exchanges, the first answer last."""
    lost = at.send(request.but(hang_up=how), f"a request whose caller hangs up ({how})")
    what = "the key and body of a request whose caller hung up"
    again = at.eventually(
        lambda: at.send(request, what),
        # 429 is waited out by the client as well.
        lambda answer: answer.status not in _UNDER_WAY,
    )
    at.accepted_as(RULE, again, request if again.succeeded else at.valid())
    if not again.succeeded:
        return [lost, again]
    once_more = at.send(request, f"{what} once more")
    at.same(RULE, again, once_more)
    return [lost, once_more, again]


def _judge_number(at: Check, fixture: Account, effects: SideEffects, sent: Sequence[Exchange]) -> None:
    """Judges that what the answers name is there, and nothing else of the kind."""
    *_, again = sent
    created, traits = identifier(again), at.operation.traits
    if traits.read_by and not traits.listed_by:
        ids = fixture.ids(at.operation.id)
        ids |= {} if traits.changes else {f"{traits.creates}_id": created}
        look = look_for(at, call(traits.read_by, ids), "is there what the answer names?", traits.sets)
        if at.accepted(RULE, look, again):
            judge_members(at, RULE, look, traits.sets, shown_by=[again])
        return
    effects.accepted.add(created)
    what = "a request whose caller hung up, beyond one resource"
    effects.judge(RULE, what, sent[1:], lambda: at.send(again.call, f"{again.purpose}, again"))
    if traits.shared:
        look = at.shown(
            call(traits.read_by, {**fixture.ids(at.operation.id), "account_id": created}), "is it there?"
        )
        at.accepted(RULE, look, again)
    elif effects.after is not None:
        # It may show late.
        done = at.eventually(
            lambda: walk(at.send, fixture.call(traits.listed_by)),
            lambda done: done.cut or created in done.ids,
        )
        if not done.cut:
            what = f"{again.purpose}: what the answer names"
            at.expect(RULE, *listed(what, [created], done.page_exchanges), again)


# ---------------------------------------------------------------------- within the body


@check(
    RULE,
    operations=tuple(
        name
        for name in OPERATIONS
        if TRAITS[name].creates and (TRAITS[name].listed_by or TRAITS[name].moves_money)
    ),
)
def test_caller_hangs_up_within_its_body(at: Check) -> None:
    """The caller hangs up before as many bytes of its body are sent as it announced, or before the last
    chunk: nothing is done, though what was sent is a valid body, rightly signed."""
    fixture = at.account(fresh=at.operation.traits.once)
    chunked = (("Transfer-Encoding", "chunked"),) if list(OPERATIONS).index(at.operation.id) % 2 else ()

    def attempt() -> list[Exchange]:
        (request,) = anew(at.run, [fixture.call(at.operation.id)])
        request = request.but(hang_up=HangUp.WITHIN_BODY, headers=chunked, auth=Auth())
        return [at.send(request, f"a {'chunked ' * bool(chunked)}body that breaks off")]

    # It may create what it names.
    fixture.call(at.operation.id)
    effects = SideEffects(at, fixture).start()
    effects.judge(RULE, "a request whose caller hung up within its body", attempt(), attempt)
