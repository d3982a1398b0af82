"""Table of the hostile modes: behaviour, condition, and the required end of the run."""

from __future__ import annotations

from dataclasses import dataclass

from tests.hostile import behaviours as does
from tests.hostile.server import Behaviour, When, always, honest

#: Exit statuses: 1 violations, 4 a target that cannot be judged, 6 incomplete.
BROKEN, UNUSABLE, INCOMPLETE = frozenset({1}), frozenset({4}), frozenset({6})


@dataclass(frozen=True)
class Mode:
    """A hostile mode. `tells` is a regular expression for the verdict's sentence; `meddling` names an event
    that hits the run itself (see tests.hostile.runs)."""

    name: str
    statuses: frozenset[int]
    tells: str
    behave: Behaviour = honest
    when: When = always
    scheme: str = "http"
    options: tuple[str, ...] = ()
    meddling: str = ""


#: Hostile from the first request on: the run ends before the first check.
_AT_ONCE = (
    Mode("refused", UNUSABLE, "cannot be reached", scheme="nothing"),
    Mode("reset at once", UNUSABLE, "does not answer HTTP", does.reset_at_once),
    Mode("reset in headers", UNUSABLE, "does not answer HTTP", does.reset_in_headers),
    Mode("reset in body", UNUSABLE, "does not answer HTTP", does.reset_in_body),
    Mode("silent", UNUSABLE, "accepts connections, but does not answer", does.silent),
    Mode("dripping", UNUSABLE, "accepts connections, but does not answer", does.dripping),
    Mode("endless body", UNUSABLE, "more than 4,194,304 bytes", does.endless_body),
    Mode("endless interim answers", UNUSABLE, "does not answer", does.endless_interim),
    Mode("body of 100 MB", UNUSABLE, "more than 4,194,304 bytes", does.large_body),
    Mode("gzip bomb", UNUSABLE, "more than 4,194,304 bytes", does.gzip_bomb),
    Mode("length too long", UNUSABLE, "does not answer HTTP", does.length_too_long),
    Mode("length too short", UNUSABLE, "answers a body that is not JSON", does.length_too_short),
    Mode("wrong chunks", UNUSABLE, "does not answer HTTP", does.wrong_chunks),
    Mode("another protocol", UNUSABLE, "does not answer HTTP", does.another_protocol),
    Mode("no JSON", UNUSABLE, "answers a body that is not JSON", does.changed(does.broken_off)),
    Mode("pages", UNUSABLE, "answers text/html that begins", does.page(200)),
    Mode("502 at first", UNUSABLE, "status 502", does.page(502), does.at_first),
    Mode("redirect to another host", UNUSABLE, "redirects to .* not sent on", does.redirected),
    Mode("redirect in circles", UNUSABLE, "redirects to", does.redirected_in_circles),
    Mode("429 for ever", UNUSABLE, "answers 429 to everything", does.limited(429, b"3600")),
    Mode(
        "503 until a date",
        UNUSABLE,
        "answers 503 to everything",
        does.limited(503, b"Thu, 01 Jan 1970 00:00:00 GMT"),
    ),
    Mode("TLS nobody trusts", UNUSABLE, "no TLS certificate that this machine trusts", scheme="https"),
    Mode("HTTP where TLS is asked", UNUSABLE, "speaks plain HTTP", scheme="http as https"),
    Mode("TLS where HTTP is asked", UNUSABLE, "does not answer HTTP|speaks TLS", scheme="https as http"),
)

#: Hostile later, or in part: the run starts normally.
_LATER = (
    Mode("resets now and then", BROKEN, "http.no-server-error", does.reset_in_body, does.at_times),
    Mode(
        "hangs later",
        BROKEN | INCOMPLETE,
        "server",
        does.silent,
        does.after,
        options=("--request-timeout", "2"),
    ),
    Mode(
        "drips later",
        BROKEN | INCOMPLETE,
        "server",
        does.dripping,
        does.after,
        options=("--request-timeout", "2"),
    ),
    Mode("dies", INCOMPLETE, "the server was lost", does.dying, does.after),
    Mode("endless bodies now and then", BROKEN, "http.success-json", does.endless_body, does.at_times),
    Mode("100 MB now and then", BROKEN, "http.success-json", does.large_body, does.at_times),
    Mode("gzip bombs now and then", BROKEN, "http.success-json", does.gzip_bomb, does.at_times),
    Mode(
        "lengths too long now and then", BROKEN, "http.no-server-error", does.length_too_long, does.at_times
    ),
    Mode("lengths too short now and then", BROKEN, "http.success-json", does.length_too_short, does.at_times),
    Mode("no JSON now and then", BROKEN, "http.success-json", does.changed(does.broken_off), does.at_times),
    Mode("errors as pages", BROKEN, "http.content-type", does.html_errors),
    Mode("502 for a while", BROKEN, "http.no-server-error", does.page(502), does.for_a_while),
    Mode("429 later", INCOMPLETE, "could not be exercised", does.limited(429, b"3600"), does.after),
    Mode("redirects later", BROKEN | INCOMPLETE, "server", does.redirected, does.after),
    Mode("thousands of headers", frozenset({0}), "", does.many_headers),
    Mode("10,000 headers later", BROKEN, "http.no-server-error", does.too_many_headers, does.after),
    Mode("a long header later", BROKEN, "http.no-server-error", does.long_header, does.after),
    Mode(
        "no UTF-8 in headers",
        frozenset({0}),
        "",
        does.changed(bytes, {"X-Name": b"\xff\xfe\xc3\x28", "X-Other": b"caf\xe9"}),
    ),
    Mode("no UTF-8 in bodies", BROKEN, "http.success-json", does.changed(does.no_utf8), does.after),
    Mode("evil in what is not judged", frozenset({0}), "", does.evil_strings),
    Mode("evil in every text", BROKEN, "breaks", does.evil_values, does.after),
    Mode("shows what it was sent", BROKEN | frozenset({0}), "", does.telling_all, does.after),
    Mode("nests deep", BROKEN, "http.success-json", does.changed(does.nested(5000)), does.after),
    Mode("tedious texts", BROKEN, "breaks", does.changed(does.tedious(30_000)), does.after),
    Mode("crowded pages", BROKEN, "list", does.changed(does.crowded(5_000)), does.after),
    Mode("204 for changes", BROKEN, "http.success-json", does.without_a_word),
)

#: Events that hit the run itself, on a conforming server.
_RUNS = (
    Mode("disk full", frozenset({3}), "No space left on device", meddling="disk full"),
    Mode("two runs in one folder", frozenset({0}), "", meddling="twice"),
    Mode("SIGINT", frozenset({2}), "interrupted", meddling="SIGINT"),
    Mode("SIGTERM", frozenset({2}), "interrupted", meddling="SIGTERM"),
    Mode("SIGINT again and again", frozenset({2}), "interrupted", meddling="SIGINT again and again"),
    Mode("SIGINT, two workers", frozenset({2}), "interrupted", meddling="SIGINT", options=("-n", "2")),
    Mode("SIGTERM, two workers", frozenset({2}), "interrupted", meddling="SIGTERM", options=("-n", "2")),
    Mode("a killed worker", frozenset({0, 6}), "", meddling="kill a worker", options=("-n", "2")),
)

MODES = {mode.name: mode for mode in (*_AT_ONCE, *_LATER, *_RUNS)}
