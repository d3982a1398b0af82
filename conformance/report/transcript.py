"""An exchange as plain text."""

from __future__ import annotations

import contextlib
import json

from conformance._text import clean, milliseconds
from conformance.judge.exchanges import BodyRecord, ExchangeRecord

#: Characters of a body that a transcript shows.
BODY = 3000


def transcript(exchange: ExchangeRecord) -> str:
    """The exchange as it went over the wire, JSON bodies pretty-printed, without control characters."""
    lines = [f"{exchange.method} {exchange.target}"]
    lines += [f"{name}: {value}" for name, value in exchange.request_headers]
    lines += ["", *_body(exchange.request_body), ""]
    if exchange.signed is not None:
        lines += [f"signed: {exchange.signed}", ""]
    if exchange.status is None:
        lines.append(f"no answer: {exchange.error or 'unknown'}")
    else:
        lines.append(f"{exchange.status} after {milliseconds(exchange.elapsed)}")
        lines += [f"{name}: {value}" for name, value in exchange.response_headers]
        lines += ["", *_body(exchange.response_body)]
    return "\n".join(clean(line) for line in lines).strip() + "\n"


def _body(body: BodyRecord) -> list[str]:
    if not body.size:
        return ["(no body)"]
    if body.text is None:
        return [f"({body.size} bytes that are not UTF-8 text)"]
    text = body.text
    if not body.cut:
        with contextlib.suppress(ValueError, RecursionError):
            text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    shown = text[:BODY].split("\n")
    if body.cut or len(text) > BODY:
        shown.append(f"… ({body.size} bytes)")
    return shown
