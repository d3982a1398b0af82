"""Hostile input is what it says it is: malformed or legal, short enough for HTTP servers, and sendable."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.checks.test_signature import reworded
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import OPERATION_SETS
from conformance.world.corpora import headers, ids, query_strings, values
from conformance.world.corpora.odd_bodies import Derived

SAMPLES: dict[str, Derived] = {
    "one member": Derived({"name": "Conformance 1"}, "name"),
    "several members": Derived(
        {"currency": "EUR", "label": "conformance", "address": {"city": "é"}}, "label"
    ),
}
each_sample = pytest.mark.parametrize("bodies", SAMPLES.values(), ids=list(SAMPLES))


def strictly(body: bytes) -> Any:
    """The JSON value of a body by RFC 8259; raises ValueError."""

    def refuse(literal: str) -> Any:
        raise ValueError(literal)

    return json.loads(body.decode("utf-8"), parse_constant=refuse)


@each_sample
def test_odd_bodies_hold_the_valid_one(bodies: Derived) -> None:
    illegal = {"a byte order mark", "UTF-16", "a NaN", "nesting 10000 deep", "a field nested 10000 deep"}
    for odd in bodies.odd():
        if odd.reason not in illegal:
            assert strictly(odd.value).keys() >= bodies.document.keys(), odd.reason


@each_sample
def test_names_and_bodies_differ(bodies: Derived) -> None:
    made = [*bodies.malformed(), *bodies.not_objects(), *bodies.odd(), *bodies.long()]
    assert len({body.reason for body in made}) == len({body.value for body in made}) == len(made)


@each_sample
def test_reworded_bodies_are_the_same_json(bodies: Derived) -> None:
    for name, body in reworded(bodies.valid):
        assert json.loads(body) == bodies.document, name


def test_headers_and_targets_are_no_longer_than_front_ends_take() -> None:
    sent = (headers.TIMESTAMPS, headers.NONCES, headers.SIGNATURES, headers.API_KEYS, headers.KEYS)
    assert max(len(value.encode()) for corpus in sent for value in values(corpus)) < 4000
    assert max(map(len, values(ids.IDS))) < 2100
    for operation in OPERATION_SETS["list"]:
        made = [*query_strings.of_list(OPERATIONS[operation].query_parameters), *values(query_strings.BROKEN)]
        assert max(map(len, made)) < 3900
        assert len(set(made)) == len(made)
        assert all(query.isascii() and query.isprintable() and " " not in query for query in made)
