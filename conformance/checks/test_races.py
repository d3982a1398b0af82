"""Races: simultaneous requests with one nonce, one idempotency key, different bodies, or for one wallet.

A server may serialize such requests or refuse all but one: only accepted ones and the final state count.
"""

from __future__ import annotations

from functools import partial

from conformance.checks.check import Check, check
from conformance.checks.hang_ups import UNDER_WAY
from conformance.checks.idempotent_requests import own_place
from conformance.checks.list_judging import judge_single_page, shows_all
from conformance.checks.members import judge_as_sent, read_until
from conformance.checks.races import Rounds, counted
from conformance.checks.side_effects import SideEffects
from conformance.contract.fields import documented
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.contract.signing import new_nonce
from conformance.contract.traits import TRAITS, create_read_by
from conformance.judge import outcomes, paging
from conformance.judge.comparison import MOVING, document, objects
from conformance.judge.outcomes import Got, Unclear, difference
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import Walk, page_of, walk
from conformance.world.calls import call, identifier
from conformance.world.creations import creations
from conformance.world.lane import Fixture
from conformance.world.other_values import other_end
from conformance.world.refused_samples import refusal_of_valid
from conformance.world.samples import marker
from conformance.world.sender import REPLAYS

#: Simultaneous requests in a round, and rounds.
NONCES, KEYS, WALLETS = 12, 10, 12
ROUNDS = 2

#: Rounds with one nonce, whose window between look-up and record is the shortest.
NONCE_ROUNDS = 3

#: Requests in a small burst, and bursts, for accounts and payouts. A race window that 8 % of bursts of ten
#: hit is hit by 7 % of bursts of three, so 40 of them find it in 95 % of runs (1 - 0.93 ** 40). Bursts of two
#: or three find most for each request.
FEW, BURSTS = 3, 40

#: Bursts of creates of one wallet, the first one of 12 requests; each needs a new account.
WALLET_BURSTS = 8

#: Statuses of a temporary conflict, which a retry resolves.
_BUSY = (423, 425)


def _answered(answers: list[Exchange]) -> list[Exchange]:
    """The answers below 500 that were not throttled."""
    return [
        answer
        for answer in answers
        if answer.status is not None and answer.status < 500 and not answer.throttled
    ]


# ---------------------------------------------------------------------- one nonce


@check("auth.nonce-race")
def test_one_nonce(at: Check) -> None:
    """Of simultaneous, correctly signed requests with one nonce, at most one passes authentication."""
    rule = "auth.nonce-race"
    fixture = at.account(fresh=at.operation.traits.once)
    what = f"{NONCES} simultaneous requests with one nonce"
    passed = False
    rounds = Rounds(at, NONCE_ROUNDS)
    for _ in rounds:
        nonce = new_nonce()
        calls = [fixture.call(at.operation.id).signed(nonce=nonce) for _ in range(NONCES)]
        answers = rounds.race(calls, "simultaneous requests with one nonce")
        # Without a winner the round is void: a rate limiter may have consumed the nonce.
        if any(not answer.refused_authentication for answer in _answered(answers)):
            passed = True
            at.expect(rule, *outcomes.at_most_one(what, answers, authentication=True))
    if not passed:
        at.unclear(
            rule,
            "none of the simultaneous requests with one nonce passed authentication",
            cause="auth.accepts-valid",
        )


# ---------------------------------------------------------------------- one idempotency key


