"""The commands that repeat a run, one failure of it, or one request, freshly signed.

They are meant for the working directory of the run.
"""

from __future__ import annotations

import base64
import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from conformance._options import OPTIONS, Effort, words
from conformance.contract.rules import ALL_RULES, Level
from conformance.judge.cells import Cell
from conformance.judge.exchanges import BodyRecord, ExchangeRecord
from conformance.report.document import Document
from conformance.report.evidence import UUID, page_exchanges

#: Maximum length of a body in a command, in characters; a longer one is a file beside the report.
BODY = 1000

#: The folder of bodies, beside the report.
FOLDER = "bodies"

#: What `conformance sign` has no option for.
_UNSENT = {"name_case", "secret", "signed_body_base64"}


def again(options: Mapping[str, str], seed: int | None) -> str:
    """The command that repeats a run with these options and seed."""
    if "judge" in options:
        more = {name: options[name] for name in ("provoke", "exec") if options.get(name)}
        return shlex.join(["conformance", "serve", "--judge", *_options(more)])
    command = ["conformance", "load"] if "load" in options else ["pytest", "--pyargs", "conformance"]
    for name, option in OPTIONS.items():
        if option.again and name in options:
            # The values of a repeated option are recorded separated by spaces.
            command += words(name, options[name].split() if option.repeats else options[name])
    for name in ("-k", "-m"):
        command += [name, options[name]] if options.get(name) else []
    command += words("seed", seed) if seed is not None else []
    # Locust's options.
    return shlex.join([*command, *shlex.split(options.get("load", "")), *_server(options)])


def reproduction(cell: Cell, options: Mapping[str, str], seed: int | None) -> str:
    """The command that shows a violation again: the checks of its rule on its operation, or, if a generated
    request showed it, the same generated requests; for a client, or under load, the whole run."""
    if "judge" in options or "load" in options:
        return again(options, seed)
    command = ["pytest", "--pyargs", "conformance", "--rule", cell.rule, "--operation", cell.operation]
    if examples := cell.violations[0].examples:
        # Only if it is asked for, generated requests take part in the run of a rule.
        command += words("fuzz-examples", examples) + words("fuzz-time", options.get("fuzz-time"))
    elif options.get("effort") == Effort.DEEP:
        command += words("effort", options["effort"])
    if ALL_RULES[cell.rule].level is Level.IMPLIED:
        # A warning would end it with 0.
        command += words("fail-on", Level.IMPLIED)
    command += words("seed", seed) if seed is not None else []
    return shlex.join([*command, *_server(options)])


def _server(options: Mapping[str, str]) -> Iterator[str]:
    return _options({name: options[name] for name in ("target", "base-url") if options.get(name)})


def _options(values: Mapping[str, str]) -> Iterator[str]:
    for name, value in values.items():
        yield from (f"--{name}", value)


# ---------------------------------------------------------------------- one request


def resend(exchange: ExchangeRecord, document: Document) -> str:
    """The command that sends a request again; empty where none does."""
    call: Mapping[str, Any] = exchange.call
    auth: Mapping[str, Any] = call.get("auth", {})
    body = exchange.request_body
    if document.target is None or document.run.embedded or not call or body.cut or auth.keys() & _UNSENT:
        return ""
    options = document.run.options
    base_url = options.get("base-url") or ("" if "target" in options else document.target["base_url"])
    command = ["conformance", "sign", "--curl", exchange.method, base_url.rstrip("/") + str(call["target"])]
    command += _options({"target": options["target"]} if options.get("target") else {})
    command += ["--organization", "secondary"] if exchange.organization == "secondary" else []
    command += [*_signing(auth, urlsplit(base_url).path.rstrip("/")), *_headers(exchange, call)]
    if not _inline(body):
        command += ["--body-file", str(PurePosixPath(document.run.folder) / _path(exchange))]
    elif body.size:
        command += ["--body", body.text or ""]
    # The time is computed by the shell.
    offset = auth.get("timestamp_offset")
    time = f' --timestamp "$(($(date +%s) + {offset}))"' if offset else ""
    text = f"{shlex.join(command)}{time} | sh"
    return text if text.isprintable() else ""


def bodies(document: Document) -> Iterator[tuple[str, bytes]]:
    """The path below the report's folder, and the bytes, of each body that a command names."""
    for number in page_exchanges(document.cells, document.exchanges):
        exchange = document.exchanges[number]
        body = exchange.request_body
        if not _inline(body) and resend(exchange, document):
            binary = base64.b64decode(body.base64) if body.base64 is not None else None
            yield _path(exchange), (body.text or "").encode() if binary is None else binary


def _signing(auth: Mapping[str, Any], prefix: str) -> Iterator[str]:
    """The options for what is signed otherwise than usual."""
    for name, option in (("api_key", "api-key"), ("timestamp", "timestamp"), ("nonce", "nonce")):
        if name in auth:
            yield f"--{option}={auth[name]}"
    if mistake := auth.get("mistake"):
        yield from ("--mistake", mistake)
    for part in ("target", "nonce", "body"):
        if f"signed_{part}" in auth:
            before = prefix if part == "target" else ""
            yield from ("--signed", f"{part}={before}{auth[f'signed_{part}']}")
    if "signature" in auth:
        yield from ("--header", f"X-Signature: {auth['signature']}")
    for names, end in ((auth.get("omit", ()), ":"), (auth.get("empty", ()), ";")):
        for name in names:
            yield from ("--header", f"{name}{end}")


def _headers(exchange: ExchangeRecord, call: Mapping[str, Any]) -> Iterator[str]:
    key = call.get("idempotency_key")
    if key is None and exchange.method == "POST":
        yield from ("--header", "Idempotency-Key:")
    elif key is not None and not (exchange.method == "POST" and UUID.fullmatch(key)):
        yield from ("--header", f"Idempotency-Key: {key}" if key else "Idempotency-Key;")
    kind = call.get("content_type", "application/json")
    if exchange.request_body.size and kind != "application/json":
        yield from ("--header", f"Content-Type: {kind}" if kind else "Content-Type:")
    for name, value in call.get("headers", ()):
        yield from ("--header", f"{name}: {value}" if value else f"{name};")


def _inline(body: BodyRecord) -> bool:
    """True if a body can stand in a command."""
    return not body.size or (body.text is not None and len(body.text) <= BODY and body.text.isprintable())


def _path(exchange: ExchangeRecord) -> str:
    return f"{FOLDER}/{exchange.number}"
