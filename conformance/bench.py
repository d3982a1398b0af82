"""Where requests with one defect are sent: next to a sound request that the server accepted, and in a place
where it shows whether a refused one had an effect.

    with Bench(trial) as bench:
        bench.refused("fields.required", bench.without("name"), "a request without name")

Leaving the block judges refusal.changes-nothing, where the trial cites it.
"""

from __future__ import annotations

import contextlib
from decimal import Decimal, InvalidOperation
from types import TracebackType
from typing import Any

from conformance.exchange import Call, Exchange
from conformance.fields import documented
from conformance.shapes import Shapes
from conformance.trial import Trial, same, show
from conformance.verdict import Inconclusive
from conformance.world import Scene, call, identifier

UNTOUCHED = "refusal.changes-nothing"

#: Operation -> the list in which a resource it creates shows.
_LISTS = {"createPayoutDestination": "listPayoutDestinations", "createVirtualAccount": "listVirtualAccounts",
          "createWallet": "listWallets"}

#: Operations whose effect may show in the account's balances.
_MONEY = ("createPayout", "createPayin")

#: Operations on resources that other clients of the server may change at the same time.
_SHARED = ("createAccount", "createPayout")


class Bench:
    """The place of one trial for requests that must be refused; `shape` says which sound body they derive from.

    Raises Inconclusive when the server refuses the sound request as well.
    """

    def __init__(self, trial: Trial, shape: str = "sample") -> None:
        self.trial = trial
        self.operation = trial.operation.id
        self.shape = shape
        self.shapes = Shapes(trial.suite, self.operation)
        self.scene = self._shelved()
        self._good = self.shapes.body(shape, self.scene)
        self._refused: list[Exchange] = []
        self._accepted: set[str] = set()
        self._before: Any = None
        self._lock = contextlib.ExitStack()

    def _shelved(self) -> Scene:
        """The scene of an operation's defective requests, one for the whole run; wallets' is one without wallets."""
        suite = self.trial.suite
        if self.operation in ("createAccount", "createPayout"):
            return suite.scene_for(self.operation)
        key = "bench" if self.operation != "createWallet" else "bench without wallets"
        if key not in suite.shelf:
            suite.shelf[key] = suite.fresh()
        scene: Scene = suite.shelf[key]
        return scene

    # ------------------------------------------------------------------ requests

    @property
    def ids(self) -> dict[str, str]:
        """The path parameters of the bench's calls."""
        if self.operation != "updateBeneficiary":
            return self.scene.ids(self.operation)
        return {"account_id": self.scene.account_id, "beneficiary_id": identifier(self.beneficiary)}

    @property
    def beneficiary(self) -> Exchange:
        """The exchange that created the beneficiary of defective updates: a business, so that each field means
        something, where the server accepts one."""
        shelf = self.trial.suite.shelf
        if "bench beneficiary" not in shelf:
            shapes = Shapes(self.trial.suite, "createBeneficiary")
            shape = "business" if shapes.accepted("business") else "sample"
            shelf["bench beneficiary"] = self.scene.create("createBeneficiary", shapes.body(shape, self.scene))
        created: Exchange = shelf["bench beneficiary"]
        return created

    def sound(self) -> dict[str, Any]:
        """A new body of the accepted shape."""
        return self.shapes.body(self.shape, self.scene)

    def good(self, name: str, otherwise: Any = None) -> Any:
        """A sound value of a field: the beneficiary's own on update, else the accepted body's."""
        if self.operation == "updateBeneficiary":
            sent = self.beneficiary.call.document
            return sent.get(name, otherwise)
        return self._good.get(name, otherwise)

    def having(self, name: str, value: Any) -> dict[str, Any]:
        """A sound body but for one field; of an update, the field alone."""
        return {name: value} if self.operation == "updateBeneficiary" else {**self.sound(), name: value}

    def without(self, name: str) -> dict[str, Any]:
        """A sound body but for one field that is left out."""
        return {key: value for key, value in self.sound().items() if key != name}

    def call(self, body: Any) -> Call:
        """A call with this body and, on POST, a key of its own."""
        return call(self.operation, self.ids, body)

    # ------------------------------------------------------------------ sending

    def send(self, body: Any, what: str) -> Exchange:
        """Sends a body whatever comes of it, and keeps account of what it may have created."""
        exchange = self.trial.send(self.call(body), what)
        if exchange.refused:
            self._refused.append(exchange)
        elif exchange.succeeded:
            self._note_effect(exchange)
        return exchange

    def refused(self, rule: str, body: Any, what: str) -> Exchange:
        """Sends a body and judges that it was refused."""
        exchange = self.send(body, what)
        self.trial.refused(rule, exchange, what)
        return exchange

    def _note_effect(self, exchange: Exchange) -> None:
        created = exchange.get("id")
        if isinstance(created, str):
            self._accepted.add(created)
        if self.operation == "createWallet":
            # Its pair is taken now, so that everything after it would be refused as a duplicate.
            self.trial.suite.shelf.pop("bench without wallets", None)
            self._judge()
            self.scene = self._shelved()
            self._start()
        elif self.operation in ("updateBeneficiary", *_MONEY):
            self._start()

    # ------------------------------------------------------------------ effects

    def __enter__(self) -> Bench:
        if self._watching and self.operation in _SHARED:
            self._lock.enter_context(self.trial.suite.quiet_accounts())
        with self._released_on_error():
            self._start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._lock:
            if kind is None:
                self._judge()

    @contextlib.contextmanager
    def _released_on_error(self) -> Any:
        try:
            yield
        except BaseException:
            self._lock.close()
            raise

    @property
    def _watching(self) -> bool:
        return UNTOUCHED in self.trial.rules

    def _start(self) -> None:
        self._refused.clear()
        self._before = self._state() if self._watching else None

    def _judge(self) -> None:
        if not self._watching or not self._refused:
            return
        self._judge_named_resources()
        if self._before is None:
            return
        changes, looked = self._changes()
        if changes and self.operation in _SHARED:
            # Somebody else may have been at work, hardly twice.
            repeated = list(self._refused)
            self._before = self._state()
            for exchange in repeated:
                again = call(self.operation, self.ids, None).but(body=exchange.call.body)
                self.trial.send(again, f"{exchange.purpose}, again")
            changes, looked = self._changes()
        if looked is not None:
            what = f"no effect of the {len(self._refused)} refused requests"
            self.trial.judge(UNTOUCHED, not changes, what, changes or "none", looked, self._refused[-1])

    def _judge_named_resources(self) -> None:
        """A refusal that names a resource it created gives itself away."""
        read = "getBeneficiary" if "eneficiary" in self.operation else ""
        named = [one for one in self._refused if isinstance(one.get("id"), str) and one.get("object") == self.trial.operation.resource]
        for one in named:
            if read and self.operation != "updateBeneficiary":
                found = self.trial.send(
                    call(read, {"account_id": self.scene.account_id, "beneficiary_id": identifier(one)}), "is there what was refused?")
                self.trial.judge(UNTOUCHED, not found.succeeded, f"{one.purpose}: nothing created",
                                 f"{one.status}, and {read} shows the {self.trial.operation.resource}", one, found)
        if not named:
            self.trial.judge(UNTOUCHED, True, "no refusal shows a resource", "none does")

    def _look(self) -> tuple[Exchange, str]:
        """An exchange that shows the state which a refused request must leave as it is, and what it is."""
        scene = self.scene
        if self.operation == "createAccount":
            listing = scene.call("listAccounts").with_query({"page": 1, "size": 1})
            return self.trial.send(listing, "how many accounts are there?"), "total"
        if self.operation == "updateBeneficiary":
            return self.trial.send(call("getBeneficiary", self.ids), "the beneficiary as it is"), "fields"
        if self.operation in _MONEY:
            return self.trial.send(self.balances(), "the balances as they are"), "balances"
        listing = scene.call(_LISTS[self.operation]).with_query({"page": 1, "size": 100})
        return self.trial.send(listing, "what is in the list?"), "items"

    def balances(self) -> Call:
        """The call for the balances of the bench's account."""
        return call("getAccountBalances", {"customer_id": self.scene.customer_id, "account_id": self.scene.account_id})

    def _state(self) -> Any:
        """What `_changes` compares; None where no operation shows it, or the one that should does not."""
        if self.operation == "createBeneficiary":
            return None
        exchange, part = self._look()
        return _read(exchange, part)

    def _changes(self) -> tuple[str, Exchange | None]:
        """What has changed since the state was taken, and the exchange that shows it (None: cannot be told)."""
        exchange, part = self._look()
        before, after = self._before, _read(exchange, part)
        if not self.trial.usable(UNTOUCHED, exchange):
            return "", None
        if after is None:
            self.trial.set_aside(UNTOUCHED, f"the effect of refused requests is read from {exchange.operation}, "
                                            f"which was answered {exchange.described()}", exchange)
            return "", None
        if part == "items":
            new = sorted(after - before - self._accepted)
            return (f"{len(new)} new in {exchange.operation}" if new else ""), exchange
        if part == "total":
            return (f"{after - before} more in {exchange.operation}" if after > before else ""), exchange
        changed = [name for name in before if not same(before[name], after.get(name))]
        changed += [name for name in after if name not in before]
        shown = [f"{name} {show(before.get(name))} is now {show(after.get(name))}"[:160] for name in changed]
        return "; ".join(shown), exchange


