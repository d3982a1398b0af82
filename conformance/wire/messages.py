"""Requests and answers as plain data: calls before signing, exchanges as sent and answered."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any
from urllib.parse import quote, urlencode

from conformance._text import one_line, writable
from conformance.contract import json_text, signing
from conformance.contract.operations import match
from conformance.wire.answers import LongAnswers


class _Missing:
    """Type of MISSING: no JSON value, as distinct from null."""

    def __repr__(self) -> str:
        return "MISSING"

    def __str__(self) -> str:
        return "no JSON"

    def __bool__(self) -> bool:
        return False


MISSING = _Missing()


class HangUp(StrEnum):
    """How a caller hangs up on a request: behind it whole, by closing or resetting its connection or its own
    direction of it, or within its body."""

    CLOSE = "close"
    RESET = "reset"
    HALF_CLOSE = "half-close"
    WITHIN_BODY = "within the body"


@dataclass(frozen=True, slots=True)
class Auth:
    """Signing of a call: correct by default; each field breaks one thing.

    The `signed_*` fields are signed instead of what is sent; `signed_target`, like `Call.target`, is relative
    to the base URL.
    """

    api_key: str | None = None
    secret: str | None = None
    timestamp: str | None = None
    #: Seconds added to the server's time; ignored when `timestamp` is given.
    timestamp_offset: int = 0
    nonce: str | None = None
    signed_target: str | None = None
    signed_nonce: str | None = None
    signed_body: bytes | None = None
    #: Row of `contract.signing_mistakes` that computes the signature.
    mistake: str = ""
    #: Sent instead of the computed signature.
    signature: str | None = None
    #: Authentication headers left out, and those sent empty.
    omit: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    #: Letter case of the names of authentication headers and Idempotency-Key: a key of `NAME_CASES`.
    name_case: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """A request before it is signed.

    `target` is path and query relative to the base URL; it and `body` are sent byte for byte.
    """

    operation: str | None
    method: str
    target: str
    body: bytes | None = None
    idempotency_key: str | None = None
    content_type: str | None = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    auth: Auth = Auth()
    #: How the caller hangs up, without an answer; None waits for it.
    hang_up: HangUp | None = None
    #: Seconds between the last byte of the request and the hang-up.
    hang_up_after: float = 0.0

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]

    @property
    def ids(self) -> Mapping[str, str]:
        """The path parameters, percent-decoded; none of an undocumented path."""
        documented = match(self.method, self.path)
        return documented[1] if documented else {}

    @property
    def document(self) -> Any:
        """The body as JSON. Raises ValueError if it is not, or is nested too deeply."""
        return json_text.parse(self.body or b"")

    def signed(self, **changes: Any) -> Call:
        """The same call with other fields of its `auth`."""
        return replace(self, auth=replace(self.auth, **changes))

    def but(self, **changes: Any) -> Call:
        """The same call with other fields."""
        return replace(self, **changes)

    def with_json(self, document: Any) -> Call:
        """The same call with another JSON body."""
        return replace(self, body=to_json(document))

    def with_field(self, name: str, value: Any) -> Call:
        """The same call with a member of its JSON object set."""
        return self.with_json({**self.document, name: value})

    def without_field(self, name: str) -> Call:
        """The same call with a member of its JSON object removed."""
        return self.with_json({key: value for key, value in self.document.items() if key != name})

    def with_query(self, parameters: Mapping[str, Any] | list[tuple[str, str]] | str) -> Call:
        """The same call with another query: parameters to percent-encode, or a raw string."""
        raw = parameters if isinstance(parameters, str) else urlencode(parameters, quote_via=quote)
        return replace(self, target=self.path + (f"?{raw}" if raw else ""))


def to_json(document: Any) -> bytes:
    """Compact JSON in UTF-8, escaping only unpaired surrogates, which have no UTF-8 form."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


