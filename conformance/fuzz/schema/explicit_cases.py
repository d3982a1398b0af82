"""Generated requests that every run sends, whatever its seed: those that find most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from conformance._text import as_json
from conformance.contract.fields import FREE_TEXT, request_fields
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS
from conformance.fuzz.schema.odd_requests import KEYS, as_bytes, valid_case
from conformance.fuzz.schema.payees import OUT_OF_REACH
from conformance.judge.oracle import ENCODED, FOREIGN, SIBLING, UNKNOWN, ValidBody, own_path
from conformance.wire.messages import to_json
from conformance.world.case import Case
from conformance.world.corpora import amounts, odd_bodies, query_strings, texts
from conformance.world.corpora.value import Use, values
from conformance.world.corpora.wrong_values import longest, too_long

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
            yield replace(base, name=f"an id of kind {kind} as {name}", path=path)
    yield replace(base, name="an encoded id in the path", path=(*base.path[:-1], (base.path[-1][0], ENCODED)))
    if described.is_post:
        for name in _KEYS:
            yield replace(base, name=f"an Idempotency-Key ({name})", key=KEYS[name]())
    for name in described.query_parameters:
        for query in query_strings.EXPLICIT[name]:
            yield replace(base, name=f"the query {query}", query=query)
    if valid is not None:
        yield from _bodies(base, valid)


def _bodies(base: Case, valid: ValidBody) -> Iterator[Case]:
    for raw in odd_bodies.RAW:
        if Use.EXPLICIT in raw.use:
            yield replace(base, name=f"a body ({raw.reason})", body=raw.value)
    for member in odd_bodies.MEMBERS:
        more = to_json(valid.body)[:-1] + b"," + member.value + b"}"
        yield replace(base, name=f"a body with a further member ({member.reason})", body=more)
    filled = [name for name, value in valid.body.items() if isinstance(value, str)]
    free = [name for name in filled if name in FREE_TEXT and name not in valid.pinned] or filled
    for name in free[:1]:
        for text in (*texts.TEXTS, *(texts.PLAIN if name in FREE_TEXT else ())):
            if Use.EXPLICIT in text.use:
                changed = as_bytes({**valid.body, name: text.value})
                yield replace(base, name=f"{name} ({text.reason})", body=changed)
    for field in request_fields(base.operation):
        if field.max_length is not None and field.name not in valid.pinned:
            for kind, value in (
                ("of its maximum length", longest(field)),
                *(("longer than its maximum", value) for _, value in too_long(field)),
            ):
                if value is not None:
                    yield replace(
                        base,
                        name=f"{field.name} {kind}",
                        body=to_json({**valid.body, field.name: value}),
                    )
    if "amount" in valid.body:
        for amount in values(_AMOUNTS, Use.EXPLICIT):
            name = f"amount {as_json(amount, 60)}"
            yield replace(base, name=name, body=to_json({**valid.body, "amount": amount}))
    if TRAITS[base.operation].draws_on_funds:
        for stand_in in OUT_OF_REACH[::2]:
            yield replace(
                base,
                name="a beneficiary out of reach",
                body=to_json({**valid.body, "beneficiary_id": stand_in}),
            )
        for stand_in in OUT_OF_REACH[1::2]:
            yield replace(
                base,
                name="a destination out of reach",
                body=to_json({**valid.body, "payout_destination_id": stand_in}),
            )
