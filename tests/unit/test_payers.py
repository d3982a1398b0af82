"""The lock of requests that move money, among threads and processes."""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from conformance.world import payers
from conformance.world.payers import Payers

#: Seconds in which whoever need not wait has gone on, and in which whoever waits would have.
SOON, MOMENT = 60.0, 0.05


@pytest.fixture(autouse=True)
def files_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def several() -> Iterator[Payers]:
    """The locks of lanes that judge one server."""
    return (Payers("http://payers.test") for _ in itertools.count())


@contextlib.contextmanager
def beside(entered: AbstractContextManager[None]) -> Iterator[threading.Event]:
    """Enters a context in another thread, and leaves it at the end; yields what is set once it is entered."""
    there, over = threading.Event(), threading.Event()

    def stay() -> None:
        with entered:
            there.set()
            over.wait(SOON)

    thread = threading.Thread(target=stay, daemon=True)
    thread.start()
    try:
        yield there
    finally:
        over.set()
        thread.join(SOON)
        assert not thread.is_alive()


def test_those_who_share_do_not_wait_for_one_another() -> None:
    one, other = itertools.islice(several(), 2)
    with one.share(), beside(other.share()) as there:
        assert there.wait(SOON)


@pytest.mark.parametrize(("first", "second"), [("share", "alone"), ("alone", "share"), ("alone", "alone")])
def test_whoever_is_alone_waits_for_others_and_they_for_it(first: str, second: str) -> None:
    one, other = itertools.islice(several(), 2)
    with contextlib.ExitStack() as stack:
        with getattr(one, first)():
            there = stack.enter_context(beside(getattr(other, second)()))
            assert not there.wait(MOMENT)
        assert there.wait(SOON)


def test_whoever_waits_to_be_alone_comes_before_those_who_share_later() -> None:
    one, other, third = itertools.islice(several(), 3)
    with contextlib.ExitStack() as later:
        with contextlib.ExitStack() as stack:
            with one.share():
                alone = stack.enter_context(beside(other.alone()))
                while not one.threads.waiting:
                    time.sleep(MOMENT / 10)
                shared = later.enter_context(beside(third.share()))
                assert not shared.wait(MOMENT)
            assert alone.wait(SOON) and not shared.is_set()
        assert shared.wait(SOON)


def test_a_thread_that_is_alone_may_share_and_be_alone_again() -> None:
    one = next(several())
    with one.alone(), one.share(), one.alone():
        pass
    with one.alone():
        pass


@pytest.mark.parametrize(("first", "second"), [("share", "alone"), ("alone", "share")])
def test_processes_wait_for_one_another(first: str, second: str, tmp_path: Path) -> None:
    program = f"""
import sys, tempfile
tempfile.tempdir = {str(tmp_path)!r}
from conformance.world.payers import Payers
with Payers("http://payers.test").{first}():
    print("there", flush=True)
    sys.stdin.read()
"""
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "there\n"
        with beside(getattr(next(several()), second)()) as there:
            assert not there.wait(MOMENT)
            process.communicate("")
            assert there.wait(SOON)


def test_threads_of_one_process_do_not_look_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks at files took as much processor time as the requests of many lanes."""
    one, other = itertools.islice(several(), 2)
    looks = list[float]()
    clock = {"sleep": looks.append, "monotonic": time.monotonic}
    monkeypatch.setattr(payers, "time", type("Clock", (), clock))
    with contextlib.ExitStack() as stack:
        with one.alone():
            there = stack.enter_context(beside(other.share()))
            assert not there.wait(MOMENT)
        assert there.wait(SOON)
    assert not looks


@pytest.mark.parametrize("enter", [Payers.share, Payers.alone])
def test_nobody_waits_for_ever(
    enter: Callable[[Payers], AbstractContextManager[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for a thread, nor for a process."""
    monkeypatch.setattr(payers, "_LONGEST", MOMENT)
    one, other = itertools.islice(several(), 2)
    with one.alone(), beside(enter(other)) as there:
        assert there.wait(SOON)
        other.threads = payers._Threads()
        with beside(enter(other)) as beside_process:
            assert beside_process.wait(SOON)