class Failure(StrEnum):
    """Cause of a missing answer; `Exchange.error` has the message."""

    UNREACHABLE = "unreachable"
    #: The port does not speak TLS.
    NOT_TLS = "not TLS"
    #: Untrusted certificate, or failed handshake.
    UNTRUSTED = "untrusted"
    UNSENDABLE = "unsendable"
    #: Not sent, because of the budget.
    WITHHELD = "withheld"
    #: Timeout of connecting.
    NOT_CONNECTED = "not connected"
    TIMED_OUT = "timed out"
    BROKEN_OFF = "broken off"
    #: By the caller, on purpose.
    HUNG_UP = "hung up"


#: Failures to reach any HTTP server.
NO_SERVER = (Failure.UNREACHABLE, Failure.NOT_TLS, Failure.UNTRUSTED)

#: Parsed long answers of this process.
_LONG = LongAnswers()

#: Maximum length of a server's message in a description, in characters.
LONGEST_MESSAGE = 150


@dataclass(slots=True, weakref_slot=True)
class Exchange:
    """A request as sent and its answer; without one, `status` is None and `error` says why.

    `begun` is when the request was first sent: earlier than `started` if that transmission was lost.
    """

    number: int
    organization: str
    call: Call
    purpose: str
    url: str
    method: str
    #: Request target on the wire, including the base URL's path.
    target: str
    request_headers: list[tuple[str, str]]
    request_body: bytes
    started: float = 0.0
    elapsed: float = 0.0
    status: int | None = None
    response_headers: list[tuple[str, str]] = field(default_factory=list)
    response_body: bytes = b""
    #: The body exceeded MAX_BODY.
    truncated: bool = False
    error: str | None = None
    failure: Failure | None = None
    #: Transmissions including retries after 429 and 503, excluding lost ones.
    attempts: int = 1
    #: Lost and sent once more: the next exchange has the answer.
    repeated: bool = False
    #: The connection closed before the end of the answer, or timed out: the request may be repeated once.
    lost: bool = False
    begun: float = 0.0
    #: Number of the first exchange of the same race; 0 outside races.
    raced: int = 0
    #: Start of the signature string; None without a computed signature.
    signed: bytes | None = None
    #: Cache of `document`.
    _read: tuple[Any] | None = field(default=None, repr=False, compare=False)

    @property
    def operation(self) -> str | None:
        return self.call.operation

    @property
    def arrived(self) -> float:
        """Time of the answer, in Unix seconds of the local clock."""
        return self.started + self.elapsed

    @property
    def nonce(self) -> str | None:
        """The nonce that was sent."""
        return self.request_header(signing.NONCE)

    @property
    def timestamp(self) -> str | None:
        """The timestamp that was sent."""
        return self.request_header(signing.TIMESTAMP)

    def request_header(self, name: str) -> str | None:
        return _header(self.request_headers, name)

    def header(self, name: str) -> str | None:
        """A response header's value, or None."""
        return _header(self.response_headers, name)

    @property
    def document(self) -> Any:
        """The response body as JSON (RFC 8259); MISSING if it is not JSON or was truncated."""
        read = self._read
        if read is None:
            try:
                read = (MISSING if self.truncated else json_text.parse(self.response_body),)
            except ValueError:
                read = (MISSING,)
            self._read = read
            _LONG.add(self)
        return read[0]

    def forget(self) -> None:
        """Drops the parsed body; `document` parses it again."""
        self._read = None

    def trim(self, length: int) -> None:
        """Truncates the answer, and the request body unless the server failed at it, to `kept` bytes."""
        if len(self.response_body) > length:
            self.response_body = self.response_body[:length]
            self.truncated, self._read = True, (MISSING,)
        if len(self.request_body) > length and (self.succeeded or self.refused):
            self.request_body = self.request_body[:length]
            self.call = self.call.but(body=self.request_body)

    @property
    def succeeded(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def refused(self) -> bool:
        return self.status is not None and 400 <= self.status < 500

    @property
    def throttled(self) -> bool:
        """True for 429, or 503 with Retry-After, which say nothing about any rule."""
        return self.status == 429 or (self.status == 503 and self.header("retry-after") is not None)

    @property
    def unsent(self) -> bool:
        """True if no server got the request, its caller hung up, or the run ended meanwhile: says nothing
        about any rule."""
        return self.failure in (*NO_SERVER, Failure.UNSENDABLE, Failure.WITHHELD, Failure.HUNG_UP)

    def get(self, *path: str | int) -> Any:
        """The JSON value at a path of member names and indexes, or MISSING."""
        value = self.document
        for step in path:
            if isinstance(step, str):
                there = isinstance(value, dict) and step in value
            else:
                there = isinstance(value, list) and -len(value) <= step < len(value)
            if not there:
                return MISSING
            value = value[step]
        return value

    @property
    def timed_out(self) -> bool:
        """True if the answer did not come in time, twice in a row where the request was sent again."""
        return self.failure is Failure.TIMED_OUT and not self.repeated

    @property
    def error_type(self) -> Any:
        return self.get("error", "type")

    @property
    def error_code(self) -> Any:
        return self.get("error", "code")

    @property
    def names_error(self) -> bool:
        """True if the answer has the documented error body's type and code (section 7)."""
        return isinstance(self.error_type, str) and isinstance(self.error_code, str)

    @property
    def refused_authentication(self) -> bool:
        """True for an authentication failure: 401, or a 4xx of type authentication_error."""
        return self.status == 401 or (self.refused and self.error_type == "authentication_error")

    @property
    def refused_otherwise(self) -> bool:
        """True for a 401 with another error type: the request may have passed authentication."""
        return (
            self.status == 401
            and isinstance(self.error_type, str)
            and self.error_type != "authentication_error"
        )

    @property
    def unread(self) -> str:
        """Describes a body whose `document` is MISSING."""
        if self.truncated:
            return f"a body of more than {len(self.response_body):,} bytes"
        return json_text.defect(self.response_body) if self.response_body else "no body"

    def described(self) -> str:
        """Describes the answer: `409 idempotency_error/idempotency_key_conflict`."""
        if self.status is None:
            return f"no answer ({self.error})"
        kind, code = self.error_type, self.error_code
        if isinstance(kind, str) and isinstance(code, str):
            return writable(f"{self.status} {kind[:60]}/{code[:60]}")
        if self.document is MISSING:
            return f"{self.status} with {self.unread}"
        return f"{self.status} " + ("with a JSON body" if self.succeeded else "without error type and code")

    def explained(self) -> str:
        """Describes the answer like `described`, a refusal with the server's message or the start of its
        body."""
        described, words = self.described(), ""
        if self.refused:
            message = self.get("error", "message")
            start = self.response_body[:LONGEST_MESSAGE].decode("utf-8", "replace")
            words = one_line(message if isinstance(message, str) else start, LONGEST_MESSAGE)
        return writable(f"{described}: {words}" if words else described)


def _header(headers: list[tuple[str, str]], name: str) -> str | None:
    name = name.lower()
    return next((value for key, value in headers if key.lower() == name), None)


def call_to_plain(call: Call) -> dict[str, Any]:
    """A call but for its body as JSON data, without defaults; a signed body that is not UTF-8 as base64."""
    auth = _changed(call.auth, Auth())
    body = auth.pop("signed_body", None)
    try:
        auth |= {} if body is None else {"signed_body": body.decode("utf-8")}
    except UnicodeDecodeError:
        auth["signed_body_base64"] = base64.b64encode(body).decode()
    plain = _changed(call, Call("", "", "", call.body))
    return plain | {"auth": auth} if auth else plain


def _changed(one: Call | Auth, usual: Call | Auth) -> dict[str, Any]:
    """The fields in which two differ."""
    values = ((each.name, getattr(one, each.name)) for each in fields(one))
    return {name: value for name, value in values if value != getattr(usual, name)}
