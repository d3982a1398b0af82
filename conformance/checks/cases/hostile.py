"""Malformed and odd bodies, headers, path parameters, queries and values: section 4.

A body that is malformed must be refused; of the others only an answer below 500 is demanded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.checks.engine import Engine
from conformance.contract import signing
from conformance.contract.fields import Field, request_fields
from conformance.judge.oracle import RAW
from conformance.wire.messages import Auth, to_json
from conformance.wire.provenance import fresh
from conformance.world.account import parameters
from conformance.world.case import Case
from conformance.world.corpora import headers as header_values
from conformance.world.corpora import ids as id_values
from conformance.world.corpora import query_strings as query_values
from conformance.world.corpora.odd_bodies import Derived
from conformance.world.corpora.value import Use, values

SURVIVES = "http.no-server-error"


def malformed_bodies(at: Engine, bodies: Derived) -> Iterator[Case]:
    """Bodies that are not JSON, not UTF-8 or not an object."""
    for wrong in (*bodies.malformed(), *bodies.not_objects()):
        if wrong.value or at.operation != "updateBeneficiary":  # open: beneficiary.update-no-body
            yield at.case("body.malformed", f"a body {wrong.reason}", body=wrong.value)


def odd_bodies(at: Engine, bodies: Derived) -> Iterator[Case]:
    """Bodies that parsers differ about."""
    for odd in bodies.odd():
        yield at.case(SURVIVES, f"a body with {odd.reason}", body=odd.value)


def content_types(at: Engine) -> Iterator[Case]:
    """Valid bodies that are declared as something else."""
    for content_type in values(header_values.CONTENT_TYPES, Use.CHECK):
        name = f"Content-Type: {content_type}" if content_type else "no Content-Type"
        yield at.case(SURVIVES, name, content_type=content_type)


def unexpected_bodies(at: Engine) -> Iterator[Case]:
    """Bodies of an operation that takes none."""
    for what, body in (
        ("a JSON object", b"{}"),
        ("malformed JSON", b'{"'),
        ("invalid UTF-8", b"\xff\xfe"),
        ("null", b"null"),
    ):
        yield at.case(SURVIVES, f"a body that is {what}", body=body)


def headers(at: Engine) -> Iterator[Case]:
    """Authentication headers and Idempotency-Keys that are very long, outside ASCII, SQL, or there twice, and
    headers that no operation needs. A front end may refuse such headers in its own words."""

    def header(name: str, value: str, **changes: Any) -> Case:
        shown = value if len(value) <= 40 else f"{value[:10]}… ({len(value)} characters)"
        return at.case(SURVIVES, f"{name}: {shown}", front_end=True, **changes)

    for value in values(header_values.TIMESTAMPS):
        yield header(signing.TIMESTAMP, value, auth=Auth(timestamp=value))
    for value in values(header_values.SIGNATURES):
        yield header(signing.SIGNATURE, value, auth=Auth(signature=value))
    for value in values(header_values.API_KEYS):
        yield header(signing.API_KEY, value, auth=Auth(api_key=value))
    for value in values(header_values.NONCES):
        yield header(signing.NONCE, value, auth=Auth(nonce=value + fresh("hex", length=12)))
    keys = values(header_values.KEYS)
    for value in keys if at.ctx.operation.is_post else keys[:1]:
        yield header("Idempotency-Key", value, key=value)
    for further in header_values.FURTHER:
        name, value = further.value
        told = f"{name} with {further.reason}"
        yield at.case(SURVIVES, told, headers=((name, value),), front_end=True)


def ids(at: Engine) -> Iterator[Case]:
    """Path parameters, one at a time, that are not UTF-8, encode a slash or a NUL, or are very long. A router
    may take such paths for no operation's."""
    for name in parameters(at.operation):
        for value in values(id_values.IDS):
            shown = value if len(value) <= 40 else f"of {len(value)} characters"
            yield at.case(SURVIVES, f"{name} {shown}", whose={name: RAW + value}, front_end=True)


def queries(at: Engine) -> Iterator[Case]:
    """List parameters that are huge, repeated, malformed or beyond every calendar."""
    own = at.ctx.operation.query_parameters
    for query in query_values.of_list(own):
        shown = query if len(query) <= 80 else f"{query[:30]}… ({len(query)} characters)"
        yield at.case(SURVIVES, f"the query {shown}", query=query)
    filters = [name for name in own if name not in ("page", "size")]
    for query in (*values(query_values.BROKEN), *(f"{name}=a%00b" for name in filters)):
        yield at.case(SURVIVES, f"the query {query}", query=query, front_end=True)


# ---------------------------------------------------------------------- values of fields


def odd_values(at: Engine) -> Iterator[Case]:
    """Every field as an empty text, and optional ones as null and in types that the tables of types leave
    out, one at a time."""
    for field in request_fields(at.operation):
        for kind, value in _odd_values(field, at.operation):
            body = to_json({**at.document(), field.name: value})
            yield at.case(SURVIVES, f"{field.name} as {kind}", body=body)


def _odd_values(field: Field, operation: str) -> Iterator[tuple[str, Any]]:
    yield "an empty text", ""
    if not field.required or operation == "updateBeneficiary":
        yield "null", None
    if not field.required:
        yield "a number", 12345
        if field.type != "boolean":
            yield "true", True


def odd_values_of_all_fields(at: Engine) -> Iterator[Case]:
    """Every field as an empty text, null, a number, true, an array and an object, all of them at once."""
    names = [field.name for field in request_fields(at.operation)]
    wrong: dict[str, Any] = {
        "an empty text": "",
        "null": None,
        "a number": 12345,
        "true": True,
        "an array": [],
        "an object": {},
    }
    for kind, value in wrong.items():
        body = to_json({**at.document(), **dict.fromkeys(names, value)})
        yield at.case(SURVIVES, f"every field as {kind}", body=body)
