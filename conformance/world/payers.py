"""The lock of requests that move money, and of who watches balances, whose looks others would spoil."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

if sys.platform != "win32":
    import fcntl

#: Names of lock files: few, as the files stay.
_NAMES = 16

#: Seconds between attempts to lock a file. Not a lock that blocks, which would stop all users of a load run.
_AGAIN = 0.002

#: Seconds after which nobody waits any more, as who holds the lock may never let it go: a process that was
#: stopped, or a thread that waits for another one. What goes on then is as what other users do.
_LONGEST = 300.0


class _Threads:
    """The lock among the threads of this process, which wait for one another without a look at files."""

    def __init__(self) -> None:
        self._change = threading.Condition()
        self._sharing, self._alone = 0, False
        #: Number of threads that wait to be alone, which come first.
        self.waiting = 0

    @contextlib.contextmanager
    def share(self) -> Iterator[None]:
        with self._change:
            self._change.wait_for(lambda: not (self._alone or self.waiting), _LONGEST)
            self._sharing += 1
        try:
            yield
        finally:
            with self._change:
                self._sharing -= 1
                if not self._sharing:
                    self._change.notify_all()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        with self._change:
            self.waiting += 1
            try:
                self._change.wait_for(lambda: not (self._alone or self._sharing), _LONGEST)
                self._alone = True
            finally:
                self.waiting -= 1
                self._change.notify_all()
        try:
            yield
        finally:
            with self._change:
                self._alone = False
                self._change.notify_all()


#: Lock file -> the threads of this process that use it.
_THREADS: dict[Path, _Threads] = {}


class Payers:
    """A lock that requests which move money share, and who watches balances holds alone: among all threads
    and processes of a user on one machine that judge a server. Without a server's address, or without locks
    of files (Windows), nobody waits. `what` tells it from the lock of other requests, such as those that add
    to a list."""

    def __init__(self, base_url: str = "", what: str = "paying") -> None:
        user = getattr(os, "getuid", int)()
        name = f"conformance-{user}-{zlib.crc32(base_url.encode()) % _NAMES}"
        self._locks = base_url != "" and sys.platform != "win32"
        self._paying = Path(tempfile.gettempdir()) / f"{name}.{what}"
        self._next = self._paying.with_suffix(f".{what}.next")
        self.threads = _THREADS.setdefault(self._paying, _Threads())
        self._local = threading.local()

    @contextlib.contextmanager
    def share(self) -> Iterator[None]:
        """Moves money beside others; at once where this thread is alone."""
        if not self._locks or getattr(self._local, "alone", False):
            yield
            return
        with self.threads.share():
            # Those that wait to be alone come first.
            with self._locked(self._next, alone=False):
                pass
            with self._locked(self._paying, alone=False):
                yield

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Moves money while nobody else does; again within, too."""
        if not self._locks or getattr(self._local, "alone", False):
            yield
            return
        with (
            self.threads.alone(),
            self._locked(self._next, alone=True),
            self._locked(self._paying, alone=True),
        ):
            self._local.alone = True
            try:
                yield
            finally:
                self._local.alone = False

    @contextlib.contextmanager
    def _locked(self, path: Path, *, alone: bool) -> Iterator[None]:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            end = time.monotonic() + _LONGEST
            if sys.platform != "win32":
                while time.monotonic() < end:
                    with contextlib.suppress(BlockingIOError):
                        fcntl.flock(descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
                        break
                    time.sleep(_AGAIN)
            yield
        finally:
            os.close(descriptor)
