"""Expectations that are a check's own: a function of the exchanges, known by its name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from conformance.judge.expectations.base import Expectation, ExpectationError, Outcome, outcome
from conformance.target.file import Target
from conformance.wire.messages import Exchange

#: A function of exchanges and plain parameters: what was got, or "" where it holds.
Judge = Callable[..., str | Outcome]

#: Name -> function, of the predicates whose modules are imported.
PREDICATES: dict[str, Judge] = {}

#: Names of the predicates that compare looks at something, and of those that judge all pages of a list.
_OF_EFFECTS: set[str] = set()
_OF_WALKS: set[str] = set()


@dataclass(frozen=True)
class Holds(Expectation, kind="holds"):
    """A registered predicate holds of the exchanges; `what` is the whole sentence."""

    name: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def of_effects(self) -> bool:
        return self.name in _OF_EFFECTS

    @property
    def of_walk(self) -> bool:
        return self.name in _OF_WALKS

    def _judge(self, exchanges: Sequence[Exchange], target: Target | None) -> Outcome:
        if self.name not in PREDICATES:
            raise ExpectationError(f"there is no predicate {self.name[:60]!r} in this version of the suite")
        got = PREDICATES[self.name](exchanges, **self.parameters)
        return got if isinstance(got, Outcome) else outcome(got)


@overload
def predicate(judge: Judge) -> Callable[..., Holds]: ...


@overload
def predicate(*, effects: bool = False, walk: bool = False) -> Callable[[Judge], Callable[..., Holds]]: ...


def predicate(judge: Judge | None = None, *, effects: bool = False, walk: bool = False) -> Any:
    """Registers a function as a predicate and returns what states it: called with the sentence and the
    parameters (JSON values only) it gives the expectation. `effects` says that it compares looks at something
    that the requests between them may have changed, `walk` that its last exchanges are pages of a list, which
    may be followed by more. Raises KeyError where the name is taken."""
    if judge is None:
        return functools.partial(_register, effects=effects, walk=walk)
    return _register(judge, effects=False, walk=False)


def _register(judge: Judge, effects: bool, walk: bool) -> Callable[..., Holds]:
    name = f"{judge.__module__.rpartition('.')[2].removeprefix('test_')}.{judge.__name__.strip('_')}"
    if name in PREDICATES:
        raise KeyError(f"two predicates are called {name}")
    PREDICATES[name] = judge
    if effects:
        _OF_EFFECTS.add(name)
    if walk:
        _OF_WALKS.add(name)

    def stated(sentence: str, **parameters: Any) -> Holds:
        return Holds(sentence, name, parameters)

    stated.__doc__, stated.__name__ = judge.__doc__, judge.__name__
    return stated
