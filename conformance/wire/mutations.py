"""Ways to mutate, or only restyle, a computed signature and the names of its headers. Stand-alone scripts of
replays hold this module.

A mutation is a row of pieces that are put together. A piece is a part of the signature (`0:32`), one digit of
it changed into another (`!32`), other text (`=0`), or all of it in capital letters (`upper`) or in base64
(`base64`). A signature has 64 hexadecimal digits (section 5.3).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping

MUTATIONS: Mapping[str, tuple[str, ...]] = {
    "": ("0:64",),
    "upper": ("upper",),
    "first-half": ("0:32",),
    "one-short": ("0:63",),
    "one-more": ("0:64", "=0"),
    # In the middle, where a comparison of the beginning misses it.
    "flip": ("0:32", "!32", "33:64"),
    "flip-last": ("0:63", "!63"),
    "flip-first": ("!0", "1:64"),
    "zeros": ("=" + "0" * 64,),
    "not-hexadecimal": ("=" + "z" * 64,),
    "base64": ("base64",),
}

#: Ways to write the names of the authentication headers.
NAME_CASES: Mapping[str, Callable[[str], str]] = {
    "": str,
    "lower": str.lower,
    "upper": str.upper,
    "swapped": str.swapcase,
}


def mutated(signature: str, mutation: str) -> str:
    """A signature after a mutation. Raises KeyError for one that is not in the table."""
    return "".join(_piece(signature, piece) for piece in MUTATIONS[mutation])


def _piece(signature: str, piece: str) -> str:
    if piece.startswith("="):
        return piece[1:]
    if piece.startswith("!"):
        return "1" if signature[int(piece[1:])] == "0" else "0"
    if piece == "upper":
        return signature.upper()
    if piece == "base64":
        return base64.b64encode(bytes.fromhex(signature)).decode()
    start, _, end = piece.partition(":")
    return signature[int(start) : int(end)]
