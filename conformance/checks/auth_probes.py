"""Calls that pass authentication, and judgements of those that do not (section 5)."""

from __future__ import annotations

import contextlib
import math
import re
import time
from collections.abc import Mapping

from conformance.checks.check_context import CheckContext
from conformance.checks.engine import Engine
from conformance.contract.traits import TRAITS
from conformance.judge.expectations import Expectation, Refused
from conformance.judge.findings import Inconclusive
from conformance.judge.oracle import FOREIGN
from conformance.wire.clock import apart
from conformance.wire.messages import Auth, Call, Exchange
from conformance.world.cache import Key
from conformance.world.run_context import refusal_of_valid

_PASSED = Key[Exchange]("a request that passed authentication")


#: Operation -> a request to it with an old timestamp.
_AGED = Key[Exchange]("a nonce beside an old timestamp")

#: Seconds for which a nonce is remembered and a timestamp accepted (section 8), less a margin.
REMEMBERED = 240

#: Age of an old timestamp that is still accepted, in seconds; a server that keeps the nonce beside it for 300
#: seconds from that timestamp has forgotten it so many seconds after the request.
_AGE, FORGOTTEN = -295, 7


_KEY = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def earliest(ctx: CheckContext) -> Exchange | None:
    """The first request to the operation in this run that was rightly signed and accepted, and on POST had a
    key of the usual form, as far back as nonces are remembered; None where there was none."""
    for exchange in list(ctx.run.record.values()):
        call = exchange.call
        if (
            exchange.operation == ctx.operation.id
            and exchange.organization == "primary"
            and exchange.succeeded
            and call.auth == Auth()
            and (not ctx.operation.is_post or _KEY.fullmatch(call.idempotency_key or ""))
            and time.time() - exchange.started < REMEMBERED
        ):
            return exchange
    return None


#: Distances of a probe from the edge of the window, in seconds: where the answer's Date header proves the
#: distance, where a slow answer hides it, and where the server sends no Date.
PROVEN, CALIBRATED, UNCALIBRATED = 5, 10, 100


def replayed(what: str) -> Expectation:
    """The expectation that a request is refused for its nonce, which was used before."""
    return Refused(what, 401, "authentication_error", "nonce_replay")


class AuthProbes(Engine):
    """The engine of requests that must fail authentication, after a valid one has passed it.

    They go where nothing but their defect is a reason to refuse them. What is valid goes to one account for
    the whole run (`sound`): what it is answered after authentication, such as the refusal of a second wallet,
    does not matter. Raises Inconclusive when even a valid call does not pass.
    """

    def __init__(self, ctx: CheckContext, *, proven: bool = True) -> None:
        operation = ctx.operation.id
        once = TRAITS[operation].once
        # No accepted request of the operation has used it.
        untouched = f"authentication/untouched by {operation}"
        super().__init__(
            ctx,
            lambda: ctx.account(untouched if once else "authentication"),
            moved=lambda: ctx.run.accounts.forget(untouched),
            others={FOREIGN: lambda: ctx.run.account(owner="secondary")},
        )
        purpose = f"authentication/{operation}"
        #: The engine of requests that must pass authentication, whatever they are answered afterwards.
        self.sound = Engine(ctx, lambda: ctx.run.account(purpose) if once else self.fixture)
        if proven:
            self.beside = self.first = self._pass()

    def _pass(self) -> Exchange:
        """The first valid request to the operation that these checks sent in this run."""
        if self.ctx.run.read_only and self.ctx.operation.method != "GET":
            # A valid request of this operation would change something; that credentials are right shows, too.
            reading = self.fixture.call("listAccounts")
            return self.passed(self.ctx.send(reading, "a valid request, to see that credentials pass"))
        what = "a valid request, to derive defective ones from"
        return self.passed(
            self.ctx.run.cache.get(_PASSED.of(self.operation), lambda: self.ctx.send(self.valid(), what))
        )

    @property
    def second(self) -> Engine:
        """The engine of requests of the second organization in an account of its own, this one where there is
        none: the requests of each may be looked at on their own, or not at all."""
        account = self.ctx.run.account
        try:
            account(owner="secondary").ids(self.operation)
        except Inconclusive:
            return self
        return Engine(self.ctx, lambda: account(owner="secondary"), organization="secondary")

    def valid(self) -> Call:
        """A valid call, with a body and, on POST, an idempotency key of its own."""
        return self.sound.fixture.call(self.operation)

    def usual(self, whose: Mapping[str, str] | None = None) -> Call:
        """A valid call to make a defective one from, or one whose path names resources of others."""
        return self.call(self.case("", "", whose=whose))

    def passed(self, exchange: Exchange) -> Exchange:
        """The exchange of a valid call, if it passed authentication; raises Inconclusive otherwise."""
        if (
            exchange.status is None
            or exchange.status >= 500
            or exchange.throttled
            or exchange.refused_authentication
        ):
            raise refusal_of_valid(exchange)
        return exchange

    @property
    def recent(self) -> Exchange:
        """A valid request whose nonce every server still remembers: the first one, or a new one."""
        if self.ctx.run.clock.now() - int(self.first.timestamp or 0) <= REMEMBERED:
            return self.first
        return self.passed(self.ctx.send(self.valid(), "a valid request, whose nonce is used again"))

    @property
    def aged(self) -> Exchange:
        """A request with a timestamp that is almost too old, whose nonce every right server still remembers:
        the first one to the operation, or a new one."""
        old = self.valid().signed(timestamp_offset=_AGE)
        cache, key, what = self.ctx.run.cache, _AGED.of(self.operation), "a nonce beside an old timestamp"
        known = cache.find(key)
        if known is None or time.time() - known.started > REMEMBERED:
            cache.put(key, known := self.ctx.send(old, what))
        return known

    def nonce_replay(
        self, rule: str, used: Exchange, call: Call, what: str, *, within: float = REMEMBERED
    ) -> None:
        """Sends a call with the nonce of an earlier exchange of the same organization and judges that it is
        refused for it, if the run wants this probe; `within` are the seconds for which a nonce is surely
        remembered."""
        if not self.ctx.wanted(what):
            return
        place = self if used.organization == "primary" else self.second
        answer = place.send(call.signed(nonce=used.nonce), what)
        if answer.arrived - used.started > within:
            self.ctx.skip_judgement(rule, f"{what} came too late for the nonce to be remembered", answer)
            return
        self.ctx.judge(rule, replayed(what), answer)


def lengthened(body: bytes | None) -> bytes | None:
    """A body with white space behind it, longer than what is passed through without a look, and still of a
    length that a front end takes."""
    return body if body is None else body.ljust(2500)


def sound(ctx: CheckContext) -> Engine:
    """The engine of requests that must pass authentication, after a valid one has passed it."""
    return AuthProbes(ctx).sound


def margins(ctx: CheckContext) -> list[int]:
    """Distances of probes from the edge of the window in seconds, for a server whose clock is known as far as
    it shows; the second one is for answers that do not prove the first."""
    # Only timestamps of created resources show if the Date header is of the clock that counts.
    if not ctx.run.clock.calibrated or ctx.run.read_only:
        return [UNCALIBRATED]
    with contextlib.suppress(Inconclusive):
        _ = ctx.run.account("authentication").account_id
    gap = math.ceil(apart(ctx.run.record.values()))
    # The server has two clocks, one of which looks at timestamps, or a third one does.
    return [min(CALIBRATED + gap, UNCALIBRATED)] if gap else [PROVEN, CALIBRATED]
