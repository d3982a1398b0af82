"""Explains a wrong signature: the common mistake that produces it, or its difference from the right one."""

from __future__ import annotations

import hmac
import json
import re
from dataclasses import dataclass, replace

from conformance._text import shared_prefix
from conformance.contract import signing
from conformance.contract.signing_mistakes import (
    MISTAKES,
    Mistake,
    Parts,
    broken_rules,
    changed_part,
    signatures,
)


@dataclass(frozen=True)
class Explanation:
    """Facts about a presented signature.

    `string` and `signature` are the right ones. `is_open`: the right one in another letter case, which the
    specification leaves open. `mistake` produces what was presented. `signed` is the string that was signed,
    if known and not `string`. `difference` describes how signature or string differ from the right ones;
    `rules` are those that the mistake breaks.
    """

    string: bytes
    signature: str
    is_right: bool = False
    is_open: bool = False
    mistake: Mistake | None = None
    signed: bytes | None = None
    difference: str = ""
    rules: tuple[str, ...] = ("auth.signature",)

    @property
    def first_difference(self) -> int:
        """Index of the first byte in which the signed string differs from the right one."""
        return shared_prefix(self.string, self.signed or b"")


def explained(parts: Parts, secret: str, presented: str, signed: bytes | None = None) -> Explanation:
    """Explains a request's signature; `signed` is the string that the client claims to have signed."""
    parts = replace(parts, method=parts.method.upper())
    string = parts.string()
    right = Explanation(string, signing.signature(secret, string))
    shown = presented.strip()
    if presented == right.signature:
        return replace(right, is_right=True)
    if presented.lower() == right.signature:
        return replace(right, is_open=True)
    if altered := _altered(shown.lower(), right.signature):
        return replace(right, difference=altered)
    for mistake, made in signatures(parts, secret):
        if hmac.compare_digest(_digits(made).encode(), _digits(shown).encode()):
            other = mistake.signed(parts)
            other = other if other != string else None
            return replace(right, mistake=mistake, signed=other, rules=broken_rules(mistake, parts))
    if signed is not None and signed != string:
        named = next((mistake for mistake in MISTAKES if mistake.signed(parts) == signed), None)
        return replace(right, signed=signed, mistake=named, difference=_difference(parts, signed))
    if signed is None and not _is_hexadecimal(shown):
        wrong = f"it has to be 64 hexadecimal digits, not {len(shown)} characters" if len(shown) != 64 else ""
        return replace(right, difference=wrong or "it has to be hexadecimal digits only")
    return replace(right, signed=signed)


def _is_hexadecimal(text: str) -> bool:
    return re.fullmatch("[0-9A-Fa-f]{64}", text) is not None


def _digits(signature: str) -> str:
    """Normalizes the letter case of a hexadecimal signature, or the padding of a base64 one."""
    return signature.lower() if _is_hexadecimal(signature) else signature.rstrip("=")


def _altered(shown: str, signature: str) -> str:
    """Describes a signature that was cut, extended or altered in a few digits; empty otherwise."""
    if len(shown) >= 16 and signature.startswith(shown):
        return f"only the first {len(shown)} of the signature's 64 digits were presented"
    if shown.startswith(signature):
        return f"the signature is followed by {_shown(shown[64:].encode())}"
    wrong = [place for place, pair in enumerate(zip(shown, signature, strict=False)) if pair[0] != pair[1]]
    if len(shown) == len(signature) and len(wrong) <= 4:
        places = ", ".join(str(place + 1) for place in wrong)
        return f"all but {len(wrong)} of the signature's digits are right; wrong at {places}"
    return ""


def _difference(parts: Parts, signed: bytes) -> str:
    """Describes the part in which a signed string differs from the right one, or else the first byte."""
    name, instead = changed_part(parts, signed)
    if name:
        return f"the {name} was signed as {_shown(instead)}, and sent as {_shown(parts.pieces[name])}"
    right = parts.string()
    same = shared_prefix(right, signed)
    return f"it differs from byte {same} on: {_shown(signed[same:])} instead of {_shown(right[same:])}"


def _shown(text: bytes) -> str:
    if not text:
        return "nothing"
    shown = text.decode("utf-8", "backslashreplace")
    return json.dumps(shown if len(shown) <= 200 else f"{shown[:200]}...", ensure_ascii=False)
