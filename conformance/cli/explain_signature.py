"""`conformance explain-signature METHOD URL`: names the usual mistake behind a wrong signature.

Sends nothing. Exit status: 0 the signature is right, 1 it is wrong, 2 wrong usage.
"""

from __future__ import annotations

import argparse

from conformance._text import printable
from conformance.cli.sign import add_request, described
from conformance.contract.signing_mistakes import explained


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_request(parser)
    for header in ("timestamp", "nonce", "signature"):
        name = header.capitalize()
        parser.add_argument(f"--{header}", required=True, metavar="TEXT", help=f"X-{name} as it was sent")
    parser.add_argument("--signed", metavar="TEXT", help="the string that the client signed, if known")


def run(options: argparse.Namespace) -> int:
    """Prints the explanation. Raises InputError."""
    parts, secret, _ = described(options, options.timestamp, options.nonce)
    signed = None if options.signed is None else options.signed.encode("utf-8", "surrogateescape")
    result = explained(parts, secret, options.signature, signed)
    if not result.text:
        print("The signature is right.")
        return 0
    print(f"The signature is wrong: {result.text}.\n\nright signature   {result.signature}")
    for title, string in (("of the string  ", result.string), ("signed instead ", result.signed)):
        if string is not None:
            print(f"{title}   {printable(string.decode('utf-8', 'backslashreplace'))}")
    return 1
