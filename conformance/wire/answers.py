"""Limits on answers: headers and bytes read and decompressed, and parsed JSON kept in memory."""

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
    from conformance.wire.messages import Exchange

#: Maximum bytes of a response body, compressed and decompressed.
MAX_BODY = 4 * 1024 * 1024

#: Maximum number of response headers kept, and characters of each name and value.
MAX_HEADERS = 100
MAX_HEADER = 8192

#: Maximum bytes of a body that is deduplicated.
MAX_ALIKE = 2048

#: Headers that are kept even beyond the first MAX_HEADERS.
_READ = ("content-type", "content-encoding", "date", "retry-after", "location", "connection")

#: Content coding -> zlib's `wbits` for it; -15 is for servers that send raw deflate without zlib's header.
_CODINGS = {"gzip": (31,), "x-gzip": (31,), "deflate": (15, -15)}


@functools.lru_cache(512)
def header_text(name: bytes, value: bytes) -> tuple[str, str]:
    """Decodes a header; equal headers share one tuple, equal names one string."""
    return sys.intern(name.decode("latin-1")), value.decode("latin-1")


@functools.lru_cache(512)
def _one_of_equals(body: bytes) -> bytes:
    """Deduplicates equal bodies: half of a run's answers, mostly refusals, repeat an earlier body."""
    return body


def receive(response: httpx.Response, exchange: Exchange) -> None:
    """Reads a response into an exchange. Raises the transport's errors if the connection breaks."""
    headers = [header_text(*pair) for pair in response.headers.raw]
    raw, truncated = _read(response.stream)  # type: ignore[arg-type]
    encoding = ", ".join(value for name, value in headers if name.lower() == "content-encoding")
    body, longer = unpacked(raw, encoding)
    exchange.response_body = _one_of_equals(body) if len(body) <= MAX_ALIKE else body
    exchange.truncated = truncated or longer
    exchange.status = response.status_code
    exchange.response_headers = _bounded(headers)


def _read(stream: Iterable[bytes]) -> tuple[bytes, bool]:
    chunks, size = [], 0
    for chunk in stream:
        chunks.append(chunk)
        size += len(chunk)
        if size > MAX_BODY:
            return b"".join(chunks)[:MAX_BODY], True
    return b"".join(chunks), False


def unpacked(body: bytes, encoding: str) -> tuple[bytes, bool]:
    """Decodes a body's content codings; tells whether it was cut. Returns it unchanged if that fails."""
    data = body
    for coding in reversed([name.strip().lower() for name in encoding.split(",")]):
        if coding in ("", "identity"):
            continue
        for form in _CODINGS.get(coding, ()):
            whole, longer = _inflated(data, form)
            if whole is not None:
                data = whole
                break
        else:
            return body, False
        if longer:
            return data, True
    return data, False


def _inflated(body: bytes, form: int) -> tuple[bytes | None, bool]:
    unpacking = zlib.decompressobj(form)
    try:
        data = unpacking.decompress(body, MAX_BODY)
    except zlib.error:
        return None, False
    if unpacking.unconsumed_tail:
        return data, True
    return (data, False) if unpacking.eof else (None, False)


def _bounded(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    first = headers[:MAX_HEADERS]
    first += [pair for pair in headers[MAX_HEADERS:] if pair[0].lower() in _READ][:MAX_HEADERS]
    if all(len(name) <= MAX_HEADER >= len(value) for name, value in first):
        return first
    return [(name[:MAX_HEADER], value[:MAX_HEADER]) for name, value in first]


class LongAnswers:
    """Cache of the parsed JSON of long answers; evicted ones are parsed again when needed.

    Parsed JSON takes about six times its bytes. Thread-safe.
    """

    #: Minimum bytes of a long answer, and maximum bytes of all that stay parsed.
    LONG, MOST = 256 * 1024, 8 * 1024 * 1024

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read: deque[tuple[Exchange, int]] = deque()
        self._bytes = 0

    def add(self, exchange: Exchange) -> None:
        """Adds an exchange whose answer was just parsed."""
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
