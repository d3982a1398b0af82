"""A cache of a run's values by typed keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast

from conformance.judge.verdicts import Inconclusive

T = TypeVar("T")


@dataclass(frozen=True)
class Key(Generic[T]):
    """The key of a value of type T; `part` tells several of one `name` apart, such as by operation."""

    name: str
    part: str = ""

    def of(self, part: str) -> Key[T]:
        """The key of the same kind of value for another part."""
        return replace(self, part=part)


class RunCache:
    """Values by key, or the Inconclusive that making one raised."""

    def __init__(self) -> None:
        self._values: dict[Key[Any], Any] = {}

    def get(self, key: Key[T], make: Callable[[], T]) -> T:
        """Returns the value of a key, made on first use. An Inconclusive from `make` is raised each time."""
        if key not in self._values:
            try:
                self._values[key] = make()
            except Inconclusive as refusal:
                self._values[key] = refusal
        value = self._values[key]
        if isinstance(value, Inconclusive):
            # A new exception each time: re-raising one would accumulate tracebacks.
            raise type(value)(value.reason, value.remedy, value.cause)
        return cast(T, value)

    def find(self, key: Key[T]) -> T | None:
        """Returns the value of a key, or None."""
        value = self._values.get(key)
        return None if isinstance(value, Inconclusive) else cast("T | None", value)

    def put(self, key: Key[T], value: T) -> T:
        """Sets the value of a key and returns it."""
        self._values[key] = value
        return value

    def copy(self) -> RunCache:
        """Copies the cache; later changes are separate."""
        other = RunCache()
        other._values = dict(self._values)
        return other

    def forget(self, key: Key[Any]) -> None:
        """Removes the value of a key."""
        self._values.pop(key, None)
