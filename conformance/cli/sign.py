"""`conformance sign METHOD URL`: signs a request, and prints its headers or a curl command.

Prints the signature string and the headers of a request, or with --curl a command that sends it; sends
nothing itself. The headers are valid for one request within 300 seconds.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
import time
import uuid
from pathlib import Path

from conformance._files import InputError
from conformance._text import meant
from conformance.cli.main import add_target
from conformance.contract import signing
from conformance.contract.signing_mistakes import BY_NAME, Parts
from conformance.target.environment import variable
from conformance.target.file import Target, Tls, load

#: Characters that a URL must percent-encode (RFC 3986).
_UNSENDABLE = re.compile(r"[^!-~]")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_request(parser)
    parser.add_argument("--timestamp", metavar="SECONDS", help="X-Timestamp (default: now)")
    parser.add_argument("--nonce", metavar="TEXT", help="X-Nonce (default: a new one)")
    parser.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="NAME:VALUE",
        help="add or replace a header; 'Name:' leaves it out, 'Name;' sends it empty (repeatable)",
    )
    parser.add_argument("--mistake", metavar="NAME", help="sign with a common mistake, such as 'no query'")
    parser.add_argument(
        "--signed",
        action="append",
        default=[],
        metavar="PART=TEXT",
        help="sign another target, nonce or body than is sent (repeatable)",
    )
    parser.add_argument("--curl", action="store_true", help="print a curl command that sends the request")


def run(options: argparse.Namespace) -> int:
    """Prints the signed request. Raises InputError."""
    timestamp = options.timestamp or str(int(time.time()))
    nonce = options.nonce or signing.new_nonce()
    parts, secret, tls = described(options, timestamp, nonce)
    string = parts.string(**_signed_instead(options.signed, options.url, parts))
    headers = {
        signing.API_KEY: parts.api_key,
        signing.TIMESTAMP: timestamp,
        signing.NONCE: nonce,
        signing.SIGNATURE: signing.signature(secret, string),
    }
    if name := options.mistake:
        if name not in BY_NAME:
            known = f"{meant(name, BY_NAME)}; they are: {', '.join(BY_NAME)}"
            raise InputError(f"--mistake: there is no {name[:60]!r}{known}.")
        if (wrong := BY_NAME[name].sign(parts, secret)) is None:
            raise InputError(f"--mistake: {name!r} changes nothing in this request.")
        headers[signing.SIGNATURE] = wrong
    if parts.method == "POST":
        headers["Idempotency-Key"] = str(uuid.uuid4())
    if parts.body:
        headers["Content-Type"] = "application/json"
    lines = _changed(headers, options.header)
    if options.curl:
        print(shlex.join(_curl(parts, lines, options.body_file, tls)))
    else:
        text = string.decode("utf-8", "backslashreplace")
        print("\n".join(("string to sign:", text, "", "headers:", *lines)))
    return 0


def _signed_instead(texts: list[str], url: str, parts: Parts) -> dict[str, bytes]:
    """Part -> the bytes signed in its place; a target is relative like the URL. Raises InputError."""
    base = parts.target.removesuffix(url.encode()) if url.startswith("/") else b""
    others = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name not in ("target", "nonce", "body"):
            raise InputError(f"--signed: {text[:60]!r} should begin with target=, nonce= or body=.")
        others[name] = base * (name == "target") + value.encode("utf-8", "surrogateescape")
    return others


def _changed(headers: dict[str, str], changes: list[str]) -> list[str]:
    """Header lines in curl's notation, with the changes of --header. Raises InputError."""
    lines = {name.lower(): f"{name}: {value}" for name, value in headers.items()}
    for change in changes:
        name = change.partition(":")[0].removesuffix(";").strip()
        if not name or ("\n" in change or "\r" in change) or not (":" in change or change.endswith(";")):
            raise InputError(f"--header: {change[:60]!r} should be one line of the form 'Name: value'.")
        lines[name.lower()] = change
    return list(lines.values())


