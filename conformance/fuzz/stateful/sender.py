"""Base of an example of the model: its own account, the model of it, and judged requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from conformance.contract.rules import RULES
from conformance.fuzz.engine.recorder import Recorder
from conformance.fuzz.stateful.reference_model import Model, Payee
from conformance.judge.expectations import Authenticated, Expectation
from conformance.judge.oracle import ValidBody
from conformance.wire.messages import Call, Exchange
from conformance.world.account import AccountFixture, call
from conformance.world.habits import eventually, found
from conformance.world.run_context import RunContext


class Sender:
    """One example: an account of its own and the model of what it holds.

    A request whose outcome cannot be known (no answer, 5xx, an answer against the rules that was reported
    before) ends the comparison: `lost` is set, and every further method does nothing."""

    def __init__(
        self,
        run: RunContext,
        recorder: Recorder,
        valid: Mapping[str, ValidBody],
        elsewhere: Mapping[str, AccountFixture],
    ) -> None:
        self.run, self.recorder, self.valid, self.elsewhere = run, recorder, valid, elsewhere
        self.model = Model()
        self.lost = False
        self._uninspected: list[Exchange] = []
        customer = run.target.primary.customer_id
        self.ids = {"customer_id": customer}
        account = self.send(call("createAccount", self.ids, run.samples.account()), "an account of its own")
        self.lost = self.lost or not account.succeeded or not isinstance(account.get("id"), str)
        self.ids["account_id"] = str(account.get("id"))

    def ids_of(self, payee: Payee | None) -> dict[str, str]:
        """The path parameters of the account, or of one of its beneficiaries."""
        return self.ids if payee is None else {**self.ids, "beneficiary_id": payee.id}

    # ------------------------------------------------------------------ sending and judging

    def send(self, request: Call, purpose: str, organization: str = "primary") -> Exchange:
        self.inspect()
        exchange = self.run.send(self.run.client(organization), request, purpose)
        self.recorder.count(exchange)
        self.recorder.keep(exchange)
        self._uninspected.append(exchange)
        if exchange.throttled or exchange.status is None or exchange.status >= 500:
            self.inspect()
            self.lost = True
        elif exchange.refused_authentication:
            operation = str(request.operation)
            rules = [
                rule
                for rule, given in (
                    ("auth.query-as-sent", request.query),
                    ("auth.body-as-sent", request.body),
                )
                if given and operation in RULES[rule].operations
            ]
            self.judge(
                rules[0] if rules else "auth.accepts-valid",
                operation,
                Authenticated("a correctly signed request"),
                exchange,
            )
        return exchange

    def look(
        self, operation: str, send: Callable[[], Exchange], good: Callable[[Exchange], bool]
    ) -> Exchange:
        """Reads until the answer is good, for a bounded time."""
        return eventually(self.run.cache, operation, send, lambda seen: self.lost or good(seen))

    def shown(self, request: Call, purpose: str, organization: str = "primary") -> Exchange:
        """Sends a request; a GET that is answered 404 again, for a bounded time, as reads may not know a new
        parent yet."""
        return self.look(
            str(request.operation),
            lambda: self.send(request, purpose, organization),
            found,
        )

    def inspect(self) -> None:
        """Judges the last answers by the rules of every response, after the rule at hand, which says more."""
        waiting, self._uninspected = self._uninspected, []
        if not self.lost:
            self.lost = True
            self.recorder.inspect(*waiting)
            self.lost = False

    def judge(self, rule: str, operation: str, expectation: Expectation, *exchanges: Exchange) -> bool:
        """As the recorder judges; a difference that was reported before ends the comparison."""
        lost, self.lost = self.lost, True  # whatever is raised, nothing more is compared
        good = self.recorder.judge(rule, operation, expectation, *exchanges)
        if good:
            self.lost = lost
        return good
