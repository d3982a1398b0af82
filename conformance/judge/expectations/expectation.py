"""Expectations, predicates, and their plain form in files."""

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
    """Plain data that is not an expectation; the text says why."""


class CannotTell(Exception):
    """The exchanges do not show whether an expectation holds.

    `cause` is the rule that the answer in the way breaks, if it breaks one.
    """

    def __init__(self, reason: str, cause: str = "") -> None:
        super().__init__(reason)
        self.reason, self.cause = reason, cause


@dataclass(frozen=True)
class Outcome:
    """The result of a judgement: it holds (`good` True), it does not (False; `got` says what was got
    instead), or it cannot be told (None; `got` is the reason, and `cause` the rule in the way, if any).

    `shows` are the positions of the exchanges that show it, all if empty. `answer` is the answer that `got`
    describes, where it describes a whole one.
    """

    good: bool | None
    got: str = ""
    cause: str = ""
    shows: tuple[int, ...] = ()
    answer: Exchange | None = None


HOLDS = Outcome(True)

#: A function of exchanges and plain parameters: what was got, or "" where it holds.
Judge = Callable[Concatenate[Sequence[Exchange], P], str | Outcome]


def outcome(got: str, *shows: int) -> Outcome:
    """The outcome of a judgement that holds when nothing else was got."""
    return Outcome(not got, got, shows=shows if got else ())


def by_answer(good: bool, exchange: Exchange) -> Outcome:
    """The outcome of a judgement about one answer as a whole."""
    return HOLDS if good else Outcome(False, exchange.described(), answer=exchange)


@dataclass(frozen=True, eq=False)
class Predicate(Generic[P]):
    """A registered judge: called with a sentence and parameters (JSON values, At or Sent) it gives the
    expectation.

    The sentence of the expectation is `sentence`, a template or a function of `what` and all parameters;
    without one it is `what`. `effects` marks a comparison of looks at something that the requests between
    them may have changed; `walk`, that the last exchanges are pages of a list, which more may follow.
    `besides` are parameters that hold ids of what may have come besides, left out by a replay where they do
    not come again. `times` is the parameter with the number of times that a replay sends the judged request.
    """

    name: str
    judge: Judge[P]
    sentence: str | Callable[..., str] = "{what}"
    effects: bool = False
    walk: bool = False
    besides: tuple[str, ...] = ()
    times: str = ""

    def __call__(self, what: str, /, *values: P.args, **parameters: P.kwargs) -> Expectation:
        """The expectation. Raises TypeError for parameters that the judge does not have."""
        defaults = self._defaults
        arguments = dict(zip(defaults, values, strict=False)) | parameters
        given_all = len(arguments) == len(values) + len(parameters)
        if not given_all or not self._needed <= arguments.keys() <= defaults.keys():
            # It says what is wrong.
            self.signature.bind(*values, **parameters)
        given = {name: value for name, value in arguments.items() if not _same(value, defaults[name])}
        compose = self.sentence.format if isinstance(self.sentence, str) else self.sentence
        return Expectation(self.name, compose(what=what, **{**defaults, **arguments}), given)

    @functools.cached_property
    def _defaults(self) -> dict[str, Any]:
        return {name: parameter.default for name, parameter in self.signature.parameters.items()}

    @functools.cached_property
    def _needed(self) -> set[str]:
        return {name for name, default in self._defaults.items() if default is inspect.Parameter.empty}

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        """The parameters of an expectation: those of the judge without the exchanges and the target."""
        _, *own = inspect.signature(self.judge).parameters.values()
        return inspect.Signature([parameter for parameter in own if parameter.name != "target"])

    @functools.cached_property
    def wants_target(self) -> bool:
        """True if the judge goes by the target as well."""
        return "target" in inspect.signature(self.judge).parameters


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


#: Name -> predicate, in the order of their definition.
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
    """Registers a function of exchanges and parameters as a predicate (see there for the options).

    Its name is that of its module and function, unless given. A parameter called `target` is given the
    target of the run. Raises KeyError where the name is taken."""

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
    """Predicate with its parameters that must hold of the exchanges of one judgement.

    `expected` is the sentence that completes "expected …" in a report."""

    name: str
    expected: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def predicate(self) -> Predicate[Any]:
        """The predicate. Raises ExpectationError where none has the name."""
        if self.name not in PREDICATES:
            raise ExpectationError(f"there is no predicate {self.name[:60]!r} in this version of the suite")
        return PREDICATES[self.name]

    @property
    def times(self) -> int:
        """Number of times that a judged request is sent in a replay: 1, unless only many of them show it."""
        return int(self.value(self.predicate.times)) if self.predicate.times else 1

    def value(self, parameter: str) -> Any:
        """The value of a parameter, its default where it is not given."""
        return self.parameters.get(parameter, self.predicate.signature.parameters[parameter].default)

    def judge(self, exchanges: Sequence[Exchange], target: Target | None = None) -> Outcome:
        """Judges exchanges. Never raises for what a server answered; ExpectationError for an unknown name."""
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
        """The expectation as JSON data."""
        parameters = {name: _plain(value) for name, value in self.parameters.items()}
        return {"predicate": self.name, "expected": self.expected, "parameters": parameters}


def from_plain(plain: Mapping[str, Any]) -> Expectation:
    """The inverse of `to_plain`. Raises ExpectationError for parameters that a predicate does not have. An
    unknown predicate is found out by judging: it may be one of a user's own."""
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
        """The value. Raises CannotTell where the body is not a JSON object with it."""
        try:
            return exchanges[self.of].call.document[self.name]
        except (ValueError, TypeError, KeyError):
            raise CannotTell(f"the request has no {self.name}") from None


def read(operand: Any, exchanges: Sequence[Exchange]) -> Any:
    """Value of an operand: a member of an answer or of a request, or the literal value that it is."""
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
