"""Simultaneous requests: one nonce, one idempotency key, one wallet.

How a server keeps simultaneous requests apart is its own affair: it may make them wait or refuse all but
one. What counts is who got through and what exists afterwards.
"""

from __future__ import annotations

import time
from decimal import Decimal

from conformance.contract import signing
from conformance.fixtures.account import Scene, identifier
from conformance.harness.check import check
from conformance.harness.context import Trial
from conformance.harness.idempotency import ONCE, own_place
from conformance.harness.side_effects import MONEY, Effects, walk
from conformance.judging.comparison import same
from conformance.wire.messages import Call, Exchange

#: Simultaneous requests, and how often: the first round also opens the connections for the second one.
NONCES, KEYS, WALLETS = 8, 10, 12
ROUNDS = 2

#: Refusals that only say: not now, somebody else is at it.
_BUSY = (423, 425)


def _answered(answers: list[Exchange]) -> list[Exchange]:
    """The answers that say something: neither throttled nor broken."""
    return [one for one in answers if one.status is not None and one.status < 500 and not one.throttled]


# ---------------------------------------------------------------------- one nonce


@check("auth.nonce-race")
def test_one_nonce(trial: Trial) -> None:
    """Of simultaneous, rightly signed requests with the same nonce, at most one passes authentication."""
    rule = "auth.nonce-race"
    scene = trial.scene(fresh=trial.operation.id in ONCE)
    passed = 0
    for _ in range(ROUNDS):
        nonce = signing.new_nonce()
        calls = [scene.call(trial.operation.id).signed(nonce=nonce) for _ in range(NONCES)]
        answers = trial.race(calls, "simultaneous requests with one nonce")
        answered = _answered(answers)
        through = [one for one in answered if not one.refused_authentication and one.status != 425]
        passed += len(through)
        if len(answered) > 1 and through:
            trial.judge(
                rule,
                len(through) <= 1,
                f"{NONCES} simultaneous requests with one nonce: at most one passes authentication",
                f"{len(through)} did",
                *through[:3],
            )
    if not passed:
        trial.set_aside(
            rule,
            "none of the simultaneous requests with one nonce passed authentication",
            cause="auth.accepts-valid",
        )


# ---------------------------------------------------------------------- one idempotency key


@check("idempotency.race")
def test_one_key(trial: Trial) -> None:
    """Simultaneous requests with one key and body: every 2xx answer is the same response, the operation is
    done once, and a later repetition brings that response."""
    rule = "idempotency.race"
    doubled: list[bool] = []
    for _ in range(ROUNDS):
        scene = own_place(trial) if trial.operation.id != "createPayout" else trial.scene()
        one = scene.call(trial.operation.id)
        with Effects(trial, scene) as effects:
            answers = trial.race([one] * KEYS, "simultaneous requests with one key and body")
            winner = _judge_answers(trial, rule, one, answers)
            if winner is None:
                continue
            if trial.operation.id == "disableBeneficiary":
                _judge_disabled(trial, rule, scene, winner)
            elif trial.operation.id in MONEY:
                doubled.append(_spent_more(trial, effects, one))
            else:
                effects.accepted.add(identifier(winner))
                effects.judge(
                    rule, f"{KEYS} simultaneous requests with one key and body beyond one resource", answers
                )
    if doubled and all(doubled):
        # Once may be somebody else's payout at the same moment.
        trial.judge(
            rule,
            False,
            "simultaneous requests with one key and body: the balances change as by one of them",
            "they change by more",
        )


def _judge_answers(trial: Trial, rule: str, one: Call, answers: list[Exchange]) -> Exchange | None:
    """Judges what the simultaneous requests were answered; the first 2xx answer, if need be a later one's."""
    succeeded = [answer for answer in answers if answer.succeeded]
    what = f"{KEYS} simultaneous requests with one key and body"
    for answer in succeeded[1:]:
        first = succeeded[0]
        expected = f"{what}: the same response for each that is answered 2xx"
        if not trial.judge(rule, _alike(answer, first), expected, _difference(first, answer), first, answer):
            break
    for answer in _answered(answers):
        if not answer.succeeded and not answer.refused:
            trial.judge(rule, False, f"{what}: a 2xx or 4xx answer", answer.described(), answer)
    later = trial.send(one, "the same key and body after the simultaneous requests")
    if later.status in (409, *_BUSY):
        # Perhaps the first one is still being put away.
        time.sleep(0.5)
        later = trial.send(one, "the same key and body some time after the simultaneous requests")
    if not succeeded:
        if later.succeeded:
            return later
        reason = f"neither one of the simultaneous requests nor a later one was accepted: {later.described()}"
        trial.set_aside(rule, reason, later, answers[0])
        return None
    if trial.usable(rule, later):
        repeated = any(_alike(later, answer) for answer in succeeded)
        trial.judge(
            rule,
            repeated,
            f"{what}: the same response when they are repeated later",
            _difference(succeeded[0], later),
            succeeded[0],
            later,
        )
    return succeeded[0]


