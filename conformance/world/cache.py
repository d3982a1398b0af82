"""Values that are made once."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Hashable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from conformance.judge.verdicts import Inconclusive

P = ParamSpec("P")
T = TypeVar("T")


class Cache:
    """Values by key, or the Inconclusive that making one raised; of several threads that want a value one
    makes it, while the others wait."""

    def __init__(self) -> None:
        self._values: dict[Hashable, Any] = {}
        self._locks: dict[Hashable, threading.RLock] = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Returns the value of a key, made on first use. An Inconclusive from `make` is raised each time."""
        if key not in self._values:
            with self._locks.setdefault(key, threading.RLock()):
                if key not in self._values:
                    try:
                        self._values[key] = make()
                    except Inconclusive as refusal:
                        # Its traceback would keep all that the functions in it have made.
                        self._values[key] = refusal.with_traceback(None)
        value: T | Inconclusive = self._values[key]
        if isinstance(value, Inconclusive):
            # A new exception each time: re-raising one would accumulate tracebacks.
            raise type(value)(value.why)
        return value

    def peek(self, key: Hashable) -> Any:
        """Returns the value of a key, or None."""
        value = self._values.get(key)
        return None if isinstance(value, Inconclusive) else value

    def put(self, key: Hashable, value: Any) -> None:
        """Sets the value of a key."""
        self._values[key] = value

    def forget(self, key: Hashable) -> None:
        """Removes the value of a key."""
        self._values.pop(key, None)


class Caching(Protocol):
    """What has a cache: a lane, a fixture, what lanes have in common."""

    @property
    def cache(self) -> Cache: ...


class Sharing(Protocol):
    """A lane, which has something in common with the others."""

    @property
    def common(self) -> Caching: ...


S = TypeVar("S", bound=Caching)
L = TypeVar("L", bound=Sharing)


def once(make: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Makes a function's value once in its first argument, a lane or a fixture, for each of the other
    arguments: the key is the function's name and these."""

    @functools.wraps(make)
    def cached(owner: S, /, *args: P.args, **options: P.kwargs) -> T:
        key = make.__name__, *args, *options.items()
        return owner.cache.get(key, lambda: make(owner, *args, **options))

    return cached


def once_for_all_lanes(make: Callable[Concatenate[L, P], T]) -> Callable[Concatenate[L, P], T]:
    """Makes a function's value as `once` does, but for all lanes of the process of its first argument, which
    is one: for what no check changes, and what a server is found to do."""

    @functools.wraps(make)
    def cached(run: L, /, *args: P.args, **options: P.kwargs) -> T:
        key = make.__name__, *args, *options.items()
        return run.common.cache.get(key, lambda: make(run, *args, **options))

    return cached
