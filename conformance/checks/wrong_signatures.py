"""Wrong signatures (section 5.3): some are sent on every operation, others in turns."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checks.engine import Engine
from conformance.contract.operations import OPERATIONS

#: Form of the correct signature (see `forms.SIGNATURE_FORMS`) -> its description.
CHANGED = {
    # A server that accepts a prefix accepts this one.
    "last digit left out": "a signature without its last digit",
    "one digit more": "a signature with a digit 0 behind it",
    # A comparison of the first characters misses it.
    "other middle digit": "a signature with another digit in its middle",
    "other last digit": "a signature with another last digit",
    "other first digit": "a signature with another first digit",
}

#: Other digests, secrets and orders of parts that a server may accept too, one per operation in turn.
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

#: What a server may sign before the path, for every second operation.
HOSTS = ("", "host", "", "scheme and host")

#: Mistake and a parameter that reveals it, for every second operation in turn.
QUERY_TURNS = (
    ("plus as %20", "probe=a+b"),
    ("upper-case escapes", "probe=%5f"),
    ("no question mark", "probe=1"),
    ("%20 as plus", "probe=a%20b"),
    ("no empty parameters", "probe=&last=1"),
    ("no equals sign behind a name alone", "probe=&last=1"),
)


def recased(mistake: str, secret: str) -> list[str]:
    """The mistake; of those in the letter case of the secret, the one that changes the secret."""
    cases = {"lower-case secret": secret.lower(), "capital secret": secret.upper()}
    if mistake not in cases:
        return [mistake]
    return [name for name, other in cases.items() if other != secret][:1]


def query_turn(at: Engine, before: str) -> Iterator[tuple[str, str]]:
    """The mistake of this operation, if any, and a query that reveals it."""
    turn, pause = divmod(list(OPERATIONS).index(at.operation), 2)
    if not pause:
        mistake, parameter = QUERY_TURNS[turn % len(QUERY_TURNS)]
        yield mistake, f"{before}&{parameter}"
