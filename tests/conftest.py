"""Fixtures and pytest hooks that several folders share."""

from __future__ import annotations

import logging
import multiprocessing.util
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

import hypothesis
import pytest

from conformance.world.lane import Lane
from tests import proofs
from tests.proofs import pytest_addoption  # noqa: F401 - a hook
from tests.support.runs import run_on
from tests.variants.hurry import hurried


def pytest_configure(config: pytest.Config) -> None:
    """Leaves the slow tests out unless -m is given; restores the SIGINT handler, since a shell has its
    background commands ignore SIGINT and child processes inherit that."""
    config.addinivalue_line("markers", "slow: takes seconds and runs only by -m slow, nightly")
    # The same examples in every run, however slow the machine is.
    hypothesis.settings.register_profile("tests", derandomize=True, database=None, deadline=None)
    hypothesis.settings.load_profile("tests")
    config.option.markexpr = config.option.markexpr or "not slow"
    proofs.configure(config)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_make_parametrize_id(val: Any) -> str | None:
    """Makes an id from the parameter's value instead of pytest's numbered one."""
    if isinstance(val, type) or callable(val):
        return None
    shown = _shown(val)
    return None if " at 0x" in shown else shown if len(shown) <= 70 else f"{shown[:60]}..{len(shown)}"


def _shown(value: Any) -> str:
    if isinstance(value, (str, bytes)):
        text = value.decode("latin-1") if isinstance(value, bytes) else value
        return text.encode("unicode_escape").decode() or "empty"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={_shown(member)}" for name, member in value.items()) or "empty"
    if isinstance(value, Set):
        return ", ".join(sorted(map(_shown, value))) or "empty"
    if isinstance(value, Sequence):
        return " ".join(map(_shown, value)) or "empty"
    return str(value)


@pytest.fixture(scope="session", autouse=True)
def temporary_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Runs of this process, and those it starts, lock files that no other process locks."""
    # Made before, as sockets in a folder of a longer name may have no room for theirs.
    multiprocessing.util.get_temp_dir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("temporary")))
        yield


@pytest.fixture
def lane() -> Lane:
    """A run on a new reference server."""
    return run_on()


@pytest.fixture
def no_waiting() -> Iterator[None]:
    """Fakes the clock, so that waiting for eventual consistency takes no time."""
    with hurried():
        yield


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silences the tracebacks of servers that fail on purpose."""
    monkeypatch.setattr(logging.getLogger("conformance.reference.app"), "disabled", True)
