"""Payouts to other payees than the sample's, and rounds of payouts for `judge.conservation`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence

from conformance.judge.conservation import (
    LOST,
    SINGLE,
    TOGETHER,
    in_other_currencies,
    in_parts,
    lost,
    shown_whole,
    unmoved,
)
from conformance.judge.effects import amounts, below_cents, changes
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import Send
from conformance.world.cache import once_for_all_lanes
from conformance.world.calls import identifier
from conformance.world.lane import Fixture, Lane
from conformance.world.purposes import SHARED, purpose_of

#: Rounds with other movements of the balance after which no more rounds follow.
MOST_DISTURBED = 4

#: Currencies other than the usual one in which a payout is made.
MOST_CURRENCIES = 4

#: Seconds in which a balance moves that does so at once, with a margin.
_AT_ONCE = 0.4

#: Sends several requests at once for a purpose.
SendAtOnce = Callable[[list[Call], str], Sequence[Exchange]]


@once_for_all_lanes
def moves_after(lane: Lane, operation: str) -> float | None:
    """Seconds after which a payout or payin first showed in its account's balances, 0 for at once; None where
    it leaves them as they are. Meanwhile others may pay."""
    account = lane.account(purpose_of(operation, SHARED))
    look, payment = account.call("getAccountBalances"), account.call(operation)

    def moved() -> bool:
        return not unmoved(before, lane.send(account.client, look, "the balances some time after a payment"))

    before = lane.send(account.client, look, "the balances before a payment")
    if before.get("balances") == []:
        return None
    paid = lane.send(account.client, payment, "a payment, which may move the balances")
    if not (before.succeeded and paid.succeeded) or moved():
        return 0.0
    begun = time.monotonic()
    for pause in lane.lag.pauses():
        lane.pause(pause)
        if moved():
            return time.monotonic() - begun
    return None


@once_for_all_lanes
def takes_parts(lane: Lane, operation: str) -> bool:
    """True if the server accepts a payout or payin with ten-thousandths, which nobody else moves."""
    account = lane.account(purpose_of(operation, SHARED))
    payment = in_parts(account.call(operation))
    return lane.send(account.client, payment, "a payment with ten-thousandths").succeeded


@once_for_all_lanes
def shows_parts(lane: Lane, operation: str) -> bool:
    """True if balances show the ten-thousandths of a payout or payin: those that are kept in whole cents hide
    a payment among those of others."""
    account = lane.account(purpose_of(operation, SHARED))
    look, what = account.call("getAccountBalances"), "the balances after a payment with ten-thousandths"

    def shows(now: Exchange) -> bool:
        looks = (amounts(each.get("balances")) or {} for each in (before, now))
        return any(map(below_cents, changes(operation, *looks).values()))

    before = lane.send(account.client, look, "the balances before a payment with ten-thousandths")
    payment = in_parts(account.call(operation))
    if not lane.send(account.client, payment, "a payment with ten-thousandths").succeeded:
        return False
    return shows(lane.lag.eventually(what, lambda: lane.send(account.client, look, what), shows))


class PayoutRounds:
    """Rounds of payouts from one account, in which nothing else of the run pays, and what they show.

    `judged` are the exchanges to judge by `judge.conservation`: one round, or those that lost amounts, of
    which there are LOST before they count. `unclear` is the reason why there are none; `still` is true where
    a new payout leaves the balances as they are, None until that is known: then there is one round, in which
    others pay as well. After a round in which others moved the balance, payouts have ten-thousandths, where
    the server takes these. Use it as a context, again for more rounds."""

    def __init__(self, fixture: Fixture, pause: Callable[[float], None]) -> None:
        self.judged: list[Exchange] = []
        self.unclear = ""
        self.still: bool | None = None
        self._fixture, self._pause = fixture, pause
        self._look = fixture.call("getAccountBalances")
        self._held = contextlib.ExitStack()
        #: Seconds until the balances showed the first payout; 0 for at once.
        self._late = 0.0
        #: Rounds that lost amounts, and the number of those in which the balance moved in another way.
        self._lossy: list[list[Exchange]] = []
        self._disturbed = 0
        #: True if payouts have ten-thousandths.
        self._parts = False
        #: The last read of the balances, with which the next round begins.
        self._last: Exchange | None = None

    def __enter__(self) -> PayoutRounds:
        # The payee is created before anybody waits.
        self._fixture.call("createPayout")
        self._last = None
        return self

    def __exit__(self, *error: object) -> None:
        self._held.close()

    @property
    def done(self) -> bool:
        """True if there is no use in more rounds."""
        return bool(self.still) or self._disturbed >= MOST_DISTURBED

    def turn(self, send: Send, at_once: SendAtOnce) -> list[Exchange]:
        """Sends sequential, then concurrent payouts, with reads of the balances before, between and after,
        each repeated until it shows the payouts or time is up; returns all exchanges."""
        self._send = send
        if self.still is None:
            late = moves_after(self._fixture.lane, "createPayout")
            self.still, self._late = late is None, late or 0.0
        if not self.still:
            self._held.enter_context(self._fixture.lane.payers.alone())
        calls = [self._fixture.call("createPayout") for _ in range(SINGLE + TOGETHER)]
        if self._parts:
            calls = [in_parts(payout, number) for number, payout in enumerate(calls)]
        # What comes late of an earlier round moves the balance in this one.
        before = self._last or self._send(self._look, "the balances before payouts")
        single = [self._send(payout, "one payout after the other") for payout in calls[:SINGLE]]
        between = self._read_after(before, single)
        together = list(at_once(calls[SINGLE:], "payouts at once"))
        self._last = self._read_after(between, together)
        return [before, *single, between, *together, self._last]

    def in_others(self) -> Iterator[list[Exchange]]:
        """Pays once in each of the other currencies that are held, up to MOST_CURRENCIES; yields the read of
        the balances before, the payout, and the read after it. One that is refused, to a payee in that
        currency too, is left out, and a currency whose balance does not move is the last."""
        before = self._last or self._send(self._look, "the balances before payouts")
        own = self._fixture.call("createPayout").document["currency"]
        shown = [code for code, _ in amounts(before.get("balances")) or {} if len(code) == 3 and code != own]
        for code in [*dict.fromkeys(shown)][:MOST_CURRENCIES] if not self.still else ():
            if part := self._part_in(code, before):
                yield part
                before = part[-1]
                if unmoved(part[0], before):
                    break

    def _part_in(self, code: str, before: Exchange) -> list[Exchange]:
        """A payout in a currency, between two reads of the balances; again while another balance moves by as
        much, as what others pay may once. Empty if it is refused."""
        part = list[Exchange]()
        for _ in range(MOST_DISTURBED):
            if not (paid := self._paid_in(code)).succeeded:
                break
            after = self._read_after(before, [paid])
            part = [before, paid, after]
            if not in_other_currencies(before, [paid], after):
                break
            before = after
        return part

    def _paid_in(self, code: str) -> Exchange:
        """A payout in a currency: to the usual destination or, where that is refused, to one in it."""
        fixture, what = self._fixture, f"a payout in {code}"
        body = {**fixture.body("createPayout"), "currency": code}
        paid = self._send(fixture.call("createPayout", body), what)
        if paid.refused:
            accounts = [*fixture.lane.samples.bank_accounts(), {**fixture.bank_account(), "currency": code}]
            fitting = next(each for each in accounts if each["currency"] == code)
            payee = self._send(fixture.call("createPayoutDestination", fitting), f"a destination in {code}")
            if payee.succeeded:
                body |= {"beneficiary_id": fixture.beneficiary_id, "payout_destination_id": identifier(payee)}
                return self._send(fixture.call("createPayout", body), what)
        return paid

    def take(self, turn: list[Exchange]) -> bool:
        """Takes a round into account; returns True if no more are needed."""
        if self.still:
            return True
        try:
            losses = lost(turn)
        except Inconclusive as stop:
            self.judged, self.unclear = [], stop.why.reason
            return False
        if losses is None:
            self.judged, self.unclear, self._lossy = [], "the balances do not show what payouts take", []
            self._disturbed += 1
            self._rest()
            return self.done
        if losses[2]:
            self._lossy.append(turn)
        self.judged, self.unclear = [each for turn in self._lossy or [turn] for each in turn], ""
        if len(self._lossy) >= LOST:
            self._confirm()
        return not self._lossy

    def _rest(self) -> None:
        """Waits for earlier payouts to show; from the second time on also for those of other clients to end,
        while others of the run may pay."""
        longest = self._fixture.lane.lag.within
        self._last = None
        self._held.close()
        # Not while others wait for this one: they may be about to find the same.
        self._parts = takes_parts(self._fixture.lane, "createPayout")
        if self._disturbed > 1:
            self._pause(longest / 2 ** max(0, MOST_DISTURBED - 1 - self._disturbed))
        self._held.enter_context(self._fixture.lane.payers.alone())
        time.sleep(2 * self._late or longest / 4)

    def _confirm(self) -> None:
        """Waits for a late read; nothing is to be judged if it shows what seemed lost."""
        time.sleep(self._fixture.lane.lag.within)
        after = self._send(self._look, "the balances some time after payouts at once")
        late = lost([*self._lossy[-1][:-1], after])
        if late is None or not late[2]:
            self.judged, self.unclear = [], "the balances show payouts too late"
        self._lossy = []

    def _read_after(self, before: Exchange, payouts: list[Exchange]) -> Exchange:
        """Reads the balances until they show the payouts, or time is up; returns the last read."""
        longest = 2 * self._late + _AT_ONCE if self._late else self._fixture.lane.lag.within
        # No pause of a lane, in which other checks run: they would wait for this one to end.
        return self._fixture.lane.lag.eventually(
            "the balances after payouts",
            lambda: self._send(self._look, "the balances after payouts"),
            lambda after: shown_whole(before, payouts, after),
            until=time.time() + (0.0 if self.still else longest),
        )
