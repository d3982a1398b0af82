"""Headers, timestamps and API keys (section 5); test_nonces has the nonces, test_signature the signatures."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import formatdate
from typing import Any
from urllib.parse import quote

from conformance.checks.auth_probes import AuthProbes, lengthened, sound, unauthenticated
from conformance.checks.check import Check, check
from conformance.checks.engine import Engine, table
from conformance.contract import signing
from conformance.contract.signing_mistakes import UPPER_CASE
from conformance.contract.timestamps import http_date
from conformance.judge.oracle.auth_rules import WINDOW
from conformance.judge.verdicts import Inconclusive
from conformance.wire.clock import apart
from conformance.wire.forms import decimal, hexadecimal, new_key, replaced
from conformance.wire.messages import Auth, Exchange
from conformance.world.calls import unknown_like
from conformance.world.case import Case
from conformance.world.corpora import ids
from conformance.world.purposes import AUTHENTICATION


@table("auth.accepts-valid", engine=lambda at: AuthProbes(at, proven=False).sound)
def test_sound_requests_pass(engine: Engine) -> Iterator[Case]:
    """A correctly signed request passes authentication, whatever hexadecimal digits its nonce has."""
    rows = {
        "a valid request whose nonce has letters in upper case": Auth(nonce=signing.new_nonce().upper()),
        "a valid request whose nonce has decimal digits only, zeros first": Auth(nonce="00" + decimal(30)),
    }
    yield from engine.cases("auth.accepts-valid", rows)


#: Front ends refuse longer headers.
_LONGEST_COOKIE = 2000


@table("auth.missing-header", "auth.missing-header-status", "auth.bearer-only", engine=AuthProbes)
def test_missing_headers(engine: AuthProbes) -> Iterator[Case]:
    """A request that lacks one of the four headers, even if its value is elsewhere, or lacks all of them is
    refused, also with a bearer token, or with a cookie that the server has set, instead."""
    key, now, nonce = engine.at.target.primary.api_key, str(engine.at.lane.clock.now()), signing.new_nonce()
    # Without underscores: CGI does not tell them from hyphens (RFC 3875, section 4.1.18).
    for header, name, value, beside in (
        (signing.API_KEY, "api_key", key, ("Cookie", f"api_key={key}")),
        (signing.TIMESTAMP, "timestamp", now, ("Date", formatdate(int(now), usegmt=True))),
        (signing.NONCE, "nonce", nonce, ("X-Request-Id", nonce)),
    ):
        query = "&".join(f"{parameter}={quote(value, safe='')}" for parameter in (header, name))
        what, auth = f"a request without {header}", Auth(omit=(header,), timestamp=now, nonce=nonce)
        yield engine.case("auth.missing-header", what, query=query, headers=(beside,), auth=auth)
    rows = {
        # In the query, the signature would sign itself.
        f"a request without {signing.SIGNATURE}": Auth(omit=(signing.SIGNATURE,)),
        "a request without any of the four headers": Auth(omit=signing.HEADERS),
    }
    yield from engine.cases("auth.missing-header", rows)
    cookie = (engine.first.header("set-cookie") or "").partition(";")[0]
    if cookie.isascii() and cookie.isprintable() and 0 < len(cookie) < _LONGEST_COOKIE:
        for name, auth in rows.items():
            what, headers = f"{name}, with the cookie of an earlier answer", (("Cookie", cookie),)
            yield engine.case("auth.missing-header", what, headers=headers, auth=auth)
    bearer = (("Authorization", f"Bearer {engine.at.target.primary.api_key}"),)
    for name, omitted in (
        ("Authorization: Bearer with the API key instead of the four headers", signing.HEADERS),
        ("Authorization: Bearer and X-API-Key instead of the four headers", signing.HEADERS[1:]),
        ("Authorization: Bearer instead of X-Signature", (signing.SIGNATURE,)),
        *engine.turn(((), (("Authorization: Bearer instead of X-API-Key", (signing.API_KEY,)),))),
    ):
        auth = Auth(omit=omitted)
        control = engine.case("auth.missing-header", f"{name}, but for Authorization", auth=auth)
        yield engine.case("auth.bearer-only", name, headers=bearer, auth=auth, control=control)


@table("auth.empty-header", engine=AuthProbes)
def test_empty_headers(engine: AuthProbes) -> Iterator[Case]:
    """A request with one of the four headers empty is refused; timestamp and nonce also signed as empty."""
    rows = {f"an empty {header}": Auth(empty=(header,)) for header in signing.HEADERS}
    rows["an empty X-Nonce, signed as empty"] = Auth(nonce="")
    rows["an empty X-Timestamp, signed as empty"] = Auth(timestamp="")
    yield from engine.cases("auth.empty-header", rows)


# ---------------------------------------------------------------------- timestamps


#: Distances of a timestamp from the edge of the window, in seconds: where the answer's Date header proves on
#: which side it was, where the answer is too slow for that, where the other end of the window proves it, and
#: where the server sends no Date.
PROVEN, CALIBRATED, TWO_ENDED, UNCALIBRATED = 5, 10, 20, 100


def _margins(at: Check) -> tuple[bool, list[int]]:
    """Returns whether the Date header is of the clock that validates timestamps, as far as that shows, and
    distances of probes from the edge of the window, in seconds; each but the first is for answers that do
    not prove the one before."""
    last = UNCALIBRATED
    # Only `created` of a resource shows whether the Date header is of the clock that validates timestamps.
    if at.lane.clock.calibrated:
        with contextlib.suppress(Inconclusive):
            _ = at.lane.account(AUTHENTICATION).account_id
        gap = math.ceil(apart(at.lane.accepted))
        if not gap:
            return True, [PROVEN, CALIBRATED]
        # The server has two clocks, and either of them, or a third one, validates timestamps.
        last = min(CALIBRATED + gap, UNCALIBRATED)
    return False, [*([TWO_ENDED] if last > TWO_ENDED else []), last]


def _age(exchange: Exchange) -> tuple[float, float] | None:
    """Returns the least and the greatest age of a timestamp when the server read it, in seconds, by the Date
    header; None where it does not show.

    The header is truncated to seconds, and servers that cache it for one may be late by that."""
    date, text = http_date(exchange.header("date")), exchange.timestamp or ""
    if date is None or not text.isdecimal():
        return None
    sent = int(text)
    return date - exchange.elapsed - sent, date + 2 - sent


def _distant_timestamps(engine: Engine) -> Iterator[Case]:
    """Yields a timestamp far outside the window by any clock, another one for each operation."""
    now = engine.at.lane.clock.now()
    further = (
        # Mistakes about daylight saving time.
        ("an hour old", now - 3600),
        ("an hour ahead", now + 3600),
        ("two hours old", now - 7200),
        ("two hours ahead", now + 7200),
        ("a day old", now - 86_400),
        ("a week ahead", now + 7 * 86_400),
        ("thirty days old", now - 30 * 86_400),
        ("in microseconds", f"{now}000000"),
        # The difference to it overflows 64 bits.
        ("that is the least of 64 bits", -(2**63)),
        ("in nanoseconds", f"{now}000000000"),
        ("below 0", -now),
    )
    how, other = engine.turn(further)
    query = "page=1&size=2" if engine.at.operation.is_list else ""
    auth = Auth(timestamp=str(other))
    case = engine.case("auth.timestamp-window", f"a timestamp {how}", query=query, auth=auth)
    yield replace(case, body=lengthened(case.body))


def _other_end(engine: Engine, first: Exchange, side: int) -> Exchange | None:
    """Sends a timestamp inside the other end of the window after one outside it was accepted (side 1), or one
    outside after one inside was refused (-1). Returns the answer if it is alike, and the two show that the
    window is too wide or too narrow whatever the server's clock says; else None."""
    seconds = (WINDOW - side * CALIBRATED) * (1 if int(first.timestamp or 0) < first.started else -1)
    name = f"a timestamp {abs(seconds)} s {'ahead' if seconds > 0 else 'old'}, at the other end of the window"
    case = engine.case("auth.timestamp-accepted", name, auth=Auth(timestamp_offset=seconds))
    other = engine.send(engine.call(case), name)
    both = sorted((first, other), key=lambda each: int(each.timestamp or 0))
    # Seconds from when each timestamp tells, at the least and at the most, to when the server read it.
    (old, older), (newer, new) = (
        (each.started - int(each.timestamp or 0), each.arrived - int(each.timestamp or 0)) for each in both
    )
    if side > 0:
        alike = not any(map(unauthenticated, both)) and old - new > 2 * WINDOW + 2
    else:
        alike = all(each.refused_authentication for each in both) and older - newer < 2 * WINDOW - 2
    return other if alike else None


