"""Parses a request of a client into a call, and judges it alone by the oracle."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from conformance._text import shared_prefix
from conformance.contract import signing
from conformance.contract.field_rules import field_rules, members
from conformance.contract.fields import request_fields
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import CLIENT_RULES
from conformance.contract.signing_mistakes import Explanation, Parts, explained
from conformance.judge import queries
from conformance.judge.oracle import ExpectedAnswer, Known, expect
from conformance.judge.oracle.auth_rules import WINDOW
from conformance.reference.core_messages import Request
from conformance.reference.routes import match
from conformance.target.file import Organization, Target
from conformance.wire.messages import Auth, Call

#: Rules that not every authenticated request passes: they depend on query and body, or on earlier requests.
_OF_PARTS = {
    "auth.signed-query",
    "auth.signed-body",
    "auth.signed-empty-body",
    "auth.nonce-replay-idempotent",
}

#: Rules that every authenticated request passes.
_SIGNED = [name for name in CLIENT_RULES if name.startswith("auth.") and name not in _OF_PARTS]
_SIGNED += ["client.signature-form", "client.secret"]

_NONCE = re.compile("[0-9A-Fa-f]{32}")
#: A date of ISO 8601 in any of its forms, time and offset unread.
_DATE = re.compile(r"[0-9]{4}(-[0-9]{2}(-[0-9]{2})?|[0-9]{4}|-?[0-9]{3}|-?W[0-9]{2}(-?[0-9])?)?([T ][^ ]+)?")
_NUMBER = re.compile(r"[0-9]{1,9}")

#: Maximum size of a body whose signature is explained, in bytes, since every usual mistake is tried.
EXPLAINED = 64 * 1024

SET_THE_CLOCK = (
    f"Set the client's clock, which may be {WINDOW} s off, count from 1970 in UTC, not in local time, and "
    "read the clock for each request."
)

#: Bytes shown before and after the first difference of two signature strings.
_BESIDE = 24


class Remark(NamedTuple):
    """A remark on a request by a rule: a violation (`got`), an observation (`answer` to `question`), or, with
    neither, that the rule holds.

    `others` are the numbers of earlier requests that prove it. `withdrawn`: a later request shows that the
    violation was none.
    """

    rule: str
    got: str = ""
    remedy: str = ""
    others: tuple[int, ...] = ()
    question: str = ""
    answer: str = ""
    withdrawn: bool = False


@dataclass(frozen=True)
class ClientRequest:
    """A request as received: `now` is the server's time in Unix seconds, `operation` is empty if the path has
    none, and `call` is then None."""

    number: int
    now: float
    request: Request
    headers: Mapping[str, str]
    operation: str
    call: Call | None
    organization: Organization | None

    @property
    def key(self) -> str | None:
        return self.headers.get("idempotency-key")

    @property
    def nonce(self) -> str:
        return self.headers.get(signing.NONCE.lower(), "")

    @property
    def api_key(self) -> str:
        return self.headers.get(signing.API_KEY.lower(), "")

    @functools.cached_property
    def identity(self) -> tuple[str, str, bytes, bytes]:
        """Equal for requests that differ only in idempotency key, nonce, timestamp and signature."""
        request = self.request
        return self.api_key, request.method, request.target, hashlib.sha256(request.body).digest()

    @property
    def name(self) -> str:
        """Method and path, truncated to 100 characters."""
        path = self.request.target.partition(b"?")[0].decode("ascii", "backslashreplace")
        return f"{self.request.method} {path}"[:100]


def read(number: int, request: Request, prefix: bytes, now: float, target: Target) -> ClientRequest:
    headers: dict[str, str] = {}
    for raw_name, raw_value in request.headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("utf-8", "replace")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    path = request.target.partition(b"?")[0]
    route = match(path.removeprefix(prefix)) if path.startswith(prefix) else None
    operation = route.methods.get(request.method, "") if route else ""
    api_key = headers.get(signing.API_KEY.lower())
    organization = next((one for one in target.organizations if one.api_key == api_key), None)
    try:
        text = request.target[len(prefix) :].decode("utf-8")
    except UnicodeDecodeError:
        operation = ""
    call = _call(operation, request, text, headers) if operation else None
    return ClientRequest(number, now, request, headers, operation, call, organization)


def _call(operation: str, request: Request, target: str, headers: Mapping[str, str]) -> Call:
    sent = {name: headers.get(name.lower()) for name in signing.HEADERS}
    media_type = headers.get("content-type")
    is_json = media_type is not None and media_type.partition(";")[0].strip().lower() == "application/json"
    bearer = headers.get("authorization")
    return Call(
        operation,
        request.method,
        target,
        request.body or None,
        headers.get("idempotency-key"),
        "application/json" if is_json or not request.body else media_type,
        (("Authorization", bearer),) if bearer is not None else (),
        Auth(
            api_key=sent[signing.API_KEY],
            timestamp=sent[signing.TIMESTAMP],
            nonce=sent[signing.NONCE],
            signature=sent[signing.SIGNATURE],
            omit=tuple(name for name, value in sent.items() if value is None),
            empty=tuple(name for name, value in sent.items() if value is not None and not value.strip()),
        ),
    )


def remarks_on(request: ClientRequest, target: Target, used: Collection[str]) -> list[Remark]:
    """Remarks on a request alone; `used` are the nonces of the last 300 seconds.

    A request that fails authentication has no others, since its sender is unknown.
    """
    call = request.call
    if call is None:
        return []
    # Servers compare timestamps in whole seconds. Ownership of the path's resources is not judged.
    known = Known(now=request.now // 1, nonces=used)
    expected = expect(call, target, known)
    if any(reason.rule.startswith("auth.") for reason in expected.refusals):
        failures = _authentication(request, expected)
        return [remark for remark in failures if remark.rule in CLIENT_RULES]
    return [*_beside_the_signature(request, call), *_beside_the_body(call), *_body(call, expected)]


# ---------------------------------------------------------------------- section 5


def _authentication(request: ClientRequest, expected: ExpectedAnswer) -> Iterator[Remark]:
    """Authentication failures; a wrong signature is attributed to the mistake that produces it."""
    for reason in expected.refusals:
        explanation = explain(request) if reason.rule == "auth.signature" else None
        if explanation is None:
            remedy = ""
            if reason.rule == "auth.timestamp-window":
                fractions = len(request.headers["x-timestamp"]) >= 13
                remedy = "Send whole seconds, not milliseconds." if fractions else SET_THE_CLOCK
            yield Remark(reason.rule, reason.what, remedy)
        elif explanation.is_open:
            yield Remark("client.signature-form", "the right signature in capital letters")
        else:
            has = (rule for rule in explanation.rules if request.operation in CLIENT_RULES[rule].operations)
            mistake, text = explanation.mistake, f"another signature: {explanation.text}"
            got = mistake.described if mistake else text
            yield Remark(next(has, "auth.signature"), got, beside(explanation))


def explain(request: ClientRequest) -> Explanation | None:
    """Explains the signature of a request; None if its key is unknown or its body is long."""
    call, organization = request.call, request.organization
    if call is None or organization is None or call.auth.signature is None:
        return None
    if len(request.request.body) > EXPLAINED:
        return None
    origin = f"http://{request.headers.get('host', '')}".encode("utf-8", "replace")
    target, body, key = request.request.target, request.request.body, organization.api_key
    parts = Parts(call.method, target, call.auth.timestamp or "", call.auth.nonce or "", body, key, origin)
    return explained(parts, organization.secret, call.auth.signature)


def beside(explanation: Explanation) -> str:
    """The signature strings of server and client around their first difference."""
    if explanation.signed is None:
        same = (
            f"The server signed {_text(explanation.string[:300])}; print what the client signs, and compare."
        )
        return "The string that was signed is right." if explanation.mistake else same
    start = max(shared_prefix(explanation.string, explanation.signed) - _BESIDE, 0)
    server, client = (
        _text(string[start : start + 2 * _BESIDE]) for string in (explanation.string, explanation.signed)
    )
    return f"From byte {start} on the server signed {server}, the client {client}."


def _text(string: bytes) -> str:
    return '"' + string.decode("utf-8", "backslashreplace") + '"'


@functools.cache
def _signed(operation: str, with_query: bool, with_body: bool) -> tuple[Remark, ...]:
    """The rules that an authenticated request of an operation passes."""
    body = "auth.signed-body" if with_body else "auth.signed-empty-body"
    rules = (*_SIGNED, body, *(["auth.signed-query"] if with_query else []))
    return tuple(Remark(rule) for rule in rules if operation in CLIENT_RULES[rule].operations)


def _judged(rule: str, holds: object, got: str, remedy: str = "") -> Remark:
    """The remark of a rule that holds, or what was got."""
    return Remark(rule) if holds else Remark(rule, got, remedy)


def _beside_the_signature(request: ClientRequest, call: Call) -> Iterator[Remark]:
    yield from _signed(request.operation, bool(call.query), call.body is not None)
    got = f"a nonce of {len(request.nonce)} characters: {request.nonce[:40]}"
    yield _judged("client.nonce-form", _NONCE.fullmatch(request.nonce), got)
    bearer = any(value.lower().startswith("bearer") for _, value in call.headers)
    yield _judged("client.bearer", not bearer, "a bearer token beside the signature")


# ---------------------------------------------------------------------- key, query and body


def _beside_the_body(call: Call) -> Iterator[Remark]:
    operation, key = OPERATIONS[str(call.operation)], call.idempotency_key
    if operation.is_post:
        yield _judged("client.post-key", key is not None, "a POST without Idempotency-Key")
    else:
        yield _judged("client.key-elsewhere", key is None, f"a {call.method} with Idempotency-Key")
    if operation.request_schema is not None and call.body is not None:
        declared = call.content_type
        got = f"the Content-Type {declared[:60]}" if declared else "no Content-Type"
        yield _judged("client.content-type", declared == "application/json", got)
    for name, value in queries.read(call.query).pairs if operation.is_list else ():
        got = f"the {name} {value[:40]!r}"
        if name.removesuffix("[]") not in operation.query_parameters:
            answer = f"the parameter {name[:40]}"
            yield Remark("client.unknown-parameter", question="undocumented names", answer=answer)
        elif name in ("start_date", "end_date") and value:
            raw_plus = _DATE.fullmatch(value.replace(" ", "+"))
            remedy = "Percent-encode the plus sign: %2B." if raw_plus else ""
            yield _judged("client.filter-form", _DATE.fullmatch(value), got, remedy)
        elif name in ("page", "size"):
            most = 100 if name == "size" else 10**9
            holds = _NUMBER.fullmatch(value) and 1 <= int(value) <= most
            yield _judged(f"list.{name}-range", holds, got)


def _body(call: Call, expected: ExpectedAnswer) -> Iterator[Remark]:
    operation, broken = str(call.operation), dict[str, str]()
    for reason in expected.refusals:
        # Of several rules on one value the first is the most specific.
        if reason.rule in CLIENT_RULES and reason.what not in broken.values():
            broken[reason.rule] = reason.what
    yield from (Remark(rule, what) for rule, what in broken.items())
    if OPERATIONS[operation].is_post and call.idempotency_key is not None:
        yield from map(Remark, {"idempotency.key-invalid"} - broken.keys())
    document = expected.body.document
    if document is not None:
        for name in document.keys() - {field.name for field in request_fields(operation)}:
            answer = f"the member {name[:40]}"
            yield Remark("body.unknown-fields", question="undocumented names", answer=answer)
        rows, those = field_rules(operation), list(members(operation, document))
        bound = {row.rule for row in rows if any(map(row.binds, those))} | {"body.malformed"}
        yield from map(Remark, sorted(bound & CLIENT_RULES.keys() - broken.keys()))
