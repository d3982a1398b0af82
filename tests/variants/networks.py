"""Networks in front of a conforming server: rate limiters, gateways, stale connections."""

from __future__ import annotations

import gzip
import re
import time
from collections.abc import Callable, Sequence
from email.utils import formatdate, parsedate_to_datetime
from urllib.parse import unquote_to_bytes

import httpx

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.core_messages import Response
from conformance.reference.pipeline import Stage
from tests.support.overrides import Usual, with_header

from .choice import choice, times, with_members
from .surroundings import Between, Counting

#: Requests per second that a limiter lets through.
RATE = 150


class Allowance:
    """Rate limiter: a number of requests in each second, or in each period of `seconds`."""

    def __init__(self, rate: int, seconds: int = 1) -> None:
        self.rate, self.seconds = rate, seconds
        self._period, self._used = 0, 0

    def take(self) -> bool:
        """Returns True if another request is allowed now."""
        period = int(time.monotonic()) // self.seconds
        if period != self._period:
            self._period, self._used = period, 0
        self._used += 1
        return self._used <= self.rate


TOO_MANY = {
    "error": {"type": "rate_limit_error", "code": "too_many_requests", "message": "Try again in a second."}
}


class LimitedInFront(Between):
    """Limits the rate at a gateway, before authentication."""

    def __init__(self, inner: httpx.BaseTransport, rate: int = RATE, seconds: int = 1) -> None:
        super().__init__(inner)
        self._allowance = Allowance(rate, seconds)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return super().handle_request(request) if self._allowance.take() else self.refusal()

    def refusal(self) -> httpx.Response:
        """Returns the answer to a request beyond the rate."""
        return httpx.Response(429, headers={"Retry-After": f"{self._allowance.seconds}"}, json=TOO_MANY)


class LimitedWithoutWord(LimitedInFront):
    """Limits the rate at a gateway, without Retry-After."""

    def refusal(self) -> httpx.Response:
        return httpx.Response(429, headers={"Content-Type": "text/plain"}, content=b"Too Many Requests")


@choice()
class LimitedBehindAuthentication(Behaviour):
    """Limits the rate of an organization after authentication, with the nonce claimed."""

    def stages(self, ctx: Context) -> Sequence[Stage]:
        first, *others = super().stages(ctx)
        return (first, self.limit, *others)

    def limit(self, ctx: Context) -> Response | None:
        assert ctx.organization is not None
        allowances = ctx.server.__dict__.setdefault("allowances", {})
        allowance = allowances.setdefault(ctx.organization.id, Allowance(RATE))
        if allowance.take():
            return None
        return with_header(Response.of(429, TOO_MANY), b"retry-after", b"1")


class LimitedTwice(LimitedInFront):
    """Limits the rate at one gateway, and the requests per minute at another behind it."""

    def __init__(self, inner: httpx.BaseTransport) -> None:
        super().__init__(LimitedInFront(inner, 600, seconds=60))


class LosesNow(Counting):
    """Closes a kept-alive connection at some requests: either before the server received the request, or
    before it answered."""

    #: Interval of lost requests, and which of the lost ones reached the server.
    EVERY, REACHED = 211, 2

    _lost = 0

    def treat(self, request: httpx.Request, number: int) -> None:
        if number % self.EVERY or request.extensions.get("fresh_connection"):
            return
        self._lost += 1
        if self._lost % self.REACHED == 0:
            self.inner.handle_request(request)
        raise httpx.RemoteProtocolError("Server disconnected without sending a response.")


# ---------------------------------------------------------------------- refusing front ends

Wrapped = Callable[[httpx.BaseTransport], httpx.BaseTransport]


def refusing(status: int, title: str, odd: Callable[[httpx.Request, bytes], object]) -> Wrapped:
    """Makes a front end that refuses requests for which `odd` is true with its own error page, before
    authentication."""

    class Refusing(Between):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            if not odd(request, request.extensions.get("target", request.url.raw_path)):
                return super().handle_request(request)
            page = f"<html><head><title>{status} {title}</title></head></html>".encode()
            return httpx.Response(status, headers={"Content-Type": "text/html"}, content=page)

    return Refusing


#: Characters that RFC 3986 allows in a request target.
_TARGET = re.compile(rb"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%(?!00)[0-9A-Fa-f]{2})*")
_VALUE = re.compile(rb"[\t\x20-\x7e]*")

#: Patterns of a web application firewall: SQL, markup, path traversal, templates, shell commands.
_ATTACKS = re.compile(
    rb"""'(?:\s|%20|\+)*or\b|union\s+select|--\s|<\s*/?[a-z]|javascript:|\.\./|%2e%2e|\{\{|\$\{|\$\(|`|;\s*\{|\|\s*\w+""",
    re.IGNORECASE,
)


