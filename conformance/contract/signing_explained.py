"""Why a client's signature is wrong: which usual mistake, or which two of them, make just this signature.

Everything is computed from what was sent, the secret, and, where it is known, the string that the client
signed.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, permutations

from conformance.contract import signing
from conformance.contract.client_mistakes import CLIENT_MISTAKES
from conformance.contract.signing_mistakes import (
    MISTAKES,
    Mistake,
    OtherAlgorithm,
    OtherKey,
    OtherPart,
    OtherString,
    Parts,
)

#: Parameters of a query whose orders are all tried.
_FEW = 4


@dataclass(frozen=True)
class Explanation:
    """What is known of a signature.

    `string` and `signature` are the right ones. `is_right`: that one was presented; `is_open`: it was, in
    a letter case that the specification leaves open. `mistakes` together make what was presented, of the
    string `signed`. They are empty where nothing usual does; then `signed` is what the client says it signed,
    if it says so. `difference` says where that string, or what was presented, parts from the right one.
    """

    string: bytes
    signature: str
    is_right: bool = False
    is_open: bool = False
    mistakes: tuple[Mistake, ...] = ()
    signed: bytes | None = None
    difference: str = ""


def explained(parts: Parts, secret: str, presented: str, signed: bytes | None = None) -> Explanation:
    """Why a request's signature is what it is. `signed` is the string that the client says it signed."""
    string = signing.signature_string(parts.method, parts.target, parts.timestamp, parts.nonce, parts.body)
    sent = replace(parts, method=parts.method.upper())
    right = Explanation(string, signing.signature(secret, string))
    if presented == right.signature:
        return replace(right, is_right=True)
    if presented.lower() == right.signature:
        return replace(right, is_open=True)
    if mutated := _mutated(presented, right.signature):
        return replace(right, difference=mutated)
    forms = list(_forms(presented))
    for mistakes, other, made in _candidates(sent, secret):
        for written, digest in forms:
            if hmac.compare_digest(made, digest):
                found = (*mistakes, *written)
                return replace(right, mistakes=found, signed=other if other != string else None)
    if signed is None or signed == string:
        return replace(right, signed=signed)
    return replace(right, signed=signed, mistakes=_named(sent, signed), difference=_difference(sent, signed))


def _mutated(presented: str, signature: str) -> str:
    """How a presented signature is nearly the right one; empty where it is not."""
    shown = presented.strip().lower()
    if len(shown) >= 16 and signature.startswith(shown):
        return f"only the first {len(shown)} of the signature's 64 digits were presented"
    if shown.startswith(signature):
        return f"the signature is followed by {_shown(shown[64:].encode())}"
    wrong = [place for place, pair in enumerate(zip(shown, signature, strict=False)) if pair[0] != pair[1]]
    if len(shown) == len(signature) and len(wrong) <= 4:
        places = ", ".join(str(place + 1) for place in wrong)
        return f"all but {len(wrong)} of the signature's digits are right; wrong at {places}"
    return ""


def _written(name: str) -> Mistake:
    return next(mistake for mistake in MISTAKES if mistake.name == name)


def _forms(presented: str) -> Iterator[tuple[tuple[Mistake, ...], bytes]]:
    """The bytes that a presented signature may be meant to be, and how it is written then."""
    text = presented.strip()
    label: tuple[Mistake, ...] = ()
    if match := re.match("(?i)(?:hmac-)?sha-?256[=: ]", text):
        text, label = text[match.end() :], (_written("scheme before the signature"),)
    try:
        yield label, bytes.fromhex(text)
    except ValueError:
        for alphabet, name in ((b"+/", "base64"), (b"-_", "base64url")):
            padded = text + "=" * (-len(text) % 4)
            try:
                yield (*label, _written(name)), base64.b64decode(padded, alphabet, validate=True)
            except (ValueError, binascii.Error):
                continue


Strings = Iterator[tuple[tuple[Mistake, ...], bytes]]


def _strings(parts: Parts) -> Strings:
    """What clients sign: the right string, with one mistake, and with one in each of two parts."""
    yield (), parts.string()
    known = {parts.string()}
    changes: list[tuple[Mistake, str, bytes]] = []
    for mistake in (*MISTAKES, *CLIENT_MISTAKES):
        sign = mistake.sign
        string = sign.string(parts) if isinstance(sign, OtherString) else None
        if string is not None and string not in known:
            known.add(string)
            yield (mistake,), string
            changed = sign.change(parts) if isinstance(sign, OtherPart) else None
            if isinstance(sign, OtherPart) and changed is not None:
                changes.append((mistake, sign.part, changed))
    yield from _orders(parts)
    for (first, part, value), (second, other, instead) in combinations(changes, 2):
        if part != other:
            yield (first, second), parts.string(**{part: value, other: instead})


