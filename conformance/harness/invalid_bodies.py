"""Where requests with one defect are sent: beside a sound request that the server accepts, and in a place
that shows whether a refused request had an effect.

    with Bench(trial) as bench:
        bench.refused("fields.required", bench.without("name"), "a request without name")

Leaving the block judges refusal.changes-nothing, where the trial cites it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from decimal import Decimal
from types import TracebackType
from typing import Any

from conformance.fixtures.account import Scene, call, identifier
from conformance.fixtures.bodies import Body, Shapes
from conformance.fixtures.samples import marker
from conformance.harness import snapshots
from conformance.harness.context import Trial
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


class Bench:
    """The place of one trial for requests that must be refused.

    `shape` says which sound body they derive from. `stop` says why the server refuses the sound request, too:
    then a defective one that it accepts is still a violation, and one that it refuses shows nothing. Raises
    Inconclusive when that is so of the sample, unless it is a payout: most are refused for lack of funds, but
    one of zero may slip through.
    """

    def __init__(self, trial: Trial, shape: str = "sample") -> None:
        self.trial = trial
        self.operation = trial.operation.id
        self.shape = shape
        self.stop: Inconclusive | None = None
        self._shapes = Shapes(trial.suite, self.operation)
        self._refused: list[Exchange] = []
        self._before: Any = None
        self._lock = contextlib.ExitStack()
        try:
            self._shapes.body(shape, self.scene)
        except Inconclusive as stop:
            if shape == "sample" and self.operation != "createPayout":
                raise
            self.stop = stop

    @property
    def scene(self) -> Scene:
        """The scene of the operation's defective requests, one for the whole run; wallets' has no wallets."""
        if self.operation in _SHARED:
            return self.trial.suite.scene_for(self.operation)
        scene: Scene = self.trial.suite.shelf.setdefault(self._place, self.trial.suite.fresh())
        return scene

    @property
    def _place(self) -> str:
        return "bench without wallets" if self.operation == "createWallet" else "bench"

    @property
    def _beneficiary(self) -> Exchange:
        """The exchange that created the beneficiary of defective updates: a business, where the server
        accepts one, so that each field means something."""
        shelf = self.trial.suite.shelf
        if "bench beneficiary" not in shelf:
            shapes = Shapes(self.trial.suite, "createBeneficiary")
            shape = "business" if shapes.accepted("business") else "sample"
            body = shapes.body(shape, self.scene)
            shelf["bench beneficiary"] = self.scene.create("createBeneficiary", body)
        created: Exchange = shelf["bench beneficiary"]
        return created

    # ------------------------------------------------------------------ requests

    @property
    def ids(self) -> dict[str, str]:
        """The path parameters of the bench's calls."""
        if self.operation != "updateBeneficiary":
            return self.scene.ids(self.operation)
        return {"account_id": self.scene.account_id, "beneficiary_id": identifier(self._beneficiary)}

    def sound(self) -> Body:
        """A new body of the shape: as the server accepts it, else the likeliest."""
        if self.stop:
            return self._shapes.bodies(self.shape, self.scene)[0]
        return self._shapes.body(self.shape, self.scene)

    def good(self, name: str, otherwise: Any = None) -> Any:
        """A sound value of a field; of an update, the one that the beneficiary has."""
        known = self._beneficiary.call.document if self.operation == "updateBeneficiary" else self.sound()
        return known.get(name, otherwise)

    def having(self, name: str, value: Any) -> Body:
        """A sound body but for one field.

        An update changes a field before the defective one and one after it as well, so that it shows when it
        is carried out by half.
        """
        if self.operation != "updateBeneficiary":
            return {**self.sound(), name: value}
        title = "Dr" if self.good("title") != "Dr" else "Mr"
        around = {"title": title, name: value, "note": f"conformance {marker()}"}
        return {**around, name: value}

    def without(self, name: str) -> Body:
        """A sound body but for one field that is left out."""
        return {key: value for key, value in self.sound().items() if key != name}

    def must_accept(self) -> None:
        """Raises Inconclusive when the server refuses the sound request."""
        if self.stop:
            raise self.stop

    # ------------------------------------------------------------------ sending

    def send(self, body: Any, what: str) -> Exchange:
        """Sends a body whatever comes of it, and keeps account of what it may have done."""
        exchange = self.trial.send(call(self.operation, self.ids, body), what)
        if exchange.refused:
            self._refused.append(exchange)
        elif exchange.succeeded:
            self._move_on()
        return exchange

    def refused(self, rule: str, body: Any, what: str) -> Exchange:
        """Sends a body and judges that it was refused."""
        exchange = self.send(body, what)
        if self.stop and exchange.refused:
            self.set_aside(rule, what, exchange)
        else:
            self.trial.refused(rule, exchange, what)
        return exchange

    def set_aside(self, rule: str, what: str, exchange: Exchange) -> None:
        """Notes that a refusal shows nothing because the sound request is refused, too."""
        assert self.stop is not None
        reason = f"{what}: refused, but {self.stop.reason}"
        self.trial.set_aside(rule, reason, exchange, cause=self.stop.cause, cure=self.stop.cure)

    def _move_on(self) -> None:
        """Leaves the place where a defective request was accepted: what it made would spoil verdicts."""
        if self.operation == "updateBeneficiary":
            self.trial.suite.shelf.pop("bench beneficiary", None)
        elif self.operation not in _SHARED:
            self.trial.suite.shelf.pop(self._place, None)
            self.trial.suite.shelf.pop("bench beneficiary", None)
        self._start()

    # ------------------------------------------------------------------ effects

    def __enter__(self) -> Bench:
        with contextlib.ExitStack() as released_on_error:
            if self._watching and self.operation in _SHARED:
                released_on_error.enter_context(self.trial.suite.quiet_accounts())
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
                    self.trial.no_occasion(UNTOUCHED, "nothing was refused after what was accepted")

    @property
    def _watching(self) -> bool:
        return UNTOUCHED in self.trial.rules

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
            self.trial.judge(UNTOUCHED, not change, what, change or "none", looked, self._refused[-1])
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
                self.trial.send(call(self.operation, self.ids, body), "a refused request once more")
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
        sound = self.good("amount")
        telling = Decimal(sound) + _CENTS
        for exchange in self._refused:
            body = exchange.call.document
            if body.get("amount") == sound:
                again = call(self.operation, self.ids, {**body, "amount": str(telling)})
                self.trial.send(again, f"{exchange.purpose}, again")
        return self._change(telling)

    def _judge_pair(self) -> None:
        """A refused wallet must not take its pair: a sound one of the same pair can still be created."""
        sound = call(self.operation, self.ids, self.sound())
        created = self.trial.send(sound, "a sound wallet after refused ones")
        self.trial.suite.shelf.pop(self._place, None)
        what = "a sound wallet after refused ones: accepted (2xx)"
        if not created.refused or created.throttled:
            self.trial.judge(UNTOUCHED, True, what, created.described(), created)
            return
        elsewhere = self.trial.send(self.trial.sound(), "a sound wallet in a new account")
        if elsewhere.succeeded:
            got = f"{created.described()}, but it is accepted in a new account"
            self.trial.judge(UNTOUCHED, False, what, got, created)
        else:
            reason = f"a sound wallet is no longer accepted: {elsewhere.described()}"
            self.trial.set_aside(UNTOUCHED, reason, created, elsewhere)

    def _judge_named_beneficiaries(self) -> None:
        """No operation lists beneficiaries, so only a refusal that names one gives itself away."""
        named = [one for one in self._refused if isinstance(one.get("id"), str)]
        for one in named:
            ids = {"account_id": self.scene.account_id, "beneficiary_id": identifier(one)}
            found = self.trial.send(call("getBeneficiary", ids), "is there what was refused?")
            self.trial.judge(
                UNTOUCHED,
                not found.succeeded,
                f"{one.purpose}: nothing created",
                f"{one.status}, and getBeneficiary shows the beneficiary",
                one,
                found,
            )
        if not named:
            self.trial.judge(UNTOUCHED, True, "no refusal shows a beneficiary", "none does")

    def _state(self) -> tuple[Any, Exchange | None]:
        """What refused requests must leave as it is, and the exchange that shows it."""
        scene = self.scene
        read: Callable[[Exchange], Any]
        match self.operation:
            case "createBeneficiary":
                return None, None
            case "createAccount":
                look = scene.call("listAccounts").with_query({"page": 1, "size": 1})
                what, read = "how many accounts are there?", snapshots.total
            case "updateBeneficiary":
                look = call("getBeneficiary", self.ids)
                what, read = "the beneficiary as it is", snapshots.members
            case "createPayout" | "createPayin":
                ids = {"customer_id": scene.customer_id, "account_id": scene.account_id}
                look = call("getAccountBalances", ids)
                what, read = "the balances as they are", snapshots.balances
            case _:
                look = scene.call(_LISTS[self.operation]).with_query({"page": 1, "size": 100})
                what, read = "what is in the list?", snapshots.ids
        exchange = self.trial.send(look, what)
        return (read(exchange) if exchange.succeeded else None), exchange

    def _change(self, unit: Decimal | None = None) -> tuple[str, Exchange | None]:
        """What has changed since the state was taken, and the exchange that shows it (None: cannot be told).

        Of money, only what is a multiple of `unit` counts, where it is given.
        """
        before, (after, exchange) = self._before, self._state()
        assert exchange is not None
        if not self.trial.usable(UNTOUCHED, exchange):
            return "", None
        if before is None or after is None:
            reason = (
                f"whether refused requests have an effect is seen with {exchange.operation}, "
                f"which was answered {exchange.described()}"
            )
            self.trial.set_aside(UNTOUCHED, reason, exchange)
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
