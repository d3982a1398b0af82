"""Property-based tests as the plugin sees them: named parts that workers share out among themselves."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from conformance.contract.rules import RULES
from conformance.judge.findings import Finding, Inconclusive, LeftOut, NotApplicable
from conformance.judge.ledger import Entry
from conformance.target.applicability import absent
from conformance.world.run_context import RunContext

#: Runs one part of an exploration: the run, the part's name, what the user asked for -> findings.
ExplorationFunction = Callable[[RunContext, str, "FuzzSettings"], list[Finding]]

#: The same as it is written: it is also told its name, and may raise Inconclusive.
Explore = Callable[[RunContext, str, "FuzzSettings", str], list[Finding]]


@dataclass(frozen=True)
class Exploration:
    """A property-based test: its name and the parts it runs in, which workers share out among themselves.

    Unlike a check it does not know beforehand which rules it will have something to say about.
    """

    name: str
    function: ExplorationFunction
    parts: tuple[str, ...]


EXPLORATIONS: dict[str, Exploration] = {}


def exploration(stands_for: Mapping[str, tuple[str, str]]) -> Callable[[Explore], ExplorationFunction]:
    """Marks a function as a property-based test that runs once for each part.

    `stands_for` names the parts, each with the rule and operation that stand for it where nothing came to be
    judged: where the function raises Inconclusive, or the target does not have the operation.
    """

    def mark(function: Explore) -> ExplorationFunction:
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"

        @functools.wraps(function)
        def explore(run: RunContext, part: str, settings: FuzzSettings) -> list[Finding]:
            rule, operation = stands_for[part]
            entry = Entry(rule, operation, name)
            findings: list[Finding] = []
            if reason := absent(RULES[rule], operation, run.target):
                return [entry.finding(NotApplicable(reason))]
            try:
                if run.read_only:
                    raise LeftOut("generated requests may change something (--read-only)")
                findings = function(run, part, settings, name)
                # Hypothesis may have taken the end of the run for the end of its examples.
                run.answering()
            except Inconclusive as stop:
                return [*findings, *stop.findings, entry.finding(stop)]
            return findings

        # pytest would ask the written function, which is told its name, for the fixtures that it wants.
        del explore.__wrapped__
        marked = Exploration(name, explore, tuple(stands_for))
        EXPLORATIONS[name] = marked
        explore.conformance_exploration = marked  # type: ignore[attr-defined]
        return explore

    return mark


#: Generated cases of each exploration's part in a run without --fuzz-examples.
DEFAULT_EXAMPLES = 25


@dataclass(frozen=True)
class FuzzSettings:
    """Budget and seed of the property-based tests.

    `examples` is the number of generated cases for each part, `seconds` the time for all parts
    together (None: no limit; with a limit and the default of examples, time alone counts). One `seed` fixes
    everything that is drawn: a part draws the same on any worker, and no two parts draw the same. `database`
    is where Hypothesis keeps its examples (None: nowhere). Workers are numbered from 0."""

    seed: int
    examples: int = DEFAULT_EXAMPLES
    seconds: float | None = None
    database: str | None = None
    worker: int = 0
    workers: int = 1

    @property
    def cases(self) -> int:
        """The most cases that a part may generate."""
        return 1_000_000 if self.seconds is not None and self.examples == DEFAULT_EXAMPLES else self.examples

    def share(self) -> float | None:
        """Seconds for one part: the workers run the parts side by side."""
        if self.seconds is None:
            return None
        parts = sum(len(exploration.parts) for exploration in EXPLORATIONS.values()) or 1
        return self.seconds * min(self.workers, parts) / parts