@check("idempotency.race")
def test_one_key(at: Check) -> None:
    """Simultaneous requests with one key and body: all 2xx answers are the same response, the operation is
    performed once, and a later replay returns that response."""
    rule = "idempotency.race"
    what = "simultaneous requests with one key and body: the balances change as by one of them"
    moved, spoilt, answers = list[tuple[Got, list[Exchange]]](), 0, list[Exchange]()
    rounds = Rounds(at, ROUNDS)

    def act(request: Call) -> Exchange | None:
        answers[:] = rounds.race([request] * KEYS, "simultaneous requests with one key and body")
        return _judge_answers(at, rule, request, answers)

    for _ in rounds:
        fixture = own_place(at) if not at.operation.traits.draws_on_funds else at.account()
        if at.operation.traits.moves_money:
            if (count := counted(at, fixture, spoilt, KEYS, act)) is None:
                continue
            got, looks = count
            if isinstance(got, Unclear) and not got.choice:
                spoilt += 1
                at.expect(rule, what, got, *looks)
            else:
                moved.append(count)
            continue
        # What a valid request takes is made before the snapshot.
        fixture.call(at.operation.id)
        effects = SideEffects(at, fixture).start()

        def once(effects: SideEffects = effects, fixture: Fixture = fixture) -> list[Exchange]:
            if (winner := act(fixture.call(at.operation.id))) is not None:
                effects.created.add(identifier(winner))
            return [*answers]

        sent, beyond = once(), f"{KEYS} simultaneous requests with one key and body beyond one resource"
        if effects.created and not at.operation.traits.disables:
            effects.judge(rule, beyond, sent, once)
    # A single deviation may be another client's payout.
    for got, looks in sorted(moved, key=lambda each: bool(each[0]))[:1]:
        at.expect(rule, what, got, *looks)


@check("idempotency.race", operations=("createAccount", "createPayout"), early=True)
def test_many_bursts_with_one_key(at: Check) -> None:
    """Sends 40 bursts of three simultaneous requests, each burst with one key and body: all 2xx answers of a
    burst are the same response. Stops at the first violation, and at refusals that do not end with
    another payee."""
    rule = "idempotency.race"
    fixture, accepted = at.account(), 0
    what = f"{FEW} simultaneous requests with one key and body: those that are answered 2xx"
    rounds = Rounds(at, BURSTS)
    for _ in rounds:
        request = fixture.call(at.operation.id)
        answers = rounds.race([request] * FEW, "a burst of few requests with one key and body")
        if _answered(answers) and all(answer.refused for answer in answers):
            if at.operation.traits.draws_on_funds and accepted:
                # A server may pay one destination only so often.
                fixture, accepted = at.account(fresh=True), 0
                continue
            # After accepted ones a quota was reached, which says nothing.
            at.unclear(rule, refusal_of_valid(answers[0]).why, *answers[:1])
            return
        accepted += any(answer.succeeded for answer in answers)
        if _answered(answers) and not at.expect(rule, *outcomes.same_among_accepted(what, answers)):
            return