#: What frameworks refuse: an encoded slash in a path, an encoded percent sign or control character anywhere.
_ENCODED = re.compile(rb"[^?]*%2[Ff]|.*%(?:25|[01][0-9A-Fa-f]|7[Ff])")


def _malformed(request: httpx.Request, target: bytes) -> bool:
    """Returns True for a target with invalid characters, or a header with control or non-ASCII bytes."""
    odd = not _TARGET.fullmatch(target) or bool(_ENCODED.match(target))
    return odd or not all(_VALUE.fullmatch(value) for _, value in request.headers.raw)


def _attacking(request: httpx.Request, target: bytes) -> bool:
    """Returns True for a request that resembles an attack, or a GET with a body (RFC 9110, 9.3.1)."""
    odd = request.method == "GET" and request.content
    return bool(odd or _ATTACKS.search(unquote_to_bytes(target)) or _ATTACKS.search(request.content))


def _long_header(request: httpx.Request, target: bytes) -> bool:
    """Returns True for a header field of more than 4,096 bytes."""
    return any(len(name) + len(value) + 2 > 4096 for name, value in request.headers.raw)


class Router(Between):
    """Answers other spellings and methods of a path before authentication, with a redirect, 204 or 405."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        target: bytes = request.extensions.get("target", request.url.raw_path)
        path, mark, query = target.partition(b"?")
        if request.method == "OPTIONS":
            allowed = {"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": "GET, POST, PATCH"}
            return httpx.Response(204, headers=allowed)
        if request.method == "HEAD":
            return httpx.Response(405, headers={"Allow": "GET"})
        if b"//" in path or (path.endswith(b"/") and len(path) > 1):
            there = re.sub(rb"/+", b"/", path).rstrip(b"/") + mark + query
            page = b"<html><head><title>308 Permanent Redirect</title></head></html>"
            headers = {"Location": there.decode("latin-1"), "Content-Type": "text/html"}
            return httpx.Response(308, headers=headers, content=page)
        return self.inner.handle_request(request)


class Storms(Counting):
    """Refuses every request for two seconds now and then, with Retry-After as a date."""

    #: Requests between outages, and their duration in seconds.
    EVERY, LASTS = 700, 2.0

    _until = 0.0

    def treat(self, request: httpx.Request, number: int) -> httpx.Response | None:
        if number % self.EVERY == 0:
            self._until = time.time() + self.LASTS
        if time.time() >= self._until:
            return None
        when = formatdate(self._until + 1, usegmt=True)
        return httpx.Response(429, headers={"Retry-After": when}, json=TOO_MANY)


class GatewayDate(Between):
    """Sets Date by a gateway's clock, six seconds ahead of the server's."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self.inner.handle_request(request)
        dated = response.headers.get("Date")
        now = parsedate_to_datetime(dated).timestamp() if dated else time.time()
        response.headers["Date"] = formatdate(now + 6, usegmt=True)
        return response


@choice(seam="finish")
def like_all_answers(self: Behaviour, usual: Usual, ctx: Context, response: Response) -> Response:
    """Adds the same undocumented members to every answer, errors included, besides varying numbers."""
    more = {"livemode": False, "api_version": "2024-10-01", "region": "eu-central-1"}
    return with_members(usual(ctx, response), etag=f"w{times(self, 'all answers')}", **more)


class Compressing(Between):
    """Compresses answers for clients that accept gzip."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self.inner.handle_request(request)
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return response
        packed = gzip.compress(response.read())
        headers = {
            **response.headers,
            "content-encoding": "gzip",
            "content-length": str(len(packed)),
            "vary": "Accept-Encoding",
        }
        return httpx.Response(response.status_code, headers=headers, stream=httpx.ByteStream(packed))


#: Name -> proxy in front of the server.
BETWEEN: dict[str, Wrapped] = {
    "limited in front": LimitedInFront,
    "loses some": LosesNow,
    "front end": refusing(400, "Bad Request", _malformed),
    # IIS answers 404, a firewall 403, others 414.
    "short targets": refusing(404, "Request URL too long", lambda request, target: len(target) > 2048),
    "firewall": refusing(403, "Forbidden", _attacking),
    "short headers": refusing(431, "Request Header Fields Too Large", _long_header),
    "compressing": Compressing,
    "limited without a word": LimitedWithoutWord,
    "gateway": lambda inner: Router(Storms(GatewayDate(inner))),
}
