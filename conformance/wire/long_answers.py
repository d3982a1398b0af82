"""Keeps the memory bounded that long answers take once they were read."""

from __future__ import annotations

import threading
from collections import deque
from typing import Protocol


class Answer(Protocol):
    """What was received, and can be read again."""

    response_body: bytes

    def forget(self) -> None:
        """Lets go of what was read of the body."""


class LongAnswers:
    """The long answers that were read last: older ones are forgotten, and read again where that is needed.

    As JSON an answer takes some six times its bytes. A server that sends megabytes each time would fill the
    memory before its check ends. Threads may share one.
    """

    #: Bytes from which on an answer is long, and of all long ones that are not forgotten.
    LONG, MOST = 256 * 1024, 8 * 1024 * 1024

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read: deque[tuple[Answer, int]] = deque()
        self._bytes = 0

    def add(self, answer: Answer) -> None:
        """Takes in an answer that was read just now."""
        size = len(answer.response_body)
        if size < self.LONG:
            return
        with self._lock:
            self._read.append((answer, size))
            self._bytes += size
            while self._bytes > self.MOST and len(self._read) > 1:
                oldest, less = self._read.popleft()
                self._bytes -= less
                if oldest is not answer:
                    oldest.forget()
