"""Values that a run makes once and uses again, by typed keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast

from conformance.judge.findings import Inconclusive

T = TypeVar("T")


@dataclass(frozen=True)
class Key(Generic[T]):
    """The key of a value of type T. `name` says what it is; `part`, which of several (of an operation,
    say)."""

    name: str
    part: str = ""

    def of(self, part: str) -> Key[T]:
        """The key of the same kind of value for another part."""
        return replace(self, part=part)


class RunCache:
    """Values by key. It also remembers that a value could not be made, and why."""

    def __init__(self) -> None:
        self._values: dict[Key[Any], Any] = {}

    def get(self, key: Key[T], make: Callable[[], T]) -> T:
        """The value of a key, made when it is first asked for.

        Where `make` raised Inconclusive, that is raised again each time, and nothing is made again.
        """
        if key not in self._values:
            try:
                self._values[key] = make()
            except Inconclusive as refusal:
                self._values[key] = refusal
        value = self._values[key]
        if isinstance(value, Inconclusive):
            # A new exception each time: one that is raised again would gather tracebacks.
            raise type(value)(value.reason, value.remedy, value.cause)
        return cast(T, value)

    def find(self, key: Key[T]) -> T | None:
        """The value of a key, or None where none was made."""
        value = self._values.get(key)
        return None if isinstance(value, Inconclusive) else cast("T | None", value)

    def put(self, key: Key[T], value: T) -> T:
        """Keeps a value in the place of the one before."""
        self._values[key] = value
        return value

    def copy(self) -> RunCache:
        """A cache with the same values, which changes by itself."""
        other = RunCache()
        other._values = dict(self._values)
        return other

    def forget(self, key: Key[Any]) -> None:
        """Lets the value be made anew when it is next asked for."""
        self._values.pop(key, None)
