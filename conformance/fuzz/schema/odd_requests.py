"""Requests that schemathesis does not generate: odd bytes, boundaries, notations, keys and paths, from the
corpora.

Requests that differ only in a value, and so reach the same branch of a server's code, form a *branch*. Each
run begins with one request of every most telling branch (paths, lengths, encodings) and of a sample of the
others; later ones are drawn from all.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from conformance.contract import fields
from conformance.contract.fields import FREE_TEXT
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS
from conformance.fuzz.engine.shrinking import as_bytes
from conformance.fuzz.schema.operation_fixtures import elsewhere
from conformance.judge.field_values import not_positive
from conformance.judge.oracle import ENCODED, FOREIGN, RAW, SIBLING, UNKNOWN, ValidBody, own_path
from conformance.wire.forms import new_key
from conformance.wire.messages import to_json
from conformance.world.case import Case
from conformance.world.corpora import amounts, headers, ids, odd_bodies, query_strings, texts, values
from conformance.world.corpora import wrong_values as corpus
from conformance.world.corpora.dates import DATES

#: Makes a request.
Maker = Callable[[], Case]

Branch = Sequence[Maker]


def shifted(key: str) -> str:
    """Moves the first character of a key behind its first hyphen."""
    return f"{key[1:8]}-{key[0]}{key[9:]}"


#: Form of the Idempotency-Key -> what makes one.
KEYS: dict[str, Callable[[], str | None]] = {
    "none": lambda: None,
    "word": lambda: "not-a-uuid",
    "digits": lambda: "12345",
    "letter": lambda: new_key()[:-1] + "g",
    "short": lambda: new_key()[:-1],
    "long": lambda: new_key() + "0",
    "endless": lambda: "a" * 4000,
    "odd hyphens": lambda: shifted(new_key()),
    "version 1": lambda: new_key(version=1),
    "upper case": lambda: new_key().upper(),
    "no hyphens": lambda: new_key().replace("-", ""),
    "braces": lambda: "{" + new_key() + "}",
    "empty": lambda: "",
}


class OddRequests:
    """The odd requests of an operation: its valid request with one change.

    `foreign`: the target has a second organization."""

    def __init__(self, operation: str, valid: ValidBody | None, *, foreign: bool) -> None:
        body = None if valid is None else to_json(valid.body)
        self.base = Case(operation, "valid", path=own_path(operation), body=body)
        self._valid = valid
        #: Origin -> branches; those that every run begins with are in `always`, too.
        self.branches: dict[str, list[Branch]] = {"path": list(self._paths(foreign))}
        self.always = [*self.branches["path"]]
        if OPERATIONS[operation].is_post:
            self.branches["key"] = [[self._key(name)] for name in KEYS]
        else:
            self.branches["query"] = list(self._queries())
        if valid is not None:
            limits = [*self._lengths(valid), *self._encodings(valid), *self._amounts(valid)]
            self.always += limits
            self.branches["field"] = [*limits, *self._fields(valid)]
            self.branches["bytes"] = list(self._bytes(valid))
            kinds = values(headers.CONTENT_TYPES)
            self.branches["content type"] = [
                [self._changed("content type", content_type=kind)] for kind in kinds
            ]

    def chosen(self, source: random.Random, most: int) -> Iterator[Case]:
        """Yields the valid request, and one request of each branch in `always` and of `most` others."""
        yield self.base
        others = [branch for found in self.branches.values() for branch in found if branch not in self.always]
        for branch in (*self.always, *source.sample(others, min(most, len(others)))):
            yield source.choice(branch)()

    def strategies(self) -> dict[str, SearchStrategy[Case]]:
        """Origin -> strategy."""
        made = {origin: _any_of(branches) for origin, branches in self.branches.items()}
        if OPERATIONS[self.base.operation].is_list:
            several = st.lists(made["query"], min_size=1, max_size=3)
            made["query"] = several.map(lambda cases: self._query("&".join(case.query for case in cases))())
        if self._valid is not None:
            made["bytes"] |= self._spoilt(self._valid)
            # Not st.builds: Hypothesis would cache it, and all requests with it, until the process ends.
            made["notation"] = _notations(self._valid).map(
                lambda body: self._changed("notation", body=body)()
            )
        return made

    def _changed(self, name: str, **changes: Any) -> Maker:
        return lambda: replace(self.base, name=f"a generated request ({name})", **changes)

    def _query(self, query: str) -> Maker:
        return self._changed(f"query {query[:60]}", query=query)

    def _key(self, name: str) -> Maker:
        return lambda: self._changed(f"key {name}", key=KEYS[name]())()

    def _having(self, how: str, name: str, value: Any) -> Maker:
        """The valid body with one member set."""
        assert self._valid is not None
        body = self._valid.body
        return lambda: self._changed(f"{name} {how}", body=as_bytes({**body, name: value}))()

    def _paths(self, foreign: bool) -> Iterator[Branch]:
        """Paths with one parameter that is not the caller's own id in its plain form."""
        own = own_path(self.base.operation)
        for at, (name, _) in enumerate(own):
            sibling = at and not TRAITS[self.base.operation].shows_balances
            known = [UNKNOWN, ENCODED, *([FOREIGN] if foreign else []), *([SIBLING] if sibling else [])]
            raw = [RAW + text for text in values(ids.SEGMENTS)]
            for whose in (*([kind] for kind in known), raw):
                yield [
                    self._changed("path", path=(*own[:at], (name, kind), *own[at + 1 :])) for kind in whose
                ]

    def _queries(self) -> Iterator[Branch]:
        for name in OPERATIONS[self.base.operation].query_parameters:
            yield [self._query(f"{name}={text}") for text in _query_values(name)]
        yield [self._query(query) for query in values(query_strings.QUERIES)]

    def _lengths(self, valid: ValidBody) -> Iterator[Branch]:
        """An empty object, and values of each field that are empty, of maximum length, and longer."""
        yield [self._changed("an empty object", body=b"{}")]
        for field in fields.request_fields(valid.operation):
            if field.type == "string":
                yield [self._having("empty", field.name, "")]
            if field.max_length is not None and field.name not in valid.pinned:
                for _, longer in corpus.too_long(field):
                    yield [self._having("too long", field.name, longer)]
                if (longest := corpus.longest(field)) is not None:
                    yield [self._having("longest", field.name, longest)]

    def _encodings(self, valid: ValidBody) -> Iterator[Branch]:
        """Texts that are hard to encode, in a free-text field or else in another one."""
        filled = [name for name, value in valid.body.items() if isinstance(value, str)]
        free = [name for name in filled if name in FREE_TEXT and name not in valid.pinned]
        for name in (free or filled)[:1]:
            for text in values(texts.HARD_TO_ENCODE):
                yield [self._having("odd", name, text)]
        for name in free[:1]:
            yield [self._having("plain", name, value) for value in values(texts.PLAIN)]

    def _amounts(self, valid: ValidBody) -> Iterator[Branch]:
        """Negative amounts, others that must be refused, open ones, and those that must be exact."""
        refused = values((*amounts.REFUSED, *amounts.REFUSED_TOO))
        negative = [value for value in refused if not_positive(value)]
        others = [value for value in refused if value not in negative]
        for listed in (negative, others, values(amounts.OPEN), values(amounts.EXACT)):
            if "amount" in valid.body:
                yield [self._having("amount", "amount", value) for value in listed]

    def _fields(self, valid: ValidBody) -> Iterator[Branch]:
        """Valid bodies with one field replaced, left out or added."""
        for field in fields.request_fields(valid.operation):
            less = {name: value for name, value in valid.body.items() if name != field.name}
            yield [self._changed(f"{field.name} left out", body=as_bytes(less))]
            for how, wrong in _values(field):
                yield [self._having(how, field.name, value) for value in wrong]
        for name in texts.SERVER_OWNED:
            yield [self._having("added", name, value) for value in values(texts.SERVER_OWNED[name])]
        for name in ("", *ids.INHERITED, "x" * 300, "\u0000"):
            yield [self._having("added", name, value) for value in ("x", None, 1)]

    def _bytes(self, valid: ValidBody) -> Iterator[Branch]:
        for raw in odd_bodies.RAW:
            yield [self._changed(f"body: {raw.reason}", body=raw.value)]
        for member in odd_bodies.MEMBERS:
            more = to_json(valid.body)[:-1] + b"," * bool(valid.body) + member.value + b"}"
            yield [self._changed(f"body with {member.reason}", body=more)]

    def _spoilt(self, valid: ValidBody) -> SearchStrategy[Case]:
        """Valid bodies mutated as bytes."""
        body = to_json(valid.body)
        cut = st.integers(1, max(1, len(body) - 1)).map(lambda at: body[:at])
        put = st.tuples(st.integers(0, len(body)), st.binary(min_size=1, max_size=3)).map(
            lambda pair: body[: pair[0]] + pair[1] + body[pair[0] :]
        )
        twice = st.sampled_from(sorted(valid.body) or ["x"]).map(
            lambda name: body[:-1] + b"," * bool(valid.body) + to_json(name) + b":" + to_json("twice") + b"}"
        )
        return (cut | put | twice).map(lambda raw: self._changed("bytes spoilt", body=raw)())


