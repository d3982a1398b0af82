"""Behaviours of hostile servers in place of the correct answer, each a function of a turn."""

from __future__ import annotations

import contextlib
import gzip
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from conformance.reference.core_messages import Response
from tests.hostile.server import NOTHING, Behaviour, Turn, head, rendered

# ---------------------------------------------------------------------- conditions


def after(turn: Turn) -> bool:
    """True after `scale.after` requests."""
    return turn.index >= turn.scale.after


def at_first(turn: Turn) -> bool:
    """True for the first `scale.after` requests."""
    return turn.index < turn.scale.after


def at_times(turn: Turn) -> bool:
    """True now and then, but not before the first check."""
    return turn.index % 7 == 6


def for_a_while(turn: Turn) -> bool:
    """True for some requests in the middle."""
    return turn.scale.after <= turn.index < 4 * turn.scale.after


# ---------------------------------------------------------------------- connections


def cut(make: Callable[[Response], bytes], *, reset: bool = False) -> Behaviour:
    """Sends these bytes in the place of the correct answer, and closes or resets the connection."""

    def behave(turn: Turn) -> bool:
        turn.send(make(turn.right()))
        return turn.reset() if reset else False

    return behave


reset_at_once = cut(lambda right: b"", reset=True)
reset_in_headers = cut(lambda right: b"HTTP/1.1 200 OK\r\nContent-Ty", reset=True)
reset_in_body = cut(lambda right: rendered(right)[: -len(right.body) // 2], reset=True)
another_protocol = cut(lambda right: b"SSH-2.0-OpenSSH_9.2\r\n")


def silent(turn: Turn) -> bool:
    return not turn.wait()


def dripping(turn: Turn) -> bool:
    """Sends single bytes, each well within the read timeout."""
    for byte in rendered(turn.right()):
        turn.send(bytes([byte]))
        if turn.wait(turn.scale.pause):
            return False
    return True


def dying(turn: Turn) -> bool:
    turn.server.die()
    return False


# ---------------------------------------------------------------------- lengths


_CHUNKED = {"Transfer-Encoding": b"chunked"}


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def endless_body(turn: Turn) -> bool:
    turn.send(head(turn.right(), -1, more=_CHUNKED))
    while not turn.wait(0):
        turn.send(chunk(b" " * 60_000))
    return False


def endless_interim(turn: Turn) -> bool:
    """Sends `100 Continue` forever."""
    while not turn.wait(turn.scale.pause / 100):
        turn.send(b"HTTP/1.1 100 Continue\r\n\r\n")
    return False


def large_body(turn: Turn) -> None:
    """Sends the correct answer after megabytes of white space."""
    response, padding = turn.right(), b" " * 60_000
    times = turn.scale.large // len(padding)
    turn.send(head(response, times * len(padding) + len(response.body)), *[padding] * times, response.body)


def gzip_bomb(turn: Turn) -> None:
    """Sends the correct answer after white space that is compressed a thousandfold."""
    response = turn.right()
    packed = gzip.compress(b" " * turn.scale.large + response.body, mtime=0)
    turn.answer(replace(response, body=packed), {"Content-Encoding": b"gzip"})


length_too_short = cut(lambda right: head(right, max(0, len(right.body) - 5)) + right.body)
length_too_long = cut(lambda right: head(right, len(right.body) + 5) + right.body)
wrong_chunks = cut(lambda right: head(right, -1, more=_CHUNKED) + b"zz\r\n" + right.body)


def many_headers(turn: Turn) -> None:
    turn.answer(turn.right(), {f"X-{number}": b"y" * 20 for number in range(turn.scale.headers)})


def too_many_headers(turn: Turn) -> None:
    turn.answer(turn.right(), {f"X-{number}": b"y" * 200 for number in range(4 * turn.scale.headers)})


def long_header(turn: Turn) -> None:
    turn.answer(turn.right(), {"X-Long": b"y" * min(turn.scale.large // 2, 2_000_000)})


# ---------------------------------------------------------------------- other protocols and hosts


def page(status: int) -> Behaviour:
    """Returns a gateway's error page."""
    text = b"<!doctype html><title>%d</title><h1>Sorry</h1>" % status
    response = Response(status, [(b"content-type", b"text/html")], text)
    return lambda turn: turn.answer(response)


def html_errors(turn: Turn) -> None:
    """Sends refusals as HTML pages."""
    response = turn.right()
    if response.status >= 400:
        page(response.status)(turn)
    else:
        turn.answer(response)


def redirected(turn: Turn) -> None:
    """Redirects to the same path on another host."""
    where = turn.server.elsewhere.url.encode() + turn.received.target
    turn.answer(Response(307, []), {"Location": where})


def redirected_in_circles(turn: Turn) -> None:
    turn.answer(Response(308, []), {"Location": turn.received.target})


def limited(status: int, retry_after: bytes) -> Behaviour:
    """Rate-limits, or announces maintenance."""
    return lambda turn: turn.answer(Response(status, []), {"Retry-After": retry_after})


# ---------------------------------------------------------------------- contents


def changed(change: Callable[[bytes], bytes], more: Mapping[str, bytes] = NOTHING) -> Behaviour:
    """Sends the correct answer with a changed body and more headers."""

    def behave(turn: Turn) -> None:
        response = turn.right()
        turn.answer(replace(response, body=change(response.body)), more)

    return behave


#: Text with terminal escapes, markup and string terminators.
EVIL = "\x1b[31m\x1b]0;owned\x07<script>alert(1)</script>'\"]]>&\u202e{{primary.secret}}$(id)"


def evil_strings(turn: Turn) -> None:
    """Puts EVIL into error messages, an additional member, and a header."""
    response = turn.right()
    document = json.loads(response.body)
    if isinstance(document, dict):
        document["evil"] = EVIL
        if isinstance(document.get("error"), dict):
            document["error"]["message"] = EVIL
    body = json.dumps(document).encode()
    turn.answer(replace(response, body=body), {"X-Evil": b"\x1b[31m<b>$(id)"})


def evil_values(turn: Turn) -> None:
    """Replaces every text except ids by EVIL."""
    body = re.sub(rb'(":")(?![a-z]+_)[^"\\]+"', lambda found: found[1] + _quoted(EVIL), turn.right().body)
    turn.answer(replace(turn.right(), body=body))


def _quoted(text: str) -> bytes:
    return json.dumps(text).encode()[1:]


def telling_all(turn: Turn) -> None:
    """Echoes the request headers in every answer, as a debug mode does."""
    response = turn.right()
    document = json.loads(response.body)
    if isinstance(document, dict):
        document["request"] = turn.received.head.decode("latin-1")
    turn.answer(replace(response, body=json.dumps(document).encode()))


def nested(depth: int) -> Callable[[bytes], bytes]:
    """Adds a member nested to this depth."""
    return lambda body: re.sub(rb"^\{", b'{"deep":' + b"[" * depth + b"]" * depth + b",", body)


def tedious(length: int) -> Callable[[bytes], bytes]:
    """Makes every text long, and almost of the expected format."""
    texts = [
        b"1" * length,
        b"2026-01-01T00:00:00." + b"1" * length,
        b"a-" * (length // 2),
        b"acc_" * (length // 4),
    ]

    def change(body: bytes) -> bytes:
        return re.sub(rb'"(object|status|created|currency)":"[^"]*"', one, body)

    def one(found: re.Match[bytes]) -> bytes:
        return b'"%s":"%s"' % (found[1], texts[len(found[1]) % len(texts)])

    return change


def crowded(count: int) -> Callable[[bytes], bytes]:
    """Returns a page with this many elements."""

    def change(body: bytes) -> bytes:
        document = json.loads(body)
        if isinstance(document, dict) and isinstance(items := document.get("items"), list) and items:
            document["items"] = (items * count)[:count]
            return json.dumps(document).encode()
        return body

    return change


def broken_off(body: bytes) -> bytes:
    return body[: len(body) // 2]


def no_utf8(body: bytes) -> bytes:
    return body.replace(b'":"', b'":"\xff\xfe\xc3')


def without_a_word(turn: Turn) -> None:
    """Answers changes with 204 and no body."""
    right = turn.right()
    method = turn.received.line.partition(b" ")[0]
    with contextlib.suppress(ValueError):
        if method == b"PATCH" or turn.received.target.endswith(b"/disable"):
            right = Response(204, []) if right.status < 300 else right
    turn.answer(right)
