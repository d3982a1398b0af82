"""The command that sends a request of a run again, freshly signed, and the files of bodies that it names."""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from conformance.judge.exchanges import BodyRecord, ExchangeRecord
from conformance.report.document import Document
from conformance.report.evidence import page_exchanges

#: Maximum length of a body in a command, in characters; a longer one is a file beside the report.
BODY = 1000

#: The folder of bodies, beside the report.
FOLDER = "bodies"

#: What `conformance sign` has no option for.
_UNSENT = {"name_case", "secret", "signed_body_base64"}

_UUID = re.compile("[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


def resend(exchange: ExchangeRecord, document: Document) -> str:
    """The command, for the working directory of the run; empty where none sends this request."""
    call: Mapping[str, Any] = exchange.call
    auth: Mapping[str, Any] = call.get("auth", {})
    body = exchange.request_body
    if document.target is None or document.run.embedded or not call or body.cut or auth.keys() & _UNSENT:
        return ""
    options = document.run.options
    base_url = options.get("base-url") or ("" if "target" in options else document.target.base_url)
    words = ["conformance", "sign", "--curl", exchange.method, base_url.rstrip("/") + str(call["target"])]
    if target := options.get("target"):
        words += ["--target", target]
    if exchange.organization == "secondary":
        words += ["--organization", "secondary"]
    words += [
        *_signing(auth, urlsplit(base_url).path.rstrip("/")),
        *_headers(exchange, call),
        *_body(exchange, document.run.folder),
    ]
    # The time is computed by the shell.
    offset = auth.get("timestamp_offset")
    time = f' --timestamp "$(($(date +%s) + {offset}))"' if offset else ""
    command = f"{shlex.join(words)}{time} | sh"
    return command if command.isprintable() else ""


def bodies(document: Document) -> Iterator[tuple[str, bytes]]:
    """The path below the report's folder, and the bytes, of each body that a command names."""
    for number in page_exchanges(document.cells, document.exchanges):
        exchange = document.exchanges[number]
        if not _inline(exchange.request_body) and resend(exchange, document):
            yield _path(exchange), _bytes(exchange.request_body)


def _signing(auth: Mapping[str, Any], prefix: str) -> Iterator[str]:
    """The options for what is signed otherwise than usual."""
    for name, option in (("api_key", "api-key"), ("timestamp", "timestamp"), ("nonce", "nonce")):
        if name in auth:
            yield f"--{option}={auth[name]}"
    if mistake := auth.get("mistake") or auth.get("signature_form"):
        yield from ("--mistake", mistake)
    for part in ("target", "nonce", "body"):
        if f"signed_{part}" in auth:
            before = prefix if part == "target" else ""
            yield from ("--signed", f"{part}={before}{auth[f'signed_{part}']}")
    if "signature" in auth:
        yield from ("--header", f"X-Signature: {auth['signature']}")
    for header in auth.get("omit", ()):
        yield from ("--header", f"{header}:")
    for header in auth.get("empty", ()):
        yield from ("--header", f"{header};")


def _headers(exchange: ExchangeRecord, call: Mapping[str, Any]) -> Iterator[str]:
    key = call.get("idempotency_key")
    if key is None and exchange.method == "POST":
        yield from ("--header", "Idempotency-Key:")
    elif key is not None and not _UUID.fullmatch(key):
        yield f"--idempotency-key={key}"
    kind = call.get("content_type", "application/json")
    if exchange.request_body.size and kind != "application/json":
        yield from ("--header", f"Content-Type: {kind}" if kind else "Content-Type:")
    for name, value in call.get("headers", ()):
        yield from ("--header", f"{name}: {value}" if value else f"{name};")


def _body(exchange: ExchangeRecord, folder: str) -> Iterator[str]:
    body = exchange.request_body
    if not _inline(body):
        yield from ("--body-file", str(PurePosixPath(folder) / _path(exchange)))
    elif body.size:
        yield from ("--body", body.text or "")


def _inline(body: BodyRecord) -> bool:
    """True if a body can stand in a command."""
    return not body.size or (body.text is not None and len(body.text) <= BODY and body.text.isprintable())


def _path(exchange: ExchangeRecord) -> str:
    return f"{FOLDER}/{exchange.number}"


def _bytes(body: BodyRecord) -> bytes:
    return base64.b64decode(body.base64) if body.base64 is not None else (body.text or "").encode()
