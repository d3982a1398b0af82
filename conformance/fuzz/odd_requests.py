"""Requests that schemathesis does not generate: odd values, bytes, notations, keys, paths and queries, from
the corpora. Each is the valid request of an operation with one change."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from conformance.contract import fields
from conformance.contract.field_values import not_positive
from conformance.contract.fields import FREE_TEXT
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS
from conformance.fuzz.fixtures import PAYEES
from conformance.judge.oracle import ENCODED, FOREIGN, OWN, RAW, SIBLING, UNKNOWN, ValidBody, own_path
from conformance.wire.messages import to_json
from conformance.world.case import Case
from conformance.world.corpora import amounts, headers, ids, odd_bodies, query_strings, texts, values
from conformance.world.corpora import wrong_values as corpus
from conformance.world.corpora.dates import DATES
from conformance.world.corpora.member_names import spellings

#: Forms of an Idempotency-Key; those of a new UUID are made as they are drawn.
KEYS: tuple[Callable[[], str | None], ...] = (
    lambda: None,
    lambda: "",
    lambda: "not-a-uuid",
    lambda: "12345",
    lambda: "a" * 4000,
    lambda: f"{str(uuid.uuid4())[:-1]}g",
    lambda: str(uuid.uuid4())[:-1],
    lambda: f"{uuid.uuid4()}0",
    lambda: uuid.uuid4().hex,
    lambda: f"{uuid.uuid4().hex[:7]}-{uuid.uuid4().hex[:25]}",
    lambda: f"{{{uuid.uuid4()}}}",
    lambda: str(uuid.uuid4()).upper(),
    lambda: str(uuid.uuid1()),
)

#: Names of members that no body has.
UNKNOWN_NAMES = ("", *ids.INHERITED, "x" * 300, "\u0000")


def odd_requests(operation: str, valid: ValidBody | None, *, foreign: bool) -> list[SearchStrategy[Case]]:
    """Strategies for the odd requests of an operation, to be drawn equally often.

    `foreign`: the target has a second organization."""
    base = Case(operation, "", path=own_path(operation), body=None if valid is None else to_json(valid.body))
    changes = [st.just({}), _paths(operation, foreign)]
    if OPERATIONS[operation].is_post:
        changes.append(st.sampled_from(KEYS).map(lambda make: {"key": make()}))
    else:
        changes.append(_queries(operation))
    bodies: list[SearchStrategy[bytes]] = []
    if valid is not None:
        kinds = values(headers.CONTENT_TYPES)
        changes.append(st.sampled_from(kinds).map(lambda kind: {"content_type": kind}))
        bodies = [_fields(valid), _members(valid), _spoilt(valid) | _notations(valid)]
    return [
        st.one_of(changes).map(lambda changed: replace(base, **changed)),
        *(each.map(lambda body: replace(base, body=body)) for each in bodies),
    ]


def _paths(operation: str, foreign: bool) -> SearchStrategy[dict[str, Any]]:
    """Paths with one parameter that is not the caller's own id in its plain form."""
    own = own_path(operation)

    @st.composite
    def path(draw: DrawFn) -> dict[str, Any]:
        at = draw(st.integers(0, len(own) - 1))
        kinds = [UNKNOWN, ENCODED, RAW]
        if foreign:
            kinds.append(FOREIGN)
        if at and not TRAITS[operation].shows_balances:
            kinds.append(SIBLING)
        kind = draw(st.sampled_from(kinds))
        if kind == RAW:
            kind += draw(st.sampled_from(values(ids.SEGMENTS)))
        return {"path": (*own[:at], (own[at][0], kind), *own[at + 1 :])}

    return path()


def _queries(operation: str) -> SearchStrategy[dict[str, Any]]:
    """Odd values of documented parameters, and queries that are odd as a whole; joined in lists."""
    whole = st.sampled_from(values(query_strings.QUERIES))
    odd = [
        st.sampled_from([f"{name}={text}" for text in _query_values(name)])
        for name in OPERATIONS[operation].query_parameters
    ]
    parts = st.lists(st.one_of(*odd, whole), min_size=1, max_size=3 if odd else 1)
    return parts.map(lambda chosen: {"query": "&".join(chosen)})


def _query_values(name: str) -> tuple[str, ...]:
    if name in ("page", "size"):
        return values(query_strings.INTEGERS)
    if name.endswith("_date"):
        return values(DATES)
    if name.startswith("status"):
        return values(query_strings.STATUSES)
    return tuple(quote(code) for code in values(texts.CODES))


