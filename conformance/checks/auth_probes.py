"""Requests that must pass authentication, and probes that must fail it (section 5)."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from conformance._text import count, duration
from conformance.checks.check import Check
from conformance.checks.engine import Engine
from conformance.judge import outcomes
from conformance.judge.oracle import FOREIGN, UNKNOWN
from conformance.judge.outcomes import Judgement
from conformance.judge.verdicts import Inconclusive, NotApplicable
from conformance.judge.waits import AGE
from conformance.wire.messages import Auth, Call, Exchange
from conformance.world.calls import parameters
from conformance.world.purposes import AUTHENTICATION, UNTOUCHED
from conformance.world.refused_samples import refusal_of_valid

#: Seconds for which nonces are remembered and timestamps accepted (section 8); the same less a margin.
WINDOW, REMEMBERED = 300, 240

#: Seconds that an answer may take until then.
SLOWEST = 40

#: Remedy where answers came too slowly for that.
SOONER = "Run it with --lanes 1, and on a machine with processors to spare for the server."

_KEY = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


#: Maximum number of requests that are sent so that an earlier one may be forgotten, and of seconds until a
#: violation that another check has found ends the wait.
MANY, _PAUSE = 2500, 1.0


def earliest(at: Check, within: float = REMEMBERED - SLOWEST) -> Exchange | None:
    """Returns the first accepted request of any lane to the operation in these last seconds, of the primary
    organization, correctly signed and on POST with a version 4 UUID as its key; None without one."""

    def fits(exchange: Exchange) -> bool:
        call = exchange.call
        return bool(
            exchange.operation == at.operation.id
            and exchange.organization == "primary"
            and exchange.succeeded
            and call.auth == Auth()
            and (not at.operation.is_post or _KEY.fullmatch(call.idempotency_key or ""))
            and time.time() - exchange.started < within
        )

    firsts = (next(filter(fits, list(accepted)), None) for accepted in at.lane.common.accepted)
    return min(filter(None, firsts), key=lambda exchange: exchange.started, default=None)


def later(at: Check, earlier: Exchange) -> str:
    """How much later than an earlier exchange it is, in words: seconds, and requests of all lanes."""
    number = sum(started > earlier.started for started in at.lane.common.sent)
    return f"{duration(time.time() - earlier.started)} and {count(number, 'request')} later"


def be_patient(at: Check, make: Callable[[], Call], purpose: str) -> None:
    """Spends the time that one rule has where it is run alone on requests, at most MANY, and on waiting: what
    is forgotten after many, or after a while, shows then."""
    end, left = time.monotonic() + AGE, MANY
    while at.patient and (seconds := end - time.monotonic()) > 0:
        if left:
            at.send(make(), purpose)
            left -= 1
        else:
            at.lane.pause(min(seconds, _PAUSE))
    at.lane.patience = 0.0


def replayed(what: str, answer: Exchange) -> Judgement:
    """Judges the refusal of a used nonce."""
    return outcomes.refused(what, answer, 401, "authentication_error", "nonce_replay")


def unauthenticated(answer: Exchange) -> bool:
    """True unless an answer shows that its request passed authentication."""
    return answer.status is None or answer.status >= 500 or answer.throttled or answer.refused_authentication


class AuthProbes(Engine):
    """Engine of requests that must fail authentication, after a valid one has passed it.

    They go where only their defect is a reason to refuse them. Valid requests (`sound`) share one account for
    the run: refusals after authentication, such as that of a second wallet of a pair, do not matter. Raises
    Inconclusive when a valid request does not pass."""

    def __init__(self, at: Check, *, proven: bool = True) -> None:
        operation = at.operation.id
        once = at.operation.traits.once
        # An account in which the operation has not succeeded.
        untouched = UNTOUCHED.of(operation)
        super().__init__(
            at,
            lambda: at.account(untouched if once else AUTHENTICATION),
            moved=lambda: at.lane.forget(untouched),
            others={FOREIGN: lambda: at.lane.account(owner="secondary")},
        )
        purpose = AUTHENTICATION.of(operation)
        #: Engine of requests that must pass authentication, whatever the answer after that.
        self.sound = Engine(at, lambda: at.lane.account(purpose) if once else self.fixture)
        if proven:
            self.beside = self.first = self._pass()

    def _pass(self) -> Exchange:
        """Returns a valid request that passed authentication, sent once for each operation of a run."""
        what = "a valid request, to derive defective ones from"
        return self.passed(
            self.at.lane.common.cache.get((what, self.operation), lambda: self.at.send(self.valid(), what))
        )

    @property
    def second(self) -> Engine:
        """Engine of the second organization in an account of its own; this one without such an organization.
        A server may authenticate each organization differently."""
        account = self.at.lane.account
        try:
            account(owner="secondary").ids(self.operation)
        except (Inconclusive, NotApplicable):
            return self
        return Engine(self.at, lambda: account(owner="secondary"), organization="secondary")

    def valid(self) -> Call:
        """Builds a valid call, with a new body and, on POST, a new Idempotency-Key."""
        return self.sound.fixture.call(self.operation)

    def usual(self, whose: Mapping[str, str] | None = None) -> Call:
        """Builds a valid call to derive a defective one from; `whose` gives the owners of path parameters."""
        return self.call(self.case("", "", whose=whose))

    def passed(self, exchange: Exchange) -> Exchange:
        """Returns the exchange. Raises Inconclusive on no answer, 5xx, 429 or failed authentication."""
        if unauthenticated(exchange):
            raise refusal_of_valid(exchange)
        return exchange

    @property
    def recent(self) -> Exchange:
        """A valid request whose nonce is still remembered: the first one, or a new one."""
        if self.at.lane.clock.now() - int(self.first.timestamp or 0) <= REMEMBERED:
            return self.first
        return self.passed(self.at.send(self.valid(), "a valid request, whose nonce is used again"))

    def nonce_replay(
        self, rule: str, used: Exchange, call: Call, what: str, *, within: float = REMEMBERED
    ) -> bool:
        """Sends a call with the nonce of an earlier exchange of the same organization and judges that it is
        refused; True if it is. `within`: seconds for which the nonce is surely remembered."""
        place = self if used.organization == "primary" else self.second
        answer = place.send(call.signed(nonce=used.nonce), what)
        if answer.arrived - used.started > within:
            reason = f"{what} came too late for the nonce to be remembered"
            self.at.unclear(rule, reason, answer, remedy=SOONER)
            return False
        return self.at.expect(rule, *replayed(what, answer), used)


def defects(engine: Engine) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields what is wrong with a request that passes authentication, and the changes of a Case that make it
    so."""
    operation, (top, *children) = engine.at.operation, parameters(engine.operation)
    for child in children:
        yield f"for an unknown {child}", {"whose": {child: UNKNOWN}}
    if engine.at.target.secondary is not None:
        with engine.at.probe(*engine.at.rules):
            engine.target({top: FOREIGN})
            yield f"for another organization's {top}", {"whose": {top: FOREIGN}}
    if operation.request_schema is not None:
        yield "with malformed JSON", {"body": b'{"'}
        yield "with a body that is not an object", {"body": b"[]"}
    if operation.query_parameters:
        yield "for page 0 of size x", {"query": "page=0&size=x"}
    if operation.is_post:
        yield "with an idempotency key that is not a UUID", {"key": "no-uuid"}


def lengthened(body: bytes | None) -> bytes | None:
    """Pads a body with trailing white space to 2500 bytes: servers may treat short bodies differently, and
    front ends refuse long ones."""
    return body if body is None else body.ljust(2500)


def sound(at: Check) -> Engine:
    """Returns the engine of requests that must pass authentication. Raises Inconclusive if one fails."""
    return AuthProbes(at).sound
