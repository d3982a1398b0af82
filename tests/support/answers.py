"""An answer as the pace of a run and the limits of a server look at it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Answer:
    """What a pace looks at of an exchange."""

    operation: str
    elapsed: float
    throttled: bool = False
    headers: dict[str, str] | None = None
    status: int | None = 200

    def header(self, name: str) -> str | None:
        return (self.headers or {}).get(name)
