"""Pytest plugin that simulates a full disk from the first check on."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from typing import IO, Any

import pytest

from conformance import _files


class _Full:
    """A file on which every write fails."""

    def __init__(self, file: IO[Any]) -> None:
        self._file = file

    def __enter__(self) -> _Full:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def writelines(self, texts: Iterable[str]) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class _FullDisk:
    """`os`, whose files fail on every write."""

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def fdopen(self, *arguments: Any, **options: Any) -> _Full:
        return _Full(os.fdopen(*arguments, **options))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Fills the disk after the start: an unwritable folder would be reported before the run."""
    vars(_files)["os"] = _FullDisk()
