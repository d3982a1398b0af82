"""A conforming server: its choices, its proxy, and the changes of its target file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from conformance.reference.app import system_clock
from conformance.reference.behaviour import Behaviour
from conformance.reference.seed import Seeded
from conformance.reference.store import Store

from .choice import breaks, compose
from .surroundings import aged

Wrap = Callable[[httpx.BaseTransport], httpx.BaseTransport]
Tables = dict[str, Any]
Fill = Callable[[Store, Seeded], None]


@dataclass(frozen=True)
class Variant:
    """A conforming server.

    `wrap` puts a proxy in front, `ahead` is the offset of its clock in seconds, `change` edits the target
    file, `fill` creates resources before the run. Rules may stay inconclusive only on the operations in
    `unreached`.
    """

    name: str
    choices: tuple[type[Behaviour], ...]
    wrap: Wrap | None = None
    ahead: float = 0.0
    change: Callable[[Tables], Tables] | None = None
    unreached: tuple[str, ...] = ()
    limits: dict[str, Any] = field(default_factory=dict)
    fill: Fill = aged

    def behaviour(self) -> Behaviour:
        return compose(*self.choices)

    def clock(self) -> int:
        return system_clock() + int(self.ahead * 1_000_000)

    @property
    def breaks(self) -> set[str]:
        """Returns the implied rules that it breaks."""
        return {rule for choice in self.choices for rule in breaks(choice)}
