"""The signing client: builds the bytes of a request, signs and sends them.

Broken connections, endless bodies and timeouts never raise; they are recorded in the exchange.
"""

from __future__ import annotations

import functools
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate, count
from urllib.parse import urlsplit

import httpx

from conformance import __version__
from conformance.contract import signing
from conformance.contract.signing_mistakes import BY_NAME, Parts
from conformance.target.file import Organization
from conformance.wire.answers import header_text, receive
from conformance.wire.budget import Budget, Retry, TimeoutPolicy, Turn
from conformance.wire.clock import ServerClock
from conformance.wire.messages import NO_SERVER, Call, Exchange, Failure, HangUp
from conformance.wire.nonces import Nonces
from conformance.wire.request_bytes import HANG_UP, HANG_UP_AFTER, SHORT, wire_target
from conformance.wire.transport import FRESH, GATE, Gate, NotHttp, Transport

#: Name and version of the suite, for the logs of the server.
USER_AGENT = f"financial-accounts-conformance/{__version__}"

#: Timeout of connecting, in seconds.
CONNECT_TIMEOUT = 10.0

#: Maximum retries after 429 and 503.
MOST_ATTEMPTS = 20

#: Bytes of the signature string that an exchange keeps.
KEPT_SIGNED = 16 * 1024

#: OpenSSL's reasons for an answer that is not TLS.
_NOT_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG")

#: Remedy where a server limits the rate.
SLOWER = "Give the suite a rate that the server allows: --rate, or [limits] requests_per_second."

#: Reason and remedy if racing requests did not overlap.
NOT_SIMULTANEOUS = "no two of the requests that had to be simultaneous were under way at one moment"
RATE_REMEDY = (
    "Give the suite a rate that the server allows (--rate, or [limits] requests_per_second), and run it on a "
    "less busy machine."
)

#: Errors of a request that is not valid HTTP; retrying is pointless.
_UNSENDABLE = (httpx.LocalProtocolError, httpx.InvalidURL, httpx.UnsupportedProtocol, ValueError)

#: Errors of requests that are not sent once more.
_FINAL = (*_UNSENDABLE, NotHttp)

#: Failures before a request was sent.
_NOT_SENT = (Failure.UNSENDABLE, Failure.NOT_CONNECTED)

#: A header of a call that stands for none: without it the client sends its own.
NO_ACCEPT = ("Accept", "")

#: httpx.URL with a cache: parsing is slow, and a run has few URLs. Raises httpx.InvalidURL.
_url = functools.lru_cache(4096)(httpx.URL)


@dataclass
class Prepared:
    """A signed request, ready to be sent once."""

    call: Call
    request: httpx.Request
    #: Its headers, as an exchange has them.
    headers: list[tuple[str, str]]
    purpose: str
    #: The signature string; None if no computed signature is sent.
    signed: bytes | None = None
    #: The budget's answer whether it may be sent; None if not asked yet.
    turn: Turn | None = None
    #: Blocks until the other requests of a race have connected.
    gate: Gate | None = None


