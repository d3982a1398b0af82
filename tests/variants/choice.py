"""A choice: a mixin that overrides seams of the reference server, or a function that overrides one.

    @choice("list.order")
    class NewestFirst(Behaviour):
        newest_first = True

    @choice("http.success-status", seam="success_status")
    def always_ok(self: Behaviour, usual: Usual, ctx: Context) -> int:
        return 200

`usual` calls what the function overrides. A choice names the open rules that it answers otherwise than the
reference server, and the implied rules that it breaks. Every other rule still holds.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from conformance.contract.rules import RULES, Level
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal
from tests.support.overrides import Usual, with_document
from tests.support.programs import Programs

#: Choices by name, in order of definition, each with the open rules that it answers otherwise than the
#: reference server, and the implied rules that it breaks.
choice = Programs(Behaviour)


def breaks(mixin: type[Behaviour]) -> set[str]:
    """Returns the implied rules that a choice breaks."""
    return {rule for rule in choice[mixin.__name__].rules if RULES[rule].level is Level.IMPLIED}


def demand(
    *rules: str, seam: str, kind: str = "invalid_field", status: int = 0
) -> Callable[[Callable[..., object]], type[Behaviour]]:
    """Registers a mixin that refuses, once the seam has done its work, what the function is true of.

    The function takes what the seam takes; its docstring is the message, `kind` that of the refusal, whose
    status may be another.
    """

    def register(refused: Callable[..., object]) -> type[Behaviour]:
        @functools.wraps(refused)
        def override(self: Behaviour, usual: Usual, ctx: Context, *args: Any) -> Any:
            result = usual(ctx, *args)
            if refused(self, ctx, *args):
                refusal = Refusal(kind, refused.__doc__ or "")
                refusal.status = status or refusal.status
                raise refusal
            return result

        return choice(*rules, seam=seam)(override)

    return register


def varied(
    name: str, sentence: str, base: type[Behaviour], *rules: str, **attributes: Any
) -> type[Behaviour]:
    """Registers a mixin that has other attributes than its base, as another answer to these open rules."""
    return choice(*rules)(type(name, (base,), {"__doc__": sentence, **attributes}))


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


def stated(behaviour: Behaviour, name: str) -> Iterator[Any]:
    """Yields the values of an attribute of which several of a server's choices may have one each."""
    return (vars(mixin)[name] for mixin in type(behaviour).__mro__ if name in vars(mixin))


def times(behaviour: Behaviour, name: str, key: Any = None) -> int:
    """Counts a request for a choice, or for one key of it; returns its number."""
    memory(behaviour, name)[key] += 1
    return int(memory(behaviour, name)[key])


def with_members(response: Response, **members: Any) -> Response:
    """Returns an answer with more members, if it is an object."""
    document = response.document if response.body else None
    return with_document(response, {**document, **members}) if isinstance(document, dict) else response


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
