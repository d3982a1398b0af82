"""Several implementations over time: the stored results of each, the oldest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance._text import clean
from conformance.contract.rules import Level
from conformance.report.document import Document
from conformance.report.view import DocumentError, load


@dataclass(frozen=True)
class Implementation:
    """One implementation: its name, and its runs in the order in which they were started (at least one)."""

    name: str
    runs: tuple[Document, ...]

    @property
    def latest(self) -> Document:
        """The last run."""
        return self.runs[-1]

    def broken(self, operation: str) -> int:
        """How many required rules the last run saw broken on an operation."""
        levels = {rule.id: rule.level for rule in self.latest.rules}
        return sum(
            case.operation == operation and case.verdict.is_violation and levels[case.rule] is Level.REQUIRED
            for case in self.latest.cells
        )


def read(folders: Sequence[Path]) -> list[Implementation]:
    """The implementation of each folder, in their order.

    A folder holds the results of one implementation: results.json, or any JSON files, there or in folders
    below (one a run). Raises DocumentError for a folder without results, for a file that cannot be read, and
    where two folders have one name.
    """
    found = []
    for folder in folders:
        if not folder.is_dir():
            raise DocumentError(
                f"{folder}: there is no such folder; name one with the results of an implementation."
            )
        paths = sorted(path for path in folder.rglob("*.json") if "replays" not in path.parts)
        runs = [load(path) for path in paths]
        if not runs:
            raise DocumentError(
                f"{folder}: there are no results in it; a run writes results.json into its folder."
            )
        runs.sort(key=lambda document: document.run.started)
        found.append(Implementation(clean(folder.resolve().name)[:60], tuple(runs)))
    names = [implementation.name for implementation in found]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise DocumentError(
            f"two folders are called {twice!r}: rename one, for the pages are called by their names."
        )
    return found