def _fields(valid: ValidBody) -> SearchStrategy[bytes]:
    """The valid body with one documented member replaced or left out."""
    described = fields.request_fields(valid.operation)

    @st.composite
    def body(draw: DrawFn) -> bytes:
        field = draw(st.sampled_from(described))
        kinds = [kind for kind in _values(field, valid) if kind]
        at = draw(st.integers(0, len(kinds)))
        if at == len(kinds):
            return as_bytes({name: value for name, value in valid.body.items() if name != field.name})
        return as_bytes({**valid.body, field.name: draw(st.sampled_from(kinds[at]))})

    return body()


def _values(field: fields.Field, valid: ValidBody) -> list[Sequence[Any]]:
    """Values to replace a valid one, by kind."""
    kinds: list[Sequence[Any]] = [
        # Servers may treat an empty text as an absent object or boolean.
        [text for text in values(texts.TEXTS) if text or field.type == "string"],
        (None, True, [], {}, [None], {"value": "x"}, ["x"], *values(texts.NUMBERS)),
    ]
    if field.free and field.name not in valid.pinned:
        kinds += [values(texts.HARD_TO_ENCODE), values(texts.PLAIN)]
    if field.max_length is not None and field.name not in valid.pinned:
        longest = corpus.longest(field)
        kinds += [[longer for _, longer in corpus.too_long(field)], [] if longest is None else [longest]]
    if field.name == "amount" and field.name in valid.body:
        refused = values((*amounts.REFUSED, *amounts.REFUSED_TOO))
        kinds += [[value for value in refused if not_positive(value)], refused]
        kinds += [values(amounts.OPEN), values(amounts.EXACT)]
    if field.code or field.choices:
        kinds.append([*values(texts.CODES), *(choice.upper() + "_" for choice in field.choices)])
    if field.name in PAYEES[OWN]:
        kinds.append([placeholders[field.name] for whose, placeholders in PAYEES.items() if whose != OWN])
    return kinds


def _members(valid: ValidBody) -> SearchStrategy[bytes]:
    """The valid body with one member added (the server's own, one that nobody knows, or odd JSON) or under
    another name."""
    body = to_json(valid.body)[:-1] + b"," * bool(valid.body)
    own = [(name, value) for name, corpora in texts.SERVER_OWNED.items() for value in values(corpora)]
    unknown = st.tuples(st.sampled_from(UNKNOWN_NAMES), st.sampled_from(("x", None, 1)))
    added = (st.sampled_from(own) | unknown).map(lambda pair: as_bytes({**valid.body, pair[0]: pair[1]}))
    renamed = [
        as_bytes({other if each == name else each: value for each, value in valid.body.items()})
        for name in valid.body
        for other in spellings(name)
    ]
    odd = st.sampled_from(values(odd_bodies.MEMBERS)).map(lambda member: body + member + b"}")
    return st.one_of(added, odd, *([st.sampled_from(renamed)] if renamed else ()))


def _spoilt(valid: ValidBody) -> SearchStrategy[bytes]:
    """Bodies of odd bytes, and the valid one mutated as bytes."""
    body = to_json(valid.body)
    cut = st.integers(1, max(1, len(body) - 1)).map(lambda at: body[:at])
    put = st.tuples(st.integers(0, len(body)), st.binary(min_size=1, max_size=3)).map(
        lambda pair: body[: pair[0]] + pair[1] + body[pair[0] :]
    )
    twice = st.sampled_from(sorted(valid.body) or ["x"]).map(
        lambda name: body[:-1] + b"," * bool(valid.body) + to_json(name) + b":" + to_json("twice") + b"}"
    )
    return st.sampled_from([b"{}", *values(odd_bodies.RAW)]) | cut | put | twice


def _notations(valid: ValidBody) -> SearchStrategy[bytes]:
    """The valid body in equivalent JSON notations, some with non-ASCII letters in its free texts."""
    words = st.sampled_from(values(texts.PLAIN))
    free = [name for name in valid.body if name in FREE_TEXT and name not in valid.pinned]

    @st.composite
    def notation(draw: DrawFn) -> bytes:
        body = {**valid.body, **{name: draw(words) for name in free if draw(st.booleans())}}
        ordered = {name: body[name] for name in draw(st.permutations(sorted(body)))}
        escaped, indent = draw(st.booleans()), draw(st.none() | st.integers(0, 3))
        text = json.dumps(ordered, ensure_ascii=escaped, indent=indent)
        text = text.replace("/", "\\/") if escaped else text
        return draw(st.sampled_from(("{}", " \r\n\t{}\n "))).format(text).encode()

    return notation()


def as_bytes(document: Any) -> bytes:
    """Encodes JSON as UTF-8, with escapes where there are unpaired surrogates."""
    try:
        return to_json(document)
    except UnicodeEncodeError:
        return json.dumps(document).encode()