def _near_the_edge(at: Check, engine: Engine, sound: Engine, rule: str, side: int) -> None:
    """Judges timestamps just outside the window (side 1) or inside it (-1), old and ahead, and farther from
    the edge where nothing proves on which side the first was; `sound` sends those of the other end."""
    dated, distances = _margins(at)
    for direction, sign in (("old", -1), ("ahead", 1)):
        for distance in distances:
            seconds = sign * max(0, WINDOW + side * distance)
            name = f"a timestamp {abs(seconds)} s {direction}"
            case = engine.case(rule, name, auth=Auth(timestamp_offset=seconds))
            answer = engine.send(engine.call(case), name)
            if answer.refused if side > 0 else not answer.refused_authentication:
                break
            age = _age(answer) if dated else None
            if side > 0:
                proven = age and (age[0] > WINDOW or age[1] < -WINDOW)
            else:
                proven = age and age[0] > -WINDOW and age[1] < WINDOW
            if not dated and distance == TWO_ENDED and (other := _other_end(sound, answer, side)):
                proven, case = True, replace(case, name=f"{name}, as well as {other.purpose}")
            if proven:
                break
        engine.judge(case, answer)


@check("auth.timestamp-window")
def test_timestamps_outside_the_window(at: Check) -> None:
    """Timestamps just over 300 seconds old and ahead, in milliseconds, 0, of another century, and one of the
    second organization that is hours or days off are refused."""
    engine = AuthProbes(at)
    _near_the_edge(at, engine, engine.sound, "auth.timestamp-window", 1)
    now = at.lane.clock.now()
    rows = {
        "a timestamp in milliseconds": Auth(timestamp=str(now * 1000)),
        "the timestamp 0": Auth(timestamp="0"),
        "a timestamp that is right in 32 bits": Auth(timestamp=str(now + 2**32)),
    }
    engine.batch(engine.cases("auth.timestamp-window", rows))
    second = engine.second
    second.batch(_distant_timestamps(second))


