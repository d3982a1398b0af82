"""Results of benchmarks: rows of a Markdown table, each a ratio of two things measured in turns."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

#: The head of the table.
HEAD = ("| what | ratio | aim | figures |", "|---|---:|---|---|")


@dataclass(frozen=True)
class Row:
    """A measurement: what, its value, what it should be, and the figures behind it."""

    what: str
    value: float
    aim: str
    figures: str

    @property
    def markdown(self) -> str:
        """The row of a table."""
        return f"| {self.what} | {self.value:.2f} | {self.aim} | {self.figures} |"


def in_turns(rounds: int, *measures: Callable[[], float]) -> list[list[float]]:
    """Measures several things in so many rounds of one after the other: the load of the machine then falls on
    all of them alike."""
    found: list[list[float]] = [[] for _ in measures]
    for _ in range(rounds):
        for values, measure in zip(found, measures, strict=True):
            values.append(measure())
    return found


def ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """The median of the ratios of each round."""
    return statistics.median(over / under for over, under in zip(above, below, strict=True))


def shown(values: Sequence[float]) -> str:
    """The median of some seconds."""
    return f"{statistics.median(values):.2f} s"
