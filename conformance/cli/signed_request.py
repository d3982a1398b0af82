"""Arguments of `conformance sign` and `conformance explain-signature` that describe a request."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

from conformance._files import InputError
from conformance.cli.main import add_target
from conformance.contract.signing_mistakes import Parts
from conformance.target.environment import variable
from conformance.target.file import load

#: Characters that a URL must percent-encode (RFC 3986).
_UNSENDABLE = re.compile(r"[^!-~]")


def add_arguments(parser: argparse.ArgumentParser) -> None:
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
    parser.add_argument(
        "--api-key",
        metavar="KEY",
        help=f"in the place of the target file's ({variable('primary', 'api_key')})",
    )
    parser.add_argument(
        "--secret",
        metavar="TEXT",
        help=f"in the place of the target file's ({variable('primary', 'secret')})",
    )


def described(options: argparse.Namespace, timestamp: str, nonce: str) -> tuple[Parts, str]:
    """The parts of the request, and the secret, from the options. Raises InputError."""
    api_key, secret = _credentials(options)
    origin, target = _address(options)
    body = given(options, "body") or b""
    return Parts(options.method, target.encode(), timestamp, nonce, body, api_key, origin.encode()), secret


def _credentials(options: argparse.Namespace) -> tuple[str, str]:
    """API key and secret from options, target file or environment. Raises InputError."""
    api_key, secret = options.api_key, options.secret
    if options.target and not (api_key and secret):
        organization = getattr(load(options.target, os.environ), options.organization)
        if organization is None:
            raise InputError(f"{options.target} has no [{options.organization}].")
        api_key, secret = api_key or organization.api_key, secret or organization.secret
    api_key = api_key or os.environ.get(variable(options.organization, "api_key"), "")
    secret = secret or os.environ.get(variable(options.organization, "secret"), "")
    if not secret:
        names = variable(options.organization, "secret")
        raise InputError(f"no secret: give --target FILE, {names} in the environment, or --secret TEXT.")
    return api_key, secret


def _address(options: argparse.Namespace) -> tuple[str, str]:
    """The origin and the request target of the URL, without fragment. Raises InputError."""
    url = options.url
    if url.startswith("/"):
        if options.target is None:
            raise InputError(f"{url} is a path: give the whole URL, or --target FILE for its base_url.")
        url = load(options.target, os.environ).base_url + url
    match = re.fullmatch(r"(https?://[^/?#]+)([^#]*)(?:#.*)?", url, re.IGNORECASE)
    if match is None:
        raise InputError(f"{url} is not a URL that begins with http:// or https://, and no path.")
    origin, target = match.groups()
    if found := _UNSENDABLE.search(target):
        raise InputError(
            f"{found[0]!r} cannot stand in a URL: percent-encode it as your HTTP library does, since the "
            "signature covers the path and query as they are sent."
        )
    return origin, target if target.startswith("/") else f"/{target}"


def given(options: argparse.Namespace, name: str) -> bytes | None:
    """The bytes of --NAME, or of the file of --NAME-file (`-` for standard input); None without both. Raises
    InputError."""
    text, file = getattr(options, name), getattr(options, f"{name}_file")
    if text is not None or file is None:
        return None if text is None else str(text).encode("utf-8", "surrogateescape")
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise InputError(f"--{name}-file: {error.strerror}: {file}.") from error
