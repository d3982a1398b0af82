"""The common part of expectations: outcomes, the registry of kinds, and their plain form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, cast

from conformance.target.file import Target
from conformance.wire.messages import Exchange


class ExpectationError(ValueError):
    """Plain data that is not a expectation; the text says why."""


class CannotTell(Exception):
    """The exchanges do not show whether an expectation holds.

    `cause` is the rule that the answer in the way breaks, if it breaks one.
    """

    def __init__(self, reason: str, cause: str = "") -> None:
        super().__init__(reason)
        self.reason, self.cause = reason, cause


@dataclass(frozen=True)
class Outcome:
    """What judging came to: it holds (`good` True), it does not (False; `got` says what was got instead), or
    it cannot be told (None; `got` is the reason, and `cause` the rule that is in the way, if any).

    `shows` are the positions of the exchanges that show it, all if empty. `answer` is the answer that `got`
    describes, where it describes a whole one.
    """

    good: bool | None
    got: str = ""
    cause: str = ""
    shows: tuple[int, ...] = ()
    answer: Exchange | None = None


HOLDS = Outcome(True)


def outcome(got: str, *shows: int) -> Outcome:
    """The outcome of a judgement that holds when nothing else was got."""
    return Outcome(not got, got, shows=shows if got else ())


def by_answer(good: bool, exchange: Exchange) -> Outcome:
    """The outcome of a judgement about one answer as a whole."""
    return HOLDS if good else Outcome(False, exchange.described(), answer=exchange)


#: Kind -> class, in the order of their definition.
KINDS: dict[str, type[Expectation]] = {}


@dataclass(frozen=True)
class Expectation:
    """What the exchanges of one judgement must show. `what` names the thing that is judged, for people."""

    kind: ClassVar[str] = ""

    #: Fields with ids of what may have come besides; a replay leaves out those that did not come again.
    besides: ClassVar[tuple[str, ...]] = ()

    what: str

    def __init_subclass__(cls, kind: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        if kind:
            cls.kind = kind
            KINDS[kind] = cls

    @property
    def expected(self) -> str:
        """The sentence that completes "expected …" in a report."""
        return self.what

    @property
    def of_effects(self) -> bool:
        """Whether it compares looks at something that the requests between them may have changed."""
        return False

    @property
    def of_walk(self) -> bool:
        """Whether the last of its exchanges are pages of a list, which may be followed by more of them."""
        return False

    @property
    def times(self) -> int:
        """How often a judged request is sent in a replay: once, unless only many of them show it."""
        return 1

    def judge(self, exchanges: Sequence[Exchange], target: Target | None = None) -> Outcome:
        """Whether the exchanges are as expected. Never raises for what a server answered."""
        try:
            return self._judge(exchanges, target)
        except CannotTell as reason:
            return Outcome(None, reason.reason, reason.cause)
        except IndexError:
            return Outcome(None, "an exchange that the judgement is about was not sent")

    def _judge(self, exchanges: Sequence[Exchange], target: Target | None) -> Outcome:
        raise TypeError(f"{type(self).__name__} does not say how it judges")

    def to_plain(self) -> dict[str, Any]:
        """The expectation as JSON data: its kind and its fields, defaults left out."""
        plain: dict[str, Any] = {"kind": self.kind}
        for described in fields(self):
            value = getattr(self, described.name)
            if value != described.default:
                plain[described.name] = _plain(value)
        return plain


def from_plain(plain: Mapping[str, Any]) -> Expectation:
    """The inverse of `to_plain`. Raises ExpectationError for anything else."""
    members = dict(plain)
    kind = members.pop("kind", None)
    if not isinstance(kind, str) or kind not in KINDS:
        raise ExpectationError(f"there is no kind of expectation {str(kind)[:60]!r}")
    described = {field.name: field for field in fields(KINDS[kind])}
    if unknown := members.keys() - described.keys():
        raise ExpectationError(f"an expectation of kind {kind} has no {min(unknown)[:60]}")
    try:
        return KINDS[kind](**{name: _value(value) for name, value in members.items()})
    except TypeError as error:
        raise ExpectationError(f"an expectation of kind {kind}: {error}") from None


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
        except (ValueError, TypeError, KeyError, RecursionError):
            raise CannotTell(f"the request has no {self.name}") from None


def read(operand: Any, exchanges: Sequence[Exchange]) -> Any:
    """What an operand stands for: a member of an answer or of a request, or the literal value that it is."""
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
