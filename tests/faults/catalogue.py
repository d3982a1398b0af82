"""Catalogue of faults: each is the reference server with one rule broken on one operation.

A row overrides one seam of the reference server, and stands below a rule and the sentence that describes it:

    faults["auth.nonce-replay"] |= {
        "A nonce may be used any number of times.": seam("claim_nonce", lambda *_: True),
    }

A function of a row is called as one of a variant is: with the behaviour, `usual`, the request's context and
the seam's other arguments; `usual` calls what it overrides, with the same arguments if called without any.
Without a function, the kinds themselves are overrides, or results. What most rows do has a name in rows.py:
to leave a step out, refuse, show other members. A fault of several seams is `seams({NAME: function, ...})`,
or `of(CLASS)`, a subclass of Faulty.

An override applies to the broken operation only, unless the row or class sets `everywhere`. One fault is
registered for each operation of the rule, or with `each` one for each of several values, available as
`self.value`; a value may be `Only` for some operations.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.contract.traits import TRAITS
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.refusals import Refusal
from tests.support.overrides import overriding
from tests.support.programs import Program

#: Creates of resources that a documented read or list shows.
SHOWN_LATER = tuple(
    name for name in OPERATION_SETS["create"] if TRAITS[name].read_by or TRAITS[name].listed_by
)


#: A function of a row.
Call = Callable[..., Any]


class Faulty(Behaviour):
    """The reference server, broken on `operation`; `value` distinguishes the kinds that `each` makes.

    `state` holds what it remembers of earlier requests.
    """

    #: True if the overrides apply to all operations and check `here` themselves.
    everywhere = False

    def __init__(self, operation: str = "", value: Any = None) -> None:
        self.operation = operation
        self.value = value
        self.state: dict[Any, Any] = {}

    def here(self, ctx: Context) -> bool:
        """Returns True for a request of the broken operation."""
        return ctx.operation == self.operation


#: operationId, or "" for all; seam; override, called as that of a row.
Part = tuple[str, str, Callable[..., Any]]


class Changed(Faulty):
    """The reference server with other results of some seams; counts those that differ, of the last part."""

    everywhere = True

    def __init__(self, operation: str = "", value: Sequence[Part] = ()) -> None:
        super().__init__(operation, value)
        self.effects, self.values = 0, list[Any]()
        for part in value:
            setattr(self, part[1], self._overriding(getattr(self, part[1]), *part, part is value[-1]))

    def _overriding(self, usual: Call, operation: str, _: str, change: Call, counts: bool) -> Call:
        def override(ctx: Context, *others: Any) -> Any:
            result = usual(ctx, *others)
            here = operation in ("", ctx.operation)
            changed = change(self, lambda *_: result, ctx, *others) if here else result
            self.effects += counts and changed != result
            return changed

        return override

    def another(self, value: Any) -> Any:
        """Returns the last value that was another one."""
        self.values.append(value)
        return next((each for each in reversed(self.values) if each != value), value)


@dataclass(frozen=True)
class Fault(Program):
    """A faulty server.

    `name` is its sentence, with the value that distinguishes it from others of the sentence. `also` names
    rules that necessarily break with it. One that an operator makes of a `member` may have no effect and,
    unless the schema names its rule (`exact`), break any other rule instead.
    """

    value: Any = None
    also: tuple[str, ...] = ()
    member: str = ""
    exact: bool = False
    by_field: bool = False

    @property
    def rule(self) -> str:
        """Returns the rule that it breaks."""
        return self.rules[0]

    @property
    def _field_and_way(self) -> tuple[str, str]:
        """The field, and the way, of a kind that repeats one mistake for each of both."""
        if self.member:
            return self.member, ""
        label = self.name.removeprefix(f"{self.sentence.removesuffix('.')}: ")
        field, comma, way = label.partition(", ")
        return (field, way) if comma else (label.partition(" ")[0], label.partition(" ")[2])

    @property
    def group(self) -> tuple[str, ...]:
        """Of what a sample has one: a kind; a field of an operation, of the kinds that repeat one mistake for
        each field and way; a member, of what operators make of it."""
        if self.member:
            return (self.member,)
        field = self._field_and_way[0]
        return (self.rule, self.operation, self.sentence, field) if self.by_field else (self.rule, self.name)

    @property
    def way(self) -> tuple[str, ...]:
        """Of what a sample has one as well: a way of the mistake that is repeated for each field."""
        if self.member:
            return (self.sentence,)
        return (self.rule, self.sentence, self._field_and_way[1]) if self.by_field else self.group

    @property
    def id(self) -> str:
        """Identifies the fault, such as auth.signature[createPayout]: A signature is accepted ...: first
        8."""
        return f"{self.rule}[{self.operation}]: {self.name}"

    @property
    def area(self) -> str:
        """Returns the part of the rule's id before the point."""
        return self.rule.partition(".")[0]

    def make(self) -> Faulty:
        """Returns a new behaviour of the faulty server."""
        behaviour: Faulty = self.base(self.operation, self.value)
        return behaviour


#: Faults that no row makes.
FAULTS: list[Fault] = []

Values = Iterable[Any] | Mapping[str, Any]


@dataclass(frozen=True)
class Only:
    """A value of `each` for some operations only. Raises ValueError for an unknown one."""

    value: Any
    operations: Collection[str]

    def __post_init__(self) -> None:
        if unknown := {*self.operations} - OPERATIONS.keys():
            raise ValueError(f"no operations: {', '.join(sorted(unknown))}")