def _read(exchange: Exchange, part: str) -> Any:
    """The state that an exchange shows: a set of ids, a number, or members by name; None if it shows none."""
    if not exchange.succeeded:
        return None
    if part == "total":
        total = exchange.get("total")
        return total if isinstance(total, int) and not isinstance(total, bool) else None
    if part == "items":
        items = exchange.get("items")
        if not isinstance(items, list):
            return None
        return frozenset(str(one.get("id")) for one in items if isinstance(one, dict))
    if part == "balances":
        return _amounts(exchange.get("balances"))
    if not isinstance(exchange.document, dict):
        return None
    return {name: exchange.get(name) for name in documented("getBeneficiary")}


def _amounts(balances: Any) -> dict[str, Any] | None:
    """The amounts by currency and kind, as numbers, so that another scale is no change."""
    if not isinstance(balances, list):
        return None
    amounts: dict[str, Any] = {}
    for one in balances:
        if not isinstance(one, dict):
            return None
        for kind in ("available_balance", "pending_payout", "pending_payin", "total_balance"):
            with contextlib.suppress(InvalidOperation, TypeError, ValueError):
                amounts[f"{one.get('currency')} {kind}"] = str(Decimal(one.get(kind)).normalize())
    return amounts


def unaccepted(stop: Inconclusive, what: str) -> str:
    """A sentence for a probe whose sound counterpart was refused."""
    return f"{what} cannot be judged: {stop.reason}"
