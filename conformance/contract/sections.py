"""Sections of the specification: their titles and their order."""

from __future__ import annotations

from conformance.contract.rules import SECTIONS


def title(section: str) -> str:
    """The title of a section, or of the nearest section around it."""
    while section and section not in SECTIONS:
        section = section.rpartition(".")[0]
    return SECTIONS.get(section, "")


def order(section: str) -> tuple[int, ...]:
    """Sorts sections as the specification has them."""
    return tuple(int(part) for part in section.split("."))


def heading(section: str) -> str:
    """The section that a report files a rule under: two numbers at most (5.4.3 is a point of 5.4)."""
    return ".".join(section.split(".")[:2])