def _curl(parts: Parts, headers: list[str], file: str | None, tls: Tls) -> list[str]:
    """Words of a curl command. --globoff and --path-as-is keep curl from changing the target."""
    words = ["curl", "--silent", "--show-error", "--include", "--globoff", "--path-as-is", "--noproxy", "*"]
    words += ["--head"] if parts.method == "HEAD" else ["--request", parts.method]
    files = {"--cacert": tls.ca, "--cert": tls.client_certificate, "--key": tls.client_key}
    words += [word for option, path in files.items() if path is not None for word in (option, str(path))]
    words += [word for line in headers for word in ("--header", line)]
    if file not in (None, "-"):
        words += ["--data-binary", f"@{file}"]
    elif parts.body:
        words += ["--data-raw", parts.body.decode("utf-8", "surrogateescape")]
    return [*words, (parts.origin + parts.target).decode()]


# ------------------------------------------------------------------ the request


def add_request(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments for the request and its credentials."""
    parser.add_argument("method", metavar="METHOD", help="GET, POST or PATCH")
    parser.add_argument(
        "url", metavar="URL", help="the whole URL as it is sent, or a path after the target file's base_url"
    )
    body = parser.add_mutually_exclusive_group()
    body.add_argument("--body", metavar="TEXT", help="the body, exactly as it is sent")
    body.add_argument("--body-file", metavar="FILE", help="a file that holds the body; - for standard input")
    add_target(parser, ", for base_url and credentials")
    parser.add_argument(
        "--organization",
        choices=("primary", "secondary"),
        default="primary",
        help="whose credentials of the target file (default: %(default)s)",
    )
    for option, metavar in (("api_key", "KEY"), ("secret", "TEXT")):
        parser.add_argument(
            f"--{option.replace('_', '-')}",
            metavar=metavar,
            help=f"in the place of the target file's ({variable('primary', option)})",
        )


def described(options: argparse.Namespace, timestamp: str, nonce: str) -> tuple[Parts, str, Tls]:
    """The parts of the request, the secret, and the files for TLS, from the options. Raises InputError."""
    file = load(options.target, os.environ) if options.target else None
    organization = getattr(file, options.organization) if file else None
    if file and organization is None:
        raise InputError(f"{options.target} has no [{options.organization}].")
    api_key, secret = (
        getattr(options, name)
        or getattr(organization, name, "")
        or os.environ.get(variable(options.organization, name), "")
        for name in ("api_key", "secret")
    )
    if not secret:
        name = variable(options.organization, "secret")
        raise InputError(f"no secret: give --target FILE, {name} in the environment, or --secret TEXT.")
    origin, target = _address(options.url, file)
    method, body = options.method.upper(), _body(options)
    parts = Parts(method, target.encode(), timestamp, nonce, body, api_key, origin.encode())
    return parts, secret, file.tls if file else Tls()


def _address(url: str, file: Target | None) -> tuple[str, str]:
    """The origin and the request target of the URL, without fragment. Raises InputError."""
    if url.startswith("/"):
        if file is None:
            raise InputError(f"{url} is a path: give the whole URL, or --target FILE for its base_url.")
        url = file.base_url + url
    match = re.fullmatch(r"(https?://[^/?#]+)([^#]*)(?:#.*)?", url, re.IGNORECASE)
    if match is None:
        raise InputError(f"{url} is not a URL that begins with http:// or https://, and no path.")
    origin, target = match.groups()
    if odd := _UNSENDABLE.search(target):
        raise InputError(
            f"{odd[0]!r} cannot stand in a URL: percent-encode it as your HTTP library does, since the "
            "signature covers the path and query as they are sent."
        )
    return origin, target if target.startswith("/") else f"/{target}"


def _body(options: argparse.Namespace) -> bytes:
    """The bytes of --body, or of --body-file (`-` for standard input). Raises InputError."""
    file = options.body_file
    if file is None:
        return (options.body or "").encode("utf-8", "surrogateescape")
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise InputError(f"--body-file: {error.strerror}: {file}.") from error
