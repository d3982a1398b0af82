"""Table of the hostile modes: behaviour, condition, and the required end of the run."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.hostile import behaviours as does
from tests.hostile.server import Behaviour, Hostile, When, always, honest
from tests.support.programs import Program

#: Exit statuses: 1 violations, 4 a target that cannot be judged, 6 incomplete.
BROKEN, UNUSABLE, INCOMPLETE = frozenset({1}), frozenset({4}), frozenset({6})

FINE = frozenset({0})


@dataclass(frozen=True)
class Mode(Program):
    """A hostile mode. `tells` is a regular expression for what the run says at its end;
    `signals` hit the run itself, SIGKILL one of its processes; several `runs` write to one folder."""

    statuses: frozenset[int] = FINE
    tells: str = ""
    behave: Behaviour = honest
    when: When = always
    scheme: str = "http"
    options: tuple[str, ...] = ()
    signals: tuple[signal.Signals, ...] = ()
    runs: int = 1


def _mode(
    name: str,
    statuses: frozenset[int],
    tells: str,
    behave: Behaviour = honest,
    when: When = always,
    **more: Any,
) -> Mode:
    return Mode((), "", name, behave.__doc__ or "", Hostile, statuses, tells, behave, when, **more)


def both(
    name: str,
    behave: Behaviour,
    at_once: str,
    later: str,
    when: When = does.at_times,
    statuses: frozenset[int] = BROKEN,
    options: tuple[str, ...] = (),
) -> Iterator[Mode]:
    """Modes of a server that behaves so from the first request on, and of one that begins well."""
    yield _mode(name, UNUSABLE, at_once, behave)
    yield _mode(f"{name} later", statuses, later, behave, when, options=options)


#: What a server that stops answering is waited for.
_IMPATIENT = (does.after, BROKEN | INCOMPLETE, ("--request-timeout", "2"))

_NO_HTTP, _TOO_LONG = "does not answer HTTP", "more than 4,194,304 bytes"
_SILENT, _NO_JSON = "accepts connections, but does not answer", "answers a body that is not JSON"
_CRASH, _BAD_JSON = "http.no-server-error", "http.success-json"

_BOTH = (
    *both("reset in body", does.reset_in_body, _NO_HTTP, _CRASH, does.after),
    *both("silent", does.silent, _SILENT, "server", *_IMPATIENT),
    *both("dripping", does.dripping, _SILENT, "server", *_IMPATIENT),
    *both("endless body", does.endless_body, _TOO_LONG, _BAD_JSON),
    *both("body of 100 MB", does.large_body, _TOO_LONG, _BAD_JSON),
    *both("gzip bomb", does.gzip_bomb, _TOO_LONG, _BAD_JSON),
    *both("length too long", does.length_too_long, _NO_HTTP, _CRASH, does.after),
    *both("length too short", does.length_too_short, _NO_JSON, _BAD_JSON),
    *both("no JSON", does.changed(does.broken_off), _NO_JSON, _BAD_JSON),
    *both("redirect", does.redirected, "redirects .* not sent on", "server", does.after, BROKEN | INCOMPLETE),
    *both("429", does.limited(429, b"3600"), "429 to everything", "could not be", does.after, INCOMPLETE),
)

#: Hostile from the first request on: the run ends before the first check.
_AT_ONCE = (
    _mode("refused", UNUSABLE, "cannot be reached", scheme="nothing"),
    _mode("reset at once", UNUSABLE, _NO_HTTP, does.reset_at_once),
    _mode("reset in headers", UNUSABLE, _NO_HTTP, does.reset_in_headers),
    _mode("endless interim answers", UNUSABLE, "does not answer", does.endless_interim),
    _mode("wrong chunks", UNUSABLE, _NO_HTTP, does.wrong_chunks),
    _mode("another protocol", UNUSABLE, _NO_HTTP, does.another_protocol),
    _mode("pages", UNUSABLE, "answers text/html that begins", does.page(200)),
    _mode("502 at first", UNUSABLE, "status 502", does.page(502), does.at_first),
    _mode("redirect in circles", UNUSABLE, "redirects to", does.redirected_in_circles),
    _mode("503", UNUSABLE, "answers 503 to", does.limited(503, b"Thu, 01 Jan 1970 00:00:00 GMT")),
    _mode("TLS nobody trusts", UNUSABLE, "no TLS certificate that this machine trusts", scheme="https"),
    _mode("HTTP where TLS is asked", UNUSABLE, "speaks plain HTTP", scheme="http as https"),
    _mode("TLS where HTTP is asked", UNUSABLE, f"{_NO_HTTP}|speaks TLS", scheme="https as http"),
)

_ODD_HEADERS = {"X-Name": b"\xff\xfe\xc3\x28", "X-Other": b"caf\xe9"}

#: Hostile later, or in part: the run starts normally.
_LATER = (
    _mode("dies", INCOMPLETE, "the server was lost", does.dying, does.after),
    _mode("errors as pages", BROKEN, "http.content-type", does.html_errors),
    _mode("502 for a while", BROKEN, _CRASH, does.page(502), does.for_a_while),
    _mode("thousands of headers", FINE, "", does.many_headers),
    _mode("10,000 headers later", BROKEN, _CRASH, does.too_many_headers, does.after),
    _mode("a long header later", BROKEN, _CRASH, does.long_header, does.after),
    _mode("no UTF-8 in headers", FINE, "", does.changed(bytes, _ODD_HEADERS)),
    _mode("no UTF-8 in bodies", BROKEN, _BAD_JSON, does.changed(does.no_utf8), does.after),
    _mode("evil in what is not judged", FINE, "", does.evil_strings),
    _mode("evil in every text", BROKEN, "breaks", does.evil_values, does.after),
    _mode("shows what it was sent", BROKEN | FINE, "", does.telling_all, does.after),
    _mode("nests deep", BROKEN, _BAD_JSON, does.changed(does.nested(5000)), does.after),
    _mode("tedious texts", BROKEN, "breaks", does.changed(does.tedious(30_000)), does.after),
    _mode("crowded pages", BROKEN, "list", does.changed(does.crowded(5_000)), does.after),
    _mode("204 for changes", BROKEN, _BAD_JSON, does.without_a_word),
)

_FULL_DISK = ("-p", "tests.hostile.full_disk")
_INT, _TERM, _KILL = (signal.SIGINT,), (signal.SIGTERM,), (signal.SIGKILL,)

#: Events that hit the run itself, on a conforming server.
_RUNS = (
    _mode("disk full", frozenset({3}), "No space left on device", options=_FULL_DISK),
    _mode("two runs in one folder", FINE, "", runs=2),
    _mode("SIGINT", frozenset({2}), "interrupted", signals=_INT),
    _mode("SIGTERM", frozenset({2}), "interrupted", signals=_TERM),
    _mode("SIGINT again and again", frozenset({2}), "interrupted", signals=_INT * 4),
    _mode("SIGINT, two workers", frozenset({2}), "interrupted", signals=_INT, options=("-n", "2")),
    _mode("SIGTERM, two workers", frozenset({2}), "interrupted", signals=_TERM, options=("-n", "2")),
    _mode("a killed worker", INCOMPLETE | FINE, "", signals=_KILL, options=("-n", "2")),
)

SERVERS = (*_BOTH, *_AT_ONCE, *_LATER)

MODES = {mode.name: mode for mode in (*SERVERS, *_RUNS)}
