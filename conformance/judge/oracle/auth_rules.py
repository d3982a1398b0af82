"""Demands on a request because of its signature and authentication headers (section 5)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from urllib.parse import urlsplit

from conformance.contract import signing
from conformance.contract.rules import RULES
from conformance.contract.signing_mistakes import BY_NAME, UPPER_CASE, Parts, broken_rules
from conformance.judge.oracle.reasons import Reason
from conformance.target.file import Organization, Target
from conformance.wire.messages import Auth, Call

#: Maximum skew of a timestamp, in seconds (section 8).
WINDOW = 300

#: Type of all authentication errors (section 7).
TYPE = "authentication_error"

_INTEGER = re.compile("[0-9]+")
_NEGATIVE = re.compile("-[0-9]+")
_NONCE = re.compile("[0-9A-Fa-f]{32}")


def failures(call: Call, target: Target, now: float | None, nonces: Collection[str]) -> list[Reason]:
    """Reasons why a request must fail authentication. `now` is the server's time in Unix seconds (None:
    unknown), `nonces` are those used in the last 300 seconds.

    Which failure is reported is open (auth.precedence): a missing or empty header, an unknown key and a
    malformed timestamp each exclude further reasons."""
    auth = call.auth
    if auth.omit:
        return list(_missing(call))
    stated = {signing.TIMESTAMP: auth.timestamp, signing.NONCE: auth.nonce}
    empty = [*auth.empty, *(name for name, value in stated.items() if value == "")]
    if empty:
        return [Reason("auth.empty-header", f"an empty {empty[0]}")]
    # Without an API key of its own, a call has that of a known organization.
    known = [each for each in target.organizations if auth.api_key in (None, each.api_key)]
    if not known:
        return [
            Reason("auth.unknown-key", "an unknown API key"),
            Reason("auth.unknown-key-status", "an unknown API key", (401,)),
        ]
    if auth.timestamp is not None and _NEGATIVE.fullmatch(auth.timestamp):
        # Far outside the window, but some parsers take it for no integer.
        return [Reason("auth.timestamp-window", f"the timestamp {auth.timestamp[:40]}")]
    if auth.timestamp is not None and not _INTEGER.fullmatch(auth.timestamp.removeprefix("+")):
        return [Reason("auth.timestamp-integer", f"the timestamp {auth.timestamp[:40]}")]
    reasons: list[Reason] = []
    offset = _offset(auth, now)
    if offset is not None and abs(offset) > WINDOW:
        what = f"a timestamp {offset:+.0f} s off"
        reasons.append(Reason("auth.timestamp-window", what, (401,), TYPE, "timestamp_too_old"))
    if auth.nonce in nonces:
        reasons.append(Reason("auth.nonce-replay", "a nonce used before", (401,), TYPE, "nonce_replay"))
    for rule, what in _differences(call, target, known[0]):
        if call.operation in RULES[rule].operations:
            reasons.append(Reason(rule, what, (401,), TYPE, "invalid_signature"))
    odd_body = call.body and (call.content_type != "application/json" or call.method == "GET")
    if call.headers or odd_body:
        # A server may judge media type and transfer coding before authentication, a front end refuse any body
        # of a GET, and a bearer token beside a signature is open (auth.bearer-beside).
        return [Reason(reason.rule, reason.what) for reason in reasons]
    return reasons


def open_form(call: Call, now: float | None) -> bool:
    """True if it is open whether a request without failures passes authentication."""
    auth = call.auth
    # Most parsers of integers accept a plus sign.
    unknown_time = auth.timestamp is not None and (now is None or auth.timestamp.startswith("+"))
    odd_nonce = auth.nonce is not None and not _NONCE.fullmatch(auth.nonce)
    bearer = any(name.lower() == "authorization" for name, _ in call.headers)
    return auth.mistake == UPPER_CASE or unknown_time or odd_nonce or bearer


def _missing(call: Call) -> Iterator[Reason]:
    omitted = call.auth.omit
    names = "all four headers" if set(omitted) == set(signing.HEADERS) else ", ".join(omitted)
    if any(name.lower() == "authorization" for name, _ in call.headers):
        # With some of the four headers, the code of the refusal is open.
        code = "missing_headers" if set(omitted) == set(signing.HEADERS) else ""
        yield Reason("auth.bearer-only", f"a bearer token instead of {names}", (), TYPE, code)
        return
    yield Reason("auth.missing-header", f"a request without {names}", (), TYPE, "missing_headers")
    yield Reason("auth.missing-header-status", f"a request without {names}", (401,))


def _offset(auth: Auth, now: float | None) -> float | None:
    """Seconds between a timestamp and the server's time; None if unknown."""
    if auth.timestamp is None:
        return auth.timestamp_offset
    if now is None or not _INTEGER.fullmatch(auth.timestamp):
        return None
    return (int(auth.timestamp) if len(auth.timestamp) < 20 else 10**19) - now


def _differences(call: Call, target: Target, organization: Organization) -> Iterator[tuple[str, str]]:
    """Yields the differences between signed and sent request: rule and description."""
    auth, body = call.auth, call.body or b""
    if auth.signature is not None:
        right = signing.signature(organization.secret, _parts(call, target, organization).string())
        # The signature of a timestamp or nonce that is drawn on sending cannot be known.
        if auth.timestamp is None or auth.nonce is None or auth.signature != right:
            yield "auth.signature", "another signature"
        return
    if auth.secret not in (None, organization.secret):
        yield "auth.signature", "a signature made with another secret"
    if auth.mistake not in ("", UPPER_CASE):
        mistake, parts = BY_NAME[auth.mistake], _parts(call, target, organization)
        if mistake.sign(parts, organization.secret) is not None:
            yield from ((rule, mistake.described) for rule in broken_rules(mistake, parts))
    if auth.signed_target not in (None, call.target):
        path, _, _ = (auth.signed_target or "").partition("?")
        yield (
            ("auth.signed-path", "a request signed for another path")
            if path != call.path
            else ("auth.signed-query", "a request signed for another query")
        )
    if auth.signed_nonce not in (None, auth.nonce):
        yield "auth.signed-nonce", "a request signed for another nonce"
    if auth.signed_body not in (None, body):
        what = "a request signed over another body"
        yield "auth.signed-body", what
        # Of a GET with a body that is left out, which servers may not read, only the latter is suggested.
        yield "auth.body-on-get" if body and call.method == "GET" else "auth.signed-empty-body", what


def _parts(call: Call, target: Target, organization: Organization) -> Parts:
    """Signed parts of a call, with placeholders for a timestamp and nonce that are drawn on sending."""
    auth, address = call.auth, urlsplit(target.base_url)
    return Parts(
        call.method,
        (address.path + call.target).encode("utf-8", "surrogatepass"),
        "1700000000" if auth.timestamp is None else auth.timestamp,
        "0a" * 16 if auth.nonce is None else auth.nonce,
        call.body or b"",
        organization.api_key,
        f"{address.scheme}://{address.netloc}".encode(),
    )
