"""Where requests with one defect are sent: beside a sound request that the server accepts, and in a place
that shows whether a refused request had an effect.

    with InvalidBodies(trial) as bench:
        bench.refused("fields.required", bench.without("name"), "a request without name")

Leaving the block judges refusal.changes-nothing, where the trial cites it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from decimal import Decimal
from types import TracebackType
from typing import Any

from conformance.fixtures.account import AccountFixture, call, identifier
from conformance.fixtures.bodies import AcceptedBodies, Body
from conformance.fixtures.cache import Key
from conformance.fixtures.samples import marker
from conformance.harness import snapshots
from conformance.harness.context import CheckContext
from conformance.judging.comparison import same, show
from conformance.judging.findings import Inconclusive
from conformance.wire.messages import Exchange

UNTOUCHED = "refusal.changes-nothing"

#: Operation -> the list in which a resource it creates shows.
_LISTS = {
    "createPayoutDestination": "listPayoutDestinations",
    "createVirtualAccount": "listVirtualAccounts",
    "createWallet": "listWallets",
}

#: Operations on resources that other clients of the server may change at the same time.
_SHARED = ("createAccount", "createPayout")

#: How often the effect of refused requests on a shared list must show.
_ROUNDS = 5

#: Added to a sound amount, makes one that no other payout of the suite has.
_CENTS = Decimal("0.37")


_FIXTURE = Key[AccountFixture]("the account of invalid bodies")
_BENEFICIARY = Key[Exchange]("the beneficiary of invalid updates")


class InvalidBodies:
    """The place of one trial for requests that must be refused.

    `shape` says which sound body they derive from. `stop` says why the server refuses the sound request, too:
    then a defective one that it accepts is still a violation, and one that it refuses shows nothing. Raises
    Inconclusive when that is so of the sample, unless it is a payout: most are refused for lack of funds, but
    one of zero may slip through.
    """

    def __init__(self, ctx: CheckContext, shape: str = "sample") -> None:
        self.ctx = ctx
        self.operation = ctx.operation.id
        self.shape = shape
        self.stop: Inconclusive | None = None
        self._shapes = AcceptedBodies(ctx.run, self.operation)
        self._refused: list[Exchange] = []
        self._before: Any = None
        self._lock = contextlib.ExitStack()
        try:
            self._shapes.body(shape, self.fixture)
        except Inconclusive as stop:
            if shape == "sample" and self.operation != "createPayout":
                raise
            self.stop = stop

    @property
    def fixture(self) -> AccountFixture:
        """The scene of the operation's defective requests, one for the whole run; wallets' has no wallets."""
        if self.operation in _SHARED:
            return self.ctx.run.fixture_for(self.operation)
        return self.ctx.run.cache.get(self._place, self.ctx.run.fresh)

    @property
    def _place(self) -> Key[AccountFixture]:
        return _FIXTURE.of("without wallets" if self.operation == "createWallet" else "")

    @property
    def _beneficiary(self) -> Exchange:
        """The exchange that created the beneficiary of defective updates: a business, where the server
        accepts one, so that each field means something."""
        return self.ctx.run.cache.get(_BENEFICIARY, self._new_beneficiary)

    def _new_beneficiary(self) -> Exchange:
        shapes = AcceptedBodies(self.ctx.run, "createBeneficiary")
        shape = "business" if shapes.accepted("business") else "sample"
        return self.fixture.create("createBeneficiary", shapes.body(shape, self.fixture))

    # ------------------------------------------------------------------ requests

    @property
    def ids(self) -> dict[str, str]:
        """The path parameters of the bench's calls."""
        if self.operation != "updateBeneficiary":
            return self.fixture.ids(self.operation)
        return {"account_id": self.fixture.account_id, "beneficiary_id": identifier(self._beneficiary)}

    def valid(self) -> Body:
        """A new body of the shape: as the server accepts it, else the likeliest."""
        if self.stop:
            return self._shapes.bodies(self.shape, self.fixture)[0]
        return self._shapes.body(self.shape, self.fixture)

    def good(self, name: str, otherwise: Any = None) -> Any:
        """A sound value of a field; of an update, the one that the beneficiary has."""
        known = self._beneficiary.call.document if self.operation == "updateBeneficiary" else self.valid()
        return known.get(name, otherwise)

    def having(self, name: str, value: Any) -> Body:
        """A sound body but for one field.

        An update changes a field before the defective one and one after it as well, so that it shows when it
        is carried out by half.
        """
        if self.operation != "updateBeneficiary":
            return {**self.valid(), name: value}
        title = "Dr" if self.good("title") != "Dr" else "Mr"
        around = {"title": title, name: value, "note": f"conformance {marker()}"}
        return {**around, name: value}

    def without(self, name: str) -> Body:
        """A sound body but for one field that is left out."""
        return {key: value for key, value in self.valid().items() if key != name}

    def must_accept(self) -> None:
        """Raises Inconclusive when the server refuses the sound request."""
        if self.stop:
            raise self.stop

    # ------------------------------------------------------------------ sending

    def send(self, body: Any, what: str) -> Exchange:
        """Sends a body whatever comes of it, and keeps account of what it may have done."""
        exchange = self.ctx.send(call(self.operation, self.ids, body), what)
        if exchange.refused:
            self._refused.append(exchange)
        elif exchange.succeeded:
            self._move_on()
        return exchange

    def refused(self, rule: str, body: Any, what: str) -> Exchange:
        """Sends a body and judges that it was refused."""
        exchange = self.send(body, what)
        if self.stop and exchange.refused:
            self.skip_judgement(rule, what, exchange)
        else:
            self.ctx.refused(rule, exchange, what)
        return exchange

    def skip_judgement(self, rule: str, what: str, exchange: Exchange) -> None:
        """Notes that a refusal shows nothing because the sound request is refused, too."""
        assert self.stop is not None
        reason = f"{what}: refused, but {self.stop.reason}"
        self.ctx.skip_judgement(rule, reason, exchange, cause=self.stop.cause, remedy=self.stop.remedy)

    def _move_on(self) -> None:
        """Leaves the place where a defective request was accepted: what it made would spoil verdicts."""
        if self.operation == "updateBeneficiary":
            self.ctx.run.cache.forget(_BENEFICIARY)
        elif self.operation not in _SHARED:
            self.ctx.run.cache.forget(self._place)
            self.ctx.run.cache.forget(_BENEFICIARY)
        self._start()

    # ------------------------------------------------------------------ effects

    def __enter__(self) -> InvalidBodies:
        with contextlib.ExitStack() as released_on_error:
            if self._watching and self.operation in _SHARED:
                released_on_error.enter_context(self.ctx.run.quiet_accounts())
            self._start()
            self._lock = released_on_error.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            if kind is None and self._watching:
                if self._refused:
                    self._judge()
                else:
                    self.ctx.not_exercised(UNTOUCHED, "nothing was refused after what was accepted")

    @property
    def _watching(self) -> bool:
        return UNTOUCHED in self.ctx.rules

    def _start(self) -> None:
        self._refused.clear()
        self._before = self._state()[0] if self._watching else None

    def _judge(self) -> None:
        if self.operation == "createBeneficiary":
            self._judge_named_beneficiaries()
            return
        change, looked = self._change()
        if change and self.operation in _SHARED:
            # Others may be at work on the same resources.
            accounts = self.operation == "createAccount"
            change, looked = self._new_accounts() if accounts else self._new_payouts()
        if looked is not None:
            what = f"no effect of {len(self._refused)} refused requests"
            self.ctx.judge(UNTOUCHED, not change, what, change or "none", looked, self._refused[-1])
        if self.operation == "createWallet":
            self._judge_pair()

    def _new_accounts(self) -> tuple[str, Exchange | None]:
        """How many accounts more there are each time when the refused requests are sent once more.

        Other clients create accounts, too, but hardly the same number in each of several rounds and none in
        the pauses of the same length between them.
        """
        bodies = [exchange.call.document for exchange in self._refused]
        found, looked = set(), None
        for _ in range(_ROUNDS):
            self._before = self._state()[0]
            for _body in bodies:
                pause, looked = self._change()
            if pause or looked is None:
                return "", looked
            for body in bodies:
                self.ctx.send(call(self.operation, self.ids, body), "a refused request once more")
            change, looked = self._change()
            found.add(change)
            if not change or len(found) > 1:
                return "", looked
        return change, looked

    def _new_payouts(self) -> tuple[str, Exchange | None]:
        """How money moves when the refused payouts are sent once more, with an amount that no others have.

        Earlier payouts may be carried out meanwhile.
        """
        self._before = self._state()[0]
        valid = self.good("amount")
        telling = Decimal(valid) + _CENTS
        for exchange in self._refused:
            body = exchange.call.document
            if body.get("amount") == valid:
                again = call(self.operation, self.ids, {**body, "amount": str(telling)})
                self.ctx.send(again, f"{exchange.purpose}, again")
        return self._change(telling)

    def _judge_pair(self) -> None:
        """A refused wallet must not take its pair: a sound one of the same pair can still be created."""
        valid = call(self.operation, self.ids, self.valid())
        created = self.ctx.send(valid, "a sound wallet after refused ones")
        self.ctx.run.cache.forget(self._place)
        what = "a sound wallet after refused ones: accepted (2xx)"
        if not created.refused or created.throttled:
            self.ctx.judge(UNTOUCHED, True, what, created.described(), created)
            return
        elsewhere = self.ctx.send(self.ctx.valid(), "a sound wallet in a new account")
        if elsewhere.succeeded:
            got = f"{created.described()}, but it is accepted in a new account"
            self.ctx.judge(UNTOUCHED, False, what, got, created)
        else:
            reason = f"a sound wallet is no longer accepted: {elsewhere.described()}"
            self.ctx.skip_judgement(UNTOUCHED, reason, created, elsewhere)

    def _judge_named_beneficiaries(self) -> None:
        """No operation lists beneficiaries, so only a refusal that names one gives itself away."""
        named = [one for one in self._refused if isinstance(one.get("id"), str)]
        for one in named:
            ids = {"account_id": self.fixture.account_id, "beneficiary_id": identifier(one)}
            found = self.ctx.send(call("getBeneficiary", ids), "is there what was refused?")
            self.ctx.judge(
                UNTOUCHED,
                not found.succeeded,
                f"{one.purpose}: nothing created",
                f"{one.status}, and getBeneficiary shows the beneficiary",
                one,
                found,
            )
        if not named:
            self.ctx.judge(UNTOUCHED, True, "no refusal shows a beneficiary", "none does")

    def _state(self) -> tuple[Any, Exchange | None]:
        """What refused requests must leave as it is, and the exchange that shows it."""
        fixture = self.fixture
        read: Callable[[Exchange], Any]
        match self.operation:
            case "createBeneficiary":
                return None, None
            case "createAccount":
                look = fixture.call("listAccounts").with_query({"page": 1, "size": 1})
                what, read = "how many accounts are there?", snapshots.total
            case "updateBeneficiary":
                look = call("getBeneficiary", self.ids)
                what, read = "the beneficiary as it is", snapshots.members
            case "createPayout" | "createPayin":
                ids = {"customer_id": fixture.customer_id, "account_id": fixture.account_id}
                look = call("getAccountBalances", ids)
                what, read = "the balances as they are", snapshots.balances
            case _:
                look = fixture.call(_LISTS[self.operation]).with_query({"page": 1, "size": 100})
                what, read = "what is in the list?", snapshots.ids
        exchange = self.ctx.send(look, what)
        return (read(exchange) if exchange.succeeded else None), exchange

    def _change(self, unit: Decimal | None = None) -> tuple[str, Exchange | None]:
        """What has changed since the state was taken, and the exchange that shows it (None: cannot be told).

        Of money, only what is a multiple of `unit` counts, where it is given.
        """
        before, (after, exchange) = self._before, self._state()
        assert exchange is not None
        if not self.ctx.usable(UNTOUCHED, exchange):
            return "", None
        if before is None or after is None:
            reason = (
                f"whether refused requests have an effect is seen with {exchange.operation}, "
                f"which was answered {exchange.described()}"
            )
            self.ctx.skip_judgement(UNTOUCHED, reason, exchange)
            return "", None
        if self.operation in snapshots.MOVES:
            return snapshots.moved(before, after, self.operation, unit), exchange
        if isinstance(after, int):
            return (f"{after - before} more in {exchange.operation}" if after > before else ""), exchange
        if isinstance(after, frozenset):
            return (f"{len(after - before)} more in {exchange.operation}" if after - before else ""), exchange
        shown = [
            f"{name} {show(before.get(name))} is now {show(after.get(name))}"[:160]
            for name in {**before, **after}
            if not same(before.get(name), after.get(name))
        ]
        return "; ".join(shown), exchange
