"""Versions that a fresh install resolves to."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PINS = {
    canonicalize_name(name): version
    for name, version in re.findall(
        r"^([A-Za-z0-9._-]+)==(\S+)$", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE
    )
}


def requirements() -> list[Requirement]:
    extras = [requirement for group in PROJECT["optional-dependencies"].values() for requirement in group]
    return [Requirement(text) for text in (*PROJECT["dependencies"], *extras)]


@pytest.mark.parametrize("requirement", requirements(), ids=str)
def test_constraints_satisfy_the_project(requirement: Requirement) -> None:
    assert PINS[canonicalize_name(requirement.name)] in requirement.specifier


def test_everything_that_is_needed_is_pinned() -> None:
    """Transitively, as far as it is installed here."""
    seen: set[str] = set()
    waiting = [Requirement(text) for text in PROJECT["dependencies"]]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in seen or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        seen.add(name)
        assert name in PINS
        waiting += [Requirement(text) for text in metadata.requires(name) or ()]
    assert len(seen) > 25


def test_constraints_name_no_host() -> None:
    text = (ROOT / "constraints.txt").read_text("utf-8")
    assert "://" not in text and "@" not in text and "--" not in text


def test_pytest_stays_below_the_version_that_breaks_schemathesis() -> None:
    """pytest 9.2 keeps node ids in another form, which schemathesis 4.32.5 overwrites: its tests lose their
    operation.

    When schemathesis moves, look whether that is mended, and lift the bound."""
    bound = next(requirement for requirement in requirements() if requirement.name == "pytest")
    assert "9.2.0" not in bound.specifier and "8.4.0" in bound.specifier
    assert PINS[canonicalize_name("schemathesis")] == "4.32.5"
