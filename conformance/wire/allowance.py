"""What a run may still send: so many requests, until a moment, and none faster than a rate.

The processes of one run keep one account: a file in which each has a place of its own, so that nothing has to
be locked. A number stands there before what it counts is sent: together they never send more.
"""

from __future__ import annotations

import mmap
import struct
import threading
import time
from enum import IntEnum
from pathlib import Path

#: Processes that may share an account.
MOST_PROCESSES = 256

OVER = "the run's time was over"

_NUMBER = struct.Struct("=q")


class Kind(IntEnum):
    """What is counted: requests as transmitted, resources created, payouts made."""

    REQUESTS = 0
    CREATIONS = 1
    PAYOUTS = 2


class Account:
    """Numbers that the processes of a run add up together. `process` is this one's place, from 0.

    Where the file cannot be had (a process on another machine), the process counts alone, and `alone` says
    so.
    """

    def __init__(self, path: Path | None = None, process: int = 0) -> None:
        self._offset = process * len(Kind) * _NUMBER.size
        self._memory: mmap.mmap | bytearray = bytearray(self._size())
        self.alone = True
        if path is not None and process < MOST_PROCESSES:
            self._share(path)

    @staticmethod
    def _size() -> int:
        return MOST_PROCESSES * len(Kind) * _NUMBER.size

    @classmethod
    def create(cls, path: Path) -> Account:
        """A new account, for a file that no process has opened yet."""
        path.write_bytes(bytes(cls._size()))
        return cls(path)

    def _share(self, path: Path) -> None:
        try:
            with path.open("r+b") as file:
                self._memory = mmap.mmap(file.fileno(), self._size())
        except (OSError, ValueError):
            return
        self.alone = False

    def add(self, kind: Kind, number: int) -> None:
        """Adds to this process's number."""
        at = self._offset + kind * _NUMBER.size
        (before,) = _NUMBER.unpack_from(self._memory, at)
        _NUMBER.pack_into(self._memory, at, before + number)

    def total(self, kind: Kind) -> int:
        """The number of all processes together."""
        step = len(Kind) * _NUMBER.size
        offsets = range(kind * _NUMBER.size, self._size(), step)
        total: int = sum(_NUMBER.unpack_from(self._memory, offset)[0] for offset in offsets)
        return total


class Turns:
    """Keeps requests apart, those of all threads together."""

    def __init__(self, requests_per_second: float = 0.0) -> None:
        self.interval = 1.0 / requests_per_second if requests_per_second else 0.0
        self._next = 0.0
        self._lock = threading.Lock()

    def next(self, number: int = 1) -> float:
        """Takes the next turns; the seconds until the last of them comes."""
        if not self.interval:
            return 0.0
        with self._lock:
            now = time.monotonic()
            last = max(now, self._next) + (number - 1) * self.interval
            self._next = last + self.interval
        return last - now


class Allowance:
    """What this process may still send. Threads share it; `processes` are how many divide the rate.

    `most` are the numbers that must not be gone beyond, each with the words that say whose limit it is;
    `end` is the moment (Unix seconds) after which nothing is sent, and `over` says why then.
    """

    def __init__(
        self,
        account: Account | None = None,
        *,
        most: dict[Kind, tuple[int, str]] | None = None,
        end: float | None = None,
        over: str = OVER,
        requests_per_second: float = 0.0,
        processes: int = 1,
    ) -> None:
        self.account = account or Account()
        self.turns = Turns(requests_per_second / processes)
        self._most = dict(most or {})
        if self.account.alone and processes > 1:
            self._most = {kind: (number // processes, told) for kind, (number, told) in self._most.items()}
        # The wall clock may be set while the run goes on.
        self._end = None if end is None else time.monotonic() + end - time.time()
        #: Why nothing is sent after the end.
        self.over = over
        self._lock = threading.Lock()
        self._ended = ""

    @property
    def ended(self) -> str:
        """Why nothing more is sent; empty while something may be."""
        if not self._ended and self.left is not None and self.left <= 0:
            self._ended = self.over
        return self._ended

    @property
    def left(self) -> float | None:
        """Seconds until the end; None where there is none."""
        return None if self._end is None else self._end - time.monotonic()

    def take(self, number: int = 1) -> str:
        """Waits until so many requests may be sent at once and counts them; why they may not be sent, empty
        where they may."""
        if reason := self.ended:
            return reason
        wait, left = self.turns.next(number), self.left
        if left is not None and wait >= left:
            return self.stop(self.over)
        if wait:
            time.sleep(wait)
        return self._counted(Kind.REQUESTS, number)

    def made(self, kind: Kind) -> None:
        """Counts what a request came to; one too many is the last."""
        with self._lock:
            self.account.add(kind, 1)
            if kind in self._most and self.account.total(kind) > self._most[kind][0]:
                self._ended = self._ended or self._most[kind][1]

    def _counted(self, kind: Kind, number: int) -> str:
        with self._lock:
            self.account.add(kind, number)
            if kind in self._most and self.account.total(kind) > self._most[kind][0]:
                self.account.add(kind, -number)
                self._ended = self._ended or self._most[kind][1]
        return self._ended

    def stop(self, reason: str) -> str:
        """Lets nothing more be sent, for a reason, which is returned unless there was one before."""
        self._ended = self._ended or reason
        return self._ended
