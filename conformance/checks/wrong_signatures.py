"""Wrong signatures (section 5.3) that checks send: all of some on each operation, of others one in turn."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checks.engine import Engine
from conformance.contract.operations import OPERATIONS

#: Text forms of the right signature -> the result, as part of a sentence.
CHANGED = {
    # What takes half of a signature takes one that lacks its last digit.
    "but.1": "a signature without its last digit",
    "and.0": "a signature with a digit 0 behind it",
    # In the middle, where a comparison of the beginning misses it.
    "other.32": "a signature with another digit in its middle",
    "other.-1": "a signature with another last digit",
    "other.0": "a signature with another first digit",
}

#: Other digests, secrets and orders of parts, which a server may take beside the right ones; operations have
#: them in turn.
TURNS = (
    "SHA-1",
    "SHA-512",
    "hashed secret",
    "no HMAC",
    "no secret",
    "arguments swapped",
    "nonce before timestamp",
    "timestamp first",
    "scheme before the signature",
    "a line feed behind the secret",
    "shortened secret",
    "lower-case secret",
)

#: What a server may sign before the path; every second operation has one of them.
HOSTS = ("", "host", "", "scheme and host")

#: Mistake -> a parameter that shows it; every second operation has one of them, in turn.
QUERY_TURNS = (
    ("plus as %20", "probe=a+b"),
    ("upper-case escapes", "probe=%5f"),
    ("no question mark", "probe=1"),
    ("%20 as plus", "probe=a%20b"),
    ("no empty parameters", "probe=&last=1"),
    ("no equals sign behind a name alone", "probe=&last=1"),
)


def recased(mistake: str, secret: str) -> list[str]:
    """A mistake; where it is about the letter case of the secret, in the case that the secret is not in."""
    cases = {"lower-case secret": secret.lower(), "capital secret": secret.upper()}
    if mistake not in cases:
        return [mistake]
    return [name for name, other in cases.items() if other != secret][:1]


def query_turn(at: Engine, before: str) -> Iterator[tuple[str, str]]:
    """The mistake that is this operation's, if any, and the query that shows it."""
    turn, pause = divmod(list(OPERATIONS).index(at.operation), 2)
    if not pause:
        mistake, parameter = QUERY_TURNS[turn % len(QUERY_TURNS)]
        yield mistake, f"{before}&{parameter}"
