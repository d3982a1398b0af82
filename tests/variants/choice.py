"""A choice: a mixin that overrides seams of the reference server, or a function that overrides one.

    @choice("list.order")
    class NewestFirst(Behaviour):
        newest_first = True

    @choice("http.success-status", seam="success_status")
    def always_ok(self: Behaviour, usual: Usual, ctx: Context) -> int:
        return 200

`usual` calls what the function overrides. A choice names the open rules that it answers otherwise than the
reference server. Every required rule still holds, and every implied one not listed in `breaks`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from conformance.contract.rules import RULES, Level
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.reference.refusals import Refusal

#: The method that a function overrides.
Usual = Callable[..., Any]

#: Open rule -> names of the choices that answer it otherwise than the reference server.
ANSWERED: dict[str, set[str]] = {}

#: Name -> choice, in order of definition.
CHOICES: dict[str, type[Behaviour]] = {}

#: Choice -> implied rules that it breaks.
BREAKS: dict[type[Behaviour], tuple[str, ...]] = {}


def choice(
    *rules: str, seam: str = "", breaks: tuple[str, ...] = ()
) -> Callable[[type[Behaviour] | Callable[..., Any]], type[Behaviour]]:
    """Registers a mixin, or the function of a seam, as another answer to these open rules. Raises KeyError
    for an unknown rule, and ValueError for one of another level."""

    def register(answer: type[Behaviour] | Callable[..., Any]) -> type[Behaviour]:
        mixin = answer if isinstance(answer, type) else _overriding(seam, answer)
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


def varied(
    name: str, sentence: str, base: type[Behaviour], *rules: str, **attributes: Any
) -> type[Behaviour]:
    """Registers a mixin that has other attributes than its base, as another answer to these open rules."""
    return choice(*rules)(type(name, (base,), {"__doc__": sentence, **attributes}))


def _overriding(seam: str, function: Callable[..., Any]) -> type[Behaviour]:
    """Returns a mixin that overrides a seam by a function. Raises AttributeError for an unknown seam."""
    getattr(Behaviour, seam)

    def override(self: Behaviour, *args: Any, **named: Any) -> Any:
        return function(self, getattr(super(mixin, self), seam), *args, **named)

    mixin: type[Behaviour] = type(
        function.__name__, (Behaviour,), {seam: override, "__doc__": function.__doc__}
    )
    return mixin


def other(kind: str, status: int, type: str, code: str) -> Refusal:
    """Returns a refusal with a status, type and code of the choice's own."""
    made = Refusal(kind, code=code)
    made.status, made.type = status, type
    return made


def memory(behaviour: Behaviour, name: str) -> defaultdict[Any, Any]:
    """Returns what a choice remembers of earlier requests under a name of its own, by keys; by default 0."""
    made: defaultdict[Any, Any] = behaviour.__dict__.setdefault("memories", {}).setdefault(
        name, defaultdict(int)
    )
    return made


def times(behaviour: Behaviour, name: str, key: Any = None) -> int:
    """Counts a request for a choice, or for one key of it; returns its number."""
    memory(behaviour, name)[key] += 1
    return int(memory(behaviour, name)[key])


def insert(behaviour: Behaviour, ctx: Context, kind: str, parent: Record, **members: Any) -> None:
    """Creates a resource that no request asked for."""
    ctx.store.insert(
        kind,
        {
            "id": behaviour.new_id(ctx, kind),
            "organization": parent["organization"],
            "parent": parent["id"],
            "created": behaviour.instant(ctx),
            "updated": behaviour.instant(ctx),
            "status": "active",
            **members,
        },
    )


def move(behaviour: Behaviour, ctx: Context, record: Record, **members: Any) -> Record:
    """Changes a stored resource, which moves its time of change."""
    moved = {**record, **members, "updated": behaviour.touched(ctx, record)}
    ctx.store.update(moved)
    return moved


def compose(*mixins: type[Behaviour]) -> Behaviour:
    """Returns the behaviour of a server with all these choices; the first takes precedence."""
    composed: Behaviour = type("Composed", (*mixins, Behaviour), {})()
    return composed
