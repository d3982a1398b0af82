"""Benchmark results as rows of a Markdown table, each a ratio of two alternating measurements."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

#: Head of the table.
HEAD = ("| what | ratio | aim | figures |", "|---|---:|---|---|")


@dataclass(frozen=True)
class Row:
    """A measurement: its name, value, target value, and the figures behind it."""

    what: str
    value: float
    aim: str
    figures: str

    @property
    def markdown(self) -> str:
        """Renders the row."""
        return f"| {self.what} | {self.value:.2f} | {self.aim} | {self.figures} |"


def in_turns(rounds: int, *measures: Callable[[], float]) -> list[list[float]]:
    """Measures several things alternately in this many rounds, so that other load affects all alike."""
    found: list[list[float]] = [[] for _ in measures]
    for _ in range(rounds):
        for values, measure in zip(found, measures, strict=True):
            values.append(measure())
    return found


def ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """Returns the median of the ratios of each round."""
    return statistics.median(over / under for over, under in zip(above, below, strict=True))


def shown(values: Sequence[float]) -> str:
    """Renders the median of some seconds."""
    return f"{statistics.median(values):.2f} s"
