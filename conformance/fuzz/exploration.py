"""Property-based tests as the plugin sees them: named parts that workers share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from conformance.contract.rules import RULES
from conformance.judge.cells import Cell
from conformance.judge.verdicts import Inconclusive, NotApplicable
from conformance.target.applicability import absent
from conformance.world.lane import Lane

#: Held while a test imports what it calls: Hypothesis and schemathesis import parts of themselves in cycles,
#: and a concurrent thread would see partially initialized modules.
LOADING = threading.Lock()

#: Held while Hypothesis and schemathesis run, but not while an example is performed: lanes take turns in
#: them, as parts of schemathesis, and `ast.parse` before Python 3.12.2 (python/cpython#106905), which pytest
#: calls too to show an error, are not safe in several threads.
TURN = threading.Lock()

#: Runs one part of an exploration, by its name, and returns the cells. Raises Inconclusive.
Explore = Callable[[Lane, str, "FuzzSettings"], list[Cell]]


@dataclass(frozen=True)
class Exploration:
    """A property-based test in parts that workers share.

    Unlike a check, it does not declare the rules that it judges, and neither waits nor looks back on the run.
    """

    name: str
    function: Explore
    #: Part -> rule and operation of its cell where nothing is judged.
    stands_for: Mapping[str, tuple[str, str]]
    #: True if it takes longer than all others, and sends nothing odd: lanes begin with it.
    early: bool = False
    generated: ClassVar[bool] = True
    last: ClassVar[bool] = False
    deep: ClassVar[bool] = False
    waits: ClassVar[bool] = False

    def judge(self, lane: Lane, part: str, settings: FuzzSettings) -> list[Cell]:
        """Runs a part and returns the cells."""
        rule, operation = self.stands_for[part]
        cell = Cell(rule, operation)
        cells: list[Cell] = []
        if reason := absent(RULES[rule], operation, lane.target):
            return [cell.concluded(self.name, NotApplicable(reason))]
        try:
            lane.answering()
            cells = self.function(lane, part, settings)
            # Hypothesis may have caught an Inconclusive that ends the run.
            lane.answering()
        except Inconclusive as stop:
            return [*cells, *stop.cells, cell.concluded(self.name, stop)]
        return cells

    def cells(self, part: str) -> list[tuple[str, str]]:
        """What stands for the cells of a part."""
        return [self.stands_for[part]]

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of its parts."""
        return tuple(self.stands_for)


EXPLORATIONS: dict[str, Exploration] = {}


def exploration(
    stands_for: Mapping[str, tuple[str, str]], *, early: bool = False
) -> Callable[[Explore], Explore]:
    """Registers a function as a property-based test that runs once for each part.

    `stands_for` maps each part to the rule and operation of its cell where nothing is judged: the function
    raises Inconclusive, or the target does not have the operation.
    """

    def mark(function: Explore) -> Explore:
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        marked = EXPLORATIONS[name] = Exploration(name, function, stands_for, early)
        function.conformance_test = marked  # type: ignore[attr-defined]
        return function

    return mark


#: Examples of a part, unless --fuzz-examples is given.
DEFAULT_EXAMPLES = 50


@dataclass(frozen=True)
class FuzzSettings:
    """Budget and seed of the property-based tests.

    `examples` limits the examples of each part, `seconds` the time of all parts together (None: no
    limit); with `seconds` and the default `examples`, only time counts. `seed` determines what each part
    draws, on any worker. `database` is the folder of Hypothesis's examples that failed."""

    seed: int
    examples: int = DEFAULT_EXAMPLES
    seconds: float | None = None
    database: str | None = None
    workers: int = 1

    @property
    def cases(self) -> int:
        """Maximum of examples of a part."""
        return 1_000_000 if self.seconds is not None and self.examples == DEFAULT_EXAMPLES else self.examples

    def share(self) -> float | None:
        """Seconds for one part, where the workers run the parts in parallel; None: no limit."""
        if self.seconds is None:
            return None
        parts = sum(len(exploration.parts) for exploration in EXPLORATIONS.values()) or 1
        return self.seconds * min(self.workers, parts) / parts
