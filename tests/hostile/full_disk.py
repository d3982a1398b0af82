"""Pytest plugin that simulates a full disk from the first check on."""

from __future__ import annotations

import errno
import os
from typing import Any

import pytest

from conformance import _files


class _FullDisk:
    """`os`, where no file can be written."""

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def fdopen(self, handle: int, *arguments: Any, **options: Any) -> Any:
        os.close(handle)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Fills the disk after the start: an unwritable folder would be reported before the run."""
    vars(_files)["os"] = _FullDisk()