class Client:
    """Sends calls with one organization's credentials; `watchers` see every exchange."""

    def __init__(
        self,
        base_url: str,
        organization: Organization,
        transport: httpx.BaseTransport,
        *,
        clock: ServerClock | None = None,
        budget: Budget | None = None,
        retry: Retry | None = None,
        timeouts: TimeoutPolicy | None = None,
        nonces: Nonces | None = None,
        numbers: Iterable[int] | None = None,
        watchers: Sequence[Callable[[Exchange], None]] = (),
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.organization = organization
        self.transport = transport
        self.clock = clock or ServerClock()
        self.budget = budget or Budget()
        self.retry = retry or Retry(self.budget)
        self.timeouts = timeouts or TimeoutPolicy()
        self.nonces = nonces or Nonces()
        self.watchers = list(watchers)
        self._numbers = iter(numbers if numbers is not None else count(1))
        address = urlsplit(self.base_url)
        self._prefix = address.path.encode()
        self._origin = f"{address.scheme}://{address.netloc}".encode()

    # ------------------------------------------------------------------ building

    def prepare(self, call: Call, purpose: str = "") -> Prepared:
        """Signs a request; timestamp and nonce are fresh unless the call fixes them."""
        try:
            url = _url(self.base_url + call.path)
        except (httpx.InvalidURL, UnicodeEncodeError):
            url = _url(self.base_url)
        # httpx normalizes URLs; the `target` extension sends the exact bytes.
        target = self._prefix + call.target.encode("utf-8", "surrogatepass")
        authentication, signed = self._authentication(call, target)
        headers = self._headers(call, url, authentication)
        # httpx encodes strings as ASCII only.
        fields = [(name.encode("ascii"), value.encode("utf-8", "surrogateescape")) for name, value in headers]
        more = {HANG_UP: call.hang_up, FRESH: True} if call.hang_up else {}
        more |= {"target": target, HANG_UP_AFTER: call.hang_up_after}
        # With `content`, httpx would add headers of its own.
        stream = httpx.ByteStream(call.body or b"")
        request = httpx.Request(call.method, url, headers=fields, stream=stream, extensions=more)
        request.read()
        nonce = request.headers.get(signing.NONCE) if call.headers else authentication.get(signing.NONCE)
        self.nonces.planned(nonce)
        sent = [pair if pair[1].isascii() else header_text(*fields[at]) for at, pair in enumerate(headers)]
        return Prepared(call, request, sent, purpose, signed)

    def _headers(self, call: Call, url: httpx.URL, authentication: dict[str, str]) -> list[tuple[str, str]]:
        own = (("Accept", "application/json"), ("User-Agent", USER_AGENT))
        others = {name.lower() for name, _ in call.headers}
        headers = [("Host", url.netloc.decode("ascii"))]
        headers += [(name, value) for name, value in own if name.lower() not in others]
        # A call with Transfer-Encoding has no Content-Length.
        framed = any(name.lower() == "transfer-encoding" for name, _ in call.headers)
        if call.body is not None:
            if not framed:
                short = SHORT if call.hang_up is HangUp.WITHIN_BODY else 0
                headers.append(("Content-Length", str(len(call.body) + short)))
            if call.content_type is not None:
                headers.append(("Content-Type", call.content_type))
        elif call.method in ("POST", "PUT", "PATCH"):
            headers.append(("Content-Length", "0"))
        rename = signing.NAME_CASES[call.auth.name_case]
        if call.idempotency_key is not None:
            headers.append((rename("Idempotency-Key"), call.idempotency_key))
        headers += [(rename(name), value) for name, value in authentication.items()]
        return [*headers, *(pair for pair in call.headers if pair != NO_ACCEPT)]

    def _authentication(self, call: Call, target: bytes) -> tuple[dict[str, str], bytes | None]:
        """The authentication headers of a call, and the signature string if its signature is computed."""
        own, auth = self.organization, call.auth
        timestamp = (
            auth.timestamp if auth.timestamp is not None else str(self.clock.now() + auth.timestamp_offset)
        )
        nonce = auth.nonce if auth.nonce is not None else signing.new_nonce()
        if auth.signed_target is not None:
            target = self._prefix + auth.signed_target.encode("utf-8", "surrogatepass")
        api_key = auth.api_key if auth.api_key is not None else own.api_key
        secret = auth.secret if auth.secret is not None else own.secret
        parts = Parts(
            call.method.upper(),
            target,
            timestamp,
            auth.signed_nonce if auth.signed_nonce is not None else nonce,
            auth.signed_body if auth.signed_body is not None else call.body or b"",
            api_key,
            self._origin,
        )
        string, signature = parts.string(), auth.signature
        if signature is None and auth.mistake:
            mistake = BY_NAME[auth.mistake]
            string, signature = mistake.signed(parts) or string, mistake.sign(parts, secret)
        signature = signing.signature(secret, string) if signature is None else signature
        values = zip(signing.HEADERS, (api_key, timestamp, nonce, signature), strict=True)
        headers = {
            name: "" if name in auth.empty else value for name, value in values if name not in auth.omit
        }
        sent = auth.signature is None and headers.get(signing.SIGNATURE)
        return headers, string[:KEPT_SIGNED] if sent else None

    # ------------------------------------------------------------------ sending

    def send(self, call: Call, purpose: str = "") -> Exchange:
        """Sends a call, retrying 429 and 503 with Retry-After; returns the last exchange.

        Watchers see that exchange, and those of lost transmissions.
        """
        attempt, begun = 0, 0.0
        while True:
            attempt += 1
            exchanges = self.deliver(self.prepare(call, purpose))
            self.watch(exchanges[:-1])
            exchange = exchanges[-1]
            begun = begun or exchanges[0].started
            if not exchange.throttled or attempt > MOST_ATTEMPTS:
                break
            if not self.retry.wait_out(exchange, attempt):
                break
            call = self.nonces.renewed(call, exchange)
        # An exchange that was withheld has 0 attempts itself.
        exchange.attempts, exchange.begun = exchange.attempts + attempt - 1, begun
        self.watch([exchange])
        return exchange

    def deliver(self, prepared: Prepared) -> list[Exchange]:
        """Sends a request; if it is lost, sends it once more, freshly signed on a new connection, since a
        kept-alive one may have gone stale.

        Returns the exchanges of all transmissions, the last of which counts; watchers have not seen them.
        """
        first = self.transmit(prepared)
        if not first.lost:
            return [first]
        first.repeated = True
        call = self.nonces.renewed(prepared.call, first)
        again = self.prepare(call, prepared.purpose)
        again.gate = prepared.gate
        again.request.extensions[FRESH] = True
        second = self.transmit(again)
        second.begun = first.started
        return [first, second]

    def transmit(self, prepared: Prepared) -> Exchange:
        """Sends a prepared request exactly once; watchers do not see its exchange."""
        request = prepared.request
        exchange = Exchange(
            number=next(self._numbers),
            organization=self.organization.name,
            call=prepared.call,
            purpose=prepared.purpose,
            # Interned, since URLs repeat.
            url=sys.intern(str(request.url)),
            method=request.method,
            target=sys.intern(wire_target(request).decode("utf-8", "backslashreplace")),
            request_headers=prepared.headers,
            request_body=request.content,
            signed=prepared.signed,
        )
        turn = prepared.turn or self.budget.take(prepared.call.operation or "")
        if turn.withheld:
            exchange.started = exchange.begun = time.time()
            exchange.error, exchange.failure, exchange.attempts = turn.withheld, Failure.WITHHELD, 0
        else:
            self._transmit(request, exchange, prepared.gate)
        if turn.limit is not None:
            self.budget.pace.leave(turn.limit, exchange, raced=prepared.gate is not None)
        return exchange

    def _transmit(self, request: httpx.Request, exchange: Exchange, gate: Gate | None) -> None:
        exchange.started = exchange.begun = time.time()
        begin = time.perf_counter()
        seconds, left = self.timeouts.seconds, self.budget.left
        if last := left is not None and left < seconds:
            seconds = max(left or 0.0, 0.001)
        request.extensions["timeout"] = {"connect": min(seconds, CONNECT_TIMEOUT), "read": seconds}
        held = 0.0 if gate is None else -gate.held
        try:
            self._receive(request, exchange, gate)
        except httpx.TimeoutException as error:
            self.timeouts.timeouts += 1
            exchange.error, exchange.lost = f"{type(error).__name__}: {error}"[:300], True
            late = isinstance(error, httpx.ConnectTimeout)
            exchange.failure = Failure.NOT_CONNECTED if late else Failure.TIMED_OUT
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError, ValueError) as error:
            exchange.error = f"{type(error).__name__}: {error}"[:300]
            exchange.failure = _failure(error)
            exchange.lost = not isinstance(error, _FINAL)
        if gate is not None:
            held += gate.held
        exchange.started = exchange.begun = exchange.started + held
        exchange.elapsed = time.perf_counter() - begin - held
        if exchange.failure is not None and (
            self.budget.ended or (last and exchange.failure is Failure.TIMED_OUT)
        ):
            # The run ended, the server is not to blame.
            exchange.error, exchange.failure = self.budget.ended or self.budget.over, Failure.WITHHELD
            exchange.lost = False
        elif HANG_UP in request.extensions and exchange.failure not in (*NO_SERVER, *_NOT_SENT):
            exchange.status, exchange.response_headers, exchange.response_body = None, [], b""
            exchange.error, exchange.failure, exchange.lost = "the caller hung up", Failure.HUNG_UP, False

    def _receive(self, request: httpx.Request, exchange: Exchange, gate: Gate | None) -> None:
        if gate is not None:
            request.extensions[GATE] = gate
            if not isinstance(self.transport, Transport):
                gate.wait()
        response = self.transport.handle_request(request)
        try:
            receive(response, exchange)
        finally:
            response.close()

    def race(self, calls: Sequence[Call], purpose: str = "") -> list[Exchange]:
        """Sends all calls simultaneously, each in its own thread; returns their exchanges in order."""
        return race([(self, call, purpose) for call in calls])

    def watch(self, exchanges: Sequence[Exchange]) -> None:
        """Shows exchanges to the watchers, which are not thread-safe."""
        for exchange in exchanges:
            for watcher in self.watchers:
                watcher(exchange)


