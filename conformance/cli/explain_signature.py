"""`conformance explain-signature METHOD URL`: names the usual mistake behind a wrong signature.

Names the usual mistake that produces the signature of a request; sends nothing. Exit status: 0 the
signature is right, 1 it is wrong, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterator

from conformance._text import printable
from conformance.cli import signed_request
from conformance.contract.signing_explained import Explanation, explained
from conformance.contract.signing_mistakes import Parts

#: Maximum difference of a timestamp from the server's clock, in seconds (section 5.4).
WINDOW = 300


def add_arguments(parser: argparse.ArgumentParser) -> None:
    signed_request.add_arguments(parser)
    parser.add_argument("--timestamp", required=True, metavar="TEXT", help="X-Timestamp as it was sent")
    parser.add_argument("--nonce", required=True, metavar="TEXT", help="X-Nonce as it was sent")
    parser.add_argument("--signature", required=True, metavar="TEXT", help="X-Signature as it was sent")
    signed = parser.add_mutually_exclusive_group()
    signed.add_argument("--signed", metavar="TEXT", help="the string that the client signed, if known")
    signed.add_argument("--signed-file", metavar="FILE", help="a file that holds it; - for standard input")


def run(options: argparse.Namespace) -> int:
    """Prints the explanation. Raises InputError."""
    parts, secret = signed_request.described(options, options.timestamp, options.nonce)
    found = explained(parts, secret, options.signature, signed_request.given(options, "signed"))
    remarks = list(_remarks(parts, time.time()))
    print("\n".join([*_lines(found), *([""] if remarks else []), *remarks]))
    return 0 if found.is_right else 1


def _lines(found: Explanation) -> Iterator[str]:
    if found.is_right:
        yield "The signature is right."
        return
    if found.is_open:
        yield "The signature is right but for its upper-case letters, which a server may accept or refuse."
        return
    if found.mistake:
        yield f"The client {found.mistake.text}."
    elif found.difference:
        yield f"The signature is wrong: {found.difference}."
    elif found.signed == found.string:
        yield (
            "The string that was signed is right, the signature is not: the secret is another one, or the "
            "client computes something other than HMAC-SHA256 in hexadecimal."
        )
    else:
        yield (
            "No usual mistake makes this signature: the secret differs, or something else was signed. Print "
            "the string that the client signs, and give it as --signed."
        )
    yield ""
    yield f"right signature   {found.signature}"
    yield f"of the string     {_shown(found.string)}"
    if found.signed is not None and found.signed != found.string:
        yield f"signed instead    {_shown(found.signed)}"


def _shown(string: bytes) -> str:
    return printable(string.decode("utf-8", "backslashreplace"))


def _remarks(parts: Parts, now: float) -> Iterator[str]:
    """Remarks on timestamp and nonce, which a server may refuse whatever the signature."""
    if not re.fullmatch("[0-9]+", parts.timestamp):
        yield "Beside that, X-Timestamp is not a whole number of seconds."
    elif len(parts.timestamp) >= 13:
        yield "Beside that, X-Timestamp is in milliseconds; it has to be in seconds."
    elif abs(int(parts.timestamp) - now) > WINDOW:
        age = int(now) - int(parts.timestamp)
        yield f"Beside that, X-Timestamp is {age} s old by now; {WINDOW} s either way are allowed."
    if not re.fullmatch("[0-9A-Fa-f]{32}", parts.nonce):
        yield "Beside that, X-Nonce is not 32 hexadecimal characters; a server may take another form or not."
