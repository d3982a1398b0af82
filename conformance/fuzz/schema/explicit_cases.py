"""Requests that every run sends, whatever the seed: those which most servers that stumble at all stumble
over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from conformance.contract.fields import FREE_TEXT, request_fields
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS
from conformance.fuzz.schema.mutations import KEYS, as_bytes, valid_case
from conformance.fuzz.schema.payees import OUT_OF_REACH
from conformance.judge.oracle import ENCODED, FOREIGN, SIBLING, UNKNOWN, ValidBody, own_path
from conformance.wire.messages import to_json
from conformance.world.case import Case
from conformance.world.corpora import amounts, bodies, queries, texts
from conformance.world.corpora.fields import longest, too_long
from conformance.world.corpora.value import Use, values

_AMOUNTS = (*amounts.REFUSED, *amounts.REFUSED_TOO, *amounts.OPEN, *amounts.EXACT)

_KEYS = ("none", "word", "long", "upper case")


def cases(operation: str, valid: ValidBody | None, *, foreign: bool) -> Iterator[Case]:
    """The requests, the valid one first. `foreign`: there is a second organization whose resources can be
    named."""
    base = valid_case(operation, valid)
    yield base
    described = OPERATIONS[operation]
    for at, name in enumerate(described.path_parameters):
        kinds = [
            UNKNOWN,
            *((FOREIGN,) if foreign else ()),
            *((SIBLING,) if at and not TRAITS[operation].shows_balances else ()),
        ]
        for kind in kinds:
            path = tuple(
                (parameter, kind if parameter == name else whose) for parameter, whose in own_path(operation)
            )
            yield replace(base, name=f"essential: {kind} {name}", path=path)
    yield replace(
        base, name="essential: an encoded path", path=(*base.path[:-1], (base.path[-1][0], ENCODED))
    )
    if described.is_post:
        for name in _KEYS:
            yield replace(base, name=f"essential: key {name}", key=KEYS[name]())
    for name in described.query_parameters:
        for query in queries.EXPLICIT[name]:
            yield replace(base, name=f"essential: {name}", query=query)
    if valid is not None:
        yield from _bodies(base, valid)


def _bodies(base: Case, valid: ValidBody) -> Iterator[Case]:
    for raw in bodies.RAW:
        if Use.EXPLICIT in raw.use:
            yield replace(base, name=f"essential: {raw.reason}", body=raw.value)
    for member in bodies.MEMBERS:
        more = to_json(valid.body)[:-1] + b"," + member.value + b"}"
        yield replace(base, name=f"essential: a member with {member.reason}", body=more)
    filled = [name for name, value in valid.body.items() if isinstance(value, str)]
    free = [name for name in filled if name in FREE_TEXT and name not in valid.pinned] or filled
    for name in free[:1]:
        for text in (*texts.TEXTS, *(texts.PLAIN if name in FREE_TEXT else ())):
            if Use.EXPLICIT in text.use:
                changed = as_bytes({**valid.body, name: text.value})
                yield replace(base, name=f"essential: {text.reason} in {name}", body=changed)
    for field in request_fields(base.operation):
        if field.max_length is not None and field.name not in valid.pinned:
            for kind, value in (
                ("longest", longest(field)),
                *(("too long", value) for _, value in too_long(field)),
            ):
                if value is not None:
                    yield replace(
                        base,
                        name=f"essential: {field.name} {kind}",
                        body=to_json({**valid.body, field.name: value}),
                    )
    if "amount" in valid.body:
        for amount in values(_AMOUNTS, Use.EXPLICIT):
            yield replace(base, name="essential: amount", body=to_json({**valid.body, "amount": amount}))
    if TRAITS[base.operation].draws_on_funds:
        for stand_in in OUT_OF_REACH[::2]:
            yield replace(
                base,
                name="essential: a payee elsewhere",
                body=to_json({**valid.body, "beneficiary_id": stand_in}),
            )
        for stand_in in OUT_OF_REACH[1::2]:
            yield replace(
                base,
                name="essential: a destination elsewhere",
                body=to_json({**valid.body, "payout_destination_id": stand_in}),
            )