def _failure(error: Exception) -> Failure:
    """Classifies an error of the transport other than its timeouts."""
    if isinstance(error, httpx.ConnectError):
        return _unconnected(error)
    if isinstance(error, httpx.LocalProtocolError):
        return Failure.UNSENDABLE
    return Failure.TIMED_OUT if isinstance(error, TimeoutError) else Failure.BROKEN_OFF


def _unconnected(error: BaseException) -> Failure:
    """Classifies a failure to connect by the TLS error that caused it, if any."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            reason = getattr(cause, "reason", "")
            return Failure.NOT_TLS if reason in _NOT_TLS else Failure.UNTRUSTED
        cause = cause.__cause__ or cause.__context__
    return Failure.UNREACHABLE


#: Name prefix of the threads of races.
RACERS = "conformance race"

#: Threads of all races, started on demand; the maximum exceeds what all lanes use at once.
_RACERS = ThreadPoolExecutor(1024, RACERS)

#: One request of a race: its client, call and purpose.
Racer = tuple[Client, Call, str]


def race(racers: Sequence[Racer]) -> list[Exchange]:
    """Sends requests simultaneously, each in its own thread; returns their exchanges in order. Where the
    server takes fewer at once, as many as it takes are simultaneous.

    The budget that all clients share admits the whole race before it begins, so that no request waits for the
    rate limiter. Each request has a new connection: kept-alive ones may all lead to one process of the
    server. None is written before all have connected. Lost requests are sent once more.
    """
    budget = racers[0][0].budget
    most = int(min(budget.pace.at_once, len(racers)))
    if most < len(racers):
        return [*race(racers[:most]), *race(racers[most:])]
    turn = budget.take(racers[0][1].operation or "", len(racers))
    prepared = [(client, client.prepare(call, purpose)) for client, call, purpose in racers]
    barrier = threading.Barrier(len(racers))
    for _, request in prepared:
        request.turn = turn
        request.request.extensions[FRESH] = True

    def deliver(racer: tuple[Client, Prepared]) -> list[Exchange]:
        client, request = racer
        gate = request.gate = Gate(barrier)
        try:
            return client.deliver(request)
        finally:
            gate.leave()

    delivered = list(_RACERS.map(deliver, prepared))
    first = min(exchange.number for exchanges in delivered for exchange in exchanges)
    for (client, _), exchanges in sorted(
        zip(prepared, delivered, strict=True), key=lambda pair: pair[1][-1].begun
    ):
        for exchange in exchanges:
            exchange.raced = first
        client.watch(exchanges)
    return [exchanges[-1] for exchanges in delivered]


def simultaneous(exchanges: Iterable[Exchange]) -> int:
    """Maximum number of requests in flight at once, of those that were answered and not throttled."""
    changes = []
    for exchange in exchanges:
        if exchange.status is not None and not exchange.throttled:
            changes += [(exchange.started, 1), (exchange.arrived, -1)]
    return max(accumulate(change for _, change in sorted(changes)), default=0)
