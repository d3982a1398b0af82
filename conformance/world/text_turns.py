"""Valid bodies with texts that servers are known to alter, such as by trimming or escaping (section 2).

Each free-text field gets each text in turn: a server may alter one kind of text in one field only.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.contract.fields import documented, request_fields
from conformance.contract.new_resources import NULLABLE
from conformance.judge.oracle.body_rules import FREE_ADDRESS
from conformance.world.corpora import values
from conformance.world.corpora.stored_texts import LONG, STORED, WORDS
from conformance.world.samples import Body, digits, marker

#: A field and, in an address, its member; else "".
Place = tuple[str, str]

#: Texts that each field gets: the most telling ones.
TEXTS: tuple[str, ...] = values(STORED[:21])

#: Members of a beneficiary in which servers accept more texts than in names.
_LENIENT = frozenset({"display_name", "note"})


def label_texts(*, fixed: bool) -> Iterator[tuple[str, str]]:
    """Yields reason and filled text of each text for a label; without those that have no random part unless
    `fixed`."""
    for entry in (*STORED, *LONG):
        text = filled(entry.value)
        if fixed or text != entry.value:
            yield entry.reason, text


def filled(text: str) -> str:
    """Fills the placeholders of a text with random words and numbers."""
    year = f"{secrets.randbelow(900) + 100}"
    numbered = text.replace("{digits}", digits(10)).replace("{year}", year)
    return numbered.replace("{word}", marker()) if "{word}" in numbered else numbered


def places(operation: str) -> list[Place]:
    """The free texts of an operation's body that the answer echoes."""
    echoed = [field for field in request_fields(operation) if field.name in documented(operation)]
    return [
        (field.name, member)
        for field in echoed
        for member in ("", *field.members)
        if (member != "country" if member else field.plain)
    ]


def at(body: Mapping[str, Any], place: Place) -> str | None:
    """The text in a place of a body, or None."""
    value = body.get(place[0])
    if place[1]:
        value = value.get(place[1]) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) else None


def stands_for_nothing(texts: Mapping[Place, str | None]) -> bool:
    """True for texts of a turn that some servers take for no value, which a required field cannot have."""
    return not set(texts.values()) - {None, "0", *values(WORDS)}


def turns(operation: str) -> Iterator[dict[Place, str | None]]:
    """Yields null in all places that a create shows as null, then each text in all places of an operation's
    body, as a server may alter it in one only."""
    if nullable := NULLABLE.get(operation):
        yield {(name, ""): None for name in nullable}
    for text in TEXTS:
        yield dict.fromkeys(places(operation), text)


def with_texts(operation: str, body: Body, texts: Mapping[Place, str | None]) -> list[Body]:
    """Bodies to try: the body with these texts in their places, then copies with fewer of them, as a server
    may refuse some."""
    rooms = {field.name: field.max_length or 1000 for field in request_fields(operation)}
    short = {field.name for field in request_fields(operation) if field.short}
    tries: list[Body] = [dict(body) for _ in range(3)]
    for place, text in texts.items():
        name, whole = place[1] or place[0], text and filled(text)
        if at(body, place) is None or len(whole or "") > rooms[place[0]]:
            continue
        # For other members of an address a server may have an enumeration or a syntax, as for short texts.
        strict = place[1] not in FREE_ADDRESS if place[1] else name in short
        fitting = 1 if strict else 2 if name not in _LENIENT else 3
        for each in tries[: fitting if len(texts) > 1 else 1]:
            each[place[0]] = {**each[place[0]], place[1]: whole} if place[1] else whole
    return [each for number, each in enumerate(tries) if each not in (body, *tries[:number])]