def _difference(first: Exchange, other: Exchange) -> str:
    if first.status != other.status:
        return f"{first.described()} and {other.described()}"
    different = "bodies" if same(first.get("id"), other.get("id")) else "ids"
    return f"responses with different {different}"


def _alike(one: Exchange, other: Exchange) -> bool:
    return one.status == other.status and same(one.document, other.document)


def _judge_disabled(trial: Trial, rule: str, scene: Scene, winner: Exchange) -> None:
    """A beneficiary that was disabled once was not updated afterwards."""
    found = trial.send(scene.call("getBeneficiary"), "the beneficiary after the simultaneous requests")
    if found.succeeded and trial.usable(rule, found):
        trial.equal(
            rule,
            found.get("updated"),
            winner.get("updated"),
            "simultaneous requests to disable, done once: updated",
            winner,
            found,
        )


def _spent_more(trial: Trial, effects: Effects, one: Call) -> bool:
    """Whether the simultaneous requests moved a balance by more than a single request does."""
    raced = effects.moved()
    effects.start()
    trial.send(trial.scene().call(trial.operation.id, one.document), "a single request of the same amount")
    single = effects.moved()
    none = Decimal(0)
    return any(amount and raced.get(name, none) not in (amount, none) for name, amount in single.items())


# ---------------------------------------------------------------------- one wallet


@check("wallet.race")
def test_one_wallet(trial: Trial) -> None:
    """Of simultaneous creates of one currency and network with different keys, exactly one wallet results,
    and exactly one is answered 2xx."""
    rule = "wallet.race"
    pairs = trial.suite.samples.wallet_pairs
    for number in range(ROUNDS):
        scene = trial.suite.fresh()
        index = number % len(pairs)
        calls = [scene.call("createWallet", trial.suite.samples.wallet(index)) for _ in range(WALLETS)]
        answers = trial.race(calls, "simultaneous creates of one wallet")
        answered, succeeded = _answered(answers), [one for one in answers if one.succeeded]
        what = f"{WALLETS} simultaneous creates of one currency and network"
        items, listed = walk(trial, scene, "listWallets", "which wallets are there?")
        found = None
        if items is not None:
            of_pair = [one for one in items if (one.get("currency"), one.get("network")) == pairs[index]]
            found = {str(one.get("id")) for one in of_pair}
        if len(answered) == len(answers) and not succeeded and found is not None and not found:
            _judge_none(trial, rule, index, answers[0])
            continue
        trial.judge(
            rule, len(succeeded) <= 1, f"{what}: one answered 2xx", f"{len(succeeded)} were", *succeeded[:3]
        )
        if found is None:
            trial.set_aside(rule, f"listWallets was answered {listed.described()}", listed)
        elif succeeded and not found:
            trial.set_aside(rule, "listWallets does not show the wallet", listed, cause="list.complete")
        else:
            trial.judge(
                rule,
                len(found) <= 1,
                f"{what}: one wallet in listWallets",
                f"{len(found)}",
                listed,
                *succeeded[:2],
            )


def _judge_none(trial: Trial, rule: str, index: int, refused: Exchange) -> None:
    """All were refused, and nothing exists: a fault, if the server takes such a wallet at all."""
    scene = trial.suite.fresh()
    alone = trial.accept(
        scene.call("createWallet", trial.suite.samples.wallet(index)),
        "a single create of the same wallet elsewhere",
    )
    trial.judge(
        rule,
        refused.status in _BUSY,
        "simultaneous creates of one wallet: one answered 2xx",
        f"none, the first {refused.described()}",
        refused,
        alone,
    )