def _any_of(branches: Sequence[Branch]) -> SearchStrategy[Case]:
    """A request of any branch, all equally likely."""

    @st.composite
    def case(draw: DrawFn) -> Case:
        return draw(st.sampled_from(draw(st.sampled_from(branches))))()

    return case()


def _query_values(name: str) -> tuple[str, ...]:
    if name in ("page", "size"):
        return values(query_strings.INTEGERS)
    if name.endswith("_date"):
        return values(DATES)
    if name.startswith("status"):
        return values(query_strings.STATUSES)
    return tuple(quote(code) for code in values(texts.CODES))


def _values(field: fields.Field) -> Iterator[tuple[str, Sequence[Any]]]:
    """Kinds of values to replace a valid one, each with its name."""
    yield "null", (None,)
    yield "type", (True, [], {}, [None], {"value": "x"}, ["x"], *values(texts.NUMBERS))
    # Servers may treat an empty text as an absent object or boolean.
    yield "odd", [text for text in values(texts.TEXTS) if text or field.type == "string"]
    if field.name in ("beneficiary_id", "payout_destination_id"):
        for stand_in in elsewhere(field.name):
            yield "elsewhere", (stand_in,)
    if field.code or field.choices:
        yield "code", values(texts.CODES) + tuple(choice.upper() + "_" for choice in field.choices)


def _notations(valid: ValidBody) -> SearchStrategy[bytes]:
    """The valid body in equivalent JSON notations, some with non-ASCII letters in its free texts."""
    free = [
        field.name
        for field in fields.request_fields(valid.operation)
        if field.name in FREE_TEXT and field.name not in valid.pinned
    ]
    words = st.sampled_from(values(texts.PLAIN))

    @st.composite
    def notation(draw: DrawFn) -> bytes:
        body = dict(valid.body)
        for name in free:
            if name in body and draw(st.booleans()):
                body[name] = draw(words)
        names = draw(st.permutations(sorted(body)))
        style = draw(st.sampled_from(("compact", "spaced", "indented", "escaped", "padded")))
        ordered = {name: body[name] for name in names}
        if style == "escaped":
            return json.dumps(ordered, ensure_ascii=True).replace("/", "\\/").encode()
        if style == "compact":
            return to_json(ordered)
        text = json.dumps(
            ordered, ensure_ascii=False, indent=draw(st.integers(0, 3)) if style == "indented" else None
        )
        return (f" \r\n\t{text}\n " if style == "padded" else text).encode()

    return notation()
