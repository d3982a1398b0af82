"""Answers with one member mutated: what is done to a member, and a transport that does it."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx

from conformance.contract.operations import match
from tests.variants.surroundings import Between

#: Stands for "take the member away".
ABSENT = object()

#: Path of a mutation: member names, and "*" for each element of an array.
Path = tuple[str, ...]


@dataclass(frozen=True)
class Mutation:
    """One way to spoil one member of an operation's answers."""

    operation: str
    path: Path
    kind: str

    def __str__(self) -> str:
        return f"{self.operation} /{'/'.join(self.path)} {self.kind}"

    def apply(self, document: Any) -> Any:
        """The document with the member mutated wherever it stands."""
        document = copy.deepcopy(document)
        _at(document, self.path, self.kind)
        return document


def _at(value: Any, path: Path, kind: str) -> None:
    head, rest = path[0], path[1:]
    if head == "*":
        if isinstance(value, list):
            for index, item in enumerate(value):
                if rest:
                    _at(item, rest, kind)
                else:
                    value[index] = _mutated(item, kind)
    elif isinstance(value, dict) and head in value:
        if rest:
            _at(value[head], rest, kind)
        else:
            mutated = _mutated(value[head], kind)
            if mutated is ABSENT:
                del value[head]
            else:
                value[head] = mutated


def _mutated(value: Any, kind: str) -> Any:
    match kind:
        case "absent":
            return ABSENT
        case "null":
            return None
        case "another type":
            return 7 if isinstance(value, (str, dict, list)) or value is None else "7"
        case "an array":
            return [value]
        case "another value":
            return _other(value)
    raise ValueError(kind)


def _other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, list):
        return [*value, *value] or [{}]
    if isinstance(value, dict):
        return {}
    return "x"


KINDS = ("absent", "null", "another type", "an array", "another value")


def paths(document: Any, prefix: Path = ()) -> Iterator[Path]:
    """All members of a document, and one path for all elements of an array."""
    if isinstance(document, dict):
        for name, value in document.items():
            yield (*prefix, name)
            yield from paths(value, (*prefix, name))
    elif isinstance(document, list) and document:
        seen: dict[Path, None] = {}
        for item in document:
            seen.update(dict.fromkeys(paths(item, (*prefix, "*"))))
        yield from seen


def mutations(operation: str, document: Any) -> Iterator[Mutation]:
    """Every mutation that changes the document."""
    for path in paths(document):
        for kind in KINDS:
            mutation = Mutation(operation, path, kind)
            if mutation.apply(document) != document:
                yield mutation


class Mutating(Between):
    """Hands requests on and spoils the successful answers of one operation."""

    def __init__(self, inner: httpx.BaseTransport, mutation: Mutation) -> None:
        super().__init__(inner)
        self.mutation = mutation

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        found = match(request.method, request.url.path)
        if found is None or found[0].id != self.mutation.operation or response.status_code >= 300:
            return response
        body = json.dumps(self.mutation.apply(json.loads(response.read()))).encode()
        headers = [
            (name, value)
            for name, value in response.headers.multi_items()
            if name.lower() != "content-length"
        ]
        return httpx.Response(response.status_code, headers=headers, content=body)
