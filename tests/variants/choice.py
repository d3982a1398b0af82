"""A choice: a mixin that overrides seams of the reference server.

    @choice("list.order")
    class NewestFirst(Behaviour):
        newest_first = True

It names the open rules that it answers otherwise than the reference server. Every required rule still holds,
and every implied one not listed in `breaks`.
"""

from __future__ import annotations

from collections.abc import Callable

from conformance.contract.rules import RULES, Level
from conformance.reference.behaviour import Behaviour

#: Open rule -> names of the choices that answer it otherwise than the reference server.
ANSWERED: dict[str, set[str]] = {}

#: Name -> choice, in order of definition.
CHOICES: dict[str, type[Behaviour]] = {}

#: Choice -> implied rules that it breaks.
BREAKS: dict[type[Behaviour], tuple[str, ...]] = {}


def choice(*rules: str, breaks: tuple[str, ...] = ()) -> Callable[[type[Behaviour]], type[Behaviour]]:
    """Registers a mixin as another answer to these open rules. Raises KeyError for an unknown rule, and
    ValueError for one of another level."""

    def register(mixin: type[Behaviour]) -> type[Behaviour]:
        for rule in rules:
            if RULES[rule].level is not Level.OPEN:
                raise ValueError(f"{mixin.__name__}: {rule} is not open")
            ANSWERED.setdefault(rule, set()).add(mixin.__name__)
        for rule in breaks:
            if RULES[rule].level is not Level.IMPLIED:
                raise ValueError(f"{mixin.__name__}: {rule} is not implied")
        CHOICES[mixin.__name__] = mixin
        BREAKS[mixin] = breaks
        return mixin

    return register


def compose(*mixins: type[Behaviour]) -> Behaviour:
    """Returns the behaviour of a server with all these choices; the first takes precedence."""
    composed: Behaviour = type("Composed", (*mixins, Behaviour), {})()
    return composed
