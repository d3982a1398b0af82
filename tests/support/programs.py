"""Wrong and other programs: servers and clients that the suite must blame, or must not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .overrides import overriding


@dataclass(frozen=True)
class Program:
    """A wrong program, or another one that conforms.

    `rules` are patterns of those that it breaks, or the open ones that it answers otherwise; `operation` is
    the only one on which it does so, if there is one. `name` tells it from others of its kind, `sentence`
    says what it does, and `base` is its class.
    """

    rules: tuple[str, ...]
    operation: str
    name: str
    sentence: str
    base: type[Any]

    @property
    def id(self) -> str:
        """Identifies it among all of its kind."""
        return self.name

    def __str__(self) -> str:
        return self.id


class Programs(dict[str, Program]):
    """Programs of one kind by name.

    A call with rules makes a decorator, which registers a class, or the subclass of `base` in which the
    function overrides a seam. Raises ValueError for a name that is there already.
    """

    def __init__(self, base: type[Any]) -> None:
        self.base = base

    def __call__(self, *rules: str, seam: str = "") -> Callable[[type[Any] | Callable[..., Any]], type[Any]]:
        def register(program: type[Any] | Callable[..., Any]) -> type[Any]:
            made = (
                program
                if isinstance(program, type)
                else overriding(self.base, {seam: program}, program.__name__, program.__doc__)
            )
            if made.__name__ in self:
                raise ValueError(f"there already: {made.__name__}")
            self[made.__name__] = Program(rules, "", made.__name__, made.__doc__ or "", made)
            return made

        return register
