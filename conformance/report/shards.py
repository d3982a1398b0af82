"""The parts of one run that is shared out over machines: `--shard 2/5`."""

from __future__ import annotations


def parse_shard(text: str) -> tuple[int, int]:
    """`2/5` as (2, 5). Raises ValueError with what it should be."""
    part, slash, whole = text.partition("/")
    if slash and part.isdigit() and whole.isdigit() and 1 <= int(part) <= int(whole) <= 1000:
        return int(part), int(whole)
    raise ValueError(f"--shard: it should hold PART/PARTS such as 2/5, not {text[:40]!r}.")
