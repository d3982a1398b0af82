"""Derives seeds from the run's one seed, so that a part draws the same cases on any worker."""

from __future__ import annotations

import hashlib
import random


def derive(seed: int, *parts: str | int) -> int:
    """A seed of 64 bits for a part of the run: the same for the same arguments, on every machine."""
    text = "\n".join(map(str, (seed, *parts)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def source(seed: int, *parts: str | int) -> random.Random:
    """A generator of random numbers of its own for a part of the run."""
    return random.Random(derive(seed, *parts))
