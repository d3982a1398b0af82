"""Requests that every run sends, whatever the seed: those which most servers that stumble at all stumble
over."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from conformance.contract.fields import request_fields
from conformance.contract.operations import OPERATIONS
from conformance.fixtures.corpora.fields import longest, too_long
from conformance.fuzz.schema.bodies import FREE_TEXT, Sound
from conformance.fuzz.schema.cases import ENCODED, FOREIGN, OUT_OF_REACH, SIBLING, UNKNOWN, Case, own_path
from conformance.fuzz.schema.mutations import KEYS, sound_case
from conformance.wire.messages import to_json

_DEEP = b"[" * 5000 + b"]" * 5000

_KEYS = ("none", "word", "long", "upper case")

_QUERIES = {
    "page": ("page=2&size=1", "page=1000000000000", "page=0", "page=9223372036854775808", "page=abc"),
    "size": ("size=1", "size=100", "size=0", "size=101", "size=-1", "size=1.5"),
    "status": ("status=active", "status=inactive"),
    "statuses": ("statuses=active", "statuses=inactive"),
    "currency": ("currency=EUR", "currency=USDC", "currency=XTS"),
    "start_date": ("start_date=2020-01-01T00:00:00Z", "start_date=2099-01-01T00:00:00Z", "start_date=%00"),
    "end_date": ("end_date=2020-01-01T00:00:00Z", "end_date=2099-01-01T00:00:00Z", "end_date=2025-02-30"),
}


def cases(operation: str, valid: Sound | None, *, foreign: bool) -> Iterator[Case]:
    """The requests, the sound one first. `foreign`: there is a second organization whose resources can be
    named."""
    base = sound_case(operation, valid)
    yield base
    described = OPERATIONS[operation]
    for at, name in enumerate(described.path_parameters):
        kinds = [
            UNKNOWN,
            *((FOREIGN,) if foreign else ()),
            *((SIBLING,) if at and operation != "getAccountBalances" else ()),
        ]
        for kind in kinds:
            path = tuple((one, kind if one == name else whose) for one, whose in own_path(operation))
            yield replace(base, origin=f"essential: {kind} {name}", path=path)
    yield replace(
        base, origin="essential: an encoded path", path=(*base.path[:-1], (base.path[-1][0], ENCODED))
    )
    if described.is_post:
        for name in _KEYS:
            yield replace(base, origin=f"essential: key {name}", key=KEYS[name]())
    for name in described.query_parameters:
        for query in _QUERIES[name]:
            yield replace(base, origin=f"essential: {name}", query=query)
    if valid is not None:
        yield from _bodies(base, valid)


def _bodies(base: Case, valid: Sound) -> Iterator[Case]:
    spoilt = {
        "no JSON": b"{",
        "an array": b"[]",
        "null": b"null",
        "no UTF-8": b'{"a": "\xff"}',
        "deep nesting": _DEEP,
        "deep nesting in a member": to_json(valid.body)[:-1] + b',"x":' + _DEEP + b"}",
        "a member twice": to_json(valid.body)[:-1] + b',"x":1,"x":2}',
        "a huge number": to_json(valid.body)[:-1] + b',"x":1e999}',
    }
    for name, body in spoilt.items():
        yield replace(base, origin=f"essential: {name}", body=body)
    texts = [name for name, value in valid.body.items() if isinstance(value, str)]
    free = [name for name in texts if name in FREE_TEXT and name not in valid.pinned] or texts
    for kind, text in (
        ("NUL", "a\x00b"),
        ("an unpaired surrogate", "\ud800"),
        ("an astral character", "\U0001f600"),
    ):
        for name in free[:1]:
            yield replace(
                base,
                origin=f"essential: {kind} in {name}",
                body=json.dumps({**valid.body, name: text}).encode(),
            )
    if free and free[0] in FREE_TEXT:
        yield replace(
            base,
            origin="essential: letters of several bytes",
            body=to_json({**valid.body, free[0]: "\u0416\u0430 \u4e2d\u4e09"}),
        )
    for one in request_fields(base.operation):
        if one.max_length is not None and one.name not in valid.pinned:
            for kind, value in (
                ("longest", longest(one)),
                *(("too long", value) for _, value in too_long(one)),
            ):
                if value is not None:
                    yield replace(
                        base,
                        origin=f"essential: {one.name} {kind}",
                        body=to_json({**valid.body, one.name: value}),
                    )
    if "amount" in valid.body:
        for amount in ("-5.00", "0", "-0.00", "1e400", "NaN", 5, "1.10", "10.07"):
            yield replace(base, origin="essential: amount", body=to_json({**valid.body, "amount": amount}))
    if base.operation == "createPayout":
        for stand_in in OUT_OF_REACH[::2]:
            yield replace(
                base,
                origin="essential: a payee elsewhere",
                body=to_json({**valid.body, "beneficiary_id": stand_in}),
            )
        for stand_in in OUT_OF_REACH[1::2]:
            yield replace(
                base,
                origin="essential: a destination elsewhere",
                body=to_json({**valid.body, "payout_destination_id": stand_in}),
            )
