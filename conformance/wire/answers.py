"""Bounds of answers: headers and bytes that are read and unpacked, and JSON that stays in memory.

A server may send anything. What it sends beyond the bounds is left on the wire.
"""

from __future__ import annotations

import functools
import sys
import threading
import zlib
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    # Exchanges keep their long answers here.
    from conformance.wire.messages import Exchange

#: Bytes of a response body that are read, and that it may unpack to.
MAX_BODY = 4 * 1024 * 1024

#: Headers of an answer that are kept, and characters of each of them.
MAX_HEADERS = 100
MAX_HEADER = 8192

#: Bytes of bodies that are looked for among earlier ones.
MAX_ALIKE = 2048

#: Headers that are kept wherever they stand.
_READ = ("content-type", "content-encoding", "date", "retry-after", "location", "connection")

#: Coding -> what zlib calls its formats; the second is for servers that leave out zlib's own frame.
_CODINGS = {"gzip": (31,), "x-gzip": (31,), "deflate": (15, -15)}


@functools.lru_cache(512)
def header_text(name: bytes, value: bytes) -> tuple[str, str]:
    """A header as text. Headers that are alike are kept once, and so are their names."""
    return sys.intern(name.decode("latin-1")), value.decode("latin-1")


@functools.lru_cache(512)
def _one_of_equals(body: bytes) -> bytes:
    """The first of equal bodies. Refusals are alike: half of a run's answers have the body of another."""
    return body


def receive(response: httpx.Response, exchange: Exchange) -> None:
    """Reads a response into an exchange. Raises what the transport raises when the connection breaks."""
    headers = [header_text(*pair) for pair in response.headers.raw]
    raw, truncated = _read(response.stream)  # type: ignore[arg-type]
    encoding = ", ".join(value for name, value in headers if name.lower() == "content-encoding")
    body, longer = unpacked(raw, encoding)
    exchange.response_body = _one_of_equals(body) if len(body) <= MAX_ALIKE else body
    exchange.truncated = truncated or longer
    exchange.status = response.status_code
    exchange.response_headers = _kept(headers)


def _read(stream: Iterable[bytes]) -> tuple[bytes, bool]:
    chunks, size = [], 0
    for chunk in stream:
        chunks.append(chunk)
        size += len(chunk)
        if size > MAX_BODY:
            return b"".join(chunks)[:MAX_BODY], True
    return b"".join(chunks), False


def unpacked(body: bytes, encoding: str) -> tuple[bytes, bool]:
    """A body without its content codings, and True if it was cut off; one that cannot be unpacked stays as
    it is, and so is not JSON."""
    found = body
    for coding in reversed([name.strip().lower() for name in encoding.split(",")]):
        if coding in ("", "identity"):
            continue
        for form in _CODINGS.get(coding, ()):
            whole, longer = _inflated(found, form)
            if whole is not None:
                found = whole
                break
        else:
            return body, False
        if longer:
            return found, True
    return found, False


def _inflated(body: bytes, form: int) -> tuple[bytes | None, bool]:
    unpacking = zlib.decompressobj(form)
    try:
        found = unpacking.decompress(body, MAX_BODY)
    except zlib.error:
        return None, False
    if unpacking.unconsumed_tail:
        return found, True
    return (found, False) if unpacking.eof else (None, False)


def _kept(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    kept = headers[:MAX_HEADERS]
    kept += [pair for pair in headers[MAX_HEADERS:] if pair[0].lower() in _READ][:MAX_HEADERS]
    if all(len(name) <= MAX_HEADER >= len(value) for name, value in kept):
        return kept
    return [(name[:MAX_HEADER], value[:MAX_HEADER]) for name, value in kept]


class LongAnswers:
    """Keeps the long answers that were parsed last: earlier ones are parsed again where they are needed.

    Parsed JSON takes about six times its bytes, so that answers of megabytes would fill the memory before
    their check ends. Threads may share one.
    """

    #: Bytes from which on an answer is long, and of all long answers that stay parsed.
    LONG, MOST = 256 * 1024, 8 * 1024 * 1024

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read: deque[tuple[Exchange, int]] = deque()
        self._bytes = 0

    def add(self, exchange: Exchange) -> None:
        """Takes in an exchange whose answer was parsed just now."""
        size = len(exchange.response_body)
        if size < self.LONG:
            return
        with self._lock:
            self._read.append((exchange, size))
            self._bytes += size
            while self._bytes > self.MOST and len(self._read) > 1:
                oldest, less = self._read.popleft()
                self._bytes -= less
                if oldest is not exchange:
                    oldest.forget()
