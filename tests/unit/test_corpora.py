"""Corpora of valid, odd and hostile values: as valid or invalid as they claim."""

from __future__ import annotations

import binascii
import functools
import json
import operator
import unicodedata
import zlib
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.operations import OPERATIONS
from conformance.judge import effects
from conformance.wire.messages import Call, to_json
from conformance.world import text_turns
from conformance.world.corpora import amounts, headers, ids, query_strings, values
from conformance.world.corpora.fingerprints import COLLIDING
from conformance.world.corpora.odd_bodies import Derived
from conformance.world.corpora.stored_texts import LONG, STORED
from conformance.world.samples import Amounts


def _hash_code(factor: int, body: bytes) -> int:
    return functools.reduce(lambda code, byte: (code * factor + byte) % 2**32, body, 0)


def _crc_32c(body: bytes) -> int:
    code = 0xFFFFFFFF
    for byte in body:
        code ^= byte
        for _ in range(8):
            code = code >> 1 ^ (0x82F63B78 if code & 1 else 0)
    return code


def _xor(body: bytes) -> int:
    return functools.reduce(operator.xor, body)


def test_amounts_are_respelled_with_their_defects() -> None:
    respelled = {
        value: made
        for value in values(amounts.REFUSED)
        if (made := amounts.respelled(value, "1.37")) is not None
    }
    assert len(respelled) == 12
    for made in respelled.values():
        call = Call("createPayout", "POST", "/", to_json({"amount": made}))
        assert effects.sent_amount(call) is None
        assert effects.asked_amount(call) == Decimal("1.37")


# ---------------------------------------------------------------------- stored texts


@pytest.mark.parametrize("text", values((*STORED, *LONG)))
def test_no_normal_form_and_no_trimming_changes_a_text_that_is_kept(text: str) -> None:
    made = text_turns.filled(text)
    assert {unicodedata.normalize(form, made) for form in ("NFC", "NFD", "NFKC", "NFKD")} == {made}
    assert unicodedata.category(made[0])[0] not in "CZ" and unicodedata.category(made[-1])[0] not in "CZ"
    assert max(made) < "\U00010000"
    assert len(made) <= (100 if text in values(STORED) else 255)


@pytest.mark.parametrize(
    ("words", "fingerprints"),
    tuple(
        zip(
            values(COLLIDING),
            (
                (sorted, zlib.adler32, functools.partial(_hash_code, 31), functools.partial(_hash_code, 33)),
                (zlib.crc32, lambda body: binascii.crc_hqx(body, 0), _crc_32c, _xor),
            ),
            strict=True,
        )
    ),
)
def test_weak_fingerprints_take_bodies_for_equal(
    words: tuple[str, str], fingerprints: tuple[Callable[[bytes], Any], ...]
) -> None:
    first, second = (to_json({"name": f"Name {word}.", "note": "x"}) for word in words)
    assert first != second
    for fingerprint in fingerprints:
        assert fingerprint(first) == fingerprint(second)
        assert fingerprint(first) != fingerprint(first.replace(b"Name", b"Game"))


# ---------------------------------------------------------------------- samples


@pytest.mark.parametrize(
    ("base", "least", "most"), [("1.00", 60, 2), ("100.00", 4000, 200), ("100", 60, 200), ("7", 60, 106)]
)
def test_unusual_amounts_are_a_little_more_and_differ(base: str, least: int, most: int) -> None:
    amounts = Amounts()
    made = [amounts.next(base) for _ in range(least)]
    assert len(set(made)) == least
    assert all(Decimal(base) < Decimal(amount) < most for amount in made)
    assert not any(amount.endswith(("0", "5", "98", "99")) for amount in made)


# ---------------------------------------------------------------------- hostile input


SAMPLES: dict[str, Derived] = {
    "one member": Derived({"name": "Conformance 1"}, "name"),
    "several members": Derived(
        {"currency": "EUR", "label": "conformance", "address": {"city": "é"}}, "label"
    ),
}
each_sample = pytest.mark.parametrize("bodies", SAMPLES.values(), ids=list(SAMPLES))


def strictly(body: bytes) -> Any:
    """Parses a body by RFC 8259; raises ValueError."""

    def refuse(literal: str) -> Any:
        raise ValueError(literal)

    return json.loads(body.decode("utf-8"), parse_constant=refuse)


@each_sample
def test_odd_bodies_hold_the_valid_one(bodies: Derived) -> None:
    illegal = {"a byte order mark", "UTF-16", "a NaN", "nesting 10000 deep", "a field nested 10000 deep"}
    illegal.add("nothing but 5000 nested arrays")
    for odd in bodies.odd():
        if odd.reason not in illegal:
            assert strictly(odd.value).keys() >= bodies.document.keys(), odd.reason


def test_headers_and_targets_are_no_longer_than_front_ends_take() -> None:
    timestamps = (*headers.TIMESTAMPS, *headers.DIGITS)
    sent = (timestamps, headers.NONCES, headers.SIGNATURES, headers.API_KEYS, headers.KEYS)
    assert max(len(value.encode()) for corpus in sent for value in values(corpus)) < 4000
    assert max(map(len, values(ids.IDS))) < 2100
    for operation in OPERATION_SETS["list"]:
        of_list = query_strings.of_list(OPERATIONS[operation].query_parameters, 0)
        made = [*of_list, *values(query_strings.BROKEN)]
        assert max(map(len, made)) < 3900
        assert len(set(made)) == len(made)
        assert all(query.isascii() and query.isprintable() and " " not in query for query in made)
