"""What tests ask for by name: servers, runs and worlds of their own, made by tests/support/."""

from __future__ import annotations

import logging

import pytest

from conformance.fixtures.run_context import RunContext
from tests.support.reference_world import World
from tests.support.runs import run_on


@pytest.fixture
def run() -> RunContext:
    """A run against a new reference server."""
    return run_on()


@pytest.fixture
def world() -> World:
    """A reference server and a caller who has made one of everything there."""
    return World()


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps the tracebacks of servers that fail on purpose out of the output."""
    monkeypatch.setattr(logging.getLogger("conformance.reference.app"), "disabled", True)