#: A refusal, its kind, or its status, type and code as words.
Error = Refusal | str


@dataclass(frozen=True)
class Row:
    """Servers broken in one way: the overridden methods of a base class, on all operations if `everywhere`.

    There is one for each of the rule's `operations`, or of those given, and of the values of `each`, with or
    without names, which may depend on the operation. `also` names rules that necessarily break as well;
    `by_field` is true if the values repeat one mistake and their names begin with that of a field.
    """

    base: type[Faulty]
    overrides: Mapping[str, Call]
    everywhere: bool = False
    operations: Iterable[str] | None = None
    each: Values | Callable[[str], Values] | None = None
    also: tuple[str, ...] = ()
    by_field: bool = False


def seam(name: str, override: Call | None = None, **options: Any) -> Row:
    """Makes a row that overrides one seam, by the kind if by nothing else; `options` are those of a row."""
    return seams({name: override}, **options)


def seams(
    overrides: Mapping[str, Call | None],
    base: type[Faulty] = Faulty,
    everywhere: bool = False,
    **options: Any,
) -> Row:
    """Makes a row that overrides several seams, or methods of `base`; other options are those of a row.
    Raises AttributeError for an unknown seam."""
    for name in overrides:
        getattr(base, name)
    return Row(base, {name: function or kind for name, function in overrides.items()}, everywhere, **options)


def of(base: type[Faulty], **options: Any) -> Row:
    """Makes a row from a complete class; `options` are those of a row."""
    _confine(base)
    return Row(base, {}, **options)


def kind(self: Any, *given: Any) -> Any:
    """What a row without a function does: calls the kind as it would be called, or returns it."""
    return self.value(self, *given) if callable(self.value) else self.value


#: Rule -> sentence -> row, to which the modules of this package add theirs.
faults: dict[str, dict[str, Row]] = {rule: {} for rule in RULES}


def _values(values: Values | None, operation: str) -> Iterable[tuple[str, Any]]:
    if values is None:
        return [("", None)]
    named = values.items() if isinstance(values, Mapping) else [(str(value), value) for value in values]
    return [
        (label, value.value if isinstance(value, Only) else value)
        for label, value in named
        if not isinstance(value, Only) or operation in value.operations
    ]


def _confine(behaviour: type[Faulty]) -> None:
    """Restricts each override of a seam to the broken operation."""
    if behaviour.everywhere:
        return
    for name, method in list(vars(behaviour).items()):
        if inspect.isfunction(method) and hasattr(Behaviour, name) and not name.startswith("__"):
            setattr(behaviour, name, _here_only(behaviour, name, method))


def _here_only(behaviour: type[Faulty], name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def seam(self: Faulty, ctx: Context, *args: Any, **named: Any) -> Any:
        if self.here(ctx):
            return method(self, ctx, *args, **named)
        return getattr(super(behaviour, self), name)(ctx, *args, **named)

    return seam


def refusal(error: str, message: str = "The request is refused.") -> Refusal:
    """Returns a refusal with this status, type and code."""
    status, type, code = error.split()
    made = Refusal("invalid_field", message, code=code)
    made.status, made.type = int(status), type
    return made


def wrong(right: str, *ways: str) -> dict[str, str]:
    """Returns errors beside a right one; each word of a way takes the place of what it is: a status, a type
    such as permission_error, or a code."""

    def other(way: str) -> str:
        parts = right.split()
        for word in way.split():
            parts[0 if word.isdigit() else 1 if word.endswith("_error") else 2] = word
        return " ".join(parts)

    return {way: other(way) for way in ways}


def refuse(error: Error) -> NoReturn:
    """Raises a refusal of a kind, or with a status, type and code."""
    if isinstance(error, Refusal):
        raise error
    raise refusal(error) if " " in error else Refusal(error)


def _behaviour(sentence: str, row: Row) -> type[Any]:
    """Returns the class of a row's server."""
    everywhere = row.everywhere or row.base.everywhere
    behaviour = overriding(row.base, row.overrides, "Row", sentence)
    behaviour.everywhere = everywhere
    _confine(behaviour)
    return behaviour


def of_rows(rules: Mapping[str, Mapping[str, Row]]) -> Iterator[Fault]:
    """Yields the faults of rows, by rule and sentence: one for each operation and kind. Raises ValueError for
    a row that is left no operation."""
    for rule, rows in rules.items():
        for sentence, row in rows.items():
            behaviour = _behaviour(sentence, row)
            chosen = [
                name for name in RULES[rule].operations if row.operations is None or name in {*row.operations}
            ]
            if not chosen:
                raise ValueError(f"{rule} covers none of the operations: {sentence}")
            for operation in chosen:
                each = row.each(operation) if callable(row.each) else row.each
                for label, value in _values(each, operation):
                    name = sentence.removesuffix(".") + (f": {label}" if label else "")
                    yield Fault(
                        (rule,), operation, name, sentence, behaviour, value, row.also, by_field=row.by_field
                    )


@functools.cache
def load() -> list[Fault]:
    """Returns the faults of all modules of this package: of the rows, and of the operators over members."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        importlib.import_module(f"{__package__}.{module.name}")
    return [*of_rows(faults), *FAULTS]
