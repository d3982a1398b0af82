"""Headers, timestamps and API keys of single requests: sections 5.1, 5.2 and 5.4."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checks.engine import Engine
from conformance.contract import signing
from conformance.wire.messages import Auth
from conformance.wire.provenance import derive, fresh
from conformance.world.account import unknown_like
from conformance.world.case import Case


def sound(at: Engine) -> Iterator[Case]:
    """Requests that every server must let through."""
    rule = "auth.accepts-valid"
    yield at.case(rule, "a valid request")
    nonce = "00" + fresh("digits", length=30)
    name = "a valid request whose nonce has decimal digits only, zeros first"
    yield at.case(rule, name, auth=Auth(nonce=nonce))


def resembling_nonces(at: Engine, used: str) -> Iterator[Case]:
    """Nonces that differ from a used one in one character only, its last or its first."""
    for which, nonce in (
        ("its last", derive(used, "other.-1")),
        ("its first", derive(used, "other.0")),
    ):
        name = f"a valid request whose nonce differs from a used one in {which} character"
        yield at.case("auth.accepts-valid", name, auth=Auth(nonce=nonce))


def header_case(at: Engine) -> Iterator[Case]:
    """Names of the four headers in other letter cases than documented."""
    for name, case in (
        ("header names in lower case", "lower"),
        ("header names with the cases swapped", "swapped"),
    ):
        yield at.case("auth.header-case", name, auth=Auth(name_case=case))


def missing_headers(at: Engine) -> Iterator[Case]:
    """Each of the four headers left out, then all, without a bearer token and with one."""
    for header in signing.HEADERS:
        yield at.case("auth.missing-header", f"a request without {header}", auth=Auth(omit=(header,)))
    name = "a request without any of the four headers"
    yield at.case("auth.missing-header", name, auth=Auth(omit=signing.HEADERS))
    bearer = (("Authorization", f"Bearer {at.ctx.target.primary.api_key}"),)
    for name, omitted in (
        ("Authorization: Bearer with the API key instead of the four headers", signing.HEADERS),
        ("Authorization: Bearer and X-API-Key instead of the four headers", signing.HEADERS[1:]),
    ):
        auth = Auth(omit=omitted)
        control = at.case("auth.missing-header", f"{name}, but for Authorization", auth=auth)
        yield at.case("auth.bearer-only", name, headers=bearer, auth=auth, control=control)


def empty_headers(at: Engine) -> Iterator[Case]:
    """Each of the four headers empty; timestamp and nonce also signed as empty."""
    rule = "auth.empty-header"
    for header in signing.HEADERS:
        yield at.case(rule, f"an empty {header}", auth=Auth(empty=(header,)))
    yield at.case(rule, "an empty X-Nonce, signed as empty", auth=Auth(nonce=""))
    yield at.case(rule, "an empty X-Timestamp, signed as empty", auth=Auth(timestamp=""))


def distant_timestamps(at: Engine) -> Iterator[Case]:
    """Timestamps that are far outside the window, by any clock."""
    for name, timestamp in (
        ("a timestamp in milliseconds", str(at.ctx.run.clock.now() * 1000)),
        ("the timestamp 0", "0"),
        ("a timestamp that is right in 32 bits", str(at.ctx.run.clock.now() + 2**32)),
    ):
        yield at.case("auth.timestamp-window", name, auth=Auth(timestamp=timestamp))


def no_integers(at: Engine) -> Iterator[Case]:
    """Timestamps that are no integer, near the server's time for readers that are lenient."""
    now = at.ctx.run.clock.now()
    for name, timestamp in (
        ("the timestamp abc", "abc"),
        ("a timestamp with a fraction", f"{now}.5"),
        ("a timestamp with letters after it", f"{now}abc"),
        ("an ISO 8601 timestamp", derive(str(now), "iso")),
        ("a timestamp with underscores between its digits", f"{now:_}"),
        ("a timestamp with a plus sign", f"+{now}"),
        ("a timestamp with a space between its digits", f"{str(now)[:4]} {str(now)[4:]}"),
    ):
        yield at.case("auth.timestamp-integer", name, auth=Auth(timestamp=timestamp))


def unknown_keys(at: Engine) -> Iterator[Case]:
    """API keys that nobody has, some as close to the right one as can be, signed with several secrets."""
    known = at.ctx.target.primary.api_key
    for name, key, secret in (
        ("an unknown API key, signed with the right secret", unknown_like(known), None),
        ("an unknown API key, signed with an empty secret", unknown_like(known), ""),
        ("the API key without its last character", derive(known, "but.1"), None),
        ("the API key with one more character", f"{known}0", None),
        ("the API key in another letter case", derive(known, "swapped"), None),
    ):
        if key != known:  # One without letters has no other case.
            yield at.case("auth.unknown-key", name, auth=Auth(api_key=key, secret=secret))
