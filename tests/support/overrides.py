"""Overrides of the reference server, and what they do to its answers and its store."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from conformance.reference.behaviour import Behaviour
from conformance.reference.core_messages import Response, encode
from conformance.reference.store import Store

#: What a function overrides.
Usual = Callable[..., Any]


def overriding(
    base: type[Behaviour], overrides: Mapping[str, Callable[..., Any]], name: str, sentence: str | None
) -> type[Any]:
    """Returns a subclass in which functions override seams, or other methods of the base.

    One is called with the behaviour, `usual` and the arguments of the seam; `usual` calls what it overrides,
    with the same arguments if it is called without any. Raises AttributeError for an unknown seam.
    """
    made = type(name, (base,), {"__doc__": sentence})
    for seam, function in overrides.items():
        setattr(made, seam, _method(made, seam, function))
    return made


def _method(made: type[Behaviour], seam: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(getattr(made, seam))
    def method(self: Behaviour, *given: Any, **named: Any) -> Any:
        def usual(*others: Any, **more: Any) -> Any:
            inherited = getattr(super(made, self), seam)
            return inherited(*others, **more) if others or more else inherited(*given, **named)

        return function(self, usual, *given, **named)

    return method


def with_document(response: Response, document: Any) -> Response:
    """Returns a copy with another JSON body."""
    return replace(response, body=encode(document))


def with_header(response: Response, name: bytes, value: bytes | None) -> Response:
    """Returns a copy with a header set, or removed if the value is None."""
    others = [(key, old) for key, old in response.headers if key.lower() != name.lower()]
    return replace(response, headers=others if value is None else [*others, (name, value)])


def nonce_claimed(store: Store, scope: str, nonce: str, now: int) -> bool:
    """Returns True if a nonce is recorded and not expired."""
    sql = "SELECT 1 FROM nonces WHERE scope = ? AND nonce = ? AND expires > ?"
    return bool(store.query(sql, scope, nonce, now))
