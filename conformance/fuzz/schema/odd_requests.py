"""Requests that schemathesis never makes: bytes, boundaries, notations, keys and paths that servers stumble
over."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from conformance.contract import fields
from conformance.contract.fields import FREE_TEXT
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS
from conformance.fuzz.schema.payees import OUT_OF_REACH
from conformance.judge.oracle import ENCODED, FOREIGN, RAW, SIBLING, UNKNOWN, ValidBody, own_path
from conformance.wire.messages import to_json
from conformance.wire.provenance import derive, new_key
from conformance.world.case import Case
from conformance.world.corpora import amounts, headers, ids, odd_bodies, query_strings, texts
from conformance.world.corpora import wrong_values as corpus
from conformance.world.corpora.dates import DATES
from conformance.world.corpora.value import values

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

Body = dict[str, Any]


#: Forms of the Idempotency-Key -> how it is made; random ones are new each time.
KEYS: dict[str, Callable[[], str | None]] = {
    "none": lambda: None,
    "word": lambda: "not-a-uuid",
    "digits": lambda: "12345",
    "letter": lambda: derive(new_key(), "set.-1.g"),
    "short": lambda: derive(new_key(), "but.1"),
    "long": lambda: new_key() + "0",
    "endless": lambda: "a" * 4000,
    "odd hyphens": lambda: derive(new_key(), "shifted"),
    "version 1": lambda: new_key(version=1),
    "upper case": lambda: derive(new_key(), "upper"),
    "no hyphens": lambda: derive(new_key(), "bare"),
    "braces": lambda: "{" + new_key() + "}",
    "empty": lambda: "",
}


# ---------------------------------------------------------------------- strategies


def valid_case(operation: str, valid: ValidBody | None) -> Case:
    """The operation as the server is known to take it."""
    return Case(
        operation, "valid", path=own_path(operation), body=None if valid is None else to_json(valid.body)
    )


def strategies(operation: str, valid: ValidBody | None, *, foreign: bool) -> dict[str, SearchStrategy[Case]]:
    """Origin -> strategy. `foreign`: there is a second organization whose resources can be named."""
    from hypothesis import strategies as st

    described = OPERATIONS[operation]
    base = valid_case(operation, valid)
    made: dict[str, SearchStrategy[Case]] = {
        "path": st.builds(_path, st.just(base), _paths(operation, foreign))
    }
    if described.is_post:
        made["key"] = st.builds(
            lambda name: replace(base, name=f"mutation: key {name}", key=KEYS[name]()),
            st.sampled_from(sorted(KEYS)),
        )
    if described.is_list:
        made["query"] = st.builds(
            lambda query: replace(base, name="mutation: query", query=query), _queries(operation)
        )
    elif not described.is_post:
        made["query"] = st.builds(
            lambda query: replace(base, name="mutation: query", query=query),
            st.sampled_from(values(query_strings.QUERIES)),
        )
    if valid is not None:
        made["field"] = _changed(base, valid)
        made["bytes"] = st.builds(
            lambda body: replace(base, name="mutation: bytes", body=body), _bytes(valid)
        )
        made["notation"] = st.builds(
            lambda body: replace(base, name="mutation: notation", body=body), _notations(valid)
        )
        made["content type"] = st.builds(
            lambda kind: replace(base, name="mutation: content type", content_type=kind),
            st.sampled_from(values(headers.CONTENT_TYPES)),
        )
    return made


def _path(base: Case, path: tuple[tuple[str, str], ...]) -> Case:
    return replace(base, name="mutation: path", path=path)


def _paths(operation: str, foreign: bool) -> SearchStrategy[tuple[tuple[str, str], ...]]:
    """Paths in which one parameter is not the plain own one."""
    from hypothesis import strategies as st

    parameters = OPERATIONS[operation].path_parameters
    kinds = [
        (at, kind)
        for at in range(len(parameters))
        for kind in (
            UNKNOWN,
            ENCODED,
            *((FOREIGN,) if foreign else ()),
            *((SIBLING,) if at and not TRAITS[operation].shows_balances else ()),
        )
    ]
    segments = [(at, RAW + text) for at in range(len(parameters)) for text in values(ids.SEGMENTS)]

    def build(change: tuple[int, str]) -> tuple[tuple[str, str], ...]:
        return tuple(
            (name, change[1] if at == change[0] else kind)
            for at, (name, kind) in enumerate(own_path(operation))
        )

    return (st.sampled_from(kinds) | st.sampled_from(segments)).map(build)


def _queries(operation: str) -> SearchStrategy[str]:
    from hypothesis import strategies as st

    parameters = OPERATIONS[operation].query_parameters

    def value(name: str) -> SearchStrategy[str]:
        if name in ("page", "size"):
            return st.sampled_from(values(query_strings.INTEGERS))
        if name.endswith("_date"):
            return st.sampled_from(values(DATES))
        return st.sampled_from(
            values(query_strings.STATUSES)
            if name.startswith("status")
            else tuple(quote(code) for code in values(texts.CODES))
        )

    single = st.sampled_from(sorted(parameters)).flatmap(
        lambda name: value(name).map(lambda text: f"{name}={text}")
    )
    return (
        st.lists(single, min_size=1, max_size=3).map("&".join)
        | single
        | st.sampled_from(values(query_strings.QUERIES))
    )


def _changed(base: Case, valid: ValidBody) -> SearchStrategy[Case]:
    """A valid body with one field replaced, left out or added."""
    from hypothesis import strategies as st

    known = fields.request_fields(valid.operation)

    @st.composite
    def change(draw: DrawFn) -> Case:
        field = draw(st.sampled_from(known))
        body = dict(valid.body)
        how = draw(st.sampled_from(_changes(field)))
        if how == "elsewhere":
            body[field.name] = draw(
                st.sampled_from(
                    [text for text in OUT_OF_REACH if text[:5] == str(valid.body[field.name])[:5]]
                )
            )
        elif how == "left out":
            body.pop(field.name, None)
        elif how == "added":
            name = draw(st.sampled_from((*texts.SERVER_OWNED, "", "__proto__", "x" * 300, "\u0000")))
            body[name] = draw(
                st.sampled_from(
                    values(texts.SERVER_OWNED[name]) if name in texts.SERVER_OWNED else ("x", None, 1)
                )
            )
        else:
            body[field.name] = draw(_values(field, how))
        return replace(base, name=f"mutation: {field.name} {how}", body=as_bytes(body))

    return change()


def _changes(field: fields.Field) -> list[str]:
    changes = ["odd", "type", "null", "left out", "added"]
    if field.max_length is not None:
        changes += ["too long", "longest"]
    if field.name in ("beneficiary_id", "payout_destination_id"):
        changes += ["elsewhere"] * 3
    if field.name == "amount":
        changes += ["amount", "amount"]
    if field.code or field.choices:
        changes.append("code")
    return changes


def _values(field: fields.Field, how: str) -> SearchStrategy[Any]:
    from hypothesis import strategies as st

    match how:
        case "null":
            return st.none()
        case "type":
            return st.sampled_from((True, [], {}, [None], {"value": "x"}, ["x"], *values(texts.NUMBERS)))
        case "amount":
            return st.sampled_from(
                values((*amounts.REFUSED, *amounts.REFUSED_TOO, *amounts.OPEN))
            ) | st.decimals(-1000, 0, places=2).map(str)
        case "code":
            return st.sampled_from(
                values(texts.CODES) + tuple(choice.upper() + "_" for choice in field.choices)
            )
        case "longest" if field.name in FREE_TEXT:
            assert field.max_length is not None
            return st.sampled_from(
                (corpus.letters(field.max_length), "x" * field.max_length, "\u540d" * field.max_length)
            )
        case "too long" | "longest":
            assert field.max_length is not None
            over = field.max_length + (1 if how == "too long" else 0)
            return st.sampled_from(("x" * over, corpus.letters(over), "\U0001f600" * over))
    return st.sampled_from(values(texts.TEXTS))


def as_bytes(body: Body) -> bytes:
    """JSON of a body; texts that UTF-8 cannot carry as escapes."""
    try:
        return to_json(body)
    except UnicodeEncodeError:
        return json.dumps(body).encode()


def _bytes(valid: ValidBody) -> SearchStrategy[bytes]:
    """Bodies mutated as bytes."""
    from hypothesis import strategies as st

    body = to_json(valid.body)
    cut = st.integers(1, max(1, len(body) - 1)).map(lambda at: body[:at])
    put = st.tuples(st.integers(0, len(body)), st.binary(min_size=1, max_size=3)).map(
        lambda pair: body[: pair[0]] + pair[1] + body[pair[0] :]
    )
    twice = st.sampled_from(sorted(valid.body) or ["x"]).map(
        lambda name: body[:-1] + b"," * bool(valid.body) + to_json(name) + b":" + to_json("twice") + b"}"
    )
    return st.sampled_from(values(odd_bodies.RAW)) | cut | put | twice


def _notations(valid: ValidBody) -> SearchStrategy[bytes]:
    """The valid body in other bytes that mean the same, with letters of several bytes in its free text."""
    from hypothesis import strategies as st

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
