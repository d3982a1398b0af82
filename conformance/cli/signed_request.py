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
from conformance.target.file import Target, Tls, load

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


def described(options: argparse.Namespace, timestamp: str, nonce: str) -> tuple[Parts, str, Tls]:
    """The parts of the request, the secret, and the files for TLS, from the options. Raises InputError."""
    file = load(options.target, os.environ) if options.target else None
    api_key, secret = _credentials(options, file)
    origin, target = _address(options.url, file)
    method, body = options.method.upper(), _body(options)
    parts = Parts(method, target.encode(), timestamp, nonce, body, api_key, origin.encode())
    return parts, secret, file.tls if file else Tls()


def _credentials(options: argparse.Namespace, file: Target | None) -> tuple[str, str]:
    """API key and secret from options, target file or environment. Raises InputError."""
    organization = getattr(file, options.organization) if file else None
    if file and organization is None:
        raise InputError(f"{options.target} has no [{options.organization}].")
    values = []
    for name in ("api_key", "secret"):
        stated = os.environ.get(variable(options.organization, name), "")
        values.append(getattr(options, name) or getattr(organization, name, "") or stated)
    api_key, secret = values
    if not secret:
        names = variable(options.organization, "secret")
        raise InputError(f"no secret: give --target FILE, {names} in the environment, or --secret TEXT.")
    return api_key, secret


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
