"""Callers that hang up before their answer, or within their body (section 4.0)."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import partial

from conformance.checks.check import Check, check
from conformance.checks.hang_ups import RULE, UNDER_WAY, hang_up_and_ask, refused_for_its_key
from conformance.checks.idempotent_requests import own_place, refused_for_key
from conformance.checks.list_judging import judge_whole
from conformance.checks.members import judge_members, mismatches, read_until, shows_changes
from conformance.checks.races import Rounds, balances, countable, counted, not_counted, undisturbed
from conformance.checks.side_effects import SideEffects, anew
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS
from conformance.judge.conservation import taken
from conformance.judge.effects import EXACT, below_cents, sent_amount
from conformance.judge.outcomes import Got, Unclear
from conformance.judge.paging import unread
from conformance.wire.messages import Auth, Call, Exchange, HangUp
from conformance.wire.pages import walk
from conformance.world.calls import call, identifier
from conformance.world.lane import Fixture

#: Ends of a connection behind the whole request, by turns.
_WHOLE = (HangUp.CLOSE, HangUp.RESET, HangUp.HALF_CLOSE)

#: Requests whose callers hang up at once.
_AT_ONCE = 8

#: Rounds of these where nothing lists what they create, so that only answers of one key that differ show a
#: mistake, which those of a round did in 18 of 20.
_UNLISTED = 2

#: Most times that it may be done by mistake.
_MOST = 3

#: Times that the money of a payout is counted, and spoilt rounds, as payments of others may spoil one.
_ROUNDS = 3

#: Rounds of payouts, and of other creates, after the first, at most, where one rule is run alone.
_MOST_PAYOUTS, _MOST_CREATES = 100, 10

#: Parts of an operation's usual latency after which callers hang up.
PARTS = 6

#: Part by which the delays of each round differ from those before, the golden section: no two coincide.
GOLDEN = (5**0.5 - 1) / 2

#: By how much fees in proportion differ where they are rounded.
_CENT = Decimal("0.01")

#: Maximum of the usual latency, in seconds.
LONGEST = 5.0


@check(RULE)
def test_caller_hangs_up(at: Check) -> None:
    """The caller hangs up as soon as its request is sent, by closing, resetting or half-closing the
    connection: its key and body do the operation, or replay its answer, from then on; it is done once."""
    how = _WHOLE[list(OPERATIONS).index(at.operation.id) % len(_WHOLE)]
    if not at.operation.traits.moves_money:
        # The first may be full.
        for place in (own_place, lambda at: at.account(fresh=True)):
            fixture = place(at)
            # First: it may create what it names.
            request = fixture.call(at.operation.id)
            effects = SideEffects(at, fixture).start()
            if sent := _sent_again(at, request, how):
                _judge_number(at, fixture, effects, sent[1:], sent[-1:])
                break
        return
    fixture = at.account() if at.operation.traits.draws_on_funds else own_place(at)
    moved, spoilt, sent = list[Got](), 0, list[Exchange]()

    def act(request: Call) -> Exchange | None:
        sent[:] = _sent_again(at, request, how)
        return sent[-1] if sent else None

    # Payments of others spoil a round, or look like more.
    while spoilt < _ROUNDS and len(moved) - spoilt < _ROUNDS and all(moved):
        if not (count := counted(at, fixture, spoilt, _MOST, act)):
            return
        got, looks = count
        moved.append(got)
        if isinstance(got, Unclear):
            spoilt += 1
            if got.choice:
                break
    what = f"a request whose caller hung up ({how}), and its key and body again: money moves as by one"
    at.expect(RULE, what, moved[-1], *looks, *sent)


@check(RULE)
def test_callers_hang_up_and_ask_at_once(at: Check) -> None:
    """Callers hang up as soon as their requests are sent, and send their keys and bodies at the same time:
    from then on each key has one answer, and what it asks for is done once."""
    how, traits = _WHOLE[list(OPERATIONS).index(at.operation.id) % len(_WHOLE)], at.operation.traits
    words = f"one of {_AT_ONCE} requests whose callers hang up ({how}), and their keys and bodies at once"
    rounds = Rounds(at, 1 if traits.listed_by else _UNLISTED)
    for _ in rounds:
        place, calls = _requests_at_once(at)
        effects = SideEffects(at, place).start()
        sent = rounds.race([each for one in calls for each in (one.but(hang_up=how), one)], words)
        refused = list[Exchange]()
        for first in sent[1::2]:
            again = at.eventually(
                partial(at.send, first.call, f"the key and body of {words}, again"),
                lambda answer: answer.status not in UNDER_WAY,
            )
            effects.created.add(identifier(again) if again.succeeded else "")
            if first.succeeded:
                at.same(RULE, first, again)
            elif again.succeeded:
                at.accepted(RULE, again)
            elif refused_for_its_key(at, again):
                refused.append(again)
        if traits.listed_by and not rounds.spoilt:
            effects.judge(RULE, words, sent, partial(at.send, calls[0], words))
        if any(map(refused_for_key, refused)) or (refused and _taken_at_once(at, rounds)):
            for again in refused:
                at.accepted(RULE, again)
        elif refused:
            at.not_exercised(RULE, f"{words}: some are refused where their callers stay, too")


def _requests_at_once(at: Check) -> tuple[Fixture, list[Call]]:
    """Several valid requests to send at once, and the place of the first."""
    traits, places = at.operation.traits, [own_place(at)] * _AT_ONCE
    if traits.disables:
        places[1:] = [own_place(at) for _ in places[1:]]
    bodies = at.lane.samples.wallets() if traits.unique_pair else [None] * _AT_ONCE
    return places[0], [place.call(at.operation.id, each) for place, each in zip(places, bodies, strict=False)]


def _taken_at_once(at: Check, rounds: Rounds) -> bool:
    """True if the server takes as many requests at once, each twice, whose callers stay: it may refuse some
    for their number, and a refusal may be stored."""
    calls = _requests_at_once(at)[1]
    answers = rounds.race([each for one in calls for each in (one, one)], "as many whose callers stay")
    return all(
        first.succeeded or again.succeeded for first, again in zip(answers[::2], answers[1::2], strict=True)
    )


def _sent_again(at: Check, request: Call, how: HangUp) -> list[Exchange]:
    """Sends a request and hangs up, then its key and body until that is under way no more, and once more;
    judges the answers. Returns the exchanges, the first answer last; none where it was refused there."""
    sent = hang_up_and_ask(at, request, f"a request whose caller hangs up ({how})", hang_up=how)
    if not sent:
        return []
    lost, again = sent
    once_more = at.send(again.call, f"{again.purpose} once more")
    at.same(RULE, again, once_more)
    return [lost, once_more, again]


def _judge_number(
    at: Check, fixture: Fixture, effects: SideEffects, sent: Sequence[Exchange], answers: Sequence[Exchange]
) -> None:
    """Judges that what the answers name is there, and nothing else of the kind."""
    again, traits = answers[-1], at.operation.traits
    if traits.read_by and not traits.listed_by:
        for answer in answers:
            ids = fixture.ids(at.operation.id)
            ids |= {} if traits.changes else {f"{traits.creates}_id": identifier(answer)}
            look = read_until(at, call(traits.read_by, ids), "a read of what the answer names", traits.sets)
            if at.accepted(RULE, look, answer) and mismatches(look, traits.sets):
                _judge_state(at, look, answer)
        return
    created = [identifier(answer) for answer in answers]
    effects.created.update(created)
    what = f"{'a request' if len(answers) == 1 else 'requests'} whose caller hung up, beyond one resource"
    effects.judge(RULE, what, sent, lambda: at.send(again.call, f"{again.purpose}, again"))
    if traits.shared:
        for answer in answers:
            ids = {**fixture.ids(at.operation.id), "account_id": identifier(answer)}
            at.accepted(RULE, at.find(call(traits.read_by, ids), "a read of what an answer names"), answer)
    elif effects.after is not None:
        # It may show late.
        done = at.eventually(
            lambda: walk(at.send, fixture.call(traits.listed_by)),
            lambda done: done.cut or {*created} <= {*done.ids},
        )
        if done.cut and not {*created} <= {*done.ids}:
            at.unclear(RULE, unread(done.pages), done.exchanges[-1])
        else:
            judge_whole(
                at, RULE, done, created, f"{again.purpose}: what the answer names", *answers, full=False
            )


def _judge_state(at: Check, look: Exchange, answer: Exchange) -> None:
    """Judges a read that shows another state than the answer: one answered at once may leave it so, too."""
    traits, fixture = at.operation.traits, own_place(at)
    request = fixture.call(at.operation.id)
    if traits.changes and (done := at.send(request, "a request that is answered")).succeeded:
        read = call(traits.read_by, fixture.ids(at.operation.id))
        purpose = "the state after a request that is answered"
        if not shows_changes(at, RULE, read, purpose, traits.sets, [done]):
            return
    judge_members(at, RULE, look, traits.sets, shown_by=[answer])


# ---------------------------------------------------------------------- during the work


@check(
    RULE,
    operations=tuple(
        name
        for name in OPERATIONS
        if (each := TRAITS[name]).creates and (each.listed_by or each.read_by or each.draws_on_funds)
    ),
)
def test_caller_hangs_up_during_the_work(at: Check) -> None:
    """The caller hangs up after parts of the time that the operation usually takes, so during each step of
    its work: its key and body do the operation, or replay its answer, from then on; it is done once."""
    latency = _usual_latency(at)
    if at.operation.traits.draws_on_funds:
        _judge_payouts(at, latency)
        return
    for number in Rounds(at, 1):
        if number == _MOST_CREATES or not _judge_creates(at, _delays(latency, number)):
            break


def _judge_creates(at: Check, left: list[float]) -> bool:
    """Judges that creates whose callers hang up after these delays are done once; False where none was
    accepted."""
    while left:
        fixture = own_place(at)
        if at.operation.traits.unique_pair:
            calls = [fixture.call(at.operation.id, body) for body in at.lane.samples.wallets()[: len(left)]]
        else:
            calls = [fixture.call(at.operation.id) for _ in left]
        effects, sent, answers = SideEffects(at, fixture).start(), list[Exchange](), list[Exchange]()
        for request, delay in zip(calls, left, strict=False):
            sent += (both := _sent_later(at, request, delay))
            answers += both[-1:]
        if at.cells[RULE].violations:
            return False
        del left[: len(calls)]
        if not answers:
            return False
        _judge_number(at, fixture, effects, sent, answers)
    return True


def _delays(latency: float, number: int, start: float = 0.0) -> list[float]:
    """The delays of a round, in seconds: the ends of the parts of a latency, behind its start; in later
    rounds other points of the parts, which come closer with each round."""
    return [start + latency * (part - number * GOLDEN % 1) / PARTS for part in range(1, PARTS + 1)]


def _usual_latency(at: Check) -> float:
    """The median of the last latencies of the operation's accepted requests, in seconds; of one that it sends
    where there were none."""
    last = list(at.lane.common.latencies[at.operation.id])
    last = last or [at.accept(at.valid(), "a request, to see how long it takes").elapsed]
    return min(statistics.median(last), LONGEST)


def _sent_later(at: Check, request: Call, delay: float) -> list[Exchange]:
    """Sends a request, hangs up after so many seconds, and sends its key and body until that is under way no
    more; judges the answer. Returns the exchanges; none where it was refused there."""
    words = f"a request whose caller hangs up after {delay * 1000:.1f} ms"
    return hang_up_and_ask(at, request, words, hang_up=HangUp.CLOSE, hang_up_after=delay)


def _judge_payouts(at: Check, latency: float) -> None:
    """Judges that each payout takes money once, in a round in which the balances show it of each, or in as
    many as exclude payments of others."""
    fixture, wrong, whole, spoilt = at.account(), list[tuple[float, str, list[Exchange]]](), False, 0
    # What comes first creates its payee.
    fixture.call(at.operation.id)
    what = "payouts whose caller hung up, and their keys and bodies again: the money of each moves once"
    sent: list[Exchange] = []
    rounds = Rounds(at, 1)
    for number in rounds:
        counts = list[int | None]()
        payouts = [countable(at, fixture, spoilt) for _ in range(PARTS + 1)]
        with undisturbed(at, spoilt):
            look = balances(at, fixture)
            single = at.accept(payouts.pop(), "a payout, answered")
            after = balances(at, fixture, look, single.call)
            fees = dict(taken(look, [single], after))
            # Alone a payout takes less time than beside others.
            shortest = min(latency, single.elapsed)
            delays = _delays(shortest, number)
            if wrong:
                # The step of the work in which that was may be short.
                delays = _delays(shortest / PARTS, number, max(0.0, wrong[0][0] - shortest / PARTS / 2))
            for delay in delays:
                look, both = after, _sent_later(at, payouts.pop(), delay)
                if not both:
                    return
                lost, again = both
                after = balances(at, fixture, look, again.call)
                counts.append(times := _times(fees, single, again, look, after))
                sent = [after, look, again, lost]
                if times not in (None, 1):
                    got = f"moves {times} times, where its caller hung up after {delay * 1000:.1f} ms"
                    wrong.append((delay, got, sent))
        whole = whole or all(times == 1 for times in counts)
        if len(wrong) > 1 or number == _MOST_PAYOUTS:
            break
        if None in counts:
            spoilt += 1
            uncounted = not_counted(at, after)
            at.expect(RULE, what, uncounted, *sent)
            if uncounted.choice:
                return
        rounds.count = _ROUNDS if wrong else 1
    if len(wrong) > 1:
        at.expect(RULE, what, wrong[0][1], *wrong[0][2])
    elif whole:
        at.expect(RULE, what, "", *sent)


def _times(
    fees: Mapping[str, Decimal], single: Exchange, payout: Exchange, look: Exchange, after: Exchange
) -> int | None:
    """How often the money of a payout moves between two looks, where a single one moves with these fees, or
    with fees in proportion to its amount, rounded to cents; None where that cannot be told."""
    amount, alone = sent_amount(payout.call) or Decimal(0), sent_amount(single.call) or Decimal(0)
    once, part = False, below_cents(amount)
    for member, beyond in taken(look, [payout], after):
        fee = fees.get(member, Decimal(-1))
        if part and not below_cents(fee):
            # Others move whole cents.
            return {below_cents(part * (times - 1)): times for times in range(4)}.get(below_cents(beyond))
        share = fee * amount / alone if fee > 0 and alone else fee
        for each, times in itertools.product((fee, share), (0, 1, 2, 3) if fee >= 0 else ()):
            moved = EXACT.multiply(EXACT.add(amount, each), Decimal(times - 1))
            if abs(EXACT.subtract(EXACT.subtract(beyond, each), moved)) <= (_CENT if each != fee else 0):
                if times != 1:
                    return times
                once = True
    return 1 if once else None


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

    def attempt() -> list[Exchange]:
        framings = {"": (), "chunked ": (("Transfer-Encoding", "chunked"),)}
        requests = anew(at.lane, [fixture.call(at.operation.id)] * len(framings))
        return [
            at.send(
                request.but(hang_up=HangUp.WITHIN_BODY, headers=headers, auth=Auth()),
                f"a {framing}body that breaks off",
            )
            for request, (framing, headers) in zip(requests, framings.items(), strict=True)
        ]

    # It may create what it names.
    fixture.call(at.operation.id)
    effects = SideEffects(at, fixture).start()
    effects.judge(RULE, "a request whose caller hung up within its body", attempt(), attempt)
