"""Expectations, predicates, and their form in replay files."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Concatenate, Generic, ParamSpec, cast, overload

from conformance.target.file import Target
from conformance.wire.messages import Exchange

P = ParamSpec("P")


class ExpectationError(ValueError):
    """Plain data is not an expectation."""


class CannotTell(Exception):
    """The exchanges do not show whether an expectation holds; `cause` is a rule whose violation may be
    why."""

    def __init__(self, reason: str, cause: str = "") -> None:
        super().__init__(reason)
        self.reason, self.cause = reason, cause


@dataclass(frozen=True)
class Outcome:
    """Result of a judgement. `good` True: it holds; False: it does not, and `got` says what was got instead;
    None: it cannot be told, `got` is the reason, `cause` the rule whose violation caused that.

    `shows` are the positions of the exchanges that show it (empty: all). `answer` is the answer that `got`
    describes, if it describes a whole one.
    """

    good: bool | None
    got: str = ""
    cause: str = ""
    shows: tuple[int, ...] = ()
    answer: Exchange | None = None


HOLDS = Outcome(True)

#: Function of exchanges and plain parameters: returns what was got, or "" if the expectation holds.
Judge = Callable[Concatenate[Sequence[Exchange], P], str | Outcome]


def outcome(got: str, *shows: int) -> Outcome:
    """Outcome of a judgement that holds if `got` is empty."""
    return Outcome(not got, got, shows=shows if got else ())


def by_answer(good: bool, exchange: Exchange) -> Outcome:
    """Outcome of a judgement about a whole answer."""
    return HOLDS if good else Outcome(False, exchange.described(), answer=exchange)


@dataclass(frozen=True, eq=False)
class Predicate(Generic[P]):
    """A registered judge: called with a sentence and parameters (JSON values, At or Sent) it makes an
    expectation.

    `sentence` is a template, or a function of `what` and all parameters. `effects`: it compares reads of what
    the requests between them may have changed. `walk`: the last exchanges are pages of a list, and a replay
    may have more. `besides` are parameters with ids of other resources, which a replay drops if it does not
    meet them. `times` is the parameter with the number of times that a replay sends the judged request.
    """

    name: str
    judge: Judge[P]
    sentence: str | Callable[..., str] = "{what}"
    effects: bool = False
    walk: bool = False
    besides: tuple[str, ...] = ()
    times: str = ""

    def __call__(self, what: str, /, *values: P.args, **parameters: P.kwargs) -> Expectation:
        """Makes an expectation. Raises TypeError for parameters that do not fit the judge."""
        bound, known = self.signature.bind(*values, **parameters), self.signature.parameters
        given = {
            name: value for name, value in bound.arguments.items() if not _same(value, known[name].default)
        }
        bound.apply_defaults()
        compose = self.sentence.format if isinstance(self.sentence, str) else self.sentence
        return Expectation(self.name, compose(what=what, **bound.arguments), given)

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        """Parameters of an expectation: those of the judge without exchanges and target."""
        _, *own = inspect.signature(self.judge).parameters.values()
        return inspect.Signature([parameter for parameter in own if parameter.name != "target"])

    @functools.cached_property
    def wants_target(self) -> bool:
        """True if the judge takes the target."""
        return "target" in inspect.signature(self.judge).parameters


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


#: Name -> predicate, in order of definition.
PREDICATES: dict[str, Predicate[Any]] = {}


@overload
def predicate(judge: Judge[P]) -> Predicate[P]: ...


@overload
def predicate(
    *,
    name: str = "",
    sentence: str | Callable[..., str] = "{what}",
    effects: bool = False,
    walk: bool = False,
    besides: tuple[str, ...] = (),
    times: str = "",
) -> Callable[[Judge[P]], Predicate[P]]: ...


def predicate(judge: Any = None, *, name: str = "", **options: Any) -> Any:
    """Registers a function as a predicate, with the options of `Predicate`.

    The default name is that of module and function. A parameter `target` receives the target of the run.
    Raises KeyError if the name is taken."""

    def register(judge: Any) -> Predicate[Any]:
        module = judge.__module__.rpartition(".")[2].removeprefix("test_")
        registered = Predicate[Any](name or f"{module}.{judge.__name__.strip('_')}", judge, **options)
        if registered.name in PREDICATES:
            raise KeyError(f"two predicates are called {registered.name}")
        PREDICATES[registered.name] = registered
        return registered

    return register if judge is None else register(judge)


@dataclass(frozen=True)
class Expectation:
    """A predicate with parameters that must hold for exchanges.

    `expected` completes the sentence "expected …" in reports."""

    name: str
    expected: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def predicate(self) -> Predicate[Any]:
        """The predicate. Raises ExpectationError for an unknown name."""
        if self.name not in PREDICATES:
            raise ExpectationError(f"there is no predicate {self.name[:60]!r} in this version of the suite")
        return PREDICATES[self.name]

    @property
    def times(self) -> int:
        """Number of times that a replay sends the judged request: 1 unless the predicate has `times`."""
        return int(self.value(self.predicate.times)) if self.predicate.times else 1

    def value(self, parameter: str) -> Any:
        """Value of a parameter, or its default."""
        return self.parameters.get(parameter, self.predicate.signature.parameters[parameter].default)

    def judge(self, exchanges: Sequence[Exchange], target: Target | None = None) -> Outcome:
        """Judges exchanges; never raises because of an answer, but ExpectationError for an unknown name."""
        judged = self.predicate
        more = {"target": target} if judged.wants_target else {}
        try:
            got = judged.judge(exchanges, **self.parameters, **more)
        except CannotTell as reason:
            return Outcome(None, reason.reason, reason.cause)
        except IndexError:
            return Outcome(None, "an exchange that the judgement is about was not sent")
        return got if isinstance(got, Outcome) else outcome(got)

    def to_plain(self) -> dict[str, Any]:
        """Converts the expectation to JSON data."""
        parameters = {name: _plain(value) for name, value in self.parameters.items()}
        return {"predicate": self.name, "expected": self.expected, "parameters": parameters}


def from_plain(plain: Mapping[str, Any]) -> Expectation:
    """The inverse of `to_plain`. Raises ExpectationError for parameters that do not fit the predicate; one
    that is unknown, such as a user's own, raises when it judges."""
    expectation = Expectation(plain["predicate"], plain["expected"], _value(plain["parameters"]))
    if expectation.name in PREDICATES:
        try:
            expectation.predicate.signature.bind(**expectation.parameters)
        except TypeError as error:
            raise ExpectationError(f"an expectation by {expectation.name[:60]}: {error}") from None
    return expectation