@check("auth.timestamp-accepted")
def test_timestamps_inside_the_window(at: Check) -> None:
    """Timestamps just under 300 seconds old and ahead pass authentication."""
    engine = sound(at)
    _near_the_edge(at, engine, engine, "auth.timestamp-accepted", -1)


@table("auth.timestamp-integer", engine=AuthProbes)
def test_timestamps_that_are_no_integer(engine: AuthProbes) -> Iterator[Case]:
    """Timestamps that are not an integer are refused, most of which lenient parsers read as the present."""
    now = engine.at.lane.clock.now()
    wrong = {
        "the timestamp abc": "abc",
        "a timestamp with a fraction": f"{now}.5",
        "a timestamp with letters after it": f"{now}abc",
        "an ISO 8601 timestamp": f"{datetime.fromtimestamp(now, UTC):%Y-%m-%dT%H:%M:%SZ}",
        "a timestamp with underscores between its digits": f"{now:_}",
        "a timestamp with a space between its digits": f"{str(now)[:4]} {str(now)[4:]}",
        "a timestamp with an exponent": f"{now / 1e9:.9f}e9",
    }
    rule = "auth.timestamp-integer"
    if not engine.turn((True, False)):
        wrong["a timestamp that is a sign without digits"] = "-"
    yield from engine.cases(rule, {name: Auth(timestamp=text) for name, text in wrong.items()})
    if engine.turn((True, False)):
        wide = replaced(str(now), -1, chr(now % 10 + 0xFF10))
        name = "a timestamp in digits of East Asian type"
        yield engine.case(rule, name, auth=Auth(timestamp=wide), front_end=True)


# ---------------------------------------------------------------------- names and keys


