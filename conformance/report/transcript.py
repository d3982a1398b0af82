"""An exchange as plain text."""

from __future__ import annotations

import contextlib

import msgspec

from conformance._text import clean, milliseconds
from conformance.judge.exchanges import BodyRecord, ExchangeRecord

#: Characters of a body that a transcript shows.
BODY = 3000


def transcript(exchange: ExchangeRecord, most: int = BODY) -> str:
    """The exchange as it went over the wire, JSON bodies pretty-printed, without control characters; at most
    so many characters of each body."""
    lines = [f"{exchange.method} {exchange.target}"]
    lines += [f"{name}: {value}" for name, value in exchange.request_headers]
    lines += ["", *_bounded(exchange.request_body, most), ""]
    if exchange.signed is not None:
        lines += [f"signed: {exchange.signed}", ""]
    if exchange.status is None:
        lines.append(f"no answer: {exchange.error or 'unknown'}")
    else:
        lines.append(f"{exchange.status} after {milliseconds(exchange.elapsed)}")
        lines += [f"{name}: {value}" for name, value in exchange.response_headers]
        lines += ["", *_bounded(exchange.response_body, most)]
    return "\n".join(clean(line) for line in lines).strip() + "\n"


def body_lines(body: BodyRecord) -> list[str]:
    """A body line by line; JSON pretty-printed, numbers and escapes as they were sent."""
    if not body.size:
        return ["(no body)"]
    if body.text is None:
        return [f"({body.size} bytes that are not UTF-8 text)"]
    if not body.cut:
        with contextlib.suppress(msgspec.MsgspecError, UnicodeError, RecursionError):
            return msgspec.json.format(body.text, indent=2).split("\n")
    return body.text.split("\n")


def _bounded(body: BodyRecord, most: int) -> list[str]:
    text = "\n".join(body_lines(body))
    more = [f"… ({body.size} bytes)"] if body.cut or len(text) > most else []
    return [*text[:most].split("\n"), *more]