@check("idempotency.race", operations=RULES["idempotency.conflict"].operations)
def test_one_key_with_two_bodies(at: Check) -> None:
    """Of simultaneous requests with one key, half with another body, all 2xx answers are one response to one
    of the bodies."""
    rule, text = "idempotency.race", at.operation.traits.free_text
    what = f"{KEYS} simultaneous requests with one key and two bodies: those that are answered 2xx"
    rounds = Rounds(at, 1)
    for _ in rounds:
        request = own_place(at).call(at.operation.id)
        if at.operation.traits.unique_pair:
            other = request.with_json(at.lane.samples.wallet(-1))
        else:
            other = request.with_field(text, other_end(request.document[text]))
        calls = [request, other] * (KEYS // 2)
        answers = rounds.race(calls, "simultaneous requests with one key and two bodies")
        if any(answer.succeeded for answer in answers):
            at.expect(rule, *outcomes.same_among_accepted(what, answers))
            accepted = {answer.call.body: answer for answer in answers if answer.succeeded}
            one = f"{KEYS} simultaneous requests with one key and two bodies: only one body is answered 2xx"
            at.expect(rule, one, "both are" if len(accepted) > 1 else "", *accepted.values())
        elif not rounds.spoilt:
            stop = refusal_of_valid(answers[0])
            at.not_exercised(rule, stop.why.reason, stop.why.remedy)


def _judge_answers(at: Check, rule: str, request: Call, answers: list[Exchange]) -> Exchange | None:
    """Judges the simultaneous answers and a replay; returns the first 2xx answer, else the replay's."""
    succeeded = [answer for answer in answers if answer.succeeded]
    what = f"{KEYS} simultaneous requests with one key and body"
    if len(succeeded) > 1:
        among = f"{what}: those that are answered 2xx"
        at.expect(rule, *outcomes.same_among_accepted(among, answers))
    for answer in _answered(answers):
        if not answer.succeeded and not answer.refused:
            at.expect(rule, *outcomes.answered(what, answer, documented=True))
    later = at.eventually(
        lambda: at.send(request, "the same key and body after the simultaneous requests"),
        # The first response may not be stored yet.
        lambda answer: answer.status not in UNDER_WAY,
        REPLAYS,
    )
    if not succeeded:
        if later.succeeded:
            return later
        reason = f"neither one of the simultaneous requests nor a later one was accepted: {later.described()}"
        at.unclear(rule, refusal_of_valid(later).why.because(reason), later, answers[0])
        return None
    if at.usable(rule, later):
        differences = [difference(answer, later) for answer in succeeded]
        expected = f"{what}: the same response when they are repeated later"
        at.expect(rule, expected, differences[0] if all(differences) else "", later, *answers)
    return succeeded[0]


# ---------------------------------------------------------------------- different bodies


#: Simultaneous requests with different bodies.
BODIES_AT_ONCE = 10


@check(
    "create.echo",
    "beneficiary.update",
    operations=tuple(
        name for name, traits in TRAITS.items() if traits.free_text and not traits.draws_on_funds
    ),
)
def test_different_bodies_at_once(at: Check) -> None:
    """Simultaneous creates, and PATCHes of several beneficiaries, are each answered with what they sent."""
    (rule,), traits = at.rules, at.operation.traits
    what = f"one of {BODIES_AT_ONCE} simultaneous {at.operation.id} with different bodies"
    rounds, members = Rounds(at, 1), {*documented(at.operation.id)}
    for _ in rounds:
        answers = rounds.race(_different(at), what)
        for answer in [each for each in answers if each.succeeded]:
            others = [other for other in answers if other is not answer]
            for name in {traits.free_text, "amount"} & answer.call.document.keys() & members:
                judge_as_sent(at, rule, answer, name, what, others)
        if not rounds.spoilt and not any(answer.succeeded for answer in answers):
            raise refusal_of_valid(answers[0])


def _different(at: Check) -> list[Call]:
    """Builds valid calls with different bodies: in one place, or of several beneficiaries of an account."""
    operation, run = at.operation.id, at.lane
    if TRAITS[operation].changes:
        account = run.account().account_id
        payees = [Fixture(run, account_id=account) for _ in range(BODIES_AT_ONCE // 2)]
        text = TRAITS[operation].free_text
        return [payee.call(operation, {text: f"changed {marker()}"}) for payee in payees]
    fixture = own_place(at)
    if TRAITS[operation].unique_pair:
        return [fixture.call(operation, body) for body in run.samples.wallets()[:BODIES_AT_ONCE]]
    return [fixture.call(operation) for _ in range(BODIES_AT_ONCE)]


#: Resources that are created at once: fewer than a page of the default size holds.
CREATED_AT_ONCE = 8


@check(
    "list.complete",
    "read.equals-create",
    operations=("getBeneficiary", "listPayoutDestinations", "listVirtualAccounts", "listWallets"),
)
def test_creates_at_once(at: Check) -> None:
    """Of resources that are created simultaneously in one place, each is listed, and counted, or read."""
    (rule,), looking = at.rules, at.operation.id
    operation = at.operation.filled_by or "createBeneficiary"
    what = f"after {CREATED_AT_ONCE} simultaneous {operation}"
    rounds = Rounds(at, ROUNDS)
    for _ in rounds:
        fixture = at.account(fresh=True)
        wallets = at.lane.samples.wallets() if TRAITS[operation].unique_pair else [None] * CREATED_AT_ONCE
        calls = [fixture.call(operation, body) for body in wallets[:CREATED_AT_ONCE]]
        answers = rounds.race(calls, f"one of {len(calls)} simultaneous creates")
        created = {identifier(answer): answer for answer in answers if answer.succeeded}
        if not created and not rounds.spoilt:
            raise refusal_of_valid(answers[0])
        if at.operation.is_list:
            listing = fixture.call(looking)
            answer = at.eventually(lambda: at.find(listing, what), partial(shows_all, created))  # noqa: B023
            shows = paging.listed(what, list(created), [answer], once=True)
            if at.expect(rule, *shows) and (page := page_of(answer)):
                judge_single_page(at, page, what)
            continue
        for each, origin in created.items():
            reading = call(looking, {"account_id": fixture.account_id, "beneficiary_id": each})
            at.accepted(rule, read_until(at, reading, f"a beneficiary {what}", document(origin), but=MOVING))


#: Simultaneous reads.
READS = 5


@check("read.equals-create", "balances.of-account", operations=OPERATIONS)
def test_reads_at_once(at: Check) -> None:
    """Simultaneous reads of different resources are each answered with their own."""
    (rule,), reading = at.rules, at.operation.id
    create = create_read_by(reading)
    name = f"{TRAITS[create].creates}_id"
    places = [
        resource.fixture.ids(create) | {name: identifier(resource.exchange)}
        for resource in creations(at.lane, create)[:READS]
    ]
    rounds, last = Rounds(at, ROUNDS), dict[str, Exchange]()
    for _ in rounds:
        calls = [call(reading, place) for place in places * 2]
        answers = rounds.race(calls, "one of several simultaneous reads")
        for place, answer in zip(places * 2, answers, strict=True):
            if answer.succeeded:
                at.member(rule, answer, "id", place[name])
            if at.lane.too_new(answer):
                # The replica that answered may not have it yet.
                answer = at.find(answer.call, "a read that came too early, again")
            if place[name] not in last or not answer.throttled:
                last[place[name]] = answer
    for answer in last.values():
        at.accepted(rule, answer)


# ---------------------------------------------------------------------- one wallet


@check("wallet.race")
def test_one_wallet(at: Check) -> None:
    """Of simultaneous creates of one currency and network with different keys, exactly one is answered 2xx,
    and the list shows exactly one wallet."""
    rule = "wallet.race"
    pairs = at.lane.samples.wallet_pairs
    rounds = Rounds(at, WALLET_BURSTS)
    for number in rounds:
        fixture = at.account(fresh=True)
        index, times = number % len(pairs), FEW if number else WALLETS
        calls = [fixture.call("createWallet", at.lane.samples.wallet(index)) for _ in range(times)]
        what = f"{times} simultaneous creates of one wallet, of one currency and network"
        answers = rounds.race(calls, what)
        answered, succeeded = _answered(answers), [answer for answer in answers if answer.succeeded]
        done = _wallets(at, fixture.call("listWallets"), bool(succeeded))
        listed, ids = done.exchanges[-1], None
        if done.broken is None:
            of_pair = [
                wallet
                for wallet in objects(done.items)
                if (wallet.get("currency"), wallet.get("network")) == pairs[index]
            ]
            ids = {str(wallet.get("id")) for wallet in of_pair}
        if len(answered) == len(answers) and not (succeeded or ids or ids is None or rounds.spoilt):
            _judge_none(at, rule, index, answers)
            continue
        if succeeded:
            at.expect(rule, *outcomes.at_most_one(what, answers))
        if ids is None:
            at.unclear(rule, f"listWallets was answered {listed.described()}", listed)
        elif succeeded and not ids:
            at.unclear(rule, "listWallets does not show the wallet", listed, cause="list.complete")
        elif ids:
            expected = f"{what}: one wallet in listWallets"
            at.expect(rule, expected, f"{len(ids)} of them" if len(ids) > 1 else "", listed, *answers)


def _wallets(at: Check, listing: Call, wanted: bool) -> Walk:
    """The list of wallets, where one is wanted, as soon as it shows one."""
    return at.eventually(
        lambda: walk(at.send, listing),
        lambda done: done.broken is not None or bool(done.items) or not wanted,
        listing.operation or "",
    )


def _judge_none(at: Check, rule: str, index: int, answers: list[Exchange]) -> None:
    """Judges that none was accepted: a violation if a single create of such a wallet is accepted."""
    fixture = at.lane.account(fresh=True)
    alone = at.accept(
        fixture.call("createWallet", at.lane.samples.wallet(index)),
        "a single create of the same wallet elsewhere",
    )
    busy = any(answer.status in _BUSY for answer in answers)
    got = "" if busy else f"none, the first {answers[0].described()}"
    at.expect(rule, "simultaneous creates of one wallet: one answered 2xx", got, alone, *answers)
