"""Redacted, bounded records of exchanges for reports."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

import msgspec

from conformance._records import Count, Seconds, says
from conformance._text import mapped, writable
from conformance.target.redaction import Redactor
from conformance.wire.messages import Exchange, call_to_plain

#: Bytes that are kept of the body of an answer, and of a request, which can be sent again.
KEPT_BODY, KEPT_REQUEST = 8 * 1024, 64 * 1024

#: Characters of the signature string that are kept.
KEPT_SIGNED = 1000

#: Number of response headers that are kept.
KEPT_HEADERS = 60


class BodyRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """A body: its size in bytes, and its start as text, or as base64 where it is not UTF-8."""

    size: Annotated[Count, says("Its size in bytes.")]
    cut: Annotated[bool, says("Whether only its start is kept.")]
    text: Annotated[str | None, says("Its start, where it is UTF-8.")] = None
    base64: Annotated[str | None, says("Its start, where it is not.")] = None


class ExchangeRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """A request as sent, and its answer."""

    number: Annotated[Count, says("Its number in the run.")]
    organization: Annotated[str, says("Whose credentials signed it.")]
    operation: Annotated[str | None, says("An operationId; null for requests that are no operation.")]
    purpose: Annotated[str, says("Why it was sent.")]
    method: Annotated[str, says("Its HTTP method.")]
    url: Annotated[str, says("The URL it was sent to.")]
    target: Annotated[str, says("The request target on the wire.")]
    request_headers: Annotated[tuple[tuple[str, str], ...], says("Headers as sent, credentials abbreviated.")]
    request_body: Annotated[BodyRecord, says("The body as sent.")]
    status: Annotated[int | None, says("null when no answer came; then error says why.")]
    response_headers: Annotated[tuple[tuple[str, str], ...], says("Headers of the answer, at most 60.")]
    response_body: Annotated[BodyRecord, says("The body of the answer.")]
    truncated: Annotated[bool, says("The response was longer than the suite reads.")]
    error: Annotated[str | None, says("Why no answer came; null where one did.")]
    started: Annotated[float, says("Unix seconds.")]
    elapsed: Annotated[Seconds, says("How long the answer took.")]
    attempts: Annotated[int, says("How often it was sent: 429 and 503 are waited out.")]
    call: Annotated[
        Mapping[str, Any],
        says("The request before it was signed, but for its body, from which it can be sent again."),
    ]
    raced: Annotated[Count, says("Of simultaneous requests the number of the first; 0 for any other.")] = 0
    signed: Annotated[
        str | None, says("The string that was signed, shortened; left out where there is no telling.")
    ] = None


def exchange_record(exchange: Exchange, redactor: Redactor) -> ExchangeRecord:
    """Makes the record of an exchange: redacted, bounded, and encodable as UTF-8."""

    def text(value: str) -> str:
        return writable(redactor.text(value))

    def headers(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        return tuple((writable(name), writable(value)) for name, value in redactor.headers(pairs))

    signed = exchange.signed
    return ExchangeRecord(
        number=exchange.number,
        organization=exchange.organization,
        operation=exchange.operation,
        purpose=writable(exchange.purpose),
        method=exchange.method,
        url=text(exchange.url),
        target=text(exchange.target),
        request_headers=headers(exchange.request_headers),
        request_body=_body(exchange.request_body, text, KEPT_REQUEST),
        status=exchange.status,
        response_headers=headers(exchange.response_headers)[:KEPT_HEADERS],
        response_body=_body(exchange.response_body, text, KEPT_BODY),
        truncated=exchange.truncated,
        error=text(exchange.error) if exchange.error else None,
        started=exchange.started,
        elapsed=exchange.elapsed,
        attempts=exchange.attempts,
        raced=exchange.raced,
        signed=None if signed is None else text(signed.decode("utf-8", "backslashreplace"))[:KEPT_SIGNED],
        call=mapped(call_to_plain(exchange.call), lambda value: text(value)[: 4 * KEPT_BODY]),
    )


def _body(body: bytes, redacted: Callable[[str], str], length: int) -> BodyRecord:
    start = body[:length]
    cut = len(body) > len(start)
    try:
        return BodyRecord(len(body), cut, redacted(start.decode("utf-8", "strict" if not cut else "ignore")))
    except UnicodeDecodeError:
        # Base64 would hide a secret from redaction.
        if redacted(start.decode("latin-1")) != start.decode("latin-1"):
            return BodyRecord(len(body), True, redacted(start.decode("utf-8", "replace")))
        return BodyRecord(len(body), cut, base64=base64.b64encode(start).decode())