def _orders(parts: Parts) -> Strings:
    """Queries in every other order, and parts in every other order."""
    pairs = parts.query.split(b"&")
    if 1 < len(pairs) <= _FEW:
        reordered = Mistake(
            "query in another order", "puts the query's parameters in another order", _nothing
        )
        for order in permutations(pairs):
            yield (reordered,), parts.string(target=parts.path + b"?" + b"&".join(order))
    swapped = Mistake("parts in another order", "joins the parts in another order", _nothing)
    for pieces in permutations(parts.pieces.values()):
        yield (swapped,), b"".join(pieces)


def _nothing(parts: Parts, secret: str) -> str | None:
    return None


def _candidates(parts: Parts, secret: str) -> Iterator[tuple[tuple[Mistake, ...], bytes, bytes]]:
    """Mistakes, the string that they sign, and the bytes that they make; the likeliest first."""
    everything = (*MISTAKES, *CLIENT_MISTAKES)
    keys = list(_keys(parts, secret, everything))
    algorithms = [
        (mistake, mistake.sign.algorithm)
        for mistake in everything
        if isinstance(mistake.sign, OtherAlgorithm)
    ]
    strings = list(_strings(parts))
    for mistakes, string in strings:
        yield mistakes, string, hmac.digest(secret.encode(), string, "sha256")
    yield from _milliseconds(parts, secret)
    for mistakes, string in strings:
        for mistake, text in keys:
            yield (*mistakes, mistake), string, hmac.digest(text, string, "sha256")
        for mistake, algorithm in algorithms:
            yield (*mistakes, mistake), string, hmac.digest(secret.encode(), string, algorithm)
    for mistake in everything:
        if not isinstance(mistake.sign, OtherString | OtherKey | OtherAlgorithm):
            made = mistake.sign(parts, secret)
            if made is not None and re.fullmatch("[0-9a-f]+", made):
                yield (mistake,), parts.string(), bytes.fromhex(made)


def _keys(parts: Parts, secret: str, mistakes: tuple[Mistake, ...]) -> Iterator[tuple[Mistake, bytes]]:
    for mistake in mistakes:
        if isinstance(mistake.sign, OtherKey):
            try:
                text = mistake.sign.key(parts, secret)
            except (ValueError, binascii.Error):
                continue
            if text is not None and text != secret.encode():
                yield mistake, text


def _milliseconds(parts: Parts, secret: str) -> Iterator[tuple[tuple[Mistake, ...], bytes, bytes]]:
    """Whichever of the second's thousand milliseconds was signed."""
    if parts.timestamp.isdigit():
        for thousandth in range(1000):
            string = parts.string(timestamp=f"{parts.timestamp}{thousandth:03}".encode())
            yield (_written("milliseconds"),), string, hmac.digest(secret.encode(), string, "sha256")


def _named(parts: Parts, signed: bytes) -> tuple[Mistake, ...]:
    """The mistakes that make a signed string, whatever was done with it then."""
    return next((mistakes for mistakes, string in _strings(parts) if string == signed), ())


def _difference(parts: Parts, signed: bytes) -> str:
    """Where a signed string parts from the right one: the part that differs, or the first byte that does."""
    names, pieces = list(parts.pieces), list(parts.pieces.values())
    for place, name in enumerate(names):
        before, after = b"".join(pieces[:place]), b"".join(pieces[place + 1 :])
        fits = len(signed) >= len(before) + len(after)
        if fits and signed.startswith(before) and signed.endswith(after):
            instead = signed[len(before) : len(signed) - len(after)]
            return f"the {name} was signed as {_shown(instead)}, and sent as {_shown(pieces[place])}"
    right = parts.string()
    same = next(
        (place for place, pair in enumerate(zip(right, signed, strict=False)) if pair[0] != pair[1]),
        min(len(right), len(signed)),
    )
    return f"it differs from byte {same} on: {_shown(signed[same:])} instead of {_shown(right[same:])}"


def _shown(text: bytes) -> str:
    shown = text.decode("utf-8", "backslashreplace")
    return (
        json.dumps(shown if len(shown) <= 200 else f"{shown[:200]}...", ensure_ascii=False)
        if text
        else "nothing"
    )
