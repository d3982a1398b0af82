"""Expectations, and the predicates that they are made of."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Concatenate, Generic, ParamSpec, overload

from conformance.judge.outcomes import Got, Unclear
from conformance.target.file import Target
from conformance.wire.messages import Exchange

P = ParamSpec("P")


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

    `shows` are the positions of the exchanges that show it (empty: all).
    """

    good: bool | None
    got: str = ""
    cause: str = ""
    shows: tuple[int, ...] = ()

    @property
    def answer(self) -> Got:
        """The outcome as what was got: empty if it holds."""
        return Unclear(self.got, self.cause) if self.good is None else "" if self.good else self.got


HOLDS = Outcome(True)

#: Function of exchanges and plain parameters: returns what was got, or "" if the expectation holds.
Judge = Callable[Concatenate[Sequence[Exchange], P], str | Outcome]


def outcome(got: str, *shows: int) -> Outcome:
    """Outcome of a judgement that holds if `got` is empty."""
    return Outcome(not got, got, shows=shows if got else ())


def by_answer(good: bool, exchange: Exchange) -> Outcome:
    """Outcome of a judgement about a whole answer."""
    return HOLDS if good else Outcome(False, exchange.described())


@dataclass(frozen=True, eq=False)
class Predicate(Generic[P]):
    """A judge: called with a sentence and parameters (JSON values, At or Sent) it makes an
    expectation.

    `sentence` is a template, or a function of `what` and all parameters.
    """

    judge: Judge[P]
    sentence: str | Callable[..., str] = "{what}"

    def __call__(self, what: str, /, *values: P.args, **parameters: P.kwargs) -> Expectation:
        """Makes an expectation. Raises TypeError for parameters that do not fit the judge."""
        bound, known = self.signature.bind(*values, **parameters), self.signature.parameters
        given = {
            name: value for name, value in bound.arguments.items() if not _same(value, known[name].default)
        }
        bound.apply_defaults()
        compose = self.sentence.format if isinstance(self.sentence, str) else self.sentence
        return Expectation(self, compose(what=what, **bound.arguments), given)

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


@overload
def predicate(judge: Judge[P]) -> Predicate[P]: ...


@overload
def predicate(*, sentence: str | Callable[..., str]) -> Callable[[Judge[P]], Predicate[P]]: ...


def predicate(judge: Any = None, *, sentence: str | Callable[..., str] = "{what}") -> Any:
    """Makes a function a predicate. A parameter `target` receives the target of the run."""
    return functools.partial(Predicate, sentence=sentence) if judge is None else Predicate(judge, sentence)


@dataclass(frozen=True)
class Expectation:
    """A predicate with parameters that must hold for exchanges.

    `expected` completes the sentence "expected …" in reports."""

    predicate: Predicate[Any]
    expected: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def judge(self, exchanges: Sequence[Exchange], target: Target | None = None) -> Outcome:
        """Judges exchanges; never raises because of an answer."""
        judged = self.predicate
        more = {"target": target} if judged.wants_target else {}
        try:
            got = judged.judge(exchanges, **self.parameters, **more)
        except CannotTell as reason:
            return Outcome(None, reason.reason, reason.cause)
        except IndexError:
            return Outcome(None, "an exchange that the judgement is about was not sent")
        return got if isinstance(got, Outcome) else outcome(got)


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