@dataclass(frozen=True)
class At:
    """The JSON value at a path of member names and indexes in the answer of exchange number `of`."""

    path: tuple[str | int, ...]
    of: int

    def __init__(self, *path: str | int, of: int = 0) -> None:
        object.__setattr__(self, "path", path)
        object.__setattr__(self, "of", of)

    def read(self, exchanges: Sequence[Exchange]) -> Any:
        """The value, or MISSING."""
        return exchanges[self.of].get(*self.path)


@dataclass(frozen=True)
class Sent:
    """A member of the JSON body that exchange number `of` sent."""

    name: str
    of: int = 0

    def read(self, exchanges: Sequence[Exchange]) -> Any:
        """The value. Raises CannotTell if the body is not a JSON object with it."""
        try:
            return exchanges[self.of].call.document[self.name]
        except (ValueError, TypeError, KeyError):
            raise CannotTell(f"the request has no {self.name}") from None


def read(operand: Any, exchanges: Sequence[Exchange]) -> Any:
    """Value of an operand: a literal, or a member of an answer or a request."""
    return operand.read(exchanges) if isinstance(operand, (At, Sent)) else operand


def _plain(value: Any) -> Any:
    match value:
        case At():
            return {"$answer": [value.of, *value.path]}
        case Sent():
            return {"$request": [value.of, value.name]}
        case tuple() | list() | set() | frozenset():
            return [_plain(member) for member in value]
        case Mapping():
            return {str(name): _plain(member) for name, member in value.items()}
    return value


def _value(plain: Any) -> Any:
    if isinstance(plain, dict):
        if plain.keys() == {"$answer"}:
            of, *path = _place(plain["$answer"])
            return At(*path, of=cast(int, of))
        if plain.keys() == {"$request"}:
            of, *path = _place(plain["$request"])
            return Sent(str(path[0]) if path else "", cast(int, of))
        return {name: _value(member) for name, member in plain.items()}
    return [_value(member) for member in plain] if isinstance(plain, list) else plain


def _place(plain: Any) -> list[str | int]:
    place = plain if isinstance(plain, list) else []
    if not place or type(place[0]) is not int or any(type(step) not in (str, int) for step in place):
        raise ExpectationError("a place in an answer is the number of an exchange and a path")
    return place
