"""The suite at work on one target: clients, shared resources, and the record of every exchange."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx

from conformance import contract
from conformance.client import Client, Pace, Patience, ServerClock, new_transport
from conformance.exchange import Call, Exchange
from conformance.passive import PassiveRules
from conformance.redaction import Redactor
from conformance.samples import Samples
from conformance.target import Target
from conformance.verdict import Inconclusive, NotApplicable, SuiteError
from conformance.world import Scene

#: What to do when a sample is refused, named in the report.
SAMPLE_CURES = {
    "createBeneficiary": "[samples.beneficiary]",
    "createPayoutDestination": "[samples.payout_destination.bank_account] or [samples.payout_destination.wallet]",
    "createPayout": "[primary] funded_account_id, [samples.payout], or [features] payouts = false",
    "createVirtualAccount": "[samples.virtual_account]",
    "createWallet": "[samples.wallet] pairs",
    "createPayin": "[samples.payin], or [features] payins = false",
}

#: After so many exchanges in a row that found nobody there, or that ran out of time, the server is lost.
LOST_AFTER_REFUSED = 3
LOST_AFTER_TIMEOUTS = 10


class Suite:
    """One process's view of a run: `record` holds its exchanges by number."""

    def __init__(
        self,
        target: Target,
        transport: httpx.BaseTransport | None = None,
        *,
        first_number: int = 1,
        accounts_lock: Path | None = None,
        pace: Pace | None = None,
    ) -> None:
        self.target = target
        self.samples = Samples(target)
        self.redactor = Redactor(target)
        self.record: dict[int, Exchange] = {}
        self.sent = 0
        self.passive = PassiveRules(target)
        self.clock = ServerClock()
        self.pace = pace or Pace(target.requests_per_second)
        self.patience = Patience()
        #: Why nothing more is sent, in one paragraph; empty while the server is there.
        self.lost = ""
        self._unanswered: list[str] = []
        self._numbers = itertools.count(first_number)
        self._transport = transport or new_transport()
        self._clients: dict[str, Client] = {}
        self._shared: dict[str, Scene] = {}
        self._bank_choice: int | None = None
        self._lock = _accounts_lock(accounts_lock)
        #: Whatever a check module wants to keep for the whole run, by a key of its own.
        self.shelf: dict[str, Any] = {}

    # ------------------------------------------------------------------ clients

    def client(self, organization: str = "primary") -> Client:
        """The client of the primary or the secondary organization."""
        if organization not in self._clients:
            owner = self.target.primary if organization == "primary" else self.target.secondary
            if owner is None and self.target.features.secondary is False:
                raise NotApplicable(
                    "the target file declares that there is no second organization ([features] secondary = false)"
                )
            if owner is None:
                raise Inconclusive(
                    "the target file names no second organization",
                    "Fill in [secondary], or declare [features] secondary = false.",
                )
            self._clients[organization] = Client(
                self.target.base_url,
                owner,
                self._transport,
                clock=self.clock,
                pace=self.pace,
                patience=self.patience,
                numbers=self._numbers,
                watchers=[self._watch],
            )
        return self._clients[organization]

    def _watch(self, exchange: Exchange) -> None:
        self.sent += exchange.attempts
        self.record[exchange.number] = exchange
        if not self.clock.calibrated:
            self.clock.observe(exchange)
        self._look_for_server(exchange)
        self.passive.inspect(exchange)

    def _look_for_server(self, exchange: Exchange) -> None:
        """Gives the server up when it is gone, so that a run ends soon and blames no rule for it."""
        error = exchange.error or ""
        if exchange.status is None and ("ConnectError" in error or "Timeout" in error):
            self._unanswered.append(error.partition(":")[0])
        else:
            self._unanswered.clear()
        refused = self._unanswered[-LOST_AFTER_REFUSED:].count("ConnectError") == LOST_AFTER_REFUSED
        if not self.lost and (refused or len(self._unanswered) >= LOST_AFTER_TIMEOUTS):
            what = "could no longer be connected to" if refused else "did not answer in time any more"
            self.lost = (
                f"{self.target.base_url} {what} ({self.redactor.text(error)}): {len(self._unanswered)} requests in a row, "
                f"the last of them {exchange.method} {exchange.call.path[:120]}. Nothing was sent after that. "
                "Look in the server's log for why it stopped, start it again and repeat the run."
            )

    def answering(self) -> None:
        """Raises Inconclusive when the server is lost."""
        if self.lost:
            raise Inconclusive(self.lost)

    # ------------------------------------------------------------------ sending

    def send(self, client: Client, call: Call, purpose: str) -> Exchange:
        """Sends a call; creates of accounts, and payouts, which may draw on an account that workers share, wait
        while a check needs the customer's accounts to stand still.

        Raises Inconclusive when the server is lost.
        """
        self.answering()
        if call.operation in ("createAccount", "createPayout"):
            with self.quiet_accounts():
                return client.send(call, purpose)
        return client.send(call, purpose)

    def accept(self, client: Client, call: Call, purpose: str) -> Exchange:
        """Sends a sound call and returns its exchange; raises Inconclusive when it is not answered with 2xx JSON.

        A sound call that does not conform to openapi.yaml is the suite's own mistake: SuiteError.
        """
        assert call.operation is not None
        problems = contract.request_problems(call.operation, call.body, call.query)
        # Ids are the server's own: what is wrong with them is the matter of format.id.
        if problems := [
            one for one in problems if not one.startswith(("/beneficiary_id ", "/payout_destination_id "))
        ]:
            raise SuiteError(
                f"the suite's own sound request for {call.operation} breaks openapi.yaml: {problems[0]}"
            )
        exchange = self.send(client, call, purpose)
        if not exchange.succeeded or not isinstance(exchange.document, dict):
            raise refusal_of_sound(exchange)
        return exchange

    @contextlib.contextmanager
    def quiet_accounts(self) -> Iterator[None]:
        """While this is held, no other worker of this run creates an account or a payout."""
        with self._lock():
            yield

    # ------------------------------------------------------------------ resources

    def shared(self, organization: str = "primary") -> Scene:
        """The scene that read-only and refused requests share."""
        if organization not in self._shared:
            self._shared[organization] = Scene(self, organization)
        return self._shared[organization]

    def fresh(self, organization: str = "primary") -> Scene:
        """A scene in an account of its own."""
        return Scene(self, organization)

    def payouts(self, organization: str = "primary", *, fresh: bool = False) -> Scene:
        """A scene whose account payouts may draw on: the target's funded account, else any."""
        funded = self.target.primary.funded_account_id if organization == "primary" else None
        if funded is None:
            return self.fresh(organization) if fresh else self.shared(organization)
        key = f"payouts {organization}"
        if fresh or key not in self._shared:
            scene = Scene(self, organization, account_id=funded)
            if fresh:
                return scene
            self._shared[key] = scene
        return self._shared[key]

    def scene_for(self, operation: str, organization: str = "primary", *, fresh: bool = False) -> Scene:
        """The scene in which an operation can be called soundly."""
        if operation == "createPayout":
            return self.payouts(organization, fresh=fresh)
        return self.fresh(organization) if fresh else self.shared(organization)

    def bank_account(self, scene: Scene) -> dict[str, Any]:
        """A bank destination body that this server accepts; which one that is, is found out once."""
        bodies = self.samples.bank_accounts()
        if self._bank_choice is None:
            self._bank_choice = 0
            from conformance.world import call

            for index, body in enumerate(bodies):
                attempt = call("createPayoutDestination", scene.ids("createPayoutDestination"), body)
                if self.send(scene.client, attempt, "which bank details does this server accept?").succeeded:
                    self._bank_choice = index
                    break
        # Not the numbers that were just tried: a server may refuse the same account twice.
        return self.samples.bank_accounts()[self._bank_choice]


def refusal_of_sound(exchange: Exchange) -> Inconclusive:
    """Why a check cannot go on after a sound request was refused, with what the user can do."""
    operation = exchange.operation
    cause = cure = ""
    if exchange.unsent:
        cure = "Start the server again."
    elif exchange.status is None or (exchange.status >= 500 and not exchange.throttled):
        cause = "http.no-server-error"
    elif exchange.throttled:
        cure = "Give the suite a rate the server allows: [limits] requests_per_second."
    elif exchange.refused_authentication:
        cause = "auth.accepts-valid"
    elif exchange.succeeded:
        cause = "http.success-json"
    elif operation in SAMPLE_CURES:
        cure = f"If the server is right to refuse it, say in the target file what it accepts: {SAMPLE_CURES[operation]}."
    return Inconclusive(f"the sound {operation} was answered {exchange.described()}", cure, cause)


def _accounts_lock(path: Path | None) -> Callable[[], contextlib.AbstractContextManager[Any]]:
    if path is None:
        return contextlib.nullcontext
    from filelock import FileLock

    lock = FileLock(path)
    return lambda: lock
