"""What the user asked of the property-based part of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

#: Generated cases of each exploration's part in a run without --fuzz-examples.
DEFAULT_EXAMPLES = 25


@dataclass(frozen=True)
class FuzzSettings:
    """Budget and seed of the property-based tests.

    `examples` is the number of generated cases for each part, `seconds` the time for all parts
    together (None: no limit). One `seed` fixes everything that is drawn. `database` is where
    Hypothesis keeps its examples (None: nowhere). Workers are numbered from 0; each draws other cases.
    """

    seed: int
    examples: int = DEFAULT_EXAMPLES
    seconds: float | None = None
    database: str | None = None
    worker: int = 0
    workers: int = 1
    replay_folder: Path | None = None