@table("auth.header-case", engine=sound)
def test_header_names_in_any_case(engine: Engine) -> Iterator[Case]:
    """A request with its four headers' names in lower case, or with the cases swapped, is authenticated."""
    rows = {
        "header names in lower case": Auth(name_case="lower"),
        "header names with the cases swapped": Auth(name_case="swapped"),
    }
    yield from engine.cases("auth.header-case", rows)


@table("auth.unknown-key", "auth.unknown-key-status", engine=AuthProbes)
def test_unknown_keys(engine: AuthProbes) -> Iterator[Case]:
    """API keys that do not exist are refused, some almost equal to the valid one, signed with its secret or
    an empty one; on some operations one is the name of a member that all objects inherit."""
    known = engine.at.target.primary.api_key
    member = engine.turn(("", *ids.INHERITED))
    unsecured = f"the API key {member}" if member else "an unknown API key"
    rows = {
        "an unknown API key, signed with the right secret": Auth(api_key=unknown_like(known)),
        f"{unsecured}, signed with an empty secret": Auth(api_key=member or unknown_like(known), secret=""),
        "the API key without its last character": Auth(api_key=known[:-1]),
        "the API key with one more character": Auth(api_key=f"{known}0"),
        "the API key in another letter case": Auth(api_key=known.swapcase()),
    }
    # One without letters has no other case.
    others = {name: auth for name, auth in rows.items() if auth.api_key != known}
    yield from engine.cases("auth.unknown-key", others)


# ---------------------------------------------------------------------- what is left open


@table(
    "auth.nonce-after-failure",
    "auth.nonce-form",
    "auth.signature-upper-case",
    "auth.bearer-beside",
    "auth.precedence",
    "auth.unspecified-codes",
    engine=sound,
)
def test_open_choices(engine: Engine) -> Iterator[Case]:
    """Records what the server does with nonces, signatures and headers where that is left open."""
    probes = AuthProbes(engine.at)
    wrong = probes.usual().signed(mistake="other middle digit")
    failed = engine.at.send(wrong, "a request with a wrong signature, whose nonce is used again").nonce
    used, unknown = probes.recent.nonce, unknown_like(engine.at.target.primary.api_key)
    both = Auth(timestamp_offset=-3600, mistake="other middle digit")
    rows: dict[str, dict[str, Auth | dict[str, Any]]] = {
        "auth.nonce-after-failure": {"a nonce used before with a wrong signature": Auth(nonce=failed)},
        "auth.nonce-form": {
            "a UUID as the nonce": Auth(nonce=new_key()),
            "a nonce of 64 hexadecimal digits": Auth(nonce=hexadecimal(64)),
        },
        "auth.signature-upper-case": {"a signature in upper case": Auth(mistake=UPPER_CASE)},
        "auth.precedence": {
            "no X-Nonce and an old timestamp": Auth(omit=(signing.NONCE,), timestamp_offset=-3600),
            "an old timestamp and a wrong signature": both,
            "an old timestamp and a used nonce": Auth(timestamp_offset=-3600, nonce=used),
            "a used nonce and a wrong signature": Auth(nonce=used, mistake="other middle digit"),
            "an unknown API key and an old timestamp": Auth(api_key=unknown, timestamp_offset=-3600),
        },
        "auth.unspecified-codes": {
            **{f"an empty {header}": Auth(empty=(header,)) for header in signing.HEADERS},
            "the timestamp abc": Auth(timestamp="abc"),
            "an unknown API key": Auth(api_key=unknown),
        },
        "auth.bearer-beside": {
            "Authorization: Bearer beside a valid signature": {
                "headers": (("Authorization", "Bearer beside"),)
            }
        },
    }
    for rule, questions in rows.items():
        yield from engine.cases(rule, questions)


@check("auth.nonce-scope")
def test_nonce_of_another_organization(at: Check) -> None:
    """Records whether a nonce that one organization used may be used by another."""
    used = AuthProbes(at).recent
    valid = at.account(owner="secondary").call(at.operation.id)
    question = "a nonce used by another organization"
    at.record("auth.nonce-scope", at.send(valid.signed(nonce=used.nonce), question, "secondary"))
