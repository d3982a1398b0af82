"""Explains a wrong signature by the mistake that makes it, or the part that was signed otherwise."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from conformance.contract import signing
from conformance.contract.signing_mistakes import (
    UPPER_CASE,
    Mistake,
    Parts,
    broken_rules,
    changed_part,
    signatures,
)


@dataclass(frozen=True)
class Explanation:
    """The right `string` and `signature`, and what is wrong with the presented one: `text` (empty: nothing).

    `mistake` makes the presented signature; `signed` is what was signed in the place of `string`, if known.
    """

    string: bytes
    signature: str
    text: str = ""
    mistake: Mistake | None = None
    signed: bytes | None = None
    rules: tuple[str, ...] = ("auth.signature",)

    @property
    def is_open(self) -> bool:
        """True for the right signature in capital letters, which the specification leaves open."""
        return self.mistake is not None and self.mistake.name == UPPER_CASE


def explained(parts: Parts, secret: str, presented: str, signed: bytes | None = None) -> Explanation:
    """Explains a request's signature; `signed` is the string that the client claims to have signed."""
    parts = replace(parts, method=parts.method.upper())
    string = parts.string()
    right = Explanation(string, signing.signature(secret, string))
    if presented == right.signature:
        return right
    digits = _digits(presented.strip())
    for mistake, wrong in signatures(parts, secret):
        if _digits(wrong) == digits:
            other = mistake.signed(parts)
            return replace(
                right,
                text=f"the client {mistake.text}",
                mistake=mistake,
                signed=other if other != string else None,
                rules=broken_rules(mistake, parts),
            )
    if signed == string:
        text = (
            "the string that was signed is right: the secret is another one, or this is no HMAC-SHA256 of it"
        )
    elif signed is not None:
        part = changed_part(parts, signed)[0]
        text = (
            f"the {part} was signed otherwise than it is sent"
            if part
            else "several parts were signed otherwise"
        )
    elif re.fullmatch("[0-9a-f]{64}", digits):
        text = "no usual mistake makes it: the secret is another one, or something else was signed"
    else:
        text = "it has to be 64 hexadecimal digits"
    return replace(right, text=text, signed=signed if signed != string else None)


def _digits(signature: str) -> str:
    """A hexadecimal signature in small letters, or a base64 one without padding."""
    return signature.lower() if re.fullmatch("[0-9A-Fa-f]{64}", signature) else signature.rstrip("=")
